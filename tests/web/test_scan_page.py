"""The driver's scan page in a browser: a fake camera before it, a door whose answers the test decides behind it."""

import re
import shutil
from uuid import UUID

import pytest
from playwright.sync_api import expect

from tests.browser import FLAGS, HERE, PHONE
from tests.web.fake_camera import FakeCamera
from tests.web.stub_door import ASKS, BOARDED, FISCAL, STRANGE, TWICE, UNKNOWN, answer, serving_stub

pytestmark = pytest.mark.browser
PASS = "BP1:" + "7G4 X$K%2*Q+9.M/R-B:5Z" * 6 + "0123456789ABCDEF01"
OTHER_PASS = "BP1:" + "A" * 150
FISCAL_QR = "https://dfe-portal.example/BPe/qrCode?chBPe=" + "4" * 44
HUNG_CAMERA = "navigator.mediaDevices.getUserMedia = () => new Promise(() => undefined)"


def failing_camera(name: str) -> str:
    return f"navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', '{name}'))"


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


def test_a_pass_before_the_lens_is_asked_about_and_answered_large(scan, camera, door) -> None:
    camera.show(PASS)
    says(scan, "pode embarcar", "ok")
    expect(scan.locator(".verdict-seat")).to_contain_text("12")
    expect(scan.locator(".trip-count")).to_contain_text("35 / 46")
    [sent] = door.posts
    assert (sent["kind"], sent["text"], sent["stop_seq"]) == ("scan", PASS, 0)
    assert UUID(sent["id"]).version == 4
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", sent["at"])


def test_the_stop_chosen_goes_with_the_scan(scan, door) -> None:
    scan.get_by_label("Parada").select_option("2")
    type_code(scan, "K7P3-9QXA")
    says(scan, "código desconhecido")
    assert door.posts[0]["stop_seq"] == 2


def test_a_pass_held_still_is_one_scan_and_the_next_is_taken_at_once(scan, camera, door) -> None:
    camera.show(PASS)
    says(scan, "pode embarcar")
    camera.show(OTHER_PASS)
    says(scan, "já embarcou", "stop")
    expect(scan.locator(".verdict-detail")).to_have_text("Embarcou em Criciúma às 06:31, neste celular")
    assert [post["text"] for post in door.posts] == [PASS, OTHER_PASS]


def test_the_pass_is_found_beside_the_fiscal_code_of_the_same_paper(scan, camera, door) -> None:
    camera.show(FISCAL_QR, PASS)
    says(scan, "pode embarcar")
    assert [post["text"] for post in door.posts] == [PASS]


def test_the_fiscal_code_alone_is_named(scan, camera) -> None:
    camera.show(FISCAL_QR)
    says(scan, "QR fiscal", "info")


def test_a_strange_code_is_never_opened(scan, camera, door) -> None:
    address = scan.url
    camera.show("https://exemplo.invalid/menu-do-restaurante")
    says(scan, "não é bilhete", "info")
    assert scan.url == address
    assert len(scan.context.pages) == 1
    assert scan.locator("a[href*='exemplo.invalid']").count() == 0
    camera.show("javascript:document.title='aberto'")
    expect(scan.locator("#scan")).to_be_visible()
    assert "aberto" not in scan.title()


def test_a_strangers_long_code_is_sent_cut(scan, camera, door) -> None:
    type_code(scan, "x" * 190)
    says(scan, "código desconhecido")
    camera.show("y" * 700)
    says(scan, STRANGE["word"])
    assert len(door.posts[-1]["text"]) == 512


def test_a_lost_answer_is_asked_for_again_under_the_same_id(scan, door) -> None:
    lost = []

    def lose_once(route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch())
        route.abort()

    scan.route("**/scans", lose_once)
    type_code(scan, "K7P39QXA")
    says(scan, "código desconhecido", "stop")
    assert len(door.posts) == 2
    assert door.posts[0] == door.posts[1]
    expect(scan.locator(".trip-lamps")).to_contain_text("em dia")


def test_without_a_signal_the_page_says_so_counts_what_waits_and_sends_it_later(scan, camera, door) -> None:
    scan.context.set_offline(True)
    camera.show(PASS)
    says(scan, "sem resposta ainda", "waiting")
    camera.show(OTHER_PASS)
    expect(scan.locator(".trip-lamps")).to_contain_text("sem sinal")
    expect(scan.locator(".trip-lamps")).to_contain_text("2 por enviar")
    assert door.posts == []
    scan.context.set_offline(False)
    says(scan, "já embarcou", "stop")
    expect(scan.locator(".trip-lamps")).to_contain_text("em dia")
    expect(scan.locator("[data-part=unsent]")).to_be_hidden()
    assert {post["text"] for post in door.posts} == {PASS, OTHER_PASS}


def test_a_refusal_that_comes_after_the_next_scan_is_not_lost(scan, camera, door) -> None:
    door.by_text[OTHER_PASS] = BOARDED
    held = []
    scan.route("**/scans", lambda route: held.append(route) if not held else route.continue_())
    type_code(scan, "K7P39QXA")
    says(scan, "conferindo", "waiting")
    camera.show(OTHER_PASS)
    says(scan, "pode embarcar", "ok")
    held[0].continue_()
    late = scan.locator(".scan-open").get_by_role("button", name="código desconhecido")
    late.click()
    says(scan, "código desconhecido", "stop")
    expect(late).to_have_count(0)


def test_a_page_open_for_hours_renews_its_token_and_keeps_the_id(scan, door) -> None:
    door.token = "token-2"
    type_code(scan, "K7P39QXA")
    says(scan, "código desconhecido")
    assert len({post["id"] for post in door.posts}) == 1
    assert len(door.posts) == 2


