"""Instants, local dates, the day that has ended everywhere, and timetable times."""

from datetime import UTC, date

import pytest

from kernel.clock import day_everywhere, local_date, on_the_clock, parse_day, service_instant, utc_now, zone_name
from tests.instants import at


def test_the_present_is_aware_and_in_utc():
    assert utc_now().tzinfo is UTC


@pytest.mark.parametrize(("instant", "zone", "day"), [
    ("2026-03-02T02:59:59", "America/Sao_Paulo", date(2026, 3, 1)), ("2026-03-02T03:00", "America/Sao_Paulo", date(2026, 3, 2)),
    ("2026-03-02T03:59:59", "America/Campo_Grande", date(2026, 3, 1)), ("2026-03-02T04:00", "America/Campo_Grande", date(2026, 3, 2))])
def test_the_date_is_the_stop_s_own(instant, zone, day):
    assert local_date(at(instant), zone) == day


@pytest.mark.parametrize(("instant", "day"), [
    ("2026-03-02T11:59:59", date(2026, 3, 1)), ("2026-03-02T12:00", date(2026, 3, 2)), ("2026-03-02T09:00-03:00", date(2026, 3, 2)),
    ("2024-03-01T11:59", date(2024, 2, 29))])
def test_a_day_has_ended_when_it_has_ended_in_the_last_zone(instant, day):
    assert day_everywhere(at(instant)) == day


@pytest.mark.parametrize(("seconds", "zone", "instant"), [
    (6 * 3600 + 1800, "America/Sao_Paulo", "2026-03-03T09:30"), (26 * 3600 + 1500, "America/Sao_Paulo", "2026-03-04T05:25"),
    (0, "America/Campo_Grande", "2026-03-03T04:00"), (72 * 3600, "America/Sao_Paulo", "2026-03-06T03:00")])
def test_a_timetable_time_is_an_instant_past_midnight_too(seconds, zone, instant):
    assert service_instant(date(2026, 3, 3), seconds, zone) == at(instant)


def test_a_day_that_changes_its_clock_keeps_its_hours():
    # summer time began in Brazil on 2018-11-04: midnight did not exist, noon is the anchor
    assert service_instant(date(2018, 11, 4), 6 * 3600, "America/Sao_Paulo") == at("2018-11-04T08:00")


@pytest.mark.parametrize(("zone", "name"), [
    ("America/Sao_Paulo", "horário de Brasília"), ("America/Campo_Grande", "horário de Campo Grande"),
    ("America/Porto_Velho", "horário de Porto Velho")])
def test_a_zone_has_a_name_for_people(zone, name):
    assert zone_name(zone) == name


@pytest.mark.parametrize(("text", "day"), [
    ("2026-03-02", date(2026, 3, 2)), ("2000-01-01", date(2000, 1, 1)), ("2100-12-31", date(2100, 12, 31)),
    ("1999-12-31", None), ("2101-01-01", None), ("0001-01-01", None), ("9999-12-31", None),
    ("02/03/2026", None), ("2026-02-30", None), ("", None)])
def test_a_day_is_read_in_the_years_that_dates_can_be_reckoned_with(text, day):
    assert parse_day(text) == day


@pytest.mark.parametrize(("zone", "text"), [
    ("America/Sao_Paulo", "01/03/2026 às 23:30"), ("America/Campo_Grande", "01/03/2026 às 22:30")])
def test_an_instant_is_said_on_the_clock_of_its_stop(zone, text):
    assert on_the_clock(at("2026-03-02T02:30"), zone) == text
