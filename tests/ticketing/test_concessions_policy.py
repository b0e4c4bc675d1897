from decimal import Decimal

import pytest

from kernel.decisions import Citation, Decision
from kernel.money import Money, parse_money, total
from ticketing.concessions.policy import ConcessionRequest, apply, decide_concession
from ticketing.tariffs.policy import fare_of, item

HALF = Decision("discount", Citation("T9", "Lei SC 5.684/1980, art. 11, § 2º"))


@pytest.mark.parametrize("request_made", [None, ConcessionRequest("student"), ConcessionRequest("teacher")])
def test_everybody_pays_the_full_fare_for_now_and_the_decision_says_by_what(request_made):
    decision = decide_concession(request_made)
    assert (decision.outcome, decision.citation.rule) == ("full_fare", "T8-T10")
    assert decision.citation.article == "política da transportadora"
    bill = fare_of([item("tariff", Money(5705))])
    assert apply(decision, bill) == bill


@pytest.mark.parametrize(("fare", "percent", "pay"), [
    ("57.05", 50, "28.53"), ("33.25", 50, "16.63"), ("0.01", 50, "0.01"), ("19.99", 25, "14.99"),
    ("45.15", 50, "22.58"), ("114.10", 0, "114.10"), ("57.05", 100, "0.00"), ("57.05", Decimal("33.3"), "38.05"),
])
def test_half_cents_go_up_in_what_is_paid(fare, percent, pay):
    assert str(apply(HALF, fare_of([item("tariff", parse_money(fare))]), percent=percent).total) == pay


def test_three_half_fares_cost_three_times_one():
    """Rounding is per ticket, and the total is the sum of tickets."""
    one = apply(HALF, fare_of([item("tariff", Money(5705))]), percent=50).total
    assert str(total([one] * 3)) == "85.59"


def test_a_discount_leaves_fee_toll_and_insurance_alone():
    bill = fare_of([item("tariff", Money(1001)), item("boarding_fee", Money(310)), item("toll", Money(121))])
    halved = apply(HALF, bill, percent=50)
    assert [(entry.kind, entry.amount.cents) for entry in halved.items] == [
        ("tariff", 1001), ("boarding_fee", 310), ("toll", 121), ("discount", -500)]
    assert halved.total == Money(932)


@pytest.mark.parametrize(("decision", "percent"), [(HALF, -1), (HALF, 101), (decide_concession(None), 50)])
def test_a_discount_that_the_decision_does_not_give_is_not_applied(decision, percent):
    with pytest.raises(ValueError, match="discount"):
        apply(decision, fare_of([item("tariff", Money(100))]), percent=percent)