def test_an_ended_sign_in_is_said_and_the_scan_waits_for_it(scan, door) -> None:
    door.refusal = (401, {"code": "sign_in_first", "title": "Entre de novo para continuar."})
    type_code(scan, "K7P39QXA")
    expect(scan.get_by_role("link", name="entre de novo")).to_be_visible()
    door.refusal = None
    says(scan, "código desconhecido")
    expect(scan.locator(".trip-lamps")).to_contain_text("em dia")


def test_a_refused_request_is_said_in_the_servers_sentence_and_not_repeated(scan, door) -> None:
    door.refusal = (409, {"code": "trip_closed", "title": "A viagem já foi encerrada.", "detail": None})
    type_code(scan, "K7P39QXA")
    says(scan, "não registrado", "stop")
    expect(scan.locator(".verdict-detail")).to_have_text("A viagem já foi encerrada.")
    expect(scan.locator("[data-part=unsent]")).to_be_hidden()
    assert len(door.posts) == 1


def test_a_wireless_page_in_the_servers_place_is_no_answer(scan, door) -> None:
    answered = []

    def intrude(route) -> None:
        if answered:
            route.continue_()
            return
        answered.append(True)
        route.fulfill(status=200, content_type="text/html", body="<h1>Bem-vindo ao Wi-Fi</h1>")

    scan.route("**/scans", intrude)
    type_code(scan, "K7P39QXA")
    says(scan, "código desconhecido")


def test_the_document_is_asked_for_by_name_and_confirmed(scan, camera, door) -> None:
    door.by_text[PASS] = ASKS
    camera.show(PASS)
    says(scan, "confira o documento", "attention")
    expect(scan.locator(".verdict-name")).to_have_text("Maria Aparecida D’Ávila")
    expect(scan.locator(".verdict-steps")).to_contain_text("4821")
    scan.get_by_role("button", name="confere", exact=True).click()
    says(scan, "pode embarcar", "ok")
    assert door.posts[1] == {"answers": door.posts[0]["id"], "outcome": "confirmed"}


@pytest.mark.parametrize(("button", "reason"), [
    ("sem documento", "no_document"), ("outra pessoa", "other_person"), ("ilegível", "unreadable"),
    ("outro motivo", "other")])
def test_a_document_that_does_not_match_is_refused_with_its_reason(scan, door, button, reason) -> None:
    door.by_text["K7P39QXA"] = ASKS
    type_code(scan, "k7p39qxa")
    scan.get_by_role("button", name="não confere").click()
    scan.get_by_role("button", name=button).click()
    says(scan, "não embarca", "stop")
    assert door.posts[1] == {"answers": door.posts[0]["id"], "outcome": "refused", "reason": reason}


def test_an_open_question_does_not_hold_up_the_next_pass_and_stays_in_reach(scan, camera, door) -> None:
    door.by_text[PASS] = ASKS
    camera.show(PASS)
    says(scan, "confira o documento")
    camera.show(OTHER_PASS)
    says(scan, "já embarcou")
    scan.locator(".scan-open").get_by_role("button", name="Poltrona 12: falta conferir").click()
    says(scan, "confira o documento")
    scan.get_by_role("button", name="confere", exact=True).click()
    says(scan, "pode embarcar")
    expect(scan.locator(".scan-open")).to_be_hidden()
    assert len(door.scans()) == 2


def test_markup_in_a_name_is_shown_as_characters(scan, door) -> None:
    name = "<img src=x onerror=alert(1)>"
    door.by_text["K7P39QXA"] = ASKS | {"passenger": {"name": name, "document": name, "last4": "4821"}, "word": name,
                                       "do": [name], "detail": name, "tone": "attention"}
    type_code(scan, "K7P39QXA")
    says(scan, name)
    expect(scan.locator(".verdict-name")).to_have_text(name)
    assert scan.locator(".verdict img").count() == 0


def test_a_hand_reader_works_anywhere_on_the_page(scan, door) -> None:
    scan.locator("[data-part=theme]").focus()
    scan.keyboard.type("K7P39QXA")
    scan.keyboard.press("Enter")
    says(scan, "código desconhecido")
    assert (door.posts[0]["kind"], door.posts[0]["text"]) == ("code", "K7P39QXA")
    expect(scan.locator("html")).to_have_attribute("data-theme", "night")


def test_a_pass_from_a_hand_reader_keeps_its_spaces_and_is_a_scan(scan, door) -> None:
    scan.keyboard.type(PASS)
    scan.keyboard.press("Enter")
    says(scan, "pode embarcar")
    assert (door.posts[0]["kind"], door.posts[0]["text"]) == ("scan", PASS)


def test_a_second_enter_of_the_hand_reader_confirms_no_document(scan, door) -> None:
    door.by_text["K7P39QXA"], door.by_text["ZZP39QXA"] = ASKS, ASKS | {"seat": "13"}
    type_code(scan, "K7P39QXA")
    scan.get_by_role("button", name="confere", exact=True).focus()
    scan.keyboard.type("ZZP39QXA")
    scan.keyboard.press("Enter")
    scan.keyboard.press("Enter")
    expect(scan.locator(".verdict-seat")).to_contain_text("13")
    assert [post["text"] for post in door.posts] == ["K7P39QXA", "ZZP39QXA"]


NO_DEVICES = "Object.defineProperty(navigator, 'mediaDevices', {value: undefined})"
NOT_SECURE = f"{NO_DEVICES}; Object.defineProperty(window, 'isSecureContext', {{value: false}})"


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
