"""The driver's pages and the office's roster over HTTP: by name without a script, the list, who sees what."""

import html
import re
from datetime import timedelta

import pytest
from sqlalchemy import select

from boarding.doors.models import Scan
from kernel.audit import AuditEntry
from kernel.web import CONTENT_SECURITY_POLICY
from tests.instants import at

EVIL = "<img src=x onerror=alert(1)>"
PERSON = {"document_kind": "RG", "document_number": "4.321.098", "document_issuer": "SSP/SC"}


@pytest.fixture
def page(door):
    """`page("/manifest")` is the text of a page of the long trip, as the driver gets it."""
    def get(path, driver=None):
        answer = (driver or door.driver).get(f"/driver/trips/{door.world.long_trip}{path}")
        assert answer.status_code == 200
        return html.unescape(answer.get_data(as_text=True))
    return get


@pytest.fixture
def search(door):
    """`search("ana")` is the text of the page that the search by name answers with."""
    def post(text, **form):
        answer = door.driver.post(f"/driver/trips/{door.world.long_trip}/passengers/search", data={"q": text, **form})
        assert answer.status_code == 200
        return html.unescape(answer.get_data(as_text=True))
    return post


def forms(markup):
    """Every form's hidden fields."""
    return [dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
            for form in re.findall(r"<form.*?</form>", markup, re.DOTALL)]


def by_name(door, search, name):
    """Press the button beside a name; the address of the answer."""
    found = [form for form in forms(search(name)) if "code" in form]
    assert len(found) == 1
    answer = door.driver.post(f"/driver/trips/{door.world.long_trip}/passengers", data=found[0])
    assert answer.status_code == 303
    return found[0], answer.location.partition(f"/trips/{door.world.long_trip}")[2]


def test_a_driver_finds_today_and_tomorrow_and_their_counts(door):
    door.board(door.sell(seat=5))
    door.sell(seat=6)
    markup = html.unescape(door.driver.get("/driver/trips").get_data(as_text=True))
    assert markup.count('class="trip-card ') == 2
    assert "Criciúma – Florianópolis" in markup
    assert "<strong>1 / 11</strong> a bordo" in markup and "<strong>2</strong> na lista" in markup
    door.clock(at("2026-03-01T12:00"))
    assert "Nenhuma viagem na escala" in door.driver.get("/driver/trips").get_data(as_text=True)
    door.clock(at("2026-03-02T12:00"))
    assert "Amanhã" in door.driver.get("/driver/trips").get_data(as_text=True)


def test_boarding_by_name_needs_no_script_and_is_on_record(door, page, search):
    code = door.sell(seat=5, identity={**PERSON, "name": "Zeferina d'Ávila"})
    door.sell(seat=6)
    _, address = by_name(door, search, "zeferina davila")
    asked = page(address)
    assert "confira o documento" in asked and "confira o RG: final 1098" in asked and "Zeferina d'Ávila" in asked
    assert door.driver.post(f"/driver/trips/{door.world.long_trip}{address}", data={"outcome": "confirmed"}).status_code == 303
    assert "pode embarcar" in page(address)
    assert door.ticket(code).status == "boarded"
    with door.database.reading() as session:
        assert session.scalars(select(Scan.kind)).all() == ["name"]
    assert "embarcou em Criciúma, 06:20" in page("/passengers")


def test_a_button_pressed_twice_is_one_scan(door, page, search):
    door.sell(seat=5)
    form, address = by_name(door, search, "teste")
    again = door.driver.post(f"/driver/trips/{door.world.long_trip}/passengers", data=form)
    assert again.location.endswith(address)
    assert len(door.scans()) == 1


def test_a_refused_document_is_told_on_the_page(door, page, search):
    code = door.sell(seat=5)
    _, address = by_name(door, search, "teste")
    url = f"/driver/trips/{door.world.long_trip}{address}"
    assert door.driver.post(url, data={"outcome": "refused"}).status_code == 422
    door.driver.post(url, data={"outcome": "refused", "reason": "no_document"})
    assert "Sem documento." in page(address) and "art. 11-A, § 2º" in page(address)
    assert door.ticket(code).status == "sold"


def test_the_list_is_found_by_name_seat_and_code(door, search):
    code = door.sell(seat=5, identity={**PERSON, "name": "Ana Lúcia"})
    door.sell(seat=6, identity={**PERSON, "name": "Bruno"})
    for text, shown in (("ana lucia", 1), ("LÚCIA", 1), ("6", 1), (code.lower(), 1), ("", 2), ("ninguém", 0)):
        assert search(text).count('class="person"') == shown


def test_no_address_holds_the_name_that_is_looked_for(door, page, search):
    door.sell(seat=5, identity={**PERSON, "name": "Ana Lúcia"})
    form, = re.findall(r'<form class="finder".*?</form>', page("/passengers"), re.DOTALL)
    assert 'method="post"' in form
    assert '<option value="1" selected>' in search("ana", stop="1")
    assert page("/passengers?q=ninguem").count('class="person"') == 1


