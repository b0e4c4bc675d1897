"""A trip as its driver works it: its calls and places, who is on its list, who is aboard, who drives it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, bindparam, delete, func, select
from sqlalchemy.orm import Session, aliased

from boarding.doors.models import Roster
from kernel import audit
from kernel.auth import Staff
from kernel.clock import local_date
from kernel.db import InsertNew, rows_changed
from kernel.errors import InvalidInput, NotFound
from kernel.vault import Vault
from ticketing.network.models import Call, Line, Place, Stop, Trip, Vehicle
from ticketing.network.policy import capacity, read_layout, seat_words
from ticketing.sales.identities import Passenger, opened_or_none
from ticketing.sales.models import Identity, Ticket
from ticketing.sales.policy import LIVE, search_key

SHOWN_AFTER_ARRIVAL = timedelta(hours=2)
LEAVES_AFTER = timedelta(minutes=5)  # a bus still stands at its stop for a while after the hour
_insert_roster = InsertNew(Roster)


@dataclass(frozen=True, slots=True)
class DoorCall:
    """A call of the trip with its stop's name, town and zone."""

    seq: int
    stop: str
    place: str
    zone: str
    arrives_at: datetime
    departs_at: datetime


@dataclass(frozen=True, slots=True)
class DoorTrip:
    """A trip of the driver who asked. `capacity` counts places for passengers, the crew's seats left out."""

    id: int
    status: str
    delay_minutes: int
    line_code: str
    line_name: str
    state: str
    capacity: int
    calls: Sequence[DoorCall]

    @property
    def origin(self) -> DoorCall:
        return self.calls[0]

    @property
    def last(self) -> DoorCall:
        return self.calls[-1]

    def stop_at(self, now: datetime) -> int:
        """The call where the bus is or goes to: the first that it has not left by the hour; later the last but one."""
        late = timedelta(minutes=self.delay_minutes) + LEAVES_AFTER
        ahead = (call.seq for call in self.calls[:-1] if now <= call.departs_at + late)
        return next(ahead, self.calls[-2].seq)

    def check_stop(self, seq: int) -> None:
        """Lets through a call where somebody may board. Raises InvalidInput."""
        if not 0 <= seq < len(self.calls) - 1:
            sentence = "Escolha a parada onde o ônibus está."
            raise InvalidInput("no_such_stop_on_trip", sentence, fields={"stop_seq": sentence})


_TRIP = (select(Trip.id, Trip.status, Trip.delay_minutes, Line.code, Line.name, Line.state, Line.standing_allowed,
                Vehicle.layout, Vehicle.standing_places, Call.seq, Call.arrives_at, Call.departs_at,
                Stop.name.label("stop"), Stop.zone, Place.name.label("place"))
         .join(Roster, Roster.trip_id == Trip.id).join(Line, Trip.line_id == Line.id)
         .join(Vehicle, Trip.vehicle_id == Vehicle.id).join(Call, Call.trip_id == Trip.id)
         .join(Stop, Call.stop_id == Stop.id).join(Place, Stop.place_id == Place.id))
_ONE = _TRIP.where(Trip.id == bindparam("trip_id"), Roster.staff_id == bindparam("staff_id")).order_by(Call.seq)
_LOCKED = _ONE.with_for_update(of=Trip, key_share=True)


def driver_trip(session: Session, trip_id: int, *, staff_id: int, lock: bool = False) -> DoorTrip:
    """A trip on this driver's roster, in one statement. Raises NotFound for any other, there or not.

    `lock` makes scans of one trip take turns on PostgreSQL, as they do on SQLite, so that the last place is given once.
    """
    trips = _read_trips(session.execute(_LOCKED if lock else _ONE, {"trip_id": trip_id, "staff_id": staff_id}))
    if not trips:
        raise NotFound("no_such_trip", "Esta viagem não está na sua escala. Fale com o escritório.")
    return trips[0]


