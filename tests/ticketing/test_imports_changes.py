"""A feed that changed: unsold trips follow it, sold ones keep their hours and stand in the report, twice is once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest
from sqlalchemy import func, select

from kernel.clock import local_date
from kernel.money import Money
from tests import schema
from tests.instants import NOW, at
from tests.ticketing.test_imports_gtfs import TABLES, folder
from tests.world import CASH, PERSON
from ticketing.imports.gtfs import read_gtfs
from ticketing.imports.service import Choice, add_carrier, add_vehicle, bring_in, two_and_two
from ticketing.network.models import Call, Slot, Trip
from ticketing.network.service import open_trips
from ticketing.payments.service import open_shift
from ticketing.sales.models import Ticket
from ticketing.sales.service import Order, hold_seat, sell
from ticketing.sales.service import Place as Seat

ACTOR = "tests"
EARLIER = {**TABLES, "stop_times.txt": TABLES["stop_times.txt"].replace("06:30:00,06:30:00", "06:20:00,06:20:00")}
SHORTER = {**TABLES, "stop_times.txt": TABLES["stop_times.txt"].replace("T1,06:50:00,06:55:00,SJO,2\n", "")}
WITHOUT_T1 = {**TABLES, "trips.txt": TABLES["trips.txt"].replace("R1,UTEIS,T1\n", ""),
              "stop_times.txt": "\n".join(row for row in TABLES["stop_times.txt"].splitlines() if not row.startswith("T1,"))}
NO_FRIDAY = {**TABLES, "calendar.txt": TABLES["calendar.txt"].replace("UTEIS,1,1,1,1,1", "UTEIS,1,1,1,1,0")}
BROKEN_T1 = {**TABLES, "stop_times.txt": TABLES["stop_times.txt"].replace("06:50:00,06:55:00,SJO,2", "6h50,,SJO,2")}


@pytest.fixture
def bring(session, tmp_path):
    """`bring(tables)` imports a GTFS folder with those tables in rehearsal, and says what changed."""
    def bring(tables, now=NOW):
        feed = read_gtfs(folder(tmp_path, tables), progress=lambda done, total: None).feed
        return bring_in(session, feed, Choice("feed", rehearsal=True), now=now, actor=ACTOR).changes
    return bring


@pytest.fixture
def opened(session, bring):
    """The feed brought in, its trips of the five days ahead open, and the actor's till."""
    assert bring(TABLES) == ()
    open_trips(session, days=5, now=NOW, actor=ACTOR)
    open_shift(session, stop_id=session.scalars(select(Call.stop_id)).first(), opening_float=Money(0), now=NOW, actor=ACTOR)


def trips(session, slot):
    return list(session.scalars(select(Trip).join(Slot, Trip.slot_id == Slot.id).where(Slot.code == f"feed:{slot}")
                                .order_by(Trip.service_date)))


def buy(session, vault, trip, seat=7, board=0, alight=2):
    order = Order(f"B{trip.id}-{seat}", "counter", trip.id, board, alight, [Seat(seat, "", PERSON)], CASH)
    return sell(session, order, vault=vault, now=NOW, actor=ACTOR).tickets[0]


def rows(session):
    return {table: rows for table, rows in schema.rows(session.connection()).items() if table != "audit_entry"}


def test_new_hours_reach_unsold_trips_and_spare_the_sold_one(session, bring, opened, vault):
    first, *others = trips(session, "T1")[1:]
    code = buy(session, vault, first)
    until = session.scalars(select(Ticket.refund_until)).one()

    change, = bring(EARLIER)

    assert (change.line, change.slot, change.what) == ("feed:R1", "feed:T1", ("times",))
    assert (change.retimed, change.withdrawn) == (len(others) + (trips(session, "T1")[0].departs_at > NOW), 0)
    assert [(kept.trip, kept.day, kept.tickets) for kept in change.kept] == [(first.id, first.service_date, (code,))]
    session.expire_all()
    assert {at(f"{trip.service_date}T06:20-03:00") == trip.departs_at == trip.calls[0].departs_at for trip in others} == {True}
    assert first.departs_at == first.calls[0].departs_at == at(f"{first.service_date}T06:30-03:00")
    assert session.scalars(select(Ticket.refund_until)).one() == until


def test_the_same_change_twice_writes_nothing_and_still_names_whom_it_touches(session, bring, opened, vault):
    buy(session, vault, trips(session, "T1")[1])
    first = bring(EARLIER)
    before = rows(session)
    again = bring(EARLIER)
    assert rows(session) == before
    assert [(change.retimed, change.withdrawn, change.kept) for change in again] == [(0, 0, first[0].kept)]


def test_another_order_of_stops_gives_unsold_trips_new_calls_and_leaves_tickets_theirs(session, bring, opened, vault):
    first, other = trips(session, "T1")[1:3]
    buy(session, vault, first, board=1, alight=3)
    change, = bring(SHORTER)
    session.expire_all()
    assert change.what == ("course",) and len(change.kept) == 1
    assert [len(first.calls), len(other.calls)] == [4, 3]
    assert [call.seq for call in other.calls] == [0, 1, 2]
    assert other.course_km == other.calls[-1].km


