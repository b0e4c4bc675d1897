from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo, reset_tzpath

import pytest

from kernel.clock import service_instant
from kernel.errors import InvalidInput, RuleViolation
from ticketing.network.laws import cite
from ticketing.network.policy import (
    capacity,
    check_sale_within_title,
    check_title,
    km_between,
    read_layout,
    runs_on,
    seat_words,
    standing_numbers,
)

START = date(2026, 3, 15)
MONDAY = date(2026, 3, 2)


class Title(NamedTuple):
    valid_from: date
    valid_until: date


@pytest.mark.parametrize(("state", "kind", "renewal", "last_allowed", "first_refused"), [
    ("SC", "authorisation", False, date(2026, 6, 13), date(2026, 6, 14)),
    ("SC", "authorisation", True, date(2026, 9, 11), date(2026, 9, 12)),
    ("SC", "permission", False, date(2028, 3, 15), date(2028, 3, 16)),
    ("SC", "permission", True, date(2028, 3, 15), date(2028, 3, 16)),
    ("SC", "concession", False, date(2036, 3, 15), date(2036, 3, 16)),
    ("SC", "concession", True, date(2036, 3, 15), date(2036, 3, 16)),
    ("MS", "authorisation", False, date(2027, 3, 15), date(2027, 3, 16)),
    ("MS", "authorisation", True, date(2027, 3, 15), date(2027, 3, 16)),
    ("MS", "permission", False, date(2027, 3, 15), date(2027, 3, 16)),
    ("MS", "concession", True, date(2036, 3, 15), date(2036, 3, 16)),
    ("MS", "licence", False, date(2027, 3, 15), date(2027, 3, 16)),
])
def test_a_title_may_last_to_the_laws_last_day_and_no_longer(state, kind, renewal, last_allowed, first_refused):
    assert check_title(kind, state, START, last_allowed, renewal=renewal).outcome == "within_term"
    with pytest.raises(RuleViolation) as refusal:
        check_title(kind, state, START, first_refused, renewal=renewal)
    assert refusal.value.code == "title_term_too_long"
    assert refusal.value.citation.rule == "T2"
    assert last_allowed.strftime("%d/%m/%Y") in refusal.value.fields["valid_until"]


@pytest.mark.parametrize(("start", "last_allowed", "first_refused"), [
    (date(2024, 2, 29), date(2025, 3, 1), date(2025, 3, 2)),  # no 29 February to end on
    (date(2025, 12, 31), date(2026, 12, 31), date(2027, 1, 1)),
])
def test_a_year_ends_on_the_day_of_equal_number(start, last_allowed, first_refused):
    assert check_title("permission", "MS", start, last_allowed, renewal=False)
    with pytest.raises(RuleViolation):
        check_title("permission", "MS", start, first_refused, renewal=False)


def test_a_permission_of_mato_grosso_do_sul_is_not_renewed():
    with pytest.raises(RuleViolation) as refusal:
        check_title("permission", "MS", START, START, renewal=True)
    assert refusal.value.code == "title_not_renewable"


def test_a_licence_of_santa_catarina_has_no_longest_term():
    assert check_title("licence", "SC", START, date(2099, 1, 1), renewal=False).citation.article.endswith("art. 8º")


@pytest.mark.parametrize(("kind", "until", "code"), [
    ("charter", START, "title_kind_unknown"),
    ("permission", date(2026, 3, 14), "title_dates_out_of_order"),
])
def test_a_title_that_cannot_be_read_is_refused(kind, until, code):
    with pytest.raises(InvalidInput) as refusal:
        check_title(kind, "SC", START, until, renewal=False)
    assert refusal.value.code == code


