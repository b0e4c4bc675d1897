"""What the scan page makes of the phone it runs on: cameras that fail, sound, lamp, screen, themes, thumbs."""


import pytest
from playwright.sync_api import expect

from tests.web.conftest import PASS, ready, says, type_code
from tests.web.stub_door import ASKS, UNKNOWN, answer

pytestmark = pytest.mark.browser
NO_DEVICES = "Object.defineProperty(navigator, 'mediaDevices', {value: undefined})"
NOT_SECURE = f"{NO_DEVICES}; Object.defineProperty(window, 'isSecureContext', {{value: false}})"
HUNG_CAMERA = "navigator.mediaDevices.getUserMedia = () => new Promise(() => undefined)"


def failing_camera(name: str) -> str:
    return f"navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', '{name}'))"


@pytest.mark.parametrize(("script", "title"), [
    (NOT_SECURE, "A câmera precisa de endereço seguro"),
    (NO_DEVICES, "Este navegador não abre a câmera"),
    (failing_camera("NotAllowedError"), "A câmera está bloqueada"),
    (failing_camera("NotFoundError"), "Nenhuma câmera neste aparelho"),
    (failing_camera("NotReadableError"), "A câmera está em uso"),
])
def test_what_is_wrong_with_the_camera_is_said_and_the_code_can_be_typed(open_scan, door, script, title) -> None:
    page = open_scan(script=script)
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    type_code(page, "K7P39QXA")
    says(page, "código desconhecido", "stop")
    page.get_by_role("button", name="ler o próximo").click()
    expect(page.get_by_role("heading", name=title)).to_be_visible()


def test_a_camera_denied_by_the_person_is_named(open_scan) -> None:
    page = open_scan(allowed=False)
    expect(page.get_by_role("heading", name="A câmera está bloqueada")).to_be_visible()


def test_a_camera_allowed_at_last_starts_by_the_button(open_scan, camera) -> None:
    page = open_scan(allowed=False)
    expect(page.get_by_role("heading", name="A câmera está bloqueada")).to_be_visible()
    page.context.grant_permissions(["camera"])
    page.get_by_role("button", name="tentar de novo").click()
    ready(page)
    camera.show(PASS)
    says(page, "pode embarcar")


def test_the_code_can_be_typed_while_the_browser_still_asks_for_the_camera(open_scan) -> None:
    page = open_scan(script=HUNG_CAMERA)
    expect(page.get_by_text("Abrindo a câmera")).to_be_visible()
    type_code(page, "K7P39QXA")
    says(page, UNKNOWN["word"])


def test_a_reader_that_does_not_load_is_said(open_scan) -> None:
    page = open_scan(script="window.Worker = class { constructor() { throw new Error('none'); } }")
    expect(page.get_by_role("heading", name="O leitor de códigos não abriu")).to_be_visible()


def test_the_page_may_compile_nothing_only_its_worker_may(scan) -> None:
    assert "wasm-unsafe-eval" not in scan.request.get(scan.url).headers["content-security-policy"]
    refused = scan.evaluate("""async () => {
        try { await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])); return "compiled"; }
        catch (error) { return error.name; }
    }""")
    assert refused == "CompileError"


def test_each_kind_of_answer_sounds_and_shakes_differently(open_scan, door) -> None:
    page = open_scan(script="""
        window.heard = [];
        const start = OscillatorNode.prototype.start;
        OscillatorNode.prototype.start = function (at) { window.heard.push(this.frequency.value); return start.call(this, at); };
        navigator.vibrate = (pattern) => { window.heard.push(`shake ${pattern}`); return true; };
    """)
    found = set()
    for tone in ("ok", "attention", "stop", "info"):
        code = f"CODE{tone.upper()}"
        door.by_text[code] = answer(tone=tone, word=f"resposta {tone}")
        page.evaluate("window.heard.length = 0")
        type_code(page, code)
        says(page, f"resposta {tone}", tone)
        heard = tuple(page.evaluate("window.heard"))
        assert any(str(each).startswith("shake") for each in heard)
        assert any(not str(each).startswith("shake") for each in heard)
        found.add(heard)
    assert len(found) == 4


def test_the_lamp_is_offered_where_the_camera_has_one(open_scan) -> None:
    page = open_scan(script="""
        window.lamp = [];
        MediaStreamTrack.prototype.getCapabilities = () => ({ torch: true });
        MediaStreamTrack.prototype.applyConstraints = async ({ advanced }) => { window.lamp.push(advanced[0].torch); };
    """)
    lamp = page.get_by_role("button", name="luz")
    lamp.click()
    expect(lamp).to_have_attribute("aria-pressed", "true")
    lamp.click()
    expect(lamp).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("window.lamp") == [True, False]


def test_no_lamp_is_offered_without_one(scan) -> None:
    expect(scan.get_by_role("button", name="luz")).to_be_hidden()


def test_the_screen_is_kept_awake(open_scan) -> None:
    page = open_scan(script="""
        window.awake = [];
        Object.defineProperty(navigator, "wakeLock", { value: { request: async (kind) => { window.awake.push(kind); return { released: false }; } } });
    """)
    ready(page)
    assert page.evaluate("window.awake") == ["screen"]


def test_the_chosen_theme_is_kept(scan) -> None:
    scan.locator("[data-part=theme]").click()
    expect(scan.locator("html")).to_have_attribute("data-theme", "glare")
    scan.reload()
    expect(scan.locator("html")).to_have_attribute("data-theme", "glare")


@pytest.mark.parametrize("theme", ["night", "glare"])
def test_nobody_is_shut_out_of_the_page(open_scan, door, axe, theme) -> None:
    door.by_text["K7P39QXA"] = ASKS
    page = open_scan(theme=theme)
    ready(page)
    axe(page)
    type_code(page, "K7P39QXA")
    says(page, "confira o documento")
    axe(page)
    type_code(page, "XXP39QXA")
    says(page, "código desconhecido")
    axe(page)


def test_nothing_scrolls_and_every_button_is_large_enough_for_a_thumb(scan, door) -> None:
    door.by_text["K7P39QXA"] = ASKS | {"passenger": {"name": "Maria " * 13, "document": "RG", "last4": "4821"}}
    type_code(scan, "K7P39QXA")
    says(scan, "confira o documento")
    assert scan.evaluate("document.scrollingElement.scrollHeight <= innerHeight")
    for button in scan.locator("button:visible, select:visible, a.scan-way").all():
        box = button.bounding_box()
        assert box["height"] >= 48 and box["y"] + box["height"] <= 740, button.inner_text()
    for button in scan.locator(".verdict button:visible").all():
        assert button.bounding_box()["height"] >= 56
