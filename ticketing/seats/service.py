"""Holding, selling and freeing seats. One function owns the row-count test that stops a seat being sold twice."""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Integer, bindparam, delete, func, insert, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session, aliased

from kernel.clock import local_date
from kernel.db import UtcDateTime, rows_changed
from kernel.decisions import Citation
from kernel.errors import Conflict
from ticketing.network.laws import CARRIER
from ticketing.network.models import Call, Line, Stop, Trip, Vehicle
from ticketing.network.policy import HIGHEST_SEAT, read_layout, standing_numbers
from ticketing.network.service import Journey
from ticketing.seats.models import LegNumber, SeatHold, SeatLeg
from ticketing.seats.policy import capacity_citation, check_seat, choose_seat, free_seats, stretch_mask

SWEPT_AT_ONCE = 200

_HOLD = insert(SeatHold).returning(SeatHold.id)
_LEGS = select(bindparam("trip", type_=Integer), LegNumber.n, bindparam("number", type_=Integer),
               bindparam("hold", type_=Integer), bindparam("until", type_=UtcDateTime)).where(
    LegNumber.n >= bindparam("first", type_=Integer), LegNumber.n < bindparam("last", type_=Integer)
).order_by(LegNumber.n)
_COLUMNS = ["trip_id", "leg", "seat", "hold_id", "hold_until"]


def _claim_statement(dialect_insert: Any) -> Any:
    rows = dialect_insert(SeatLeg).from_select(_COLUMNS, _LEGS)
    return rows.on_conflict_do_update(
        index_elements=["trip_id", "leg", "seat"],
        set_={"hold_id": rows.excluded.hold_id, "hold_until": rows.excluded.hold_until},
        where=SeatLeg.hold_until <= bindparam("now", type_=UtcDateTime)).execution_options(preserve_rowcount=True)


_CLAIM = {"sqlite": _claim_statement(sqlite_insert), "postgresql": _claim_statement(postgresql_insert)}
_FREE = delete(SeatLeg).where(SeatLeg.hold_id == bindparam("hold"))


@dataclass(frozen=True, slots=True)
class Taken:
    """Per seat number, the mask of legs that are sold and of legs that are held and not expired."""

    sold: dict[int, int]
    held: dict[int, int]

    @property
    def both(self) -> dict[int, int]:
        return {seat: self.sold.get(seat, 0) | self.held.get(seat, 0) for seat in {*self.sold, *self.held}}


def taken_seats(session: Session, trip_id: int, *, now: datetime) -> Taken:
    """What is taken on a trip at `now`; an expired hold is free at once, swept or not."""
    sold: dict[int, int] = {}
    held: dict[int, int] = {}
    rows = session.execute(select(SeatLeg.seat, SeatLeg.leg, SeatLeg.hold_until).where(
        SeatLeg.trip_id == trip_id, or_(SeatLeg.hold_until.is_(None), SeatLeg.hold_until > now)))
    for seat, leg, until in rows:
        masks = sold if until is None else held
        masks[seat] = masks.get(seat, 0) | 1 << leg
    return Taken(sold, held)


def seat_states(session: Session, journey: Journey, *, now: datetime) -> dict[int, str]:
    """The numbers that are "sold" or "held" on any leg of the journey; what is not there is free."""
    taken = taken_seats(session, journey.trip.id, now=now)
    wanted = stretch_mask(journey.board_seq, journey.alight_seq)
    held = {seat: "held" for seat, mask in taken.held.items() if mask & wanted}
    return held | {seat: "sold" for seat, mask in taken.sold.items() if mask & wanted}


@dataclass(frozen=True, slots=True)
class Departure:
    """A trip that calls at the wanted stop on the wanted local date, with the free seats for this stretch."""

    trip: Trip
    line: Line
    board: Call
    alight: Call
    seats: int
    free: int


_FROM, _TO = aliased(Call, name="board"), aliased(Call, name="alight")
_BUSY = (select(func.count(func.distinct(SeatLeg.seat))).where(
    SeatLeg.trip_id == Trip.id, SeatLeg.leg >= _FROM.seq, SeatLeg.leg < _TO.seq, SeatLeg.seat <= HIGHEST_SEAT,
    or_(SeatLeg.hold_until.is_(None), SeatLeg.hold_until > bindparam("now", type_=UtcDateTime)))
    .correlate(Trip, _FROM, _TO).scalar_subquery())