@pytest.mark.parametrize(("state", "start", "names", "never"), [
    ("SC", START, "Lei SC 5.684/1980, art. 7º, § 2º", "MS"),
    ("MS", date(2022, 11, 16), "Lei MS 36/1979, art. 13", "SC"),
    ("MS", date(2022, 11, 17), "revogada", "SC"),
    ("PR", START, "política da transportadora", "Lei"),
])
def test_a_titles_citation_belongs_to_its_state_and_day(state, start, names, never):
    article = check_title("permission", state, start, start, renewal=False).citation.article
    assert names in article
    assert never not in article


@pytest.mark.parametrize(("day", "sold"), [
    (date(2026, 3, 14), False), (date(2026, 3, 15), True), (date(2026, 6, 13), True), (date(2026, 6, 14), False),
    (date(2026, 7, 1), True),
])
def test_a_departure_outside_every_title_is_not_sold(day, sold):
    titles = [Title(START, date(2026, 6, 13)), Title(date(2026, 7, 1), date(2026, 7, 2))]
    if sold:
        assert check_sale_within_title(titles, day, state="SC") in titles
        return
    with pytest.raises(RuleViolation) as refusal:
        check_sale_within_title(titles, day, state="SC")
    assert (refusal.value.code, refusal.value.citation.rule) == ("no_title_on_departure", "T2")


@pytest.mark.parametrize(("state", "day", "article", "start", "end"), [
    ("MS", date(1979, 11, 25), "política da transportadora", None, None),
    ("MS", date(1979, 11, 26), "Lei MS 36/1979, art. 9º", date(1979, 11, 26), date(2022, 11, 16)),
    ("MS", date(2022, 11, 16), "Lei MS 36/1979, art. 9º", date(1979, 11, 26), date(2022, 11, 16)),
    ("MS", date(2022, 11, 17), "política da transportadora, que mantém a Lei MS 36/1979, art. 9º (revogada pela Lei MS 5.976/2022)", date(2022, 11, 17), None),
    ("SC", date(1980, 5, 22), "política da transportadora", None, None),
    ("SC", date(1980, 5, 23), "Lei SC 5.684/1980, art. 8º", date(1980, 5, 23), None),
])
def test_the_wording_in_force_on_the_day_is_cited(state, day, article, start, end):
    cited = cite("T15", state=state, day=day, sc="art. 8º", ms="art. 9º")
    assert (cited.article, cited.in_force_from, cited.in_force_to) == (article, start, end)


def test_a_state_whose_law_is_silent_gets_no_article_of_the_other():
    assert cite("T8", state="MS", day=START, sc="art. 11, § 1º").article == "política da transportadora"
    assert cite("T12", state="SC", day=START, ms="art. 43").article == "política da transportadora"


ROWS = [["crew", None, None, "door"], [2, 1, None, 4], ["wc", 3, None, "stairs"], [9, 8, 7, 6]]


def test_a_layout_sells_its_numbered_seats_and_no_crew_seat():
    assert read_layout(ROWS).seats_for_sale == (1, 2, 3, 4, 6, 7, 8, 9)


@pytest.mark.parametrize(("seat", "window", "aisle"), [
    (2, True, False), (1, False, True), (4, True, True), (3, False, True), (9, True, False), (8, False, False),
])
def test_a_seat_knows_its_window_and_its_aisle(seat, window, aisle):
    layout = read_layout(ROWS)
    assert (layout.is_window(seat), layout.is_aisle(seat)) == (window, aisle)


@pytest.mark.parametrize(("rows", "code"), [
    (None, "layout_not_rows"), ([], "layout_not_rows"), ({"1": 2}, "layout_not_rows"), ([1, 2], "layout_not_rows"),
    ([[1, 2], [3]], "layout_uneven"), ([[]], "layout_uneven"), ([[1, None]] * 501, "layout_uneven"),
    ([[1, "kitchen"]], "layout_cell_unknown"), ([[1, 2.0]], "layout_cell_unknown"),
    ([[1, True]], "layout_cell_unknown"), ([[1, [2]]], "layout_cell_unknown"), ([["1", None]], "layout_cell_unknown"),
    ([[1, 1]], "layout_seat_numbers"), ([[0, 1]], "layout_seat_numbers"), ([[200, 201]], "layout_seat_numbers"),
    ([["crew", None]], "layout_seat_numbers"),
])
def test_a_layout_that_is_no_vehicle_is_refused(rows, code):
    with pytest.raises(InvalidInput) as refusal:
        read_layout(rows)
    assert refusal.value.code == code
    assert set(refusal.value.fields) == {"layout"}


