"""The board of a day: what leaves, for how much, with how many free seats, in as many statements as for one row."""

from datetime import timedelta

import pytest
from sqlalchemy import event, text

from kernel.errors import InvalidInput, RuleViolation
from kernel.money import Money
from tests.instants import NOW
from tests.world import build
from ticketing.network.models import Trip
from ticketing.network.service import courses, load_journey
from ticketing.online import search, service
from ticketing.tariffs.service import Stretch, price, prices

DAY = (NOW + timedelta(days=1)).date().isoformat()


@pytest.fixture
def world(session):
    return build(session)


def wanted(session, origin="Criciuma", destination="florianópolis", day=DAY):
    return search.read_search(search.towns(session), origin, destination, day, now=NOW)


def counted(session, act):
    seen = []

    def note(_connection, _cursor, statement, parameters, *_rest):
        seen.append((statement, parameters))
    event.listen(session.get_bind(), "before_cursor_execute", note)
    act()
    event.remove(session.get_bind(), "before_cursor_execute", note)
    return seen


def test_a_day_lists_the_departures_with_price_parts_and_free_seats_of_the_legs(session, world):
    service.start_booking(session, "WEBAAAAA", (world.long_trip, 1, 2), [5, 6], now=NOW)
    [row] = search.options(session, wanted(session), now=NOW)
    assert row.departure.trip.id == world.long_trip
    assert (row.departure.seats, row.departure.free) == (11, 9)
    assert [item.kind for item in row.price.fare.items] == ["tariff", "boarding_fee"]
    assert row.duration == timedelta(hours=3)
    assert row.for_sale
    [short] = [one for one in search.options(session, wanted(session, "tubarao", "imbituba"), now=NOW)]
    assert short.departure.free == 9
    [before] = [one for one in search.options(session, wanted(session, "criciuma", "tubarão"), now=NOW)
                if one.departure.trip.id == world.long_trip]
    assert before.departure.free == 11


def test_a_hold_that_ran_out_counts_as_free(session, world):
    service.start_booking(session, "WEBAAAAA", (world.long_trip, 0, 3), [5], now=NOW)
    [row] = search.options(session, wanted(session), now=NOW + timedelta(minutes=10))
    assert row.departure.free == 11


def test_a_bus_that_has_left_or_was_cancelled_is_shown_and_not_sold(session, world):
    trip = session.get(Trip, world.long_trip)
    trip.status = "cancelled"
    [row] = search.options(session, wanted(session), now=NOW)
    assert not row.for_sale
    trip.status = "open"
    [row] = search.options(session, wanted(session), now=NOW + timedelta(days=1))
    assert row.left and not row.for_sale


def test_the_price_on_the_board_is_the_price_of_the_sale(session, world):
    for row in search.options(session, wanted(session, "criciuma", "tubarao"), now=NOW):
        journey = load_journey(session, row.departure.trip.id, row.departure.board.seq, row.departure.alight.seq)
        assert row.price == price(session, journey, now=NOW)


def test_a_stretch_without_a_tariff_is_refused_in_its_own_row(session, world):
    calls = courses(session, [world.long_trip, world.short_trip])
    trips = [session.get(Trip, trip_id) for trip_id in (world.long_trip, world.short_trip)]
    early = (NOW - timedelta(days=200)).date()
    found = prices(session, [Stretch(trips[0].line, calls[world.long_trip], 0, 1, NOW.date()),
                             Stretch(trips[1].line, calls[world.short_trip], 0, 1, early)])
    assert found[0].fare.total == Money(2125)
    assert isinstance(found[1], RuleViolation) and found[1].code == "no_tariff_in_force"


def test_the_statements_do_not_grow_with_the_rows(session, world):
    session.execute(text("SELECT 1"))
    asked = wanted(session, "criciuma", "tubarao")
    alone = wanted(session)
    one = counted(session, lambda: search.options(session, alone, now=NOW))
    many = counted(session, lambda: search.options(session, asked, now=NOW))
    assert len(search.options(session, asked, now=NOW)) == 2
    assert len(one) == len(many) == 4


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # PostgreSQL reads tables as small as these whole
def test_the_board_is_read_by_indexes_alone(session, world):
    asked = wanted(session)
    [(statement, parameters), *_rest] = counted(session, lambda: search.options(session, asked, now=NOW))
    plan = [row[3] for row in session.connection().exec_driver_sql("EXPLAIN QUERY PLAN " + statement, parameters)]
    assert not [step for step in plan if step.startswith("SCAN")], plan
    assert any("ix_trip_call_stop_id_departs_at" in step for step in plan), plan


@pytest.mark.parametrize(("origin", "destination", "day", "fields"), [
    ("", "Tubarão", DAY, {"from"}), ("Criciúma", " ", DAY, {"to"}), ("Paris", "Roma", DAY, {"from", "to"}),
    ("Criciúma", "criciuma", DAY, {"to"}), ("Criciúma", "Tubarão", "", {"day"}), ("Criciúma", "Tubarão", "2026-03-01", {"day"}),
    ("Criciúma", "Tubarão", "2029-01-01", {"day"}), ("Criciúma", "Tubarão", "31/02/2026", {"day"}), ("", "", "x", {"from", "to", "day"})])
def test_a_search_that_cannot_be_read_says_each_field(session, world, origin, destination, day, fields):
    with pytest.raises(InvalidInput) as refusal:
        wanted(session, origin, destination, day)
    assert set(refusal.value.fields) == fields


@pytest.mark.parametrize("day", ["2026-03-02", "02/03/2026", " 2/3/2026"])
def test_today_is_the_first_day_and_may_be_typed(session, world, day):
    assert wanted(session, day=day).day == NOW.date()