_LEAVES, _ARRIVES = aliased(Stop, name="leaves"), aliased(Stop, name="arrives")
# PostgreSQL orders the first eight tables freely: what narrows the search stands among them. The status is written out
# because a plan for any status is a plan for no trip at all, and then reads every trip.
_DEPARTURES = (select(Trip, Line, Vehicle.layout, _FROM, _TO, _BUSY).select_from(_LEAVES)
               .join(_FROM, _FROM.stop_id == _LEAVES.id).join(_TO, _TO.trip_id == _FROM.trip_id)
               .join(_ARRIVES, _TO.stop_id == _ARRIVES.id).join(Trip, Trip.id == _FROM.trip_id)
               .join(Line, Trip.line_id == Line.id).join(Vehicle, Trip.vehicle_id == Vehicle.id)
               .where(_TO.seq > _FROM.seq, Trip.status != literal("closed", literal_execute=True))
               .order_by(_FROM.departs_at, Trip.id, _FROM.seq, _TO.seq))


def departures(session: Session, *, from_stop_id: int, to_place_id: int | None, day: date, zone: str,
               now: datetime) -> list[Departure]:
    """The day's departures from a stop, to a place or to the end of each trip, by hour. One statement.

    A trip that calls twice at a place gives one row per boarding call, the shortest stretch.
    """
    start = datetime.combine(day, time(), ZoneInfo(zone))
    found = _DEPARTURES.where(_FROM.stop_id == from_stop_id, _FROM.departs_at >= start,
                              _FROM.departs_at < start + timedelta(days=1))
    return _rows(session, found, to_place_id, now)


def departures_between(session: Session, *, from_place_id: int, to_place_id: int, day: date, zones: Collection[str],
                       now: datetime) -> list[Departure]:
    """The day's departures from any stop of one town to any stop of another, by hour. One statement.

    `zones` are those of the first town's stops; the day is the local one of each boarding call.
    """
    starts = [datetime.combine(day, time(), ZoneInfo(zone)) for zone in zones]
    found = _DEPARTURES.where(_LEAVES.place_id == from_place_id, _FROM.departs_at >= min(starts),
                              _FROM.departs_at < max(starts) + timedelta(days=1))
    return [row for row in _rows(session, found, to_place_id, now)
            if local_date(row.board.departs_at, row.board.stop.zone) == day]


def _rows(session: Session, found: Any, to_place_id: int | None, now: datetime) -> list[Departure]:
    if to_place_id is not None:
        found = found.where(_ARRIVES.place_id == to_place_id)
    rows: dict[tuple[int, int], Departure] = {}
    for trip, line, layout, board, alight, busy in session.execute(found, {"now": now}):
        seats = len(read_layout(layout).seats_for_sale)
        row = Departure(trip, line, board, alight, seats, seats - busy)
        if to_place_id is None:
            rows[trip.id, board.seq] = row  # the last one wins: the end of the trip
        else:
            rows.setdefault((trip.id, board.seq), row)
    return list(rows.values())


def claim(session: Session, journey: Journey, seat: int, *, until: datetime | None, now: datetime,
          actor: str) -> SeatHold:
    """Take a seat for the journey's legs: held until an instant, or sold when `until` is None.

    The primary key of seat_leg decides between two buyers. Raises Conflict `seat_taken`, RuleViolation (T12) for a
    number that is not for sale. The caller rolls back on any of them.
    """
    check_seat(seat, journey.layout, standing_allowed=journey.line.standing_allowed,
               standing_places=journey.vehicle.standing_places, state=journey.line.state, day=journey.day)
    connection = session.connection()
    code = secrets.token_hex(16)
    values = {"code": code, "trip_id": journey.trip.id, "seat": seat, "leg_from": journey.board_seq,
              "leg_to": journey.alight_seq, "status": "sold" if until is None else "held", "holder": actor,
              "expires_at": until, "created_at": now}
    hold_id = connection.execute(_HOLD, values).scalar_one()
    won = rows_changed(connection.execute(_CLAIM[connection.dialect.name], {
        "trip": journey.trip.id, "number": seat, "hold": hold_id, "until": until, "first": journey.board_seq,
        "last": journey.alight_seq, "now": now}))
    if won != journey.alight_seq - journey.board_seq:
        raise Conflict("seat_taken", f"A poltrona {seat} acabou de ser vendida neste trecho. Escolha outra.",
                       fields={"seat": f"A poltrona {seat} acabou de ser vendida. Escolha outra."},
                       citation=capacity_citation(state=journey.line.state, day=journey.day))
    return SeatHold(id=hold_id, **values)