def driver_trips(session: Session, *, staff_id: int, now: datetime) -> list[DoorTrip]:
    """The driver's trips that are running, or that leave today or tomorrow at their first stop, by hour."""
    query = _TRIP.where(Roster.staff_id == staff_id, Trip.arrives_at > now - SHOWN_AFTER_ARRIVAL,
                        Trip.departs_at < now + timedelta(hours=48)).order_by(Trip.departs_at, Trip.id, Call.seq)
    return [trip for trip in _read_trips(session.execute(query))
            if local_date(trip.origin.departs_at, trip.origin.zone)
            <= local_date(now, trip.origin.zone) + timedelta(days=1)]


def _read_trips(found: Iterable[Any]) -> list[DoorTrip]:
    trips = []
    for trip_id, group in groupby(found, key=attrgetter("id")):
        rows = list(group)
        first = rows[0]
        trips.append(DoorTrip(
            id=trip_id, status=first.status, delay_minutes=first.delay_minutes, line_code=first.code,
            line_name=first.name, state=first.state,
            capacity=capacity(read_layout(first.layout), first.standing_places,
                              standing_allowed=first.standing_allowed),
            calls=[DoorCall(row.seq, row.stop, row.place, row.zone, row.arrives_at, row.departs_at) for row in rows]))
    return trips


def aboard_query(trip_id: ColumnElement[int], stop_seq: ColumnElement[int]) -> ScalarSelect[int]:
    """How many seats and standing places are in use when the bus leaves a call: boarded, and going further."""
    one = aliased(Ticket)  # the statement around this may speak of a ticket too
    return select(func.count()).select_from(one).where(
        one.trip_id == trip_id, one.status == "boarded", one.seat > 0, one.alight_seq > stop_seq).scalar_subquery()


_ABOARD = select(aboard_query(bindparam("trip_id"), bindparam("stop_seq")))


def aboard(session: Session, trip_id: int, stop_seq: int) -> int:
    """The number aboard when the bus leaves that call."""
    return session.scalars(_ABOARD, {"trip_id": trip_id, "stop_seq": stop_seq}).one()


@dataclass(frozen=True, slots=True)
class Card:
    """A trip on the driver's first page: when it is ("now", "today", "tomorrow"), how many sold, how many aboard."""

    trip: DoorTrip
    when: str
    sold: int
    aboard: int


def driver_cards(session: Session, *, staff_id: int, now: datetime) -> list[Card]:
    """The driver's trips with their counts."""
    trips = driver_trips(session, staff_id=staff_id, now=now)
    sold = {trip_id: count for trip_id, count in session.execute(
        select(Ticket.trip_id, func.count()).where(Ticket.trip_id.in_([trip.id for trip in trips]),
                                                   Ticket.status.in_(LIVE)).group_by(Ticket.trip_id))}
    return [Card(trip, _when(trip, now), sold.get(trip.id, 0), aboard(session, trip.id, trip.stop_at(now)))
            for trip in trips]


def _when(trip: DoorTrip, now: datetime) -> str:
    if now >= trip.origin.departs_at:
        return "now"
    today = local_date(now, trip.origin.zone)
    return "today" if local_date(trip.origin.departs_at, trip.origin.zone) <= today else "tomorrow"


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the passenger list; `place` is the seat in words."""

    code: str
    seat: int
    place: str
    board: DoorCall
    alight: DoorCall
    status: str
    boarded_at: datetime | None
    boarded: DoorCall | None
    passenger: Passenger | None


def passengers(session: Session, trip: DoorTrip, *, vault: Vault, search: str = "", now: datetime,
               actor: str) -> list[Listed]:
    """The trip's list by seat: sold and boarded. `search` keeps names, codes and seats that contain it. Audited."""
    rows = session.execute(select(Ticket, Identity).outerjoin(Identity, Identity.ticket_id == Ticket.id).where(
        Ticket.trip_id == trip.id, Ticket.status.in_(LIVE)).order_by(Ticket.seat, Ticket.board_seq))
    listed = [_line(trip, ticket, opened_or_none(identity, ticket.code, vault)) for ticket, identity in rows]
    audit.record(session, "passengers_listed", subject=f"trip {trip.id}", details={"listed": len(listed)}, now=now,
                 actor=actor)
    wanted = search_key(search)
    return [row for row in listed if not wanted or _matches(row, wanted)]


