"""Phones: enrolled once, believed by their signature alone; of their log nothing is dropped and the first scan wins."""

import base64
import json
from datetime import datetime, timedelta
from itertools import permutations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import select

from boarding.devices import enrolment
from boarding.devices.models import DeviceRecord, EnrolmentCode, QuarantinedRecord
from boarding.devices.sealed import list_key
from boarding.passes.models import Pass
from tests.api.phones import Phone
from tests.instants import NOW
from tests.races.books import faults
from tests.world import PERSON
from ticketing.sales.models import Ticket

DEPARTS = NOW + timedelta(days=1)


@pytest.fixture
def tickets(partner, world) -> list[str]:
    """The codes of three tickets of the long trip."""
    return partner.sell(world, seats=(5, 6, 7))[1]["tickets"]


@pytest.fixture
def phones(app):
    return [Phone(app, "motorista-1"), Phone(app, "fiscal-2")]


def ticket(app, code) -> Ticket:
    with app.extensions["database"].reading() as session:
        found = session.scalars(select(Ticket).where(Ticket.code == code)).one()
        session.expunge_all()
        return found


def count(app, model) -> int:
    with app.extensions["database"].reading() as session:
        return session.query(model).count()


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{DEPARTS.date()}T{text}-03:00")


@pytest.fixture
def later(app):
    """The clock after the departure."""
    app.extensions["clock"] = lambda: at("06:55:00")


def two_phones(world, tickets, phones):
    """K45: the first phone scans A, B and C without a signal, the second scans A three minutes later."""
    one, two = phones
    first = [one.line(world.long_trip, at(hour), code=code)
             for hour, code in zip(("06:21:10", "06:22:05", "06:22:40"), tickets, strict=True)]
    return (one, first), (two, [two.line(world.long_trip, at("06:24:30"), code=tickets[0])])


@pytest.mark.parametrize("order", list(permutations((0, 1))), ids=["as recorded", "the other way round"])
def test_two_phones_without_a_signal_lose_nothing_and_the_first_scan_wins(app, world, tickets, phones, later, database_url, order):
    batches = two_phones(world, tickets, phones)
    for turn in (*order, *order):  # each is sent twice
        phone, lines = batches[turn]
        told = phone.send(*lines)
        assert told["quarantined"] == []
    assert [ticket(app, code).status for code in tickets] == ["boarded"] * 3
    assert faults(database_url) == []
    first = ticket(app, tickets[0])
    assert (first.boarded_at, first.boarded_by) == (at("06:21:10"), f"device:{phones[0].id}")
    assert count(app, DeviceRecord) == 4
    (_, _), (two, lines) = batches
    assert two.send(*lines)["notes"] == [{"id": lines[0]["id"], "note": "DOUBLE_USE_OTHER_DEVICE"}]


def test_a_part_of_a_batch_that_came_before_is_no_obstacle_to_the_rest(app, world, tickets, phones, later):
    (one, lines), _ = two_phones(world, tickets, phones)
    one.send(lines[0])
    one.send(*lines)
    assert count(app, DeviceRecord) == 3


def test_a_line_that_its_phone_did_not_sign_is_kept_apart_and_acknowledged(app, world, tickets, phones, later):
    one, two = phones
    forged = one.line(world.long_trip, at("06:21:00"), code=tickets[0], key=Ed25519PrivateKey.generate())
    sound = one.line(world.long_trip, at("06:22:00"), code=tickets[1])
    assert one.send(forged, sound)["quarantined"] == [forged["id"]]
    assert [ticket(app, code).status for code in tickets[:2]] == ["sold", "boarded"]
    assert (count(app, QuarantinedRecord), count(app, DeviceRecord)) == (1, 1)
    one.send(forged)
    assert count(app, QuarantinedRecord) == 1


def test_a_forged_line_does_not_take_the_id_of_the_true_one(app, world, tickets, phones, later):
    one, two = phones
    true = one.line(world.long_trip, at("06:21:00"), code=tickets[0])
    two.send({**true, "signature": base64.b64encode(bytes(64)).decode()})
    one.send(true)
    assert ticket(app, tickets[0]).status == "boarded"


@pytest.mark.parametrize("change", [
    {"device": "0000000000000000"}, {"body": "no json"}, {"body": "[]"}, {"body": "[" * 700}, {"signature": "?"},
    {"signature": "ç"}, {"id": "00000000-0000-4000-8000-000000000000"}])
def test_a_line_of_which_anything_was_changed_is_kept_apart(app, world, tickets, phones, later, change):
    line = {**phones[0].line(world.long_trip, at("06:21:00"), code=tickets[0]), **change}
    assert phones[0].send(line)["quarantined"] == [line["id"]]
    assert count(app, DeviceRecord) == 0


