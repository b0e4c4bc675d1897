from datetime import date
from decimal import Decimal
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import InvalidInput, RuleViolation
from kernel.money import ZERO, Money, total
from ticketing.tariffs.policy import (
    NOT_SOLD,
    Component,
    Fare,
    Leg,
    TariffVersion,
    fare,
    item,
    read_components,
    stretch_of,
    version_in_force,
)

DAY = date(2026, 3, 2)
ROAD = [Leg(Decimal("33.3"), "asphalt", 1), Leg(Decimal("66.7"), "earth", 2)]


def tariff(**changes):
    given_terms = {"id": 1, "act": "Ato 1/2026", "starts_on": DAY, "method": "coefficient",
                   "coefficient_asphalt": Decimal("0.25"), "coefficient_earth": Decimal("0.3125")}
    return TariffVersion(**(given_terms | changes))


def price(version, stretch=ROAD, section_fare=None, estimated=False, rehearsal=False, state="SC", day=DAY):
    return fare(version, stretch, section_fare=section_fare, estimated=estimated, rehearsal=rehearsal, state=state,
                day=day)


@pytest.mark.parametrize(("km", "coefficient", "minimum", "rounding", "cents"), [
    ("10", "0.25", 0, "cent", 250),
    ("99.9", "0.252035", 0, "cent", 2518),  # 25.1782965
    ("1", "0.005", 0, "cent", 1),
    ("1", "0.004999", 0, "cent", 0),
    ("49.5", "0.25", 0, "cent", 1238),  # 12.375
    ("49.5", "0.25", 0, "five_centavos", 1240),
    ("49.496", "0.25", 0, "five_centavos", 1235),  # 12.374
    ("49.499", "0.249999", 0, "five_centavos", 1235),  # 12.3747 is below the half: no rounding on the way up
    ("32.8", "0.25", 820, "cent", 820),
    ("32.76", "0.25", 820, "cent", 820),  # 8.19
    ("32.84", "0.25", 820, "cent", 821),
    ("1", "0.25", 822, "five_centavos", 820),  # the minimum comes before the rounding
    ("1", "0.25", 823, "five_centavos", 825),
])
def test_the_tariff_item_is_kilometres_by_coefficient_rounded_as_stated(km, coefficient, minimum, rounding, cents):
    version = tariff(coefficient_asphalt=Decimal(coefficient), minimum=Money(minimum), rounding=rounding)
    assert price(version, [Leg(Decimal(km), "asphalt", 1)]).total == Money(cents)


def test_each_leg_pays_its_own_road():
    assert price(tariff()).total == Money(2917)  # 33.3 × 0.25 + 66.7 × 0.3125 = 29.16875


COMPONENTS = (Component("boarding_fee", Money(310), 1), Component("boarding_fee", Money(99), 2),
              Component("toll", Money(120), 2), Component("toll", Money(77), 3), Component("insurance", Money(45)))


@pytest.mark.parametrize(("stretch", "owed"), [
    (ROAD, [("boarding_fee", 310), ("toll", 120), ("insurance", 45)]),
    (ROAD[:1], [("boarding_fee", 310), ("insurance", 45)]),
    (ROAD[1:], [("boarding_fee", 99), ("toll", 120), ("insurance", 45)]),
    ([Leg(Decimal(9), "asphalt", 4)], [("insurance", 45)]),
])
def test_fees_are_owed_where_one_boards_and_tolls_where_one_passes(stretch, owed):
    items = price(tariff(components=COMPONENTS), stretch).items
    assert items[0].kind == "tariff"
    assert [(entry.kind, entry.amount.cents) for entry in items[1:]] == owed


def test_a_component_without_a_stop_is_always_owed():
    everywhere = (Component("boarding_fee", Money(1)), Component("toll", Money(2)), Component("insurance", Money(3)))
    assert [entry.amount.cents for entry in price(tariff(components=everywhere)).items[1:]] == [1, 2, 3]


def test_rounding_touches_the_tariff_item_alone():
    bill = price(tariff(rounding="five_centavos", components=(Component("toll", Money(121)),)))
    assert [entry.amount.cents for entry in bill.items] == [2915, 121]
    assert [entry.label for entry in bill.items] == ["Tarifa", "Pedágio"]


@given(st.lists(st.tuples(st.decimals(0, 900, places=3), st.sampled_from(["asphalt", "earth"]), st.integers(1, 5)),
                min_size=1, max_size=12),
       st.decimals(0, 2, places=6), st.decimals("0.000001", 2, places=6), st.integers(0, 5000),
       st.lists(st.tuples(st.sampled_from(["boarding_fee", "toll", "insurance"]), st.integers(0, 9999),
                          st.none() | st.integers(1, 5)), max_size=6),
       st.sampled_from(["cent", "five_centavos"]))
def test_a_fares_total_is_exactly_the_sum_of_its_items(legs, asphalt, earth, minimum, components, rounding):
    version = tariff(coefficient_asphalt=asphalt, coefficient_earth=earth, minimum=Money(minimum), rounding=rounding,
                     components=tuple(Component(kind, Money(cents), stop) for kind, cents, stop in components))
    bill = price(version, [Leg(*leg) for leg in legs])
    assert bill.total == total([entry.amount for entry in bill.items])
    exact = sum((km * (earth if road == "earth" else asphalt) for km, road, _ in legs), Decimal(0))
    distance = abs(Decimal(bill.items[0].amount.cents) - max(exact * 100, Decimal(minimum)))
    assert distance <= (Decimal("2.5") if rounding == "five_centavos" else Decimal("0.5"))


