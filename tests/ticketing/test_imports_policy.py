"""The arithmetic of an imported network: distances, courses, blank times, the shifted period, the section table."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from ticketing.imports.policy import (
    Feed,
    FeedCall,
    FeedSlot,
    FeedStop,
    Section,
    arrange,
    estimated_calls,
    estimated_km,
    fill_times,
    pattern,
    period,
    rehearse,
)

MONDAY = date(2026, 3, 2)


def stop(code, lat, lon):
    return FeedStop(code, code, Decimal(lat), Decimal(lon), "America/Sao_Paulo")


def slot(start, end, weekdays=0b11111, exceptions=None):
    return FeedSlot("p", "s", ((0, 0), (3600, 3600)), weekdays, start, end, exceptions or {})


def sections(*pairs):
    return [Section(row, origin, destination, Decimal(km))
            for row, (origin, destination, km) in enumerate(pairs, start=2)]


@pytest.mark.parametrize(("lat", "km"), [
    ("0.1", "13.9"),         # 11.1195 km of arc
    ("0.0001", "0.1"),       # 13.9 m would round to nothing
    ("0", "0.1"),            # the same place is still another call
    ("1", "139.0"),
])
def test_an_estimate_is_the_great_circle_and_a_quarter_to_the_tenth(lat, km):
    assert estimated_km(stop("A", "0", "0"), stop("B", lat, "0")) == Decimal(km)


def test_estimated_sections_add_up_and_every_call_says_it_is_estimated():
    calls = estimated_calls([stop("A", "-27.6", "-48.5"), stop("B", "-27.5", "-48.6"), stop("A", "-27.6", "-48.5")])
    assert [call.stop for call in calls] == ["A", "B", "A"]
    assert calls[0].km == 0
    assert calls[2].km == calls[1].km * 2
    assert all(call.estimated for call in calls)


def test_the_same_course_keeps_its_key_and_another_distance_makes_another():
    first = pattern("L", [FeedCall("A", Decimal(0)), FeedCall("B", Decimal("62"))])
    assert first.key == pattern("L", [FeedCall("A", Decimal("0")), FeedCall("B", Decimal("62.00"))]).key
    assert first.key != pattern("L", [FeedCall("A", Decimal(0)), FeedCall("B", Decimal("62.1"))]).key
    assert first.key != pattern("L", [FeedCall("B", Decimal(0)), FeedCall("A", Decimal("62"))]).key


@pytest.mark.parametrize(("km", "minutes"), [
    (("0", "30", "60"), 30), (("0", "15", "60"), 15), (("0", "59.9", "60"), 60), (("0", "0.1", "60"), 0),
    (("0", "20.4", "60"), 20), (("0", "20.5", "60"), 21),
])
def test_a_blank_time_is_filled_by_distance_to_the_minute(km, minutes):
    filled = fill_times([(0, 0), None, (3600, 3600)], [Decimal(one) for one in km])
    assert filled == ((0, 0), (minutes * 60, minutes * 60), (3600, 3600))


def test_a_filled_time_never_leaves_its_timed_neighbours():
    filled = fill_times([(0, 50), None, None, (70, 70)], [Decimal(0), Decimal(1), Decimal(2), Decimal(3)])
    assert filled == ((0, 50), (60, 60), (60, 60), (70, 70))
    assert fill_times([(10, 10), None, (20, 20)], [Decimal(0), Decimal(1), Decimal(2)])[1] == (10, 10)


@pytest.mark.parametrize("days_ago", [60, 61, 66, 67, 4000])
def test_a_rehearsal_begins_in_the_week_up_to_today_and_keeps_weekdays(days_ago):
    ended = Feed("America/Sao_Paulo", slots=(slot(MONDAY, MONDAY + timedelta(days=30),
                                                  exceptions={MONDAY + timedelta(days=2): False}),))
    today = MONDAY + timedelta(days=days_ago)
    moved = rehearse(ended, today)
    start = moved.slots[0].valid_from
    assert 0 <= (today - start).days < 7
    assert start.weekday() == MONDAY.weekday()
    assert moved.slots[0].valid_until - start == timedelta(days=30)
    assert moved.slots[0].exceptions == {start + timedelta(days=2): False}


@pytest.mark.parametrize(("today", "moved"), [(MONDAY - timedelta(days=1), True), (MONDAY, False),
                                              (MONDAY + timedelta(days=30), False), (MONDAY + timedelta(days=31), True)])
def test_only_a_period_without_today_is_moved(today, moved):
    feed = Feed("America/Sao_Paulo", slots=(slot(MONDAY, MONDAY + timedelta(days=30)),))
    shifted = rehearse(feed, today)
    assert (shifted != feed) is moved
    assert period(shifted)[0] <= today


@pytest.mark.parametrize("days_ago", range(31, 45))
def test_a_feed_of_a_few_days_is_moved_to_where_it_still_runs(days_ago):
    short = Feed("America/Sao_Paulo", slots=(slot(MONDAY, MONDAY + timedelta(days=3)),))
    today = MONDAY + timedelta(days=days_ago)
    start, end = period(rehearse(short, today))
    assert start.weekday() == MONDAY.weekday() and end - start == timedelta(days=3)
    assert end >= today and start <= today + timedelta(days=6)


def test_a_feed_without_slots_has_no_period_to_move():
    assert rehearse(Feed("America/Sao_Paulo"), MONDAY) == Feed("America/Sao_Paulo")


def test_sections_in_any_order_become_one_course_and_fill_the_missing_pair():
    calls, faults = arrange(sections(("TUB", "FLN", "159"), ("CRI", "IMB1", "127"), ("CRI", "TUB", "62"),
                                     ("IMB1", "IMB2", "16"), ("CRI", "IMB2", "143")))
    assert faults == ()
    assert [(call.stop, call.km) for call in calls] == [
        ("CRI", 0), ("TUB", 62), ("IMB1", 127), ("IMB2", 143), ("FLN", 221)]
    assert calls[4].km - calls[3].km == 78
    assert not any(call.estimated for call in calls)


def test_decimal_sections_add_up_exactly():
    calls, faults = arrange(sections(("A", "B", "33.3"), ("B", "C", "66.7"), ("A", "C", "100.0")))
    assert faults == () and calls[-1].km == Decimal("100")
    assert arrange(sections(("A", "B", "33.3"), ("B", "C", "66.7"), ("A", "C", "99.999")))[1]


@pytest.mark.parametrize(("pairs", "row", "code", "km"), [
    ([("A", "B", "10"), ("B", "C", "5"), ("A", "C", "16"), ("C", "D", "1")], 3, "inconsistent_km", 6),
    ([("A", "B", "10"), ("B", "A", "10")], 3, "unordered_pair", -10),
    ([("A", "B", "10"), ("A", "B", "11")], 3, "duplicate_pair", 10),
    ([("A", "B", "10"), ("C", "D", "11")], 3, "disconnected_pair", None),
    ([("A", "B", "10"), ("C", "B", "10")], 2, "same_place", None),
])
def test_a_section_that_contradicts_the_others_is_named(pairs, row, code, km):
    faults = arrange(sections(*pairs))[1]
    assert [(fault.row, fault.code, fault.km) for fault in faults] == [(row, code, km)]


def test_the_same_section_again_is_no_contradiction_and_the_way_back_is_not_invented():
    calls, faults = arrange(sections(("A", "B", "10"), ("A", "B", "10.0")))
    assert faults == ()
    assert [call.stop for call in calls] == ["A", "B"]
