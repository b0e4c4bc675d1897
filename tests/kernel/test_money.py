"""Whole cents, one rounding, no float."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.money import LARGEST_CENTS, ZERO, Money, from_decimal, parse_money, total

CENTS = st.integers(-LARGEST_CENTS, LARGEST_CENTS)


@pytest.mark.parametrize("value", [1.0, "1", None, True, Decimal(1)])
def test_only_whole_cents_are_money(value):
    with pytest.raises(TypeError):
        Money(value)


@pytest.mark.parametrize(("reais", "cents"), [
    ("0.004", 0), ("0.005", 1), ("12.344", 1234), ("12.345", 1235), ("-0.005", -1), ("-12.344", -1234)])
def test_half_a_cent_rounds_up(reais, cents):
    assert from_decimal(Decimal(reais)) == from_decimal(Fraction(reais)) == Money(cents)


@pytest.mark.parametrize(("cents", "percent", "expected"), [
    (1000, 5, 50), (1010, 5, 51), (1009, 5, 50), (999, 50, 500), (997, Decimal("12.5"), 125), (0, 5, 0), (-1010, 5, -51)])
def test_a_percentage_is_exact_to_half_a_cent(cents, percent, expected):
    assert Money(cents).percent(percent) == Money(expected)


@pytest.mark.parametrize(("cents", "expected"), [(1237, 1235), (1238, 1240), (1235, 1235), (1232, 1230), (1233, 1235), (0, 0)])
def test_five_centavos_are_the_nearest_multiple(cents, expected):
    assert Money(cents).to_nearest(5) == Money(expected)


@pytest.mark.parametrize(("text", "cents"), [
    ("1.234,56", 123456), ("1234,5", 123450), ("12", 1200), ("1234.56", 123456), (" R$ 0,05 ", 5), ("0", 0), ("-3,10", -310)])
def test_what_people_type_is_read(text, cents):
    assert parse_money(text) == Money(cents)


@pytest.mark.parametrize("text", [
    "", " ", "x", "1e9", "NaN", "Infinity", "1,234", "1,2,3", "12,345", "--1", "1.2.3", "١٢", "9" * 10, "10000000,01", "0x10",
    "1_000", "+-1", "-", ",", "1" * 100000])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="amount"):
        parse_money(text)


@given(CENTS, CENTS)
def test_sums_are_exact(a, b):
    assert Money(a) + Money(b) - Money(b) == Money(a)
    assert total([Money(a), Money(b), -Money(a)]) == Money(b)
    assert bool(Money(a)) == (a != 0)


@given(CENTS)
def test_the_plain_form_reads_back(cents):
    assert parse_money(str(Money(cents))) == Money(cents)


def test_nothing_adds_up_to_nothing():
    assert total([]) == ZERO


@pytest.mark.parametrize(("cents", "text"), [
    (0, "R$\u00a00,00"), (5, "R$\u00a00,05"), (123456789, "R$\u00a01.234.567,89"), (-4550, "\u2212R$\u00a045,50")])
def test_people_read_money_the_brazilian_way(cents, text):
    assert Money(cents).in_reais() == text
