"""The first life of a ticket, as its people live it: sold, kept on a phone, boarded, paid back, inspected.

With SCREENSHOTS=docs/screenshots in the environment the pages are photographed at their users' sizes.
"""

import datetime
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from kernel.clock import utc_now
from kernel.db import Database
from tests.browser import COUNTER, PHONE
from ticketing.network.models import Call, Line, Trip
from ticketing.network.service import stops_served

pytestmark = pytest.mark.browser
SHOTS = os.environ.get("SCREENSHOTS")
NAMES = ("Ana D'Ávila de Teste", "Nguyễn Thị Hồng de Teste", "Passageiro Devolvido de Teste")


def shot(page: Page, name: str, *, whole: bool = False) -> None:
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=whole)


@pytest.fixture(scope="module")
def trips(live_server):
    """A trip of the long and one of the short line, moved to leave in an hour, whatever hour the tests run at."""
    database = Database(live_server.database_url)
    with database.transaction() as session:
        now, moved = utc_now(), {}
        for code in ("32-1", "D-1"):
            found = session.scalars(select(Trip).join(Line).where(Line.code == code, Trip.departs_at > now)
                                    .order_by(Trip.departs_at)).all()
            trip = next(trip for trip in found if trip.calls[0].stop.place.name == (
                "Criciúma" if code == "32-1" else "Florianópolis"))
            shift = now + datetime.timedelta(minutes=60) - trip.departs_at
            for call in session.scalars(select(Call).where(Call.trip_id == trip.id)):
                call.departs_at += shift
                call.arrives_at += shift
            trip.departs_at += shift
            trip.arrives_at += shift
            moved[code] = {"id": trip.id, "stops": [(call.stop_id, call.stop.place.name) for call in trip.calls],
                           "days": [call.departs_at.astimezone(datetime.timezone(datetime.timedelta(hours=-3))).date()
                                    for call in trip.calls]}
        assert stops_served(session)
    database.engine.dispose()
    return moved


@pytest.fixture(scope="module")
def sold():
    return {}


def sign_in(page: Page, who: str) -> None:
    page.goto("/login")
    page.get_by_label("Usuário").fill(who)
    page.get_by_label("Senha").fill(f"embarque-demo-{who}")
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_role("button", name="Sair")).to_be_visible()


def choose(page: Page, trip: dict, board: int, alight: int) -> None:
    stop, day = trip["stops"][board][0], trip["days"][board]
    page.goto(f"/counter?origin={stop}&day={day}&trip={trip['id']}&board={board}&alight={alight}")


def fill_passenger(page: Page, name: str, number: str) -> None:
    page.get_by_label("Nome completo").fill(name)
    page.get_by_label("Número").fill(number)
    page.get_by_label("Órgão emissor").fill("SSP/SC")


def sell(page: Page, seat: int, received: str = "200,00") -> str:
    with page.expect_response(re.compile("/counter/holds$")):
        page.locator(f"#seat-{seat}").check()
    page.get_by_label("Recebido").fill(received)
    page.keyboard.press("F12")
    code = page.locator("#last-sale .code")
    expect(code).to_be_visible()
    return code.inner_text().replace("-", "")


def test_1_the_agent_sells_one_seat_twice_along_the_course(open_page, trips, sold, axe):
    page = open_page(**COUNTER)
    page.goto("/login")
    axe(page)
    shot(page, "login")
    sign_in(page, "agente")
    axe(page)
    page.get_by_label("Troco inicial").fill("150,00")
    page.keyboard.press("F12")
    expect(page.get_by_text("Caixa aberto.")).to_be_visible()
    axe(page)
    choose(page, trips["32-1"], 0, 1)
    shot(page, "counter-home")
    page.keyboard.press("F12")
    expect(page.get_by_label("Nome completo")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("11-A").first).to_be_visible()
    axe(page)
    fill_passenger(page, NAMES[0], "4.321.098")
    sold["first"] = sell(page, 14)
    shot(page, "counter-sold")
    choose(page, trips["32-1"], 1, 3)
    fill_passenger(page, NAMES[1], "12.000.107-X")
    shot(page, "counter-sale")
    sold["second"] = sell(page, 14)
    choose(page, trips["32-1"], 0, 3)
    assert page.locator("#seat-14").is_disabled()
    fill_passenger(page, NAMES[2], "9.876.543")
    sold["third"] = sell(page, 15)


def test_2_the_short_line_asks_for_no_identity(open_page, trips, sold):
    page = open_page(**COUNTER)
    sign_in(page, "agente")
    choose(page, trips["D-1"], 0, 1)
    expect(page.get_by_text("dispensada")).to_be_visible()
    sold["short"] = sell(page, 3)
    page.goto(f"/counter/tickets/{sold['short']}")
    expect(page.get_by_text("não identificado")).to_be_visible()