def test_the_stop_is_where_the_bus_should_be_unless_chosen(door, page):
    door.sell(board=1, alight=3, seat=5)
    assert '<option value="0" selected>' in page("/passengers")
    assert '<option value="1" selected>' in page("/passengers?stop=1")
    assert '<option value="0" selected>' in page("/passengers?stop=9")
    door.clock(at("2026-03-03T09:35:01"))
    assert '<option value="1" selected>' in page("/passengers")
    door.clock(at("2026-03-03T23:00"))
    assert '<option value="2" selected>' in page("/scan")


def test_the_printed_list_has_seats_names_documents_and_stops(door, page):
    door.board(door.sell(seat=5))
    door.sell(board=1, alight=3, seat=6, identity={**PERSON, "name": "Bruno"})
    refunded = door.sell(seat=7)
    door.settle(refunded, "refunded")
    markup = page("/manifest")
    assert "RG 4.321.098 SSP/SC" in markup and "Tubarão – Florianópolis" in markup
    assert "06:20 em Criciúma" in markup and "ainda não" in markup
    assert refunded not in markup
    assert "<strong>1 / 11</strong>" in markup
    with door.database.reading() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "passengers_listed")).one()
        assert (entry.actor, entry.details) == (door.driver.login, {"listed": 2})


def test_markup_in_a_name_is_characters_on_the_drivers_pages_and_in_the_answer(door, page, search):
    code = door.sell(seat=5, identity={**PERSON, "name": EVIL})
    _, address = by_name(door, search, "5")
    for path in ("/passengers", "/manifest", address):
        answer = door.driver.get(f"/driver/trips/{door.world.long_trip}{path}")
        markup = answer.get_data(as_text=True)
        assert "<img src=x" not in markup and EVIL in html.unescape(markup)
        assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    told = door.post(door.token(code))
    assert told.content_type == "application/json"
    assert told.get_json()["passenger"]["name"] == EVIL


def test_only_the_readers_own_script_may_compile(door, page, client):
    worker = client.get("/driver/scanner/worker.js")
    assert worker.content_type.startswith("text/javascript")
    assert worker.headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'")
    scan = door.driver.get(f"/driver/trips/{door.world.long_trip}/scan")
    assert scan.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    markup = page("/scan")
    assert 'data-worker-url="/driver/scanner/worker.js"' in markup
    assert f'data-scan-url="/driver/trips/{door.world.long_trip}/scans"' in markup


def test_the_office_puts_a_driver_on_a_trip_and_takes_them_off(door, signed_in):
    office, colleague = signed_in("office"), signed_in("driver")
    day, trip = door.world.day.isoformat(), door.world.long_trip
    shown = office.get(f"/office/rosters?day={day}").get_data(as_text=True)
    staff_id = re.findall(r'<option value="(\d+)">', shown)
    assert len(set(staff_id)) == 2
    theirs = max(staff_id, key=int)
    assert colleague.get(f"/driver/trips/{trip}/scan").status_code == 404
    for act, seen, entries in (("put_on", 200, 1), ("put_on", 200, 1), ("take_off", 404, 2)):
        sent = office.post(f"/office/rosters?day={day}", data={"act": act, "trip_id": trip, "staff_id": theirs})
        assert sent.status_code == 303
        assert colleague.get(f"/driver/trips/{trip}/scan").status_code == seen
        with door.database.reading() as session:
            acts = session.scalars(select(AuditEntry.action).where(AuditEntry.subject == f"trip {trip}")).all()
            assert len(acts) == entries


@pytest.mark.parametrize("change", [{"staff_id": ""}, {"staff_id": "99999"}, {"trip_id": "99999"}, {"act": "fire"}])
def test_a_roster_with_a_wrong_field_is_told_so_and_changes_nothing(door, signed_in, change):
    office = signed_in("office")
    body = {"act": "put_on", "trip_id": str(door.world.long_trip), "staff_id": "1", **change}
    assert office.post("/office/rosters", data=body).status_code in (404, 422)
    assert door.driver.post("/office/rosters", data=body).status_code == 403


def test_the_roster_shows_the_day_asked_for_or_today(door, signed_in):
    office = signed_in("office")
    assert "sem motorista" in office.get(f"/office/rosters?day={door.world.day + timedelta(days=1)}").get_data(as_text=True)
    for day in ("", "ontem", "9999-99-99"):
        assert 'value="2026-03-03"' in office.get(f"/office/rosters?day={day}").get_data(as_text=True)
    assert "Nenhuma viagem neste dia" in office.get("/office/rosters?day=2020-01-01").get_data(as_text=True)
