"""Trips: opening them from the timetable, loading the journey a passenger makes, cancelling and reporting delay."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import and_, bindparam, insert, select, update
from sqlalchemy.orm import Session, aliased

from kernel import audit, webhooks
from kernel.clock import local_date, service_instant
from kernel.db import rows_changed
from kernel.decisions import Citation
from kernel.errors import Conflict, InvalidInput, NotFound
from ticketing.network.laws import CARRIER
from ticketing.network.models import (
    Call,
    Carrier,
    Line,
    Pattern,
    PatternCall,
    Place,
    Slot,
    Stop,
    Title,
    Trip,
    Vehicle,
)
from ticketing.network.policy import (
    CANCEL_REASONS,
    SeatLayout,
    check_sale_within_title,
    check_stretch,
    km_between,
    read_layout,
    runs_on,
)

LONGEST_OPEN_DAYS = 400
CLOSED_AFTER_ARRIVAL = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Journey:
    """A passenger's stretch of a trip, with all that a decision about it needs. Rows are of the loading session."""

    trip: Trip
    line: Line
    vehicle: Vehicle
    carrier: Carrier
    title: Title | None
    calls: Sequence[Call]
    board_seq: int
    alight_seq: int

    @property
    def board(self) -> Call:
        return self.calls[self.board_seq]

    @property
    def alight(self) -> Call:
        return self.calls[self.alight_seq]

    @property
    def day(self) -> date:
        """The local date of the boarding call: "the date" of every rule."""
        return local_date(self.board.departs_at, self.board.stop.zone)

    @property
    def stretch_km(self) -> Decimal:
        return km_between([call.km for call in self.calls], self.board_seq, self.alight_seq)

    @property
    def layout(self) -> SeatLayout:
        return read_layout(self.vehicle.layout)

    @property
    def legs(self) -> int:
        return len(self.calls) - 1


_TRIP = (select(Trip, Line, Vehicle, Carrier, Title).join(Line, Trip.line_id == Line.id)
         .join(Vehicle, Trip.vehicle_id == Vehicle.id).join(Carrier, Line.carrier_id == Carrier.id)
         .outerjoin(Title, and_(Title.line_id == Line.id, Title.valid_from <= Trip.service_date,
                                Title.valid_until >= Trip.service_date))
         .where(Trip.id == bindparam("trip")).order_by(Title.id.desc()))
_CALLS = select(Call).where(Call.trip_id == bindparam("trip")).order_by(Call.seq)


def load_journey(session: Session, trip_id: int, board_seq: int | None = None,
                 alight_seq: int | None = None) -> Journey:
    """The stretch between two calls (the whole course when not given), in two statements.

    Raises NotFound for an unknown trip, InvalidInput for calls that the trip lacks or that are out of order.
    """
    row = session.execute(_TRIP, {"trip": trip_id}).first()
    if row is None:
        raise NotFound("no_such_trip", "Esta viagem não existe. Escolha uma da lista.")
    calls = list(session.scalars(_CALLS, {"trip": trip_id}))
    board = 0 if board_seq is None else board_seq
    alight = len(calls) - 1 if alight_seq is None else alight_seq
    check_stretch(board, alight, calls=len(calls))
    return Journey(row.Trip, row.Line, row.Vehicle, row.Carrier, row.Title, calls, board, alight)


def check_open_for_sale(journey: Journey, now: datetime) -> None:
    """Lets through a trip that is open, under a title on its day (T2), and has not left the boarding stop.

    Raises Conflict `trip_not_open` or `already_left`, RuleViolation (T2).
    """
    if journey.trip.status != "open":
        raise Conflict("trip_not_open", "Esta viagem foi cancelada ou encerrada. Escolha outra.",
                       citation=Citation("T13", f"{CARRIER}: vende-se viagem aberta"))
    check_sale_within_title([journey.title] if journey.title else [], journey.trip.service_date,
                            state=journey.line.state)
    if now > journey.board.departs_at + timedelta(minutes=journey.trip.delay_minutes):
        raise Conflict("already_left", "O ônibus já saiu desta parada. Escolha outra viagem.",
                       citation=Citation("T13", f"{CARRIER}: vende-se até a partida da parada"))


