"""What the tests of the scan page share: the fake camera, the door behind the page, and its words."""

import shutil

import pytest
from playwright.sync_api import expect

from tests.browser import FLAGS, HERE, PHONE
from tests.web.fake_camera import FakeCamera
from tests.web.stub_door import BOARDED, FISCAL, TWICE, serving_stub

PASS = "BP1:" + "7G4 X$K%2*Q+9.M/R-B:5Z" * 6 + "0123456789ABCDEF01"
OTHER_PASS = "BP1:" + "A" * 150
FISCAL_QR = "https://dfe-portal.example/BPe/qrCode?chBPe=" + "4" * 44


@pytest.fixture
def door():
    with serving_stub() as door:
        door.by_text = {PASS: BOARDED, OTHER_PASS: TWICE, FISCAL_QR: FISCAL}
        yield door


@pytest.fixture(scope="module")
def camera(tmp_path_factory):
    return FakeCamera(tmp_path_factory.mktemp("camera") / "camera.y4m")


@pytest.fixture(scope="module")
def camera_browser(browser, camera):
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    launched = browser.browser_type.launch(executable_path=program, args=[*FLAGS, *camera.launch_args])
    yield launched
    launched.close()


@pytest.fixture
def open_scan(camera_browser, camera, door):
    """`open_scan(script="", allowed=True, theme="night")` is the page; no script of it may fail."""
    contexts, failures = [], []
    camera.hide()

    def open_scan(*, script: str = "", allowed: bool = True, theme: str = "night"):
        context = camera_browser.new_context(**PHONE, **HERE, permissions=["camera"] if allowed else [])
        contexts.append(context)
        context.add_cookies([{"name": "theme", "value": theme, "domain": "127.0.0.1", "path": "/"}])
        context.set_default_timeout(15_000)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("console", lambda said: failures.append(said.text) if "Content Security Policy" in said.text else None)
        page.goto(door.url)
        return page

    yield open_scan
    for context in contexts:
        context.close()
    assert failures == []


@pytest.fixture
def scan(open_scan):
    """The page with its camera running and nothing in sight."""
    page = open_scan()
    ready(page)
    return page


def ready(page) -> None:
    expect(page.locator("#scan")).to_have_attribute("data-camera", "on", timeout=20_000)


def says(page, word: str, tone: str | None = None) -> None:
    expect(page.locator(".verdict-word")).to_have_text(word, timeout=15_000)
    if tone:
        expect(page.locator(".verdict")).to_have_attribute("data-tone", tone)


def type_code(page, text: str) -> None:
    page.get_by_label("Código do bilhete").fill(text)
    page.get_by_role("button", name="conferir").click()
