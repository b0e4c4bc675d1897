"""What the logs of several phones come to, in every order of arrival. No database."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from boarding.devices.policy import Known, Note, Record, clock_doubtful, merge, shown_at

START = datetime(2026, 3, 6, 9, 0, tzinfo=UTC)
TRIP, TICKET, OTHER = 7, 1, 2
KNOWN = {TICKET: Known(TRIP), OTHER: Known(TRIP)}


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def record(name: str, device: str = "one", seq: int = 1, minute: float = 0, **changes) -> Record:
    values = {"kind": "scan", "ticket": TICKET, "stop_seq": 0, "accepted": True, "undoes": None, "at": at(minute),
              "asof": at(-60), "received_at": at(60), **changes}
    return Record(name, device, seq, **values)


def told(records, known=KNOWN):
    """The outcome, which must be the same in every order."""
    outcomes = [merge(TRIP, list(order), known) for order in permutations(records)]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    return outcomes[0]


def test_the_first_scan_boards_and_the_second_is_kept_as_a_note():
    outcome = told([record("a1", "one", minute=21), record("b1", "two", minute=24)])
    assert outcome.boardings[TICKET][0].id == "a1"
    assert outcome.notes == {"b1": (Note.DOUBLE_USE_OTHER_DEVICE,)}


def test_a_second_use_on_the_same_phone_is_told_apart():
    outcome = told([record("a1", seq=1, minute=21), record("a2", seq=2, minute=24)])
    assert outcome.notes == {"a2": (Note.DOUBLE_USE_SAME_DEVICE,)}


def test_two_scans_of_one_instant_are_settled_by_phone_and_number():
    outcome = told([record("z", "one", minute=21), record("a", "two", minute=21)])
    assert outcome.boardings[TICKET][0].id == "z"


@pytest.mark.parametrize(("change", "boarded"), [
    ({"accepted": True}, True), ({"accepted": False}, False), ({"ticket": None}, False)])
def test_only_an_accepted_scan_of_a_known_ticket_boards(change, boarded):
    assert (TICKET in told([record("a1", **change)]).boardings) == boarded


def test_an_unknown_pass_is_kept_and_noted():
    assert told([record("a1", ticket=None)]).notes == {"a1": (Note.UNKNOWN_PASS,)}


def test_a_ticket_of_another_trip_does_not_board_here():
    outcome = told([record("a1")], {TICKET: Known(TRIP + 1)})
    assert (outcome.boardings, outcome.notes) == ({}, {"a1": (Note.WRONG_TRIP,)})


@pytest.mark.parametrize(("device", "boarded"), [("one", None), ("two", "a1")])
def test_only_its_own_phone_undoes_a_scan(device, boarded):
    undo = record("u1", device, seq=2 if device == "one" else 1, minute=5, kind="undo", ticket=None, accepted=False, undoes="a1")
    found = told([record("a1"), undo]).boardings.get(TICKET)
    assert (found and found[0].id) == boarded


def test_after_an_undo_the_next_scan_boards():
    undo = record("u1", seq=2, minute=22, kind="undo", ticket=None, accepted=False, undoes="a1")
    outcome = told([record("a1", minute=21), undo, record("b1", "two", minute=24)])
    assert outcome.boardings[TICKET][0].id == "b1"


@pytest.mark.parametrize(("told_at", "doubtful"), [
    (60 + 2, False), (60 + 2.1, True), (60 - 48 * 60, False), (60 - 48 * 60 - 0.1, True)])
def test_a_clock_is_believed_from_48_hours_before_to_2_minutes_after_the_arrival(told_at, doubtful):
    one = record("a1", minute=told_at, asof=None)
    assert clock_doubtful(one) == doubtful
    assert ("a1" in told([one]).notes) == doubtful


@pytest.mark.parametrize("year", [1970, 2199])
def test_a_scan_of_another_age_boards_with_the_time_of_its_arrival(year):
    one = record("a1", at=datetime(year, 1, 1, tzinfo=UTC), asof=None)
    boarding, moment = told([one]).boardings[TICKET]
    assert shown_at(boarding, moment) == at(60)


def test_a_clock_that_went_back_does_not_overtake_the_same_phones_earlier_scan():
    slow = record("a2", seq=2, minute=-500, ticket=OTHER)
    outcome = told([record("a1", seq=1, minute=30), slow, record("b1", "two", minute=20, ticket=OTHER)])
    assert outcome.boardings[OTHER][0].id == "b1"


def test_a_scan_is_never_older_than_the_list_it_was_made_with():
    outcome = told([record("a1", minute=-30, asof=at(10)), record("b1", "two", minute=5)])
    assert outcome.boardings[TICKET][0].id == "b1"


def test_the_arrival_moves_nothing():
    early, late = (told([record("a1", minute=21, received_at=at(received)), record("b1", "two", minute=24)])
                   for received in (25, 600))
    assert early.boardings[TICKET][0].id == late.boardings[TICKET][0].id == "a1"


def test_two_records_of_one_number_are_a_copied_phone():
    outcome = told([record("a1", seq=1), record("a2", seq=1, ticket=OTHER)])
    assert outcome.notes == {"a2": (Note.DEVICE_FORK,)}


@pytest.mark.parametrize(("numbers", "closed", "complete"), [
    ((1, 2), 3, True), ((1, 2), None, False), ((1, 3), 4, False), ((2,), 3, False)])
def test_a_trip_is_complete_when_every_number_and_the_closing_line_are_there(numbers, closed, complete):
    lines = [record(f"a{seq}", seq=seq, minute=seq, ticket=TICKET if seq == numbers[0] else OTHER) for seq in numbers]
    if closed:
        lines.append(record("close", seq=closed, minute=50, kind="close", ticket=None, accepted=False))
    outcome = told(lines)
    assert outcome.complete == complete
    assert any(Note.GAP in notes for notes in outcome.notes.values()) == (numbers in ((1, 3), (2,)))


def test_a_trip_waits_for_the_closing_line_of_every_phone():
    closing = record("close", seq=2, minute=50, kind="close", ticket=None, accepted=False)
    assert not told([record("a1"), closing, record("b1", "two", ticket=OTHER)]).complete


@pytest.mark.parametrize(("scanned", "asof", "released", "note"), [
    (10, 0, 20, Note.BOARDED_BEFORE_REFUND), (20, 0, 20, Note.BOARDED_BEFORE_REFUND),
    (21, 19, 20, Note.BOARDED_ON_OLD_LIST), (21, 20, 20, Note.BOARDED_ON_OLD_LIST),
    (22, 21, 20, Note.BOARDED_AGAINST_LIST)])
def test_who_boarded_a_ticket_that_was_paid_back_is_noted_by_what_the_phone_could_know(scanned, asof, released, note):
    outcome = told([record("a1", minute=scanned, asof=at(asof))], {TICKET: Known(TRIP, at(released))})
    assert outcome.notes == {"a1": (note,)}


def test_a_scan_of_who_boarded_on_the_server_is_a_second_use():
    outcome = told([record("a1")], {TICKET: Known(TRIP, boarded_online=True)})
    assert outcome.notes == {"a1": (Note.DOUBLE_USE_OTHER_DEVICE,)}