@pytest.mark.parametrize("told", [
    {"seq": 0}, {"seq": True}, {"trip_id": 10**30}, {"kind": "other"}, {"at": "0001-01-01T00:00:00+14:00"},
    {"at": "2026-03-03T06:00:00"}, {"result": "x"}, {"more": 1}, {"code": "\ud800"}, {"stop_seq": 256}, {"pass_id": "x"},
    {"device": "other"}, {"seq": float("nan")}])
def test_a_signed_body_of_another_shape_is_kept_apart(app, world, tickets, phones, told):
    line = phones[0].line(world.long_trip, at("06:21:00"), **told)
    assert phones[0].send(line)["quarantined"] == [line["id"]]


def test_a_second_text_under_a_known_id_is_kept_apart(app, world, tickets, phones, later):
    one = phones[0]
    first = one.line(world.long_trip, at("06:21:00"), code=tickets[0])
    second = one.line(world.long_trip, at("06:22:00"), code=tickets[1], id=first["id"])
    assert one.send(first)["quarantined"] == []
    assert one.send(second)["quarantined"] == [first["id"]]
    assert ticket(app, tickets[1]).status == "sold"


def test_a_scan_of_an_unknown_pass_or_trip_is_kept(app, world, tickets, phones, later):
    one = phones[0]
    unknown, nowhere = one.line(world.long_trip, at("06:21:00"), pass_id="ab" * 16), one.line(999_999, at("06:22:00"))
    told = one.send(unknown, nowhere)
    assert told["quarantined"] == []
    assert {"id": unknown["id"], "note": "UNKNOWN_PASS"} in told["notes"]
    assert count(app, DeviceRecord) == 2


@pytest.mark.parametrize("year", [1970, 2199])
def test_a_scan_of_another_age_is_flagged_and_boards_with_the_time_of_its_arrival(app, world, tickets, phones, later, year):
    line = phones[0].line(world.long_trip, datetime.fromisoformat(f"{year}-01-01T00:00:00+00:00"), code=tickets[0])
    assert phones[0].send(line)["notes"] == [{"id": line["id"], "note": "CLOCK_DOUBTFUL"}]
    assert (ticket(app, tickets[0]).status, ticket(app, tickets[0]).boarded_at) == ("boarded", at("06:55:00"))


def test_an_accepted_scan_whose_answer_was_lost_hears_the_same_after_the_ticket_was_paid_back(app, partner, world, tickets, phones):
    one = phones[0]
    app.extensions["clock"] = lambda: NOW + timedelta(minutes=5)
    line = one.line(world.long_trip, NOW + timedelta(minutes=1), code=tickets[0])
    partner.post(f"/tickets/{tickets[0]}/refund", {"refund": "21.25"})
    told = one.send(line)
    assert told["quarantined"] == [] and told["notes"] == [{"id": line["id"], "note": "BOARDED_BEFORE_REFUND"}]
    assert one.send(line) == told
    assert ticket(app, tickets[0]).status == "refunded"


@pytest.mark.parametrize(("told", "boarded"), [
    ({"document": "confirmed"}, True), ({"document": "refused"}, False), ({"result": "REFUNDED"}, False),
    ({"result": "REFUNDED", "kind": "override"}, True), ({"kind": "manual"}, True), ({"result": "OK_LATE_SALE"}, True)])
def test_only_what_the_phone_let_in_boards(app, world, tickets, phones, later, told, boarded):
    phones[0].send(phones[0].line(world.long_trip, at("06:21:00"), code=tickets[0], **told))
    assert (ticket(app, tickets[0]).status == "boarded") == boarded


def test_an_undone_scan_boards_nobody_whenever_the_undo_comes(app, world, tickets, phones, later):
    one = phones[0]
    scan = one.line(world.long_trip, at("06:21:00"), code=tickets[0])
    one.send(scan)
    one.send(one.line(world.long_trip, at("06:22:00"), kind="undo", result="NONE", undoes=scan["id"]))
    assert (ticket(app, tickets[0]).status, ticket(app, tickets[0]).boarded_at) == ("sold", None)


def test_a_scan_on_another_trip_leaves_the_boarding_on_its_own(app, world, tickets, phones, later):
    one, two = phones
    one.send(one.line(world.long_trip, at("06:21:00"), code=tickets[0]))
    wrong = two.line(world.short_trip, at("06:20:00"), code=tickets[0])
    assert {"id": wrong["id"], "note": "WRONG_TRIP"} in two.send(wrong)["notes"]
    assert ticket(app, tickets[0]).boarded_by == f"device:{one.id}"


@pytest.mark.parametrize("size", [0, 201])
def test_a_batch_has_1_to_200_lines(phones, size):
    line = {"id": "00000000-0000-4000-8000-000000000000", "device": "x", "body": "{}", "signature": "x"}
    answer = phones[0].client.post("/api/v1/scans", json={"records": [line] * size}, headers=phones[0].headers)
    assert answer.status_code == 422


