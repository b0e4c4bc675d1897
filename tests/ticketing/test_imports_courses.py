"""When two courses are one road, table by table."""

from decimal import Decimal

import pytest

from ticketing.imports.courses import KnownCall, folded, measured


def course(*calls, road="asphalt"):
    """Calls given as (stop id, name or nothing, km), some with a road of their own."""
    return [KnownCall(stop, frozenset({folded(name or f"stop {stop}")}), Decimal(km), *(kind or [road])) for stop, name, km, *kind in calls]


WHOLE = course((1, "Criciúma", 0), (2, "Tubarão", 62), (3, "Imbituba", 110), (4, "Florianópolis", 204))
BY_CODE = course((1, "x", 0), (4, "y", 9))
BY_NAME = course((91, "CRICIUMA", 0), (92, "Tubarao", 9), (93, "imbituba", 12), (94, "FLORIANÓPOLIS", 20))


def km(found):
    return found and [(str(one), road) for one, road in found]


@pytest.mark.parametrize(("calls", "expected"), [
    (BY_NAME, ["0", "62", "110", "204"]),
    (BY_CODE, ["0", "204"]),
    (course((2, "", 0), (3, "", 9)), ["0", "48"]),  # from Tubarão on
    (course((91, "Tubarão", 0), (4, "", 9)), ["0", "142"]),  # one by name, one by code
])
def test_the_same_places_in_the_same_order_take_the_measured_km(calls, expected):
    assert [one for one, _ in km(measured(calls, [WHOLE]))] == expected


@pytest.mark.parametrize("calls", [
    course((4, "", 0), (1, "", 9)),  # the way back is another road until somebody measures it
    course((1, "", 0), (5, "Laguna", 5), (4, "", 9)),
    course((1, "", 0), (2, "", 5), (1, "", 9)),
    course((1, "", 0), (2, "", 5), (2, "", 9)),
])
def test_another_order_or_a_place_more_takes_nothing(calls):
    assert measured(calls, [WHOLE]) is None


def test_without_a_measured_course_nothing_is_measured():
    assert measured(BY_NAME, []) is None


def test_two_courses_that_say_different_distances_say_nothing():
    other = course((1, "", 0), (2, "", 62), (4, "", 210))
    assert measured(BY_CODE, [WHOLE, other]) is None
    assert measured(BY_CODE, [WHOLE, WHOLE]) is not None


def test_a_course_of_exactly_these_stops_goes_before_longer_ones():
    direct = course((1, "", 0), (4, "", 190))
    assert km(measured(BY_CODE, [WHOLE, direct])) == [("0", "asphalt"), ("190", "asphalt")]


def test_a_stretch_takes_its_road_along_and_one_of_two_roads_is_left_alone():
    mixed = course((1, "", 0), (2, "", 62, "earth"), (3, "", 110, "asphalt"), (4, "", 204, "asphalt"))
    assert km(measured(course((1, "", 0), (2, "", 5), (4, "", 9)), [mixed])) == [
        ("0", "asphalt"), ("62", "earth"), ("204", "asphalt")]
    assert measured(course((1, "", 0), (3, "", 9)), [mixed]) is None


def test_a_loop_is_measured_call_by_call():
    loop = course((1, "", 0), (2, "", 10), (3, "", 30), (2, "", 52), (1, "", 60))
    assert [one for one, _ in km(measured(loop, [loop]))] == ["0", "10", "30", "52", "60"]


@pytest.mark.parametrize(("one", "other", "same"), [
    ("São José", "SAO JOSE", True), ("Içara", "icara", True), ("かき", "がき", False), ("São José", "São João", False)])
def test_accents_of_latin_letters_tell_no_places_apart(one, other, same):
    assert (folded(one) == folded(other)) is same
