"""The order of the door's rules, both sides of each boundary, and the words for every answer."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from boarding.doors import policy
from boarding.doors.policy import Door, Presented, Result, believed, verdict
from tests.instants import at

NOW = at("2026-03-03T09:20")
DOOR = Door(trip_id=7, trip_status="open", stop_seq=1, aboard=10, capacity=46, now=NOW)
TICKET = Presented(trip_id=7, status="sold", ticket_revision=2, revision=2, board_seq=1, alight_seq=3, seat=15,
                   opens_at=NOW - timedelta(hours=1), identity_required=True)

FAULTS = [  # each with every later fault present too: the first one answers
    (Result.WRONG_TRIP, {"trip_id": 8}, {}),
    (Result.TRIP_CANCELLED, {}, {"trip_status": "cancelled"}),
    (Result.REFUNDED, {"status": "refunded"}, {}),
    (Result.SUPERSEDED, {"revision": 1}, {}),
    (Result.ALREADY_BOARDED, {"status": "boarded"}, {}),
    (Result.EXPIRED, {}, {"trip_status": "closed"}),
    (Result.TOO_EARLY, {"opens_at": NOW + timedelta(hours=1)}, {}),
    (Result.WRONG_STOP, {"board_seq": 2}, {}),
    (Result.FULL, {}, {"aboard": 46}),
]


@pytest.mark.parametrize("place", range(len(FAULTS)), ids=lambda place: FAULTS[place][0])
def test_the_first_rule_that_holds_answers(place):
    ticket, door = TICKET, DOOR
    for _, at_ticket, at_door in reversed(FAULTS[place:]):
        ticket, door = replace(ticket, **at_ticket), replace(door, **at_door)
    assert verdict("ok", ticket, door).result is FAULTS[place][0]


@pytest.mark.parametrize(("reading", "result"), [
    ("fiscal_qr", "FISCAL_QR"), ("not_a_pass", "NOT_A_PASS"), ("unknown_key", "UNKNOWN_KEY"),
    ("bad_signature", "BAD_SIGNATURE"), ("ok", "NOT_ON_MANIFEST"), ("code", "UNKNOWN_CODE"),
])
def test_what_names_no_ticket_says_what_it_is(reading, result):
    assert verdict(reading, None, DOOR).result == result


def test_a_voided_ticket_has_its_own_answer():
    assert verdict("ok", replace(TICKET, status="voided"), DOOR).result is Result.VOIDED


@pytest.mark.parametrize(("stop", "result"), [(0, "WRONG_STOP"), (1, "OK"), (2, "OK_OTHER_STOP"), (3, "WRONG_STOP")])
def test_boarding_is_from_the_paid_stop_and_before_the_end(stop, result):
    assert verdict("ok", TICKET, replace(DOOR, stop_seq=stop)).result == result


@pytest.mark.parametrize(("early", "result"), [
    (timedelta(minutes=10), "OK"), (timedelta(minutes=10, seconds=1), "TOO_EARLY")])
def test_the_door_opens_ten_minutes_before_the_window(early, result):
    assert verdict("ok", replace(TICKET, opens_at=NOW + early), DOOR).result == result


@pytest.mark.parametrize("late", [timedelta(hours=5), timedelta(days=3)])
def test_a_late_bus_never_expires_its_own_passes(late):
    assert verdict("ok", replace(TICKET, opens_at=NOW - late), DOOR).result is Result.OK


@pytest.mark.parametrize(("aboard", "seat", "result"), [(45, 15, "OK"), (46, 15, "FULL"), (46, 0, "OK")])
def test_the_last_place_is_given_and_no_place_beyond_it(aboard, seat, result):
    assert verdict("ok", replace(TICKET, seat=seat), replace(DOOR, aboard=aboard)).result == result


@pytest.mark.parametrize(("required", "stop", "asks"), [(True, 1, True), (True, 2, True), (False, 1, False), (True, 0, False)])
def test_a_document_is_asked_of_who_may_board_where_the_law_asks_it(required, stop, asks):
    ticket = replace(TICKET, identity_required=required)
    assert verdict("ok", ticket, replace(DOOR, stop_seq=stop)).needs_document is asks


def test_a_typed_code_has_no_revision_to_be_old():
    assert verdict("code", replace(TICKET, revision=None), DOOR).result is Result.OK


@pytest.mark.parametrize(("told", "doubtful"), [
    (timedelta(0), False), (timedelta(minutes=2), False), (timedelta(minutes=2, microseconds=1), True),
    (-timedelta(hours=48), False), (-timedelta(hours=48, microseconds=1), True), (timedelta(days=63000), True),
    (-timedelta(days=20000), True),
])
def test_a_phone_is_believed_within_its_limits(told, doubtful):
    moment = believed(NOW + told, NOW)
    assert moment.doubtful is doubtful
    assert moment.at == (NOW if doubtful else NOW + told)


def test_every_result_has_its_words_and_only_boarding_is_green():
    assert set(policy.WORDS) == set(Result)
    assert {words.tone for words in policy.WORDS.values()} <= {"ok", "attention", "stop", "info"}
    assert [result for result, words in policy.WORDS.items() if words.tone == "ok"] == [Result.OK]
    assert len({words.word for words in policy.WORDS.values()}) == len(Result)
    assert all(words.do for words in policy.WORDS.values() if words.tone == "info")


def test_results_and_reasons_fit_their_columns():
    assert max(map(len, [*Result, *policy.REFUSAL_REASONS])) <= 20


@pytest.mark.parametrize(("kind", "last4", "words"), [
    ("RG", "4821", "confira o RG: final 4821"), ("CNH", "0001", "confira a CNH: final 0001"),
    ("PASSPORT", "", "confira o passaporte"), ("", "", "confira o documento")])
def test_the_driver_is_told_which_card_to_look_at(kind, last4, words):
    assert policy.look_at(kind, last4) == words


@pytest.mark.parametrize(("state", "day", "article"), [
    ("SC", date(2026, 3, 3), "Lei SC 5.684/1980, art. 11-A, § 2º"),
    ("SC", date(2016, 3, 17), "política da transportadora"),
    ("MS", date(2022, 11, 16), "Lei MS 36/1979, art. 40, II, a"),
])
def test_who_is_kept_out_hears_the_article(state, day, article):
    assert policy.document_rule(state, day).article == article