def test_seats_run_to_200_and_standing_places_from_201_to_255():
    assert read_layout([[1, 200]]).seats_for_sale == (1, 200)
    assert list(standing_numbers(2)) == [201, 202]
    assert list(standing_numbers(0)) == []
    assert standing_numbers(55)[-1] == 255
    for places in (-1, 56):
        with pytest.raises(InvalidInput):
            standing_numbers(places)


def test_kilometres_between_calls_are_exact():
    km = [Decimal("0"), Decimal("33.3"), Decimal("100.0"), Decimal("204.125")]
    assert km_between(km, 0, 2) == Decimal("100.0")
    assert km_between(km, 1, 3) == Decimal("170.825")


@pytest.mark.parametrize(("board", "alight"), [(1, 1), (2, 1), (-1, 1), (0, 3)])
def test_nobody_alights_before_boarding_or_beyond_the_last_call(board, alight):
    with pytest.raises(InvalidInput):
        km_between([Decimal(0), Decimal(5), Decimal(9)], board, alight)


@pytest.mark.parametrize(("day", "utc"), [
    (date(2026, 11, 5), "2026-11-05T11:00+00:00"),
    (date(2026, 1, 15), "2026-01-15T11:00+00:00"),
    (date(2018, 1, 15), "2018-01-15T10:00+00:00"),
])
def test_summer_time_is_counted_only_when_there_was_one(day, utc):
    """Eight in the morning stays eight in the morning, with no zone data on the machine either."""
    zone = "America/Sao_Paulo"
    reset_tzpath(to=())
    try:
        ZoneInfo.clear_cache()
        instant = service_instant(day, 8 * 3600, zone)
        assert instant == datetime.fromisoformat(utc)
        assert instant.astimezone(ZoneInfo(zone)).strftime("%H:%M") == "08:00"
    finally:
        reset_tzpath()
        ZoneInfo.clear_cache()


@pytest.mark.parametrize(("standing", "allowed", "places"), [(0, True, 3), (10, True, 13), (10, False, 3)])
def test_capacity_counts_standing_places_where_the_line_allows_them(standing, allowed, places):
    layout = read_layout([["crew", 1, None, 2], [None, None, None, 3]])
    assert capacity(layout, standing, standing_allowed=allowed) == places


@pytest.mark.parametrize(("seat", "words"), [(1, "1"), (200, "200"), (201, "em pé 1"), (255, "em pé 55"), (0, None)])
def test_a_place_is_said_as_seat_or_standing(seat, words):
    assert seat_words(seat) == words


@pytest.mark.parametrize(("day", "runs"), [
    (MONDAY - timedelta(days=3), False),  # a Friday before the period
    (MONDAY, True), (MONDAY + timedelta(days=4), True),
    (MONDAY + timedelta(days=5), False),  # Saturday
    (MONDAY + timedelta(days=1), False),  # taken out
    (MONDAY + timedelta(days=6), True),   # put in, a Sunday
    (MONDAY + timedelta(days=20), True),  # put in after the period
    (MONDAY + timedelta(days=14), False),
])
def test_an_exception_decides_before_period_and_weekday(day, runs):
    exceptions = {MONDAY + timedelta(days=1): False, MONDAY + timedelta(days=6): True,
                  MONDAY + timedelta(days=20): True}
    assert runs_on(day, valid_from=MONDAY, valid_until=MONDAY + timedelta(days=13), weekdays=0b0011111,
                   exception=exceptions.get(day)) is runs
