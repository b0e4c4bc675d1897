"""Fixtures for the pages as people see them: Chromium at the desk's and the phone's size, on a running server."""

import shutil
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.server import Server, demonstration, serving

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]
CAMERA = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
HERE = {"locale": "pt-BR", "timezone_id": "America/Sao_Paulo"}
COUNTER = {"viewport": {"width": 1024, "height": 768}}
PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def live_server(templates) -> Iterator[Server]:
    """The demonstration on SQLite, fresh for each module of tests."""
    with demonstration(templates, "sqlite") as env, serving(env) as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, with a camera that shows a test picture."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.fail("The page tests need Chromium: run `apt-get install chromium`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS, *CAMERA])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, live_server) -> Iterator[Callable[..., Page]]:
    """`open_page(**options)` is a page of a new visitor; at the end no page may have met an error of its own."""
    contexts, complaints = [], []

    def listen(page: Page) -> Page:
        page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
        page.on("console", lambda said: complaints.append(f"{page.url}: {said.text}")
                if said.type == "error" and "Content Security Policy" in said.text else None)
        page.on("response", lambda got: complaints.append(f"{got.url}: {got.status}") if got.status >= 500 else None)
        return page

    def open_page(**options) -> Page:
        context = browser.new_context(base_url=live_server.url, **HERE, **(options or COUNTER))
        context.set_default_timeout(15_000)
        contexts.append(context)
        return listen(context.new_page())

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(open_page) -> Page:
    """The counter's screen, 1024 x 768."""
    return open_page(**COUNTER)


@pytest.fixture
def phone(open_page) -> Page:
    """A small phone, 360 x 740."""
    return open_page(**PHONE)


@pytest.fixture(scope="session")
def axe() -> Callable[[Page], None]:
    """`axe(page)` fails on barriers that axe calls serious or critical."""
    engine = Axe()

    def check(page: Page) -> None:
        found = engine.run(page).response["violations"]
        barriers = [f"{item['id']}: {item['help']} at {[node['target'] for node in item['nodes']]}"
                    for item in found if item["impact"] in ("serious", "critical")]
        assert barriers == [], f"{page.url}\n" + "\n".join(barriers)

    return check