def test_a_fare_whose_total_is_not_its_sum_cannot_be_made():
    with pytest.raises(ValueError, match="sum"):
        Fare((item("tariff", Money(100)),), Money(101))


def test_a_section_table_gives_its_published_amount():
    sections = tariff(method="sections", coefficient_asphalt=Decimal(0), coefficient_earth=Decimal(0),
                      minimum=Money(9999), rounding="five_centavos")
    assert price(sections, section_fare=Money(1233), estimated=True).total == Money(1233)


@pytest.mark.parametrize(("method", "section_fare", "code"), [
    ("sections", NOT_SOLD, "pair_not_sold"), ("sections", None, "no_fare_for_pair"),
    ("coefficient", NOT_SOLD, "pair_not_sold"),
])
def test_a_pair_without_a_price_is_not_sold(method, section_fare, code):
    with pytest.raises(RuleViolation) as refusal:
        price(tariff(method=method), section_fare=section_fare)
    assert (refusal.value.code, refusal.value.citation.rule) == (code, "T3")


@pytest.mark.parametrize(("state", "day", "article"), [
    ("SC", DAY, "Lei SC 5.684/1980, art. 11"),
    ("MS", date(2022, 11, 16), "Lei MS 36/1979, arts. 20 a 22 e 40, III, b"),
    ("MS", date(2022, 11, 17), "política da transportadora, que mantém a Lei MS 36/1979, arts. 20 a 22 e 40, III, b (revogada pela Lei MS 5.976/2022)"),
])
def test_estimated_kilometres_never_price_a_ticket_outside_a_rehearsal(state, day, article):
    with pytest.raises(RuleViolation) as refusal:
        price(tariff(), estimated=True, state=state, day=day)
    assert (refusal.value.code, refusal.value.citation.rule) == ("estimated_km", "T3")
    assert refusal.value.citation.article == article
    assert price(tariff(), estimated=True, rehearsal=True).total == Money(2917)


@pytest.mark.parametrize(("day", "chosen"), [
    (date(2026, 1, 1), 1), (date(2026, 2, 28), 1), (date(2026, 3, 1), 4), (date(2027, 1, 1), 4), (date(2027, 1, 2), 3),
])
def test_the_version_in_force_started_last_and_of_one_day_was_entered_last(day, chosen):
    versions = [tariff(id=4, starts_on=date(2026, 3, 1)), tariff(id=1, starts_on=date(2026, 1, 1)),
                tariff(id=2, starts_on=date(2026, 3, 1)), tariff(id=3, starts_on=date(2027, 1, 2))]
    assert version_in_force(versions, day, state="SC").id == chosen


def test_before_the_first_version_nothing_is_sold():
    with pytest.raises(RuleViolation) as refusal:
        version_in_force([tariff(starts_on=date(2026, 1, 1))], date(2025, 12, 31), state="MS")
    assert (refusal.value.code, refusal.value.citation.rule) == ("no_tariff_in_force", "T3")
    assert "SC" not in refusal.value.citation.article


@pytest.mark.parametrize(("changes", "field"), [
    ({"act": " "}, "act"),
    ({"method": "guess"}, "method"),
    ({"rounding": "up"}, "rounding"),
    ({"coefficient_asphalt": Decimal("0.1234567")}, "coefficient_asphalt"),
    ({"coefficient_asphalt": Decimal("-0.1")}, "coefficient_asphalt"),
    ({"coefficient_asphalt": Decimal("NaN")}, "coefficient_asphalt"),
    ({"coefficient_earth": 0.25}, "coefficient_earth"),
    ({"coefficient_earth": Decimal("1E+30")}, "coefficient_earth"),
    ({"coefficient_asphalt": Decimal(0), "coefficient_earth": Decimal(0)}, "coefficient_asphalt"),
    ({"minimum": Money(-1)}, "components"),
    ({"components": (Component("toll", Money(-1)),)}, "components"),
    ({"components": (Component("tip", Money(1)),)}, "components"),
])
def test_a_tariff_that_no_act_could_fix_is_refused(changes, field):
    with pytest.raises(InvalidInput) as refusal:
        tariff(**changes)
    assert set(refusal.value.fields) == {field}


def test_stored_components_are_read_back():
    rows = [{"kind": "toll", "cents": 120, "stop_id": 2}, {"kind": "insurance", "cents": 0, "stop_id": None}]
    assert read_components(rows) == (Component("toll", Money(120), 2), Component("insurance", ZERO))


class Call(NamedTuple):
    km: Decimal
    road: str
    stop_id: int


def test_a_leg_leaves_one_call_and_takes_the_road_of_the_next():
    loop = [Call(Decimal(0), "asphalt", 7), Call(Decimal("33.3"), "asphalt", 8), Call(Decimal("100.0"), "earth", 7)]
    assert stretch_of(loop, 0, 2) == (Leg(Decimal("33.3"), "asphalt", 7), Leg(Decimal("66.7"), "earth", 8))
    assert stretch_of(loop, 1, 2) == (Leg(Decimal("66.7"), "earth", 8),)
    with pytest.raises(InvalidInput):
        stretch_of(loop, 2, 2)