def _line(trip: DoorTrip, ticket: Ticket, passenger: Passenger | None) -> Listed:
    boarded = trip.calls[ticket.boarded_seq] if ticket.boarded_seq is not None else None
    return Listed(ticket.code, ticket.seat, seat_words(ticket.seat) or "colo", trip.calls[ticket.board_seq],
                  trip.calls[ticket.alight_seq], ticket.status, ticket.boarded_at, boarded, passenger)


def _matches(row: Listed, wanted: str) -> bool:
    name = search_key(row.passenger.name) if row.passenger else ""
    return wanted in name or wanted == str(row.seat) or wanted == row.code.lower()


@dataclass(frozen=True, slots=True)
class RosterRow:
    """A trip of the day with the drivers it has: id and name."""

    trip_id: int
    status: str
    line_code: str
    line_name: str
    departs_at: datetime
    zone: str
    drivers: Sequence[tuple[int, str]]


def roster(session: Session, day: date) -> list[RosterRow]:
    """The trips of a service day with their drivers, by hour."""
    found = session.execute(
        select(Trip.id, Trip.status, Line.code, Line.name, Trip.departs_at, Stop.zone, Staff.id.label("driver"),
               Staff.display_name)
        .join(Line, Trip.line_id == Line.id).join(Call, (Call.trip_id == Trip.id) & (Call.seq == 0))
        .join(Stop, Call.stop_id == Stop.id).outerjoin(Roster, Roster.trip_id == Trip.id)
        .outerjoin(Staff, Roster.staff_id == Staff.id)
        .where(Trip.service_date == day).order_by(Trip.departs_at, Trip.id, Staff.display_name))
    listed = []
    for trip_id, group in groupby(found, key=attrgetter("id")):
        rows = list(group)
        first = rows[0]
        listed.append(RosterRow(trip_id, first.status, first.code, first.name, first.departs_at, first.zone,
                                [(row.driver, row.display_name) for row in rows if row.driver is not None]))
    return listed


def drivers(session: Session) -> list[tuple[int, str]]:
    """Who can be put on a roster: id and name, by name."""
    rows = session.execute(select(Staff.id, Staff.display_name).where(
        Staff.role == "driver", Staff.disabled_at.is_(None)).order_by(Staff.display_name))
    return [(row.id, row.display_name) for row in rows]


def put_on_roster(session: Session, trip_id: int, staff_id: int, *, now: datetime, actor: str) -> None:
    """The driver works this trip; pressing again changes nothing. Raises InvalidInput, NotFound."""
    login = _driver_login(session, staff_id)
    if session.get(Trip, trip_id) is None:
        raise NotFound("no_such_trip", "Esta viagem não existe. Escolha uma da lista.")
    if _insert_roster(session, {"trip_id": trip_id, "staff_id": staff_id}):
        audit.record(session, "driver_rostered", subject=f"trip {trip_id}", details={"driver": login}, now=now,
                     actor=actor)


def take_off_roster(session: Session, trip_id: int, staff_id: int, *, now: datetime, actor: str) -> None:
    """The driver no longer sees this trip."""
    gone = session.execute(delete(Roster).where(Roster.trip_id == trip_id, Roster.staff_id == staff_id))
    if rows_changed(gone):
        audit.record(session, "driver_taken_off", subject=f"trip {trip_id}", details={"driver_id": staff_id}, now=now,
                     actor=actor)


def _driver_login(session: Session, staff_id: int) -> str:
    login = session.scalars(select(Staff.login).where(
        Staff.id == staff_id, Staff.role == "driver", Staff.disabled_at.is_(None))).first()
    if login is None:
        sentence = "Escolha um motorista da lista."
        raise InvalidInput("not_a_driver", sentence, fields={"staff_id": sentence})
    return login