def confirm(session: Session, code: str, journey: Journey, *, now: datetime, actor: str) -> SeatHold:
    """Turn one's own live hold on these legs into a sale. Raises Conflict `hold_over` when it is gone or expired."""
    hold = session.scalar(select(SeatHold).where(SeatHold.code == code))
    over = Conflict("hold_over", "A reserva da poltrona venceu e nada foi cobrado. Escolha a poltrona de novo.",
                    fields={"seat": "A reserva venceu. Escolha de novo."},
                    citation=Citation("T13", f"{CARRIER}: reserva por {journey.carrier.hold_minutes} minutos"))
    if hold is None or hold.holder != actor or (hold.trip_id, hold.leg_from, hold.leg_to) != (
            journey.trip.id, journey.board_seq, journey.alight_seq):
        raise over
    moved = session.execute(update(SeatHold).where(
        SeatHold.id == hold.id, SeatHold.status == "held", SeatHold.expires_at > now)
        .values(status="sold", expires_at=None).execution_options(synchronize_session=False))
    legs = session.execute(update(SeatLeg).where(SeatLeg.hold_id == hold.id, SeatLeg.hold_until > now)
                           .values(hold_until=None).execution_options(synchronize_session=False))
    if rows_changed(moved) != 1 or rows_changed(legs) != hold.leg_to - hold.leg_from:
        raise over
    return hold


def lengthen(session: Session, code: str, *, until: datetime, now: datetime, actor: str) -> bool:
    """Let one's own live hold last until a later instant; whether it was still alive."""
    hold = session.execute(select(SeatHold.id, SeatHold.leg_from, SeatHold.leg_to).where(
        SeatHold.code == code, SeatHold.holder == actor)).first()
    if hold is None:
        return False
    held = session.execute(update(SeatHold).where(
        SeatHold.id == hold.id, SeatHold.status == "held", SeatHold.expires_at > now).values(expires_at=until)
        .execution_options(synchronize_session=False))
    legs = session.execute(update(SeatLeg).where(SeatLeg.hold_id == hold.id, SeatLeg.hold_until > now)
                           .values(hold_until=until).execution_options(synchronize_session=False))
    return rows_changed(held) == 1 and rows_changed(legs) == hold.leg_to - hold.leg_from


def free(session: Session, hold_id: int) -> None:
    """Release a hold or a sold seat: its legs are on sale again at once."""
    session.connection().execute(_FREE, {"hold": hold_id})
    session.execute(update(SeatHold).where(SeatHold.id == hold_id).values(status="released", expires_at=None)
                    .execution_options(synchronize_session=False))


def release_hold(session: Session, code: str, *, actor: str) -> bool:
    """Give back one's own hold; whether there was one to give back. A sold seat is not touched."""
    hold_id = session.scalar(select(SeatHold.id).where(
        SeatHold.code == code, SeatHold.holder == actor, SeatHold.status == "held"))
    if hold_id is None:
        return False
    free(session, hold_id)
    return True


def held_seat(session: Session, code: str, *, actor: str, now: datetime) -> int | None:
    """The seat of one's own live hold, None when there is none."""
    if not code:
        return None
    return session.scalar(select(SeatHold.seat).where(
        SeatHold.code == code, SeatHold.holder == actor, SeatHold.status == "held", SeatHold.expires_at > now))


def pick_seat(session: Session, journey: Journey, *, now: datetime) -> int:
    """The best free seat by number: tightest gap, ties at random. Raises Conflict `full` when none is free."""
    seat = choose_seat(journey.layout.seats_for_sale, taken_seats(session, journey.trip.id, now=now).both,
                       journey.board_seq, journey.alight_seq, legs=journey.legs, choose=secrets.choice)
    if seat is None:
        raise Conflict("full", "Não há poltrona livre em todo este trecho. Escolha outra viagem.",
                       fields={"seat": "Não há poltrona livre neste trecho."},
                       citation=capacity_citation(state=journey.line.state, day=journey.day))
    return seat


def numbers_for_sale(journey: Journey) -> Sequence[int]:
    """Every seat of the vehicle, then the standing places where the line allows them (MS 43)."""
    seats = journey.layout.seats_for_sale
    if not journey.line.standing_allowed:
        return seats
    return [*seats, *standing_numbers(journey.vehicle.standing_places)]


def free_numbers(session: Session, journey: Journey, *, now: datetime) -> tuple[int, ...]:
    """The numbers free on every leg of the journey, standing places last."""
    return free_seats(numbers_for_sale(journey), taken_seats(session, journey.trip.id, now=now).both,
                      journey.board_seq, journey.alight_seq)


def sweep(session: Session, *, now: datetime) -> int:
    """Clear the rows of expired holds, a batch at a time; the number cleared. Only housekeeping: see `claim`."""
    expired = select(SeatHold.id).where(SeatHold.status == "held", SeatHold.expires_at <= now).order_by(
        SeatHold.expires_at).limit(SWEPT_AT_ONCE).with_for_update(skip_locked=True)
    ids = list(session.scalars(expired))
    if ids:
        session.execute(delete(SeatLeg).where(SeatLeg.hold_id.in_(ids)))
        session.execute(update(SeatHold).where(SeatHold.id.in_(ids)).values(status="released", expires_at=None))
    return len(ids)
