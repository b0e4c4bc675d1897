"""The day's trips with what was sold and who is aboard, one trip's tickets, and what needs a person now.

It lives above the other rooms because one page looks into all of them: the timetable and its titles (network), seats,
tickets and their status (sales), and who drives (boarding). Inside ticketing no leaf may see tickets and trips together
with the door. Cancelling and reporting delay stay in ticketing/network/service.py; nothing here writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Select, exists, func, select
from sqlalchemy.orm import Session, aliased

from boarding.doors.models import Roster
from ticketing.network.models import Call, Line, Title, Trip, Vehicle
from ticketing.network.policy import capacity, read_layout
from ticketing.network.service import Journey, load_journey
from ticketing.sales.models import Booking, Ticket
from ticketing.sales.policy import LIVE
from ticketing.seats.models import SeatLeg

SOON = timedelta(hours=3)


@dataclass(frozen=True, slots=True)
class DayTrip:
    """A trip of the day. `sold` counts tickets still valid, `aboard` those of them that boarded, `fullest` the seats
    taken on its fullest leg: a seat that is sold twice on different legs is two tickets and one seat."""

    trip: Trip
    line: Line
    vehicle: Vehicle
    first: Call
    last: Call
    capacity: int
    sold: int
    aboard: int
    fullest: int
    titled: bool
    driven: bool


@dataclass(frozen=True, slots=True)
class Needs:
    """What needs a person: the number of open trips without a title and the first of their days, the trips that leave
    soon without a driver, and the cancelled trips with tickets whose price was not given back yet."""

    untitled: int
    untitled_from: date | None
    driverless: Sequence[DayTrip]
    unpaid: Sequence[DayTrip]

    @property
    def tickets_unpaid(self) -> int:
        return sum(row.sold for row in self.unpaid)


_FIRST, _LAST = aliased(Call, name="first"), aliased(Call, name="last")
_END = select(func.max(Call.seq)).where(Call.trip_id == Trip.id).correlate(Trip).scalar_subquery()
_TITLED = exists().where(Title.line_id == Trip.line_id, Title.valid_from <= Trip.service_date,
                         Title.valid_until >= Trip.service_date)
_DRIVEN = exists().where(Roster.trip_id == Trip.id)
_TRIPS = (select(Trip, Line, Vehicle, _FIRST, _LAST, _TITLED, _DRIVEN).join(Line, Trip.line_id == Line.id)
          .join(Vehicle, Trip.vehicle_id == Vehicle.id).join(_FIRST, (_FIRST.trip_id == Trip.id) & (_FIRST.seq == 0))
          .join(_LAST, (_LAST.trip_id == Trip.id) & (_LAST.seq == _END)).order_by(Trip.departs_at, Trip.id))

_UNTITLED = select(func.count(Trip.id), func.min(Trip.service_date)).where(Trip.status == "open", ~_TITLED)


def trips_of_day(session: Session, day: date, *, line: str | None = None) -> list[DayTrip]:
    """The trips of a service day by hour, of one line's code or of all. Three statements."""
    wanted = _TRIPS.where(Trip.service_date == day)
    return _filled(session, wanted if line is None else wanted.where(Line.code == line))


def needs(session: Session, *, now: datetime) -> Needs:
    """What needs a person at `now`, whatever day the page shows."""
    coming = _TRIPS.where(Trip.status == "open", Trip.departs_at >= now)
    unpaid = exists().where(Ticket.trip_id == Trip.id, Ticket.status.in_(LIVE))
    untitled, first_day = session.execute(_UNTITLED.where(Trip.departs_at >= now)).one()
    return Needs(untitled, first_day, _filled(session, coming.where(Trip.departs_at <= now + SOON, ~_DRIVEN)),
                 _filled(session, _TRIPS.where(Trip.status == "cancelled", unpaid)))


def lines(session: Session) -> list[Line]:
    """Every line by code, for the filter."""
    return list(session.scalars(select(Line).order_by(Line.code)))


@dataclass(frozen=True, slots=True)
class TripSheet:
    """One trip from end to end, with its tickets in seat order and how each was paid. No names."""

    journey: Journey
    tickets: Sequence[tuple[Ticket, str]]

    @property
    def valid(self) -> int:
        return sum(ticket.status in LIVE for ticket, _ in self.tickets)


def trip_sheet(session: Session, trip_id: int) -> TripSheet:
    """The trip and its tickets. Raises NotFound."""
    journey = load_journey(session, trip_id)
    rows = session.execute(select(Ticket, Booking.method).join(Booking, Ticket.booking_id == Booking.id)
                           .where(Ticket.trip_id == trip_id).order_by(Ticket.seat, Ticket.board_seq, Ticket.id))
    return TripSheet(journey, [(ticket, method) for ticket, method in rows])


def _filled(session: Session, wanted: Select[Trip, Line, Vehicle, Call, Call, bool, bool]) -> list[DayTrip]:
    rows = session.execute(wanted).all()
    ids = [row[0].id for row in rows]
    if not ids:
        return []
    counts = {(trip_id, status): count for trip_id, status, count in session.execute(
        select(Ticket.trip_id, Ticket.status, func.count()).where(Ticket.trip_id.in_(ids))
        .group_by(Ticket.trip_id, Ticket.status))}
    by_leg = (select(SeatLeg.trip_id, func.count().label("seats")).where(
        SeatLeg.trip_id.in_(ids), SeatLeg.hold_until.is_(None)).group_by(SeatLeg.trip_id, SeatLeg.leg).subquery())
    fullest = dict(session.execute(select(by_leg.c.trip_id, func.max(by_leg.c.seats))
                                   .group_by(by_leg.c.trip_id)).all())
    return [DayTrip(trip, line, vehicle, first, last,
                    capacity(read_layout(vehicle.layout), vehicle.standing_places,
                             standing_allowed=line.standing_allowed),
                    counts.get((trip.id, "sold"), 0) + counts.get((trip.id, "boarded"), 0),
                    counts.get((trip.id, "boarded"), 0), fullest.get(trip.id, 0), titled, driven)
            for trip, line, vehicle, first, last, titled, driven in rows]