def open_trips(session: Session, *, days: int | None = None, now: datetime, actor: str) -> int:
    """Open every trip of the timetable from today to N days ahead (the carrier's setting); the number opened.

    Idempotent: the key (slot, service date) decides. A line without a title on the day opens nothing (T1, T2).
    """
    slots = session.execute(
        select(Slot, Pattern.line_id, Carrier.open_days).join(Pattern, Slot.pattern_id == Pattern.id)
        .join(Line, Pattern.line_id == Line.id).join(Carrier, Line.carrier_id == Carrier.id)).all()
    titles: dict[int, list[Title]] = {}
    for title in session.scalars(select(Title)):
        titles.setdefault(title.line_id, []).append(title)
    courses: dict[int, list[PatternCall]] = {}
    for call in session.scalars(select(PatternCall).order_by(PatternCall.pattern_id, PatternCall.seq)):
        courses.setdefault(call.pattern_id, []).append(call)
    opened = 0
    for slot, line_id, open_days in slots:
        days_ahead = open_days if days is None else days
        if not 0 <= days_ahead <= LONGEST_OPEN_DAYS:
            raise InvalidInput("open_days", f"Abra de 0 a {LONGEST_OPEN_DAYS} dias de viagens.")
        wanted = [day for day in _days(slot, now, days_ahead)
                  if any(t.valid_from <= day <= t.valid_until for t in titles.get(line_id, []))]
        opened += _open(session, slot, line_id, courses.get(slot.pattern_id, []), wanted)
    if opened:
        audit.record(session, "trips_opened", subject="timetable", details={"trips": opened}, now=now, actor=actor)
    return opened


def close_trips(session: Session, *, now: datetime, actor: str) -> int:
    """Close every open trip that should have arrived two days ago; the number closed.

    Its longest delay and the 24 hours in which a no-show is settled have passed by then.
    """
    closed = rows_changed(session.execute(update(Trip).where(
        Trip.status == "open", Trip.arrives_at < now - CLOSED_AFTER_ARRIVAL).values(status="closed")))
    if closed:
        audit.record(session, "trips_closed", subject="timetable", details={"trips": closed}, now=now, actor=actor)
    return closed


def slot_runs(slot: Slot, day: date) -> bool:
    """Whether the timetable slot runs on a service day."""
    return runs_on(day, valid_from=slot.valid_from, valid_until=slot.valid_until, weekdays=slot.weekdays,
                   exception=slot.exceptions.get(day.isoformat()))


def cancel_trip(session: Session, trip_id: int, reason: str, *, now: datetime, actor: str) -> None:
    """The carrier cancels a trip: nothing more is sold, everyone may have the whole price back (R2).

    The audit log keeps the reason as a word of CANCEL_REASONS, never free text. Raises Conflict when the trip is not
    open, InvalidInput without a reason.
    """
    if not reason.strip():
        raise InvalidInput("reason_missing", "Diga o motivo.", fields={"reason": "Diga o motivo do cancelamento."})
    changed = session.execute(update(Trip).where(Trip.id == trip_id, Trip.status == "open")
                              .values(status="cancelled"))
    if rows_changed(changed) != 1:
        raise Conflict("trip_not_open", "Esta viagem já foi cancelada ou encerrada.")
    audit.record(session, "trip_cancelled", subject=str(trip_id), now=now, actor=actor,
                 details={"reason": reason if reason in CANCEL_REASONS else "other"})
    webhooks.announce(session, "trip.changed", [{"trip": trip_id, "change": "cancelled"}], now=now)


def report_delay(session: Session, trip_id: int, minutes: int, *, now: datetime, actor: str) -> None:
    """Set how late the trip leaves, in minutes; over 60 everyone may have the whole price back (R2)."""
    if not 0 <= minutes <= 24 * 60:
        sentence = "O atraso vai de 0 a 1440 minutos."
        raise InvalidInput("delay_out_of_range", sentence, fields={"minutes": sentence})
    changed = session.execute(update(Trip).where(Trip.id == trip_id, Trip.status == "open")
                              .values(delay_minutes=minutes))
    if rows_changed(changed) != 1:
        raise Conflict("trip_not_open", "Esta viagem já foi cancelada ou encerrada.")
    audit.record(session, "trip_delayed", subject=str(trip_id), details={"minutes": minutes}, now=now, actor=actor)
    webhooks.announce(session, "trip.changed", [{"trip": trip_id, "change": "delayed", "minutes": minutes}], now=now)


def _days(slot: Slot, now: datetime, days_ahead: int) -> list[date]:
    today = local_date(now, slot.zone)
    return [day for day in (today + timedelta(days=n) for n in range(days_ahead + 1)) if slot_runs(slot, day)]