def test_3_the_pass_is_kept_on_the_phone_without_a_network(open_page, sold, axe):
    page = open_page(**COUNTER)
    sign_in(page, "agente")
    page.goto(f"/counter/tickets/{sold['first']}")
    axe(page)
    shot(page, "counter-ticket")
    page.goto(f"/counter/tickets/{sold['first']}/print")
    axe(page)
    shot(page, "counter-print", whole=True)
    link = re.search(r"/passes/[A-Z0-9]{8}/[\w-]{22}", page.content()).group()
    phone = open_page(**PHONE)
    phone.goto(link)
    axe(phone)
    expect(phone.get_by_text("Ana D'Ávila")).to_be_visible()
    expect(phone.get_by_text(re.compile("devolução", re.I)).first).to_be_visible()
    shot(phone, "pass", whole=True)
    phone.evaluate("navigator.serviceWorker.ready.then(() => true)")
    phone.reload()
    phone.context.set_offline(True)
    phone.reload()
    expect(phone.get_by_text("Ana D'Ávila")).to_be_visible()
    expect(phone.locator("svg[role=img], img").first).to_be_visible()


def test_4_the_driver_boards_them_and_a_second_scan_says_when_and_where(open_page, trips, sold, axe):
    phone = open_page(**PHONE)
    sign_in(phone, "motorista")
    axe(phone)
    shot(phone, "driver-trips")
    trip = trips["32-1"]["id"]
    phone.goto(f"/driver/trips/{trip}/scan")
    axe(phone)
    shot(phone, "driver-scan")
    type_code(phone, sold["first"])
    expect(phone.get_by_text("4098").or_(phone.get_by_text("1098")).first).to_be_visible()
    axe(phone)
    shot(phone, "driver-document")
    phone.get_by_role("button", name=re.compile("^confere", re.I)).click()
    expect(phone.get_by_text(re.compile("pode embarcar", re.I)).first).to_be_visible()
    shot(phone, "driver-verdict-ok")
    phone.reload()  # the page takes one code held still, or a reader that fires twice, for one scan
    type_code(phone, sold["first"])
    expect(phone.get_by_text(re.compile("já embarcou", re.I)).first).to_be_visible()
    expect(phone.get_by_text(re.compile(r"Criciúma.*\d\d:\d\d")).first).to_be_visible()
    axe(phone)
    shot(phone, "driver-verdict-stop")
    phone.goto(f"/driver/trips/{trip}/passengers")
    axe(phone)
    expect(phone.get_by_text("Nguyễn").first).to_be_visible()
    shot(phone, "driver-passengers")
    phone.goto(f"/driver/trips/{trip}/manifest")
    axe(phone)
    shot(phone, "manifest", whole=True)


def type_code(phone: Page, code: str) -> None:
    box = phone.get_by_label(re.compile("código", re.I)).first
    box.fill(code)
    box.press("Enter")


def test_5_the_short_ticket_boards_at_once(open_page, trips, sold):
    phone = open_page(**PHONE)
    sign_in(phone, "motorista")
    phone.goto(f"/driver/trips/{trips['D-1']['id']}/scan")
    type_code(phone, sold["short"])
    expect(phone.get_by_text(re.compile("pode embarcar", re.I)).first).to_be_visible()


def test_6_the_third_is_paid_back_and_the_till_is_closed(open_page, sold, axe):
    page = open_page(**COUNTER)
    sign_in(page, "agente")
    page.goto(f"/counter/tickets/{sold['third']}/refund")
    axe(page)
    shot(page, "counter-refund")
    page.get_by_role("button", name=re.compile("devolver", re.I)).click()
    expect(page.get_by_text(re.compile("devolvid", re.I)).first).to_be_visible()
    page.goto("/counter/shift")
    axe(page)
    page.get_by_label("Dinheiro contado na gaveta").fill("300,00")
    page.keyboard.press("F12")
    expect(page.get_by_text("Esperado na gaveta")).to_be_visible()
    axe(page)
    shot(page, "shift-close")


def test_7_the_inspector_finds_them_by_trip_and_by_document(open_page, trips, axe):
    page = open_page(**COUNTER)
    sign_in(page, "fiscal")
    axe(page)
    shot(page, "inspector-home")
    page.locator("select[name=document_kind]").select_option("RG")
    page.get_by_label("Número").fill("4321098")
    page.get_by_label("Órgão ou país").fill("SSP SC")
    page.get_by_role("button", name="Procurar passagens").click()
    expect(page.get_by_text("Ana D'Ávila de Teste").first).to_be_visible()
    assert "4321098" not in page.url
    axe(page)
    page.goto(f"/inspector/trips/{trips['32-1']['id']}")
    expect(page.get_by_text("Nguyễn Thị Hồng de Teste").first).to_be_visible()
    axe(page)
    shot(page, "inspector-trip")


def test_8_the_office_sees_the_day_and_the_tills(open_page, trips, axe):
    page = open_page(**COUNTER)
    sign_in(page, "escritorio")
    page.goto(f"/office/trips?day={trips['32-1']['days'][0]}")
    axe(page)
    shot(page, "office-trips")
    page.goto("/office/shifts")
    axe(page)
    expect(page.get_by_text("agente", exact=True)).to_be_visible()
    shot(page, "office-shifts")
    page.goto("/office/rosters")
    axe(page)