def test_200_lines_of_the_greatest_length_go_in_one_batch(app, world, phones, later):
    one = phones[0]
    lines = [one.line(world.long_trip, at("06:21:00")) for _ in range(200)]
    lines = [{**line, "body": line["body"].ljust(800)} for line in lines]
    assert len(one.send(*lines)["quarantined"]) == 200


def test_a_code_lets_one_phone_in_once_and_for_15_minutes(app, phones):
    one = phones[0]
    again = one.enrol()
    assert (again.status_code, again.get_json()["code"]) == (404, "no_such_code")
    for minutes, status in ((15, 404), (14, 201)):
        app.extensions["clock"] = lambda: NOW
        with app.extensions["database"].transaction() as session:
            one.code = enrolment.make_code(session, now=NOW, actor="office-1")
        one.key = Ed25519PrivateKey.generate()
        app.extensions["clock"] = lambda minutes=minutes: NOW + timedelta(minutes=minutes)
        assert one.enrol().status_code == status


def test_a_key_is_enrolled_once_and_only_the_codes_hash_is_kept(app, phones):
    one = phones[0]
    with app.extensions["database"].transaction() as session:
        one.code = enrolment.make_code(session, now=NOW, actor="office-1")
        assert all(one.code.encode() not in row.code_hash for row in session.scalars(select(EnrolmentCode)))
    assert one.enrol().get_json()["code"] == "device_known"


@pytest.mark.parametrize("key", ["", "?", base64.b64encode(bytes(31)).decode(), base64.b64encode(bytes(32)).decode()])
def test_what_is_no_key_is_refused(app, phones, key):
    answer = phones[0].client.post("/api/v1/devices", json={"code": "ABCDE12345", "public_key": key, "name": "x"})
    assert answer.status_code == 422


def test_a_phone_may_send_scans_and_take_lists_and_nothing_else(app, world, phones):
    one = phones[0]
    assert one.client.get("/api/v1/places", headers=one.headers).get_json()["code"] == "scope_missing"
    assert one.client.get(f"/api/v1/trips/{world.long_trip}/manifest", headers=one.headers).status_code == 200


def test_the_office_gives_a_code_sees_what_happened_and_locks_a_phone_out(app, world, tickets, phones, signed_in):
    office, (one, two) = signed_in("office"), phones
    page = office.post("/office/devices/codes").get_data(as_text=True)
    assert "Código do aparelho novo" in page
    for phone, lines in two_phones(world, tickets, phones):
        phone.send(*lines)
    two.send({**two.line(world.long_trip, at("06:30:00")), "signature": "x"})
    page = office.get("/office/devices").get_data(as_text=True)
    assert "motorista-1" in page and "segundo uso, em outro aparelho" in page and "quarentena" in page
    assert PERSON["name"] not in page
    waiting = two.line(world.long_trip, at("06:40:00"), code=tickets[1])
    assert office.post("/office/devices/revoked", data={"device": two.id}).status_code == 303
    assert two.client.post("/api/v1/scans", json={"records": [waiting]}, headers=two.headers).status_code == 401
    assert one.send(waiting)["quarantined"] == [waiting["id"]]
    assert office.post("/office/devices/revoked", data={"device": two.id}).status_code == 404


def test_the_list_opens_a_passenger_to_who_holds_the_pass_and_to_nobody_else(app, partner, world, tickets):
    status, told = partner.get(f"/trips/{world.long_trip}/manifest")
    assert status == 200
    assert PERSON["name"] not in json.dumps(told, ensure_ascii=False)
    first = next(row for row in told["tickets"] if row["code"] == tickets[0])
    with app.extensions["database"].reading() as session:
        pass_id = session.scalars(select(Pass.id).join(Ticket, Ticket.id == Pass.ticket_id).where(
            Ticket.code == tickets[0])).one()
    raw = base64.b64decode(first["sealed"])
    opened = json.loads(AESGCM(list_key(pass_id)).decrypt(raw[:12], raw[12:], tickets[0].encode()))
    assert opened["name"] == PERSON["name"] and opened["last4"] == "1098"
    assert told["keys"] and [call["seq"] for call in told["calls"]] == [0, 1, 2, 3]


def test_a_ticket_that_was_paid_back_stays_on_the_list_without_a_name(partner, world, tickets):
    partner.post(f"/tickets/{tickets[0]}/refund", {"refund": "21.25"})
    listed = partner.get(f"/trips/{world.long_trip}/manifest")[1]["tickets"]
    row = next(one for one in listed if one["code"] == tickets[0])
    assert (row["status"], row["sealed"]) == ("refunded", None)