def _open(session: Session, slot: Slot, line_id: int, course: Sequence[PatternCall], days: Sequence[date]) -> int:
    there = set(session.scalars(select(Trip.service_date).where(Trip.slot_id == slot.id,
                                                                Trip.service_date.in_(days)))) if days else set()
    missing = [day for day in days if day not in there]
    if not missing or len(course) < 2:
        return 0
    rows = [{"line_id": line_id, "slot_id": slot.id, "vehicle_id": slot.vehicle_id, "service_date": day,
             "status": "open", "delay_minutes": 0, **trip_row(slot, course, day)} for day in missing]
    ids = session.scalars(insert(Trip).returning(Trip.id, sort_by_parameter_order=True), rows).all()
    session.execute(insert(Call), [{"trip_id": trip_id, **call} for trip_id, day in zip(ids, missing, strict=True)
                                   for call in call_rows(slot, course, day)])
    return len(missing)


def trip_row(slot: Slot, course: Sequence[PatternCall], day: date) -> dict[str, Any]:
    """What the timetable says of a trip on a service day: its ends, its last local day and its kilometres."""
    arrives = service_instant(day, slot.times[-1][0], slot.zone)
    return {"departs_at": service_instant(day, slot.times[0][1], slot.zone), "arrives_at": arrives,
            "last_day": local_date(arrives, slot.zone), "course_km": course[-1].km - course[0].km,
            "km_estimated": any(call.km_estimated for call in course)}


def call_rows(slot: Slot, course: Sequence[PatternCall], day: date) -> list[dict[str, Any]]:
    """The calls that the timetable says a trip makes on a service day."""
    return [{"seq": call.seq, "stop_id": call.stop_id, "km": call.km, "km_estimated": call.km_estimated,
             "road": call.road, "arrives_at": service_instant(day, slot.times[call.seq][0], slot.zone),
             "departs_at": service_instant(day, slot.times[call.seq][1], slot.zone)} for call in course]


def stop(session: Session, stop_id: int) -> Stop:
    """A stop by id. Raises NotFound."""
    found = session.get(Stop, stop_id)
    if found is None:
        raise NotFound("no_such_stop", "Esta parada não existe. Escolha uma da lista.")
    return found


def stops_served(session: Session) -> list[Stop]:
    """The stops where any pattern calls, by place and name: where a till may stand."""
    served = select(PatternCall.stop_id).distinct()
    return list(session.scalars(select(Stop).join(Place, Stop.place_id == Place.id).where(Stop.id.in_(served))
                                .order_by(Place.name, Stop.name)))


@dataclass(frozen=True, slots=True)
class ServedPlace:
    """A town where buses call, and the zones of its stops (one, but for a town on a border)."""

    id: int
    name: str
    state: str
    zones: frozenset[str]


def places_served(session: Session) -> list[ServedPlace]:
    """Every town where a pattern calls, by name. One statement."""
    served = select(PatternCall.stop_id).distinct()
    rows = session.execute(select(Place.id, Place.name, Place.state, Stop.zone).join(Stop, Stop.place_id == Place.id)
                           .where(Stop.id.in_(served)).distinct().order_by(Place.name, Place.state, Stop.zone))
    zones: dict[tuple[int, str, str], set[str]] = {}
    for row in rows:
        zones.setdefault((row.id, row.name, row.state), set()).add(row.zone)
    return [ServedPlace(*place, frozenset(found)) for place, found in zones.items()]


def courses(session: Session, trip_ids: Sequence[int]) -> dict[int, list[Any]]:
    """The calls of several trips in order, as plain rows of what a price needs. One statement, however many trips."""
    found: dict[int, list[Any]] = {trip_id: [] for trip_id in trip_ids}
    rows = session.execute(select(Call.trip_id, Call.seq, Call.stop_id, Call.km, Call.km_estimated, Call.road)
                           .where(Call.trip_id.in_(found)).order_by(Call.trip_id, Call.seq))
    for row in rows:
        found[row.trip_id].append(row)
    return found


def destinations(session: Session, stop_id: int) -> list[Place]:
    """The places that some pattern reaches after calling at a stop, by name."""
    here, there = aliased(PatternCall), aliased(PatternCall)
    reached = (select(Stop.place_id).join(there, there.stop_id == Stop.id)
               .join(here, and_(here.pattern_id == there.pattern_id, here.seq < there.seq))
               .where(here.stop_id == stop_id))
    return list(session.scalars(select(Place).where(Place.id.in_(reached)).order_by(Place.name)))
