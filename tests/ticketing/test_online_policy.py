"""Places by what was typed, seats of a form, the hold's instants, the link."""

from collections import namedtuple
from datetime import UTC, datetime, timedelta

import pytest

from kernel.errors import InvalidInput
from ticketing.online import policy

NOW = datetime(2026, 3, 2, 12, 0, 0, 900, tzinfo=UTC)
SECRET = "a secret for the tests alone, 32+"
Town = namedtuple("Town", "name state")
TOWNS = [Town("Florianópolis", "SC"), Town("São José", "SC"), Town("Bom Jesus", "SC"), Town("Bom Jesus", "RS"),
         Town("Nova Alvorada do Sul", "MS"), Town("Nova Trento", "SC")]


@pytest.mark.parametrize(("typed", "found"), [
    ("Florianópolis, SC", ["Florianópolis, SC"]),
    ("florianopolis", ["Florianópolis, SC"]),
    ("  FLORIANÓPOLIS ", ["Florianópolis, SC"]),
    ("floria", ["Florianópolis, SC"]),
    ("sao jose", ["São José, SC"]),
    ("jose", ["São José, SC"]),
    ("bom jesus", ["Bom Jesus, SC", "Bom Jesus, RS"]),
    ("bom jesus, rs", ["Bom Jesus, RS"]),
    ("nova", ["Nova Alvorada do Sul, MS", "Nova Trento, SC"]),
    ("do sul", ["Nova Alvorada do Sul, MS"]),
    ("Paris", []), ("", []), ("   ", []), ("%", []), ("x" * 5000, []),
])
def test_a_place_is_found_without_accents_by_its_beginning_or_a_word(typed, found):
    assert [policy.label(town) for town in policy.match_places(TOWNS, typed)] == found


@pytest.mark.parametrize(("numbers", "seats"), [(["5"], (5,)), (["12", "3", "12"], (3, 12)), (list("123456"), (1, 2, 3, 4, 5, 6))])
def test_chosen_seats_are_read_in_order_and_once(numbers, seats):
    assert policy.read_seats(numbers) == seats


@pytest.mark.parametrize(("numbers", "code"), [
    ([], "seat_missing"), (["x"], "seat_unreadable"), (["-1"], "seat_unreadable"), (["٣"], "seat_unreadable"),
    (["9999"], "seat_unreadable"), (list("1234567"), "seats_too_many")])
def test_what_is_no_seat_is_refused_beside_the_map(numbers, code):
    with pytest.raises(InvalidInput) as refusal:
        policy.read_seats(numbers)
    assert refusal.value.code == code
    assert set(refusal.value.fields) == {"seat"}


def test_a_hold_ends_ten_minutes_later_to_the_second_and_a_charge_with_the_one_extension():
    ends = policy.hold_ends(NOW, 10)
    assert ends == datetime(2026, 3, 2, 12, 10, tzinfo=UTC)
    assert policy.charge_ends(ends, 10, extended=False) == ends + timedelta(minutes=10)
    assert policy.charge_ends(ends, 10, extended=True) == ends


@pytest.mark.parametrize(("status", "left", "state"), [
    ("pending", 1, "open"), ("pending", 0, "over"), ("pending", -1, "over"), ("paid", -1, "paid"), ("paid", 1, "paid"),
    ("expired", 1, "over")])
def test_a_purchase_is_over_from_the_instant_of_its_end(status, left, state):
    assert policy.purchase_state(status, NOW + timedelta(seconds=left), NOW) == state


def test_a_link_belongs_to_one_purchase_and_one_installation():
    link = policy.booking_link("ABCDEFGH", SECRET)
    assert len(link) == 22
    assert policy.link_matches("ABCDEFGH", link, SECRET)
    assert not policy.link_matches("ABCDEFGJ", link, SECRET)
    assert not policy.link_matches("ABCDEFGH", link, SECRET + "x")
    assert not policy.link_matches("ABCDEFGH", "", SECRET)
    assert not policy.link_matches("ABCDEFGH", "ç" * 22, SECRET)


@pytest.mark.parametrize(("minutes", "words"), [(0, "0 min"), (50, "50 min"), (60, "1 h"), (190, "3 h 10 min"), (1500, "25 h")])
def test_a_duration_is_said_in_hours_and_minutes(minutes, words):
    assert policy.duration_words(timedelta(minutes=minutes)) == words


def test_the_fields_of_several_passengers_keep_apart():
    typed = {"name-1": "A", "name-2": "B", "document_kind-2": "RG"}
    assert policy.form_of(typed, ("name", "document_kind"), 2) == {"name": "B", "document_kind": "RG"}
    assert policy.form_of(typed, ("name", "document_kind"), 3) == {"name": "", "document_kind": ""}
