"""The price asked of the database: by the version in force on the day of sale, on the clock of the boarding stop."""

from datetime import date
from decimal import Decimal

import pytest

from kernel.errors import RuleViolation
from kernel.money import Money
from tests.instants import NOW, at
from tests.world import build
from ticketing.network.service import load_journey
from ticketing.tariffs.policy import TariffVersion
from ticketing.tariffs.service import Stretch, add_tariff, price, prices


@pytest.fixture
def journey(session):
    """The long trip, whose line gets a second tariff on 5 March and a correction of it."""
    world = build(session)
    journey = load_journey(session, world.long_trip, 0, 1)
    for act, minimum in (("Ato 11", 5000), ("Ato 12", 6000)):
        version = TariffVersion(0, act, date(2026, 3, 5), "coefficient", Decimal("0.28"), Decimal("0.28"), Money(minimum))
        add_tariff(session, journey.line.id, version, state="SC", today=NOW.date(), now=NOW, actor="tests")
    return journey


@pytest.mark.parametrize(("now", "act"), [
    ("2026-03-05T02:59", "Ato 10"), ("2026-03-05T03:00", "Ato 12"), ("2026-01-01T03:00", "Ato 10")])
def test_a_new_tariff_is_asked_for_from_its_first_midnight_at_the_stop(session, journey, now, act):
    assert price(session, journey, now=at(now)).act == act


def test_before_the_first_tariff_a_price_is_refused_alone_and_among_others(session, journey):
    with pytest.raises(RuleViolation) as refusal:
        price(session, journey, now=at("2026-01-01T02:59"))
    assert (refusal.value.code, refusal.value.citation.rule) == ("no_tariff_in_force", "T3")

    days = (date(2025, 12, 31), date(2026, 3, 4), date(2026, 3, 5))
    found = prices(session, [Stretch(journey.line, journey.calls, 0, 1, day) for day in days])
    assert [getattr(one, "act", None) or one.code for one in found] == ["no_tariff_in_force", "Ato 10", "Ato 12"]
