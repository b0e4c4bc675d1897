import random
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import InvalidInput, RuleViolation
from ticketing.network.policy import read_layout
from ticketing.seats.policy import check_seat, choose_seat, free_seats, gap_length

LAYOUT = read_layout([["crew", None, None], [1, None, 2], [3, None, 4]])
TODAY = date(2026, 3, 2)


@pytest.mark.parametrize(("board", "alight", "free"), [
    (0, 1, (2, 3)), (1, 2, (1, 3)), (0, 2, (3,)), (2, 4, (1, 2)), (0, 4, ()),
])
def test_a_seat_is_free_when_every_leg_of_the_stretch_is(board, alight, free):
    taken = {1: 0b0001, 2: 0b0010, 3: 0b0100}
    assert free_seats([1, 2, 3], taken, board, alight) == free


@pytest.mark.parametrize(("mask", "legs", "board", "alight", "gap"), [
    (0b000000, 6, 2, 3, 6), (0b000001, 6, 2, 3, 5), (0b100000, 6, 2, 3, 5), (0b001010, 6, 2, 3, 1),
    (0b100001, 6, 1, 5, 4), (1 << 90, 95, 2, 3, 90),  # more legs than a machine word has bits
])
def test_the_gap_is_the_run_of_free_legs_around_the_stretch(mask, legs, board, alight, gap):
    assert gap_length(mask, board, alight, legs) == gap


@pytest.mark.parametrize(("taken", "chosen"), [
    ({}, [1, 2, 3]),
    ({2: 0b1001}, [2]),  # the stretch fits exactly between two others
    ({2: 0b1001, 3: 0b1001}, [2, 3]),
    ({1: 0b0001}, [1]),
    ({1: 0b0001, 2: 0b1000}, [1, 2]),
    ({1: 0b0010, 2: 0b0010, 3: 0b0010}, None),
])
def test_the_tightest_gap_is_given_and_ties_are_left_to_chance(taken, chosen):
    offered = []
    seat = choose_seat([1, 2, 3], taken, 1, 3, legs=4, choose=lambda options: offered.append(options) or options[-1])
    assert seat == (chosen[-1] if chosen else None)
    assert offered == ([chosen] if chosen else [])


def test_clients_who_ask_together_are_spread_over_the_ties():
    pick = random.Random(7).choice
    assert {choose_seat(range(1, 47), {}, 0, 3, legs=12, choose=pick) for _ in range(200)} > set(range(1, 30))


@given(st.dictionaries(st.integers(1, 12), st.integers(0, 2**12 - 1)), st.integers(0, 11), st.integers(1, 12),
       st.randoms(use_true_random=False))
def test_a_chosen_seat_is_always_free(taken, board, length, chance):
    alight = min(board + length, 12)
    seat = choose_seat(range(1, 13), taken, board, alight, legs=12, choose=chance.choice)
    free = free_seats(range(1, 13), taken, board, alight)
    assert seat in free if free else seat is None


@pytest.mark.parametrize(("board", "alight"), [(2, 2), (3, 2), (-1, 2)])
def test_a_stretch_without_legs_is_refused(board, alight):
    with pytest.raises(InvalidInput):
        free_seats([1], {}, board, alight)


@pytest.mark.parametrize(("number", "standing_allowed", "places", "code"), [
    (1, False, 0, None), (4, True, 2, None), (201, True, 2, None), (202, True, 2, None),
    (5, False, 0, "seat_not_for_sale"), (0, True, 2, "seat_not_for_sale"), (-1, True, 2, "seat_not_for_sale"),
    (200, True, 2, "seat_not_for_sale"),
    (201, False, 2, "standing_not_allowed"), (203, True, 2, "standing_over_limit"), (201, True, 0, "standing_over_limit"),
])
def test_only_seats_of_the_vehicle_and_allowed_standing_places_are_sold(number, standing_allowed, places, code):
    options = {"standing_allowed": standing_allowed, "standing_places": places, "state": "SC", "day": TODAY}
    if code is None:
        check_seat(number, LAYOUT, **options)
        return
    with pytest.raises(RuleViolation) as refusal:
        check_seat(number, LAYOUT, **options)
    assert (refusal.value.code, refusal.value.citation.rule) == (code, "T12")


@pytest.mark.parametrize(("state", "day", "cited"), [
    ("SC", TODAY, "política da transportadora"), ("MS", date(2022, 11, 16), "Lei MS 36/1979, arts. 43 e 40, II, j e l"),
])
def test_a_refused_seat_cites_its_own_state(state, day, cited):
    with pytest.raises(RuleViolation) as refusal:
        check_seat(99, LAYOUT, standing_allowed=False, standing_places=0, state=state, day=day)
    assert refusal.value.citation.article == cited
