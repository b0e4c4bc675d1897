"""The driver's scan page in a browser: a fake camera before it, a door whose answers the test decides behind it."""

import re
from uuid import UUID

import pytest
from playwright.sync_api import expect

from tests.web.conftest import FISCAL_QR, OTHER_PASS, PASS, says, type_code
from tests.web.stub_door import ASKS, BOARDED, STRANGE

pytestmark = pytest.mark.browser


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