def test_a_departure_that_is_gone_opens_no_more_and_takes_only_unsold_trips_along(session, bring, opened, vault):
    first = trips(session, "T1")[1]
    code = buy(session, vault, first)
    change, = bring(WITHOUT_T1)
    assert change.what == ("removed",) and change.withdrawn >= 3 and change.retimed == 0
    assert [kept.tickets for kept in change.kept] == [(code,)]
    assert [trip.id for trip in trips(session, "T1") if trip.departs_at > NOW] == [first.id]
    assert first.status == "open"
    assert {trip.service_date for trip in trips(session, "T2")} and open_trips(session, days=9, now=NOW, actor=ACTOR) > 0
    assert [trip.id for trip in trips(session, "T1") if trip.departs_at > NOW] == [first.id]


def test_a_departure_that_comes_back_opens_its_trips_again(session, bring, opened):
    before = [trip.service_date for trip in trips(session, "T1")]
    bring(WITHOUT_T1)
    bring(TABLES)
    open_trips(session, days=5, now=NOW, actor=ACTOR)
    assert [trip.service_date for trip in trips(session, "T1")] == before


def test_days_that_no_longer_run_are_taken_back_where_nobody_has_a_ticket(session, bring, opened, vault):
    friday = date(2026, 3, 6)
    sold, unsold = (next(trip for trip in trips(session, slot) if trip.service_date == friday) for slot in ("T1", "T2"))
    code, unsold_id = buy(session, vault, sold), unsold.id
    changes = {change.slot: change for change in bring(NO_FRIDAY)}
    assert {change.what for change in changes.values()} == {("calendar",)}
    assert [kept.tickets for kept in changes["feed:T1"].kept] == [(code,)] and changes["feed:T2"].withdrawn == 1
    session.expire_all()
    assert session.get(Trip, sold.id).status == "open" and session.get(Trip, unsold_id) is None


def test_a_refused_trip_is_not_taken_for_a_removed_one(session, bring, opened):
    before = rows(session)
    assert bring(BROKEN_T1) == ()
    assert rows(session) == before


def test_a_seat_being_bought_counts_as_sold_until_it_is_let_go(session, bring, opened):
    trip = trips(session, "T1")[1]
    hold_seat(session, trip.id, 0, 2, 9, now=NOW, actor=ACTOR)
    change, = bring(EARLIER)
    assert [(kept.trip, kept.tickets) for kept in change.kept] == [(trip.id, ())]
    change, = bring(EARLIER, now=NOW + timedelta(minutes=11))
    assert (change.retimed, change.kept) == (1, ())
    assert trip.departs_at == at(f"{trip.service_date}T06:20-03:00")


def test_a_trip_that_something_still_names_is_cancelled_and_not_deleted(session, bring, opened):
    trip = trips(session, "T1")[1]
    hold_seat(session, trip.id, 0, 2, 9, now=NOW, actor=ACTOR)
    bring(WITHOUT_T1, now=NOW + timedelta(minutes=11))
    session.expire_all()
    assert [(one.id, one.status) for one in trips(session, "T1") if one.departs_at > NOW] == [(trip.id, "cancelled")]


def test_a_trip_that_has_left_keeps_the_hours_at_which_it_left(session, bring, opened):
    trip = trips(session, "T1")[1]
    left = trip.departs_at
    bring(EARLIER, now=left + timedelta(minutes=1))
    session.expire_all()
    assert trip.departs_at == left


def test_trips_past_midnight_keep_identities_for_their_new_last_day(session, bring, opened):
    late = {**TABLES, "stop_times.txt": TABLES["stop_times.txt"].replace("T1,16:20:00,16:20:00", "T1,25:20:00,25:20:00")}
    bring(late)
    trip = trips(session, "T1")[1]
    assert trip.last_day == trip.service_date + timedelta(days=1) == local_date(trip.arrives_at, "America/Sao_Paulo")


def test_the_count_of_trips_is_what_it_was_when_nothing_changed(session, bring, opened):
    before = session.scalar(select(func.count()).select_from(Call))
    assert bring(TABLES) == () and session.scalar(select(func.count()).select_from(Call)) == before


def test_two_imports_at_once_are_one_after_the_other(database, tmp_path):
    feeds = [read_gtfs(folder(tmp_path / name, tables), progress=lambda done, total: None).feed
             for name, tables in (("a", TABLES), ("b", EARLIER), ("c", TABLES), ("d", EARLIER))]
    with database.transaction() as session:
        add_carrier(session, "Viação de Teste", "11.222.333/0001-81", now=NOW, actor=ACTOR)
        add_vehicle(session, "V-1", None, "teste", two_and_two(46), 0)

    def bring(feed):
        with database.transaction() as session:
            return bring_in(session, feed, Choice("feed", state="SC", vehicle="V-1"), now=NOW, actor=ACTOR).new["slot"]
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(bring, feeds)) == [0, 0, 0, 2]
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Slot)) == 2
