from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import InvalidInput
from kernel.money import ZERO, Money
from refunds.windows.policy import DEFAULT_TABLE, RefundRow, RefundTable, quote, read_table, refund_until
from tests.instants import at
from ticketing.sales.policy import full_refund_until

SC, MS = "America/Sao_Paulo", "America/Campo_Grande"
PRICE = Money(10_000)
DEPARTS = at("2026-03-06T18:30-03:00")
CIVIL_CODE = "política da transportadora (Código Civil, art. 740)"


def asked(now, *, price=PRICE, departs=DEPARTS, state="SC", cancelled=False, delay=0, table=DEFAULT_TABLE):
    return quote(price=price, departs_at=departs, now=now, line_state=state, zone=SC if state == "SC" else MS,
                 trip_cancelled=cancelled, delay_minutes=delay, table=table)


def table(*rows):
    return RefundTable(tuple(RefundRow(hours, Decimal(percent)) for hours, percent in rows))


@pytest.mark.parametrize(("departs", "now", "full"), [
    ("2026-03-06T18:30-03:00", "2026-03-06T06:29:59-03:00", True),
    ("2026-03-06T18:30-03:00", "2026-03-06T06:30:00-03:00", True),  # the written rule: that very instant is in time
    ("2026-03-06T18:30-03:00", "2026-03-06T06:30:00.000001-03:00", False),
    ("2026-03-06T18:30-03:00", "2026-03-06T06:30:01-03:00", False),
    ("2026-04-01T08:00-03:00", "2026-03-28T09:00-03:00", True),
    ("2026-03-06T08:00-03:00", "2026-03-05T21:00-03:00", False),
    ("2026-03-06T22:00-03:00", "2026-03-06T12:30:00Z", True),
    ("2026-03-06T18:30-03:00", "2026-03-07T10:00-03:00", False),
    ("2026-03-06T18:30-04:00", "2026-03-06T07:30:00-03:00", True),  # 06:30 where the passenger boards
    ("2026-03-06T18:30-04:00", "2026-03-06T07:30:01-03:00", False),
])
def test_the_whole_price_comes_back_until_12_hours_before_departure(departs, now, full):
    answer = asked(at(now), departs=at(departs))
    assert (answer.decision.outcome == "full") is full
    assert (answer.refund == PRICE) is full
    assert (at(now) <= refund_until(at(departs))) is full
    assert refund_until(at(departs)) == full_refund_until(at(departs))  # what the ticket prints


@pytest.mark.parametrize(("departs", "until"), [
    (datetime(2018, 11, 4, 8, tzinfo=ZoneInfo(SC)), "2018-11-03T22:00+00:00"),  # 08:00 is 10:00Z: summer time began
    (datetime(2019, 2, 17, 8, tzinfo=ZoneInfo(SC)), "2019-02-16T23:00+00:00"),  # the night had one hour more
    (datetime(2026, 11, 5, 8, tzinfo=ZoneInfo(SC)), "2026-11-04T23:00+00:00"),
])
def test_twelve_hours_are_hours_on_a_night_of_clock_change_too(departs, until):
    assert refund_until(departs) == at(until)
    assert asked(at(until), departs=departs).decision.outcome == "full"
    assert asked(at(until) + timedelta(seconds=1), departs=departs).decision.outcome == "partial"


@pytest.mark.parametrize(("now", "outcome", "refund", "kept"), [
    (DEPARTS - timedelta(hours=12), "full", 10_000, 0),
    (DEPARTS - timedelta(hours=11, minutes=59, seconds=59), "partial", 9_500, 500),
    (DEPARTS, "partial", 9_500, 500),
    (DEPARTS + timedelta(microseconds=1), "nothing", 0, 10_000),
    (DEPARTS + timedelta(days=30), "nothing", 0, 10_000),
])
def test_later_five_percent_is_kept_and_after_departure_all(now, outcome, refund, kept):
    answer = asked(now)
    assert (answer.decision.outcome, answer.refund.cents, answer.kept.cents) == (outcome, refund, kept)


@pytest.mark.parametrize(("cents", "kept"), [(1010, 51), (1009, 50), (9, 0), (10, 1), (0, 0), (5705, 285)])
def test_what_is_kept_is_rounded_half_up(cents, kept):
    assert asked(DEPARTS, price=Money(cents)).kept == Money(kept)


@pytest.mark.parametrize(("cancelled", "delay", "outcome"), [
    (False, 0, "nothing"), (False, 60, "nothing"), (False, 61, "full"), (True, 0, "full"), (True, 61, "full"),
])
def test_a_trip_cancelled_or_over_an_hour_late_gives_all_back_at_any_time(cancelled, delay, outcome):
    answer = asked(DEPARTS + timedelta(days=2), cancelled=cancelled, delay=delay)
    assert (answer.decision.outcome, answer.decision.citation.rule) == (outcome, "R2")


IN_FORCE = "Lei MS 36/1979, art. 40, III, c"
KEPT = "política da transportadora, que mantém a Lei MS 36/1979, art. 40, III, c (revogada pela Lei MS 5.976/2022)"


