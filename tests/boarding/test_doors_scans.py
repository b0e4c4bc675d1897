"""Scans over HTTP, on both databases: every answer, every scan on record, the same id told the same again."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from uuid import uuid4

import pytest
from sqlalchemy import event, select, update

from boarding.doors.models import DocumentCheck
from boarding.passes.signing import KeyRing, decode, encode
from tests.boarding.conftest import BOARDING
from tests.instants import at
from ticketing.network.models import Trip, Vehicle
from ticketing.network.service import cancel_trip
from ticketing.sales.models import Ticket

SHORT = {"alight": 1, "identity": {}}  # the short line asks nobody's identity
CPF = "529.982.247-25"


def test_a_passenger_boards_when_the_document_is_confirmed_and_not_before(door):
    code = door.sell(seat=5)
    told = door.scan(door.token(code))
    assert (told["result"], told["tone"], told["checks"], told["seat"]) == ("OK", "ok", ["document"], "5")
    assert told["passenger"] == {"name": "Passageira de Teste", "document": "RG", "last4": "1098"}
    assert told["do"] == ["confira o RG: final 1098", "desce em Tubarão"]
    assert told["count"] == {"aboard": 0, "capacity": 11}
    assert door.ticket(code).status == "sold"

    settled = door.answer(told, "confirmed")

    assert (settled["result"], settled["checks"], settled["passenger"]) == ("OK", [], None)
    assert settled["count"] == {"aboard": 1, "capacity": 11}
    boarded = door.ticket(code)
    assert (boarded.status, boarded.boarded_at, boarded.boarded_seq, boarded.boarded_by) == (
        "boarded", BOARDING, 0, door.driver.login)


def test_a_second_scan_says_where_when_and_with_whom_it_boarded(door, signed_in):
    code = door.sell(seat=5)
    door.board(code)
    again = door.scan(door.token(code))
    assert (again["result"], again["tone"], again["checks"]) == ("ALREADY_BOARDED", "stop", [])
    assert again["detail"] == "Embarcou em Criciúma, 03/03/2026 às 06:20, com você."
    assert again["do"] == ["confira o RG: final 1098"]
    colleague = signed_in("driver")
    door.put_on_roster(colleague, door.world.long_trip)
    assert door.driver.login in door.scan(door.token(code), driver=colleague)["detail"]


def test_who_needs_no_document_boards_at_once(door):
    code = door.sell(trip=door.world.short_trip, **SHORT)
    door.clock(at("2026-03-03T11:55"))
    told = door.scan(door.token(code), trip=door.world.short_trip, at="2026-03-03T11:55:00Z")
    assert (told["result"], told["checks"], told["passenger"]) == ("OK", [], None)
    assert told["count"]["aboard"] == 1
    assert door.ticket(code).status == "boarded"


@pytest.mark.parametrize("typed", [str.lower, lambda code: f"{code[:4]}-{code[4:]}", lambda code: f" {code} "])
def test_a_typed_code_does_what_the_pass_does(door, typed):
    code = door.sell(seat=5)
    assert door.scan(typed(code), kind="code")["result"] == "OK"


def test_a_refused_document_keeps_the_passenger_out_and_says_by_which_article(door):
    code = door.sell(seat=5)
    told = door.scan(door.token(code))
    refused = door.answer(told, "refused", "other_person")
    assert (refused["result"], refused["tone"]) == ("DOCUMENT_REFUSED", "stop")
    assert "art. 11-A, § 2º" in refused["detail"]
    assert door.ticket(code).status == "sold"
    with door.database.reading() as session:
        check = session.scalars(select(DocumentCheck)).one()
        assert (check.outcome, check.reason, check.driver) == ("refused", "other_person", door.driver.login)
    assert door.answer(told, "confirmed")["result"] == "DOCUMENT_REFUSED"  # the first answer stands


def test_a_refusal_needs_its_reason_and_an_answer_needs_a_question(door):
    told = door.scan(door.token(door.sell(seat=5)))
    url = f"/driver/trips/{door.world.long_trip}/scans/{{}}/answer"
    assert door.driver.post(url.format(told["id"]), json={"outcome": "refused"}).get_json()["code"] == "reason_missing"
    strange = door.scan("qualquer")
    assert door.driver.post(url.format(strange["id"]), json={"outcome": "confirmed"}).status_code == 409
    assert door.driver.post(url.format(uuid4()), json={"outcome": "confirmed"}).status_code == 404


def test_the_same_scan_again_hears_the_same_even_after_the_ticket_was_paid_back(door):
    code, scan_id = door.sell(seat=5), str(uuid4())
    first = door.scan(door.token(code), id=scan_id)
    token = door.token(code)
    door.settle(code, "refunded")
    assert door.scan(token, id=scan_id) == first
    assert door.answer(first, "confirmed")["result"] == "REFUNDED"
    assert door.ticket(code).status == "refunded"
    assert len(door.scans()) == 1


def test_another_body_under_the_same_id_changes_nothing(door):
    code, other, scan_id = door.sell(seat=5), door.sell(seat=6), str(uuid4())
    first = door.scan(door.token(code), id=scan_id)
    assert door.scan(door.token(other), id=scan_id, stop_seq=1) == first
    assert door.scan("qualquer", id=scan_id.upper()) == first
    assert len(door.scans()) == 1


def test_an_id_of_another_trip_is_refused(door):
    told = door.scan("qualquer")
    response = door.post("qualquer", id=told["id"], trip=door.world.short_trip)
    assert (response.status_code, response.get_json()["code"]) == (409, "scan_id_used")


def test_an_answer_sent_twice_boards_once(door):
    code = door.sell(seat=5)
    told = door.scan(door.token(code))
    assert door.answer(told, "confirmed") == door.answer(told, "confirmed")


@pytest.mark.parametrize("told_at", ["2199-01-01T00:00:00Z", "1970-01-01T00:00:00+00:00", "0001-01-01T00:00:00+14:00",
                                     "2026-03-03T09:22:01Z", "2026-03-01T09:19:59Z"])
def test_a_clock_beyond_belief_is_flagged_and_the_arrival_counts(door, told_at):
    code = door.sell(trip=door.world.short_trip, **SHORT)
    door.clock(at("2026-03-03T09:59:59"))
    doubtful = door.scan(door.token(code), trip=door.world.short_trip, at=told_at.replace("09:22:01", "10:02:00"))
    [scan] = door.scans()
    assert doubtful["result"] == "OK"
    assert (scan.at, scan.received_at, scan.facts["clock_doubtful"]) == (scan.received_at, at("2026-03-03T09:59:59"), True)
    assert scan.facts["told_at"][:4] in told_at
    assert door.ticket(code).boarded_at == scan.received_at


def test_a_clock_within_belief_is_kept(door):
    code = door.sell(seat=5)
    door.scan(door.token(code), at="2026-03-03T06:21:10-03:00")
    [scan] = door.scans()
    assert scan.at == at("2026-03-03T09:21:10")
    assert "clock_doubtful" not in scan.facts


def test_a_pass_of_another_day_or_line_is_told_which_line_day_and_hour(door):
    other_line = door.token(door.sell(trip=door.world.short_trip, **SHORT))
    with door.database.reading() as session:
        next_day = session.scalars(select(Trip.id).where(
            Trip.line_id == select(Trip.line_id).where(Trip.id == door.world.long_trip).scalar_subquery(),
            Trip.service_date == door.world.day + timedelta(days=1))).one()
    other_day = door.token(door.sell(trip=next_day, seat=5))
    for token, told in ((other_line, "linha T-80 T-80, 03/03/2026 às 09:00, horário de Brasília"),
                        (other_day, "linha T-204 T-204, 04/03/2026 às 06:30, horário de Brasília")):
        answer = door.scan(token)
        assert (answer["result"], answer["tone"]) == ("WRONG_TRIP", "stop")
        assert told in answer["detail"]
        assert (answer["passenger"], answer["seat"], answer["checks"]) == (None, None, [])


@pytest.mark.parametrize(("text", "result"), [
    ("TEXTO QUALQUER", "NOT_A_PASS"), ("https://exemplo.invalid/menu-do-restaurante", "NOT_A_PASS"),
    ("https://sefaz.invalid/nfe?chBPe=" + "4" * 44, "FISCAL_QR"), ("BP1:" + "A" * 150, "NOT_A_PASS")])
def test_a_foreign_code_is_named_and_never_kept(door, text, result):
    told = door.scan(text)
    assert (told["result"], told["tone"]) == (result, "info")
    [scan] = door.scans()
    assert scan.result == result
    assert text[:12] not in str({column.key: getattr(scan, column.key) for column in scan.__table__.columns})


@pytest.mark.parametrize("typed", [CPF, "12345678", "não sei", "\ud800"])
def test_what_was_typed_in_vain_is_on_record_without_its_text(door, typed):
    told = door.scan(typed, kind="code")
    assert told["result"] == "UNKNOWN_CODE"
    [scan] = door.scans()
    assert (scan.result, scan.kind, scan.ticket_id) == ("UNKNOWN_CODE", "code", None)
    assert typed not in str({column.key: getattr(scan, column.key) for column in scan.__table__.columns})


def test_a_forged_pass_and_a_pass_of_an_unknown_key_have_their_answers(door):
    body, _ = decode(door.token(door.sell(seat=5)))
    stranger = KeyRing.parse("1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    assert door.scan(encode(body, stranger.signing_key))["result"] == "BAD_SIGNATURE"
    assert door.scan(encode(replace(body, kid=9), stranger.signing_key))["result"] == "UNKNOWN_KEY"
    lost = replace(body, pass_id=bytes(16))
    assert door.scan(encode(lost, door.issuer.keys.signing_key))["result"] == "NOT_ON_MANIFEST"


@pytest.mark.parametrize(("status", "result"), [("refunded", "REFUNDED"), ("voided", "VOIDED")])
def test_a_ticket_that_was_paid_back_is_refused(door, status, result):
    code = door.sell(seat=5)
    token = door.token(code)
    door.settle(code, status)
    told = door.scan(token)
    assert (told["result"], told["passenger"]) == (result, None)


def test_an_older_revision_of_a_ticket_is_refused(door):
    code = door.sell(seat=5)
    token = door.token(code)
    with door.database.transaction() as session:
        session.execute(update(Ticket).where(Ticket.code == code).values(revision=2))
    assert door.scan(token)["result"] == "SUPERSEDED"
    assert door.scan(door.token(code))["result"] == "OK"


def test_a_cancelled_trip_boards_nobody(door):
    token = door.token(door.sell(seat=5))
    with door.database.transaction() as session:
        cancel_trip(session, door.world.long_trip, "weather", now=BOARDING, actor="office")
    assert door.scan(token)["result"] == "TRIP_CANCELLED"


@pytest.mark.parametrize(("stop", "result", "detail"), [
    (0, "WRONG_STOP", "O bilhete vale de Tubarão a Florianópolis."), (1, "OK", None),
    (2, "OK_OTHER_STOP", "Pagou desde Tubarão.")])
def test_the_stop_decides(door, stop, result, detail):
    told = door.scan(door.token(door.sell(board=1, alight=3, seat=5)), stop_seq=stop)
    assert (told["result"], told["detail"]) == (result, detail)


def test_a_day_before_is_too_early_and_hours_late_is_not(door):
    code = door.sell(seat=5)
    door.clock(at("2026-03-02T12:00"))
    assert door.scan(door.token(code), at="2026-03-02T12:00:00Z")["result"] == "TOO_EARLY"
    door.clock(at("2026-03-03T20:00"))
    assert door.scan(door.token(code), at="2026-03-03T20:00:00Z")["result"] == "OK"


def test_a_full_bus_boards_nobody_until_somebody_alights(door):
    for seat, alight in ((5, 1), (6, 3)):
        door.board(door.sell(seat=seat, alight=alight))
    token = door.token(door.sell(seat=7, alight=3))
    with door.database.transaction() as session:  # a smaller bus came
        session.execute(update(Vehicle).values(layout=[[5, 6]]))
    full = door.scan(token)
    assert (full["result"], full["tone"], full["checks"]) == ("FULL", "stop", [])
    assert (full["detail"], full["count"]) == ("2 de 2 lugares ocupados.", {"aboard": 2, "capacity": 2})
    later = door.scan(token, stop_seq=1)
    assert (later["result"], later["count"]) == ("OK_OTHER_STOP", {"aboard": 1, "capacity": 2})


@pytest.mark.parametrize("standing", [True])
def test_standing_places_count_where_the_line_allows_them(door):
    assert door.scan(door.token(door.sell(seat=201)))["seat"] == "em pé 1"
    assert door.scan("qualquer")["count"]["capacity"] == 13


def test_the_bus_that_filled_up_meanwhile_takes_nobody_more(door):
    asked = [door.scan(door.token(door.sell(seat=seat, alight=3))) for seat in (5, 6)]
    with door.database.transaction() as session:
        session.execute(update(Vehicle).values(layout=[[5]]))
    assert [door.answer(told, "confirmed")["result"] for told in asked] == ["OK", "FULL"]


def test_two_phones_board_one_ticket_once(door, signed_in):
    colleague = signed_in("driver")
    door.put_on_roster(colleague, door.world.long_trip, door.world.short_trip)
    door.clock(at("2026-03-03T11:55"))
    tokens = [door.token(door.sell(trip=door.world.short_trip, **SHORT)) for _ in range(3)]
    for token in tokens:
        start = Barrier(2)

        def present(phone, token=token, start=start):
            start.wait()
            return door.scan(token, trip=door.world.short_trip, driver=phone, at="2026-03-03T11:55:00Z")["result"]

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(present, (door.driver, colleague))) == ["ALREADY_BOARDED", "OK"]
    assert len(door.scans()) == 6


def test_two_phones_confirm_one_ticket_once(door, signed_in):
    colleague = signed_in("driver")
    door.put_on_roster(colleague, door.world.long_trip)
    token = door.token(door.sell(seat=5))
    asked = [(phone, door.scan(token, driver=phone)) for phone in (door.driver, colleague)]
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda pair: door.answer(pair[1], "confirmed", driver=pair[0])["result"], asked))
    assert sorted(told) == ["ALREADY_BOARDED", "OK"]


def test_one_scan_sent_twice_at_once_is_one_scan(door):
    token, scan_id = door.token(door.sell(trip=door.world.short_trip, **SHORT)), str(uuid4())
    door.clock(at("2026-03-03T11:55"))
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda _: door.scan(token, id=scan_id, trip=door.world.short_trip,
                                                 at="2026-03-03T11:55:00Z"), range(4)))
    assert [answer["result"] for answer in told] == ["OK"] * 4
    assert all(answer == told[0] for answer in told)
    assert len(door.scans()) == 1


@pytest.mark.parametrize("kind", ["boards", "asks", "strange"])
def test_a_scan_costs_at_most_eight_statements(door, kind):
    door.clock(at("2026-03-03T11:55"))
    text = {"boards": lambda: door.token(door.sell(trip=door.world.short_trip, **SHORT)),
            "asks": lambda: door.token(door.sell(seat=5)), "strange": lambda: "qualquer"}[kind]()
    trip = door.world.short_trip if kind == "boards" else door.world.long_trip
    statements = []
    event.listen(door.database.engine, "before_cursor_execute",
                 lambda _connection, _cursor, statement, *_: statements.append(statement))
    assert door.scan(text, trip=trip, at="2026-03-03T11:55:00Z")["result"] in ("OK", "NOT_A_PASS")
    assert len(statements) <= 8, statements


def test_a_driver_sees_only_rostered_trips(door, signed_in):
    stranger, agent = signed_in("driver"), signed_in("agent")
    url = f"/driver/trips/{door.world.long_trip}"
    for path in ("/scan", "/passengers", "/manifest"):
        theirs, nobodys = stranger.get(url + path), stranger.get(f"/driver/trips/999{path}")
        assert theirs.status_code == nobodys.status_code == 404
        assert agent.get(url + path).status_code == 403
    assert door.post("x", driver=stranger).get_json()["code"] == "no_such_trip"
    assert door.scans() == []


@pytest.mark.parametrize(("field", "value"), [
    ("id", "1"), ("kind", "nfc"), ("text", ""), ("text", "x" * 2001), ("stop_seq", "0"), ("stop_seq", 3), ("stop_seq", -1),
    ("at", "2026-03-03T09:20:00"), ("at", "agora"), ("extra", 1)])
def test_a_malformed_scan_is_refused_by_field(door, field, value):
    body = {"id": str(uuid4()), "kind": "scan", "text": "x", "stop_seq": 0, "at": "2026-03-03T09:20:00Z", field: value}
    response = door.driver.post(f"/driver/trips/{door.world.long_trip}/scans", json=body)
    assert response.status_code == 422
    assert field in response.get_json()["fields"]
    assert door.scans() == []
