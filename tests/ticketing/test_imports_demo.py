"""The demonstration's two files fit each other, and the kilometres are those that the README names."""

import json
from collections import Counter
from datetime import date
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from ticketing.imports.sections import read_sections
from ticketing.network.policy import check_title, read_layout

DEMO = Path(__file__).parents[2] / "demo"
TIMETABLE = json.loads((DEMO / "timetable.json").read_text(encoding="utf-8"))
STOPS = {stop["code"]: stop for stop in TIMETABLE["stops"]}
PATTERNS = [(line["code"], pattern) for line in TIMETABLE["lines"] for pattern in line["patterns"]]


@pytest.fixture(scope="module")
def feed():
    result = read_sections(DEMO / "sections.csv", progress=lambda done, total: None)
    assert result.refused == ()
    return result.feed


def minutes(text):
    hours, rest = text.split(":")
    return int(hours) * 60 + int(rest)


def test_every_line_runs_both_ways_over_known_stops(feed):
    assert Counter(one.line for one in feed.patterns) == {"32-1": 2, "32-3": 2, "D-1": 2, "D-2": 2, "D-3": 2}
    assert {stop.code for stop in feed.stops} == set(STOPS)
    assert all(stop.zone == STOPS[stop.code]["zone"] and stop.state == STOPS[stop.code]["state"] for stop in feed.stops)


def test_the_courses_are_as_long_as_the_readme_says(feed):
    assert {one.line: one.calls[-1].km for one in feed.patterns} == {
        "32-1": 204, "32-3": 221, "D-1": 80, "D-2": 229, "D-3": 425}
    legs = {(here.stop, there.stop): there.km - here.km for one in feed.patterns for here, there in pairwise(one.calls)}
    assert legs["SC-IMBITUBA-PONTO-2", "SC-FLORIANOPOLIS"] == 78 == legs["SC-FLORIANOPOLIS", "SC-IMBITUBA-PONTO-2"]


def test_the_timetable_follows_the_section_table_at_the_speed_of_a_bus(feed):
    courses = {(one.line, tuple(call.stop for call in one.calls)): [call.km for call in one.calls]
               for one in feed.patterns}
    assert set(courses) == {(line, tuple(pattern["stops"])) for line, pattern in PATTERNS}
    for line, pattern in PATTERNS:
        km = courses[line, tuple(pattern["stops"])]
        for slot in pattern["slots"]:
            times = [tuple(map(minutes, call)) for call in slot["times"]]
            assert len(times) == len(km)
            for (here, there), (before, after) in zip(pairwise(times), pairwise(km), strict=True):
                assert here[0] <= here[1] < there[0] <= there[1]
                assert 50 <= (after - before) * 60 / Decimal(there[0] - here[1]) <= 70


def test_one_line_runs_past_midnight_and_one_under_a_hundred_kilometres():
    last = {line: max(minutes(slot["times"][-1][0]) for slot in pattern["slots"]) for line, pattern in PATTERNS}
    assert [line for line, minute in last.items() if minute > 24 * 60] == ["D-3"]


@pytest.mark.parametrize(("code", "seats", "crew"), [("DEMO-01", 46, 1), ("DEMO-02", 42, 1), ("DEMO-03", 28, 0),
                                                     ("DEMO-04", 46, 1), ("DEMO-05", 42, 1)])
def test_a_vehicle_has_the_seats_its_description_says(code, seats, crew):
    layout = next(vehicle["layout"] for vehicle in TIMETABLE["vehicles"] if vehicle["code"] == code)
    assert read_layout(layout).seats_for_sale == tuple(range(1, seats + 1))
    assert sum(row.count("crew") for row in layout) == crew


def test_what_is_named_exists_and_titles_keep_to_the_law():
    vehicles = {vehicle["code"] for vehicle in TIMETABLE["vehicles"]}
    assert {slot["vehicle"] for _, pattern in PATTERNS for slot in pattern["slots"]} == vehicles
    slots = [slot["code"] for _, pattern in PATTERNS for slot in pattern["slots"]]
    assert len(set(slots)) == len(slots)
    for line in TIMETABLE["lines"]:
        served = {stop for pattern in line["patterns"] for stop in pattern["stops"]}
        assert {component["stop"] for component in line["tariff"]["components"]} - {None} <= served
        title = line["title"]
        start, end = date.fromisoformat(title["valid_from"]), date.fromisoformat(title["valid_until"])
        assert check_title(title["kind"], line["state"], start, end, renewal=False).outcome == "within_term"