@pytest.mark.parametrize(("state", "now", "rule", "article"), [
    ("MS", "1979-11-26T12:00-04:00", "R1", IN_FORCE),
    ("MS", "2022-11-16T23:59:59-04:00", "R1", IN_FORCE),
    ("MS", "2022-11-17T00:00-04:00", "R1", KEPT),  # that day itself counts as revoked, by the local date
    ("MS", "2026-03-02T12:00-04:00", "R1", KEPT),
    ("SC", "2022-11-16T12:00-03:00", "R2", CIVIL_CODE),
    ("SC", "2026-03-02T12:00-03:00", "R2", CIVIL_CODE),
    ("PR", "2026-03-02T12:00-03:00", "R2", CIVIL_CODE),
])
def test_the_window_cites_the_wording_in_force_in_its_own_state(state, now, rule, article):
    answer = asked(at(now), departs=at(now) + timedelta(days=2), state=state)
    assert (answer.decision.outcome, answer.decision.citation.rule) == ("full", rule)
    assert answer.decision.citation.article == article


def test_a_late_request_cites_the_carriers_policy_in_both_states():
    assert {asked(DEPARTS, state=state).decision.citation.article for state in ("SC", "MS")} == {CIVIL_CODE}


@given(st.integers(0, 10**9), st.integers(-40 * 3600, 40 * 3600), st.booleans(), st.integers(0, 200),
       st.sampled_from([DEFAULT_TABLE, table((12, 0)), table((12, 0), (3, "2.5"), (-2, 100)), table((0, 0), (-24, 33))]))
def test_refund_and_kept_are_the_price(cents, seconds, cancelled, delay, rows):
    answer = asked(DEPARTS - timedelta(seconds=seconds), price=Money(cents), cancelled=cancelled, delay=delay, table=rows)
    assert answer.refund + answer.kept == Money(cents)
    assert answer.refund >= ZERO
    assert answer.kept >= ZERO


@pytest.mark.parametrize(("rows", "hours", "kept"), [
    (((12, 0), (3, "2.5")), 3, 250), (((12, 0), (3, "2.5")), 2, 10_000), (((6, 0), (0, 5)), 6, 0),
    (((6, 0), (0, 5)), 5, 500), (((12, 0), (0, 5), (-24, 50)), -24, 5_000), (((12, 0), (0, 5), (-24, 50)), -25, 10_000),
])
def test_a_carriers_table_decides_after_the_window(rows, hours, kept):
    assert asked(DEPARTS - timedelta(hours=hours), table=table(*rows)).kept == Money(kept)


def test_a_kinder_table_moves_the_last_instant_of_the_whole_price():
    assert refund_until(DEPARTS, table((6, 0), (0, 5))) == DEPARTS - timedelta(hours=6)


@pytest.mark.parametrize(("rows", "code"), [
    ([(0, 5), (12, 0)], "refund_rows_out_of_order"),
    ([(12, 0), (12, 5)], "refund_rows_out_of_order"),
    ([(12, 5), (0, 0)], "refund_rows_out_of_order"),
    ([(12, -1), (0, 5)], "refund_percent_out_of_range"),
    ([(12, 0), (-1, 101)], "refund_percent_out_of_range"),
    ([(13, 0), (0, 5)], "refund_keeps_at_12_hours"),
    ([(24, 0), (12, 5)], "refund_keeps_at_12_hours"),
    ([], "refund_keeps_at_12_hours"),
    ([(12, 0), (0, "5.01")], "refund_keeps_too_much"),
])
def test_a_table_that_breaks_the_window_or_the_civil_code_is_refused(rows, code):
    with pytest.raises(InvalidInput) as refusal:
        table(*rows)
    assert (refusal.value.code, set(refusal.value.fields)) == (code, {"rows"})


def test_a_stored_table_is_read_and_none_means_the_default():
    stored = [{"from_hours": 12, "kept_percent": 0}, {"from_hours": 3, "kept_percent": "2.5"}]
    assert read_table(stored) == table((12, 0), (3, "2.5"))
    assert read_table([]) == read_table(None) == DEFAULT_TABLE


@pytest.mark.parametrize("rows", [
    [{"from_hours": 12}], [{"from_hours": "12", "kept_percent": 0}], [{"from_hours": 12, "kept_percent": 0.5}],
    [{"from_hours": 12, "kept_percent": "x"}], [{"from_hours": 12, "kept_percent": "NaN"}], [[12, 0]], 7,
    [{"from_hours": 12, "kept_percent": 0, "note": ""}], [{"from_hours": True, "kept_percent": 0}],
])
def test_a_stored_table_of_another_shape_is_refused(rows):
    with pytest.raises(InvalidInput) as refusal:
        read_table(rows)
    assert refusal.value.code == "refund_rows_unreadable"


@pytest.mark.parametrize("changes", [
    {"now": datetime(2026, 3, 2)}, {"departs": datetime(2026, 3, 2)}, {"price": Money(-1)}])  # noqa: DTZ001
def test_a_time_without_zone_or_a_negative_price_is_a_fault(changes):
    with pytest.raises(ValueError, match="zone|negative"):
        asked(**{"now": DEPARTS} | changes)
