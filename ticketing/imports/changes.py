"""What a changed timetable means for trips that are open already: unsold ones follow it, sold ones wait for a person.

A trip in use keeps its hours, its stops and its tickets, whatever the file says, and is listed until its day.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from kernel import webhooks
from kernel.clock import local_date
from kernel.db import Base
from ticketing.network.models import Call, Line, Pattern, PatternCall, Slot, Trip
from ticketing.network.service import call_rows, cancel_trip, slot_runs, trip_row
from ticketing.online.models import PendingBooking
from ticketing.sales.models import Ticket
from ticketing.seats.models import SeatHold

AT_ONCE = 500
KIND_OF = {"times": "times", "zone": "times", "pattern_id": "course", "weekdays": "calendar", "valid_from": "calendar",
           "valid_until": "calendar", "exceptions": "calendar"}
KINDS = {"removed": "partida retirada", "course": "paradas", "times": "horário", "calendar": "dias",
         "km": "quilômetros"}  # in words, the weightiest first
VALID = ("sold", "boarded")

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Kept:
    """A trip that people hold tickets or seats for: its service day, and the codes of its valid tickets."""

    trip: int
    day: date
    tickets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a departure of the timetable: the `what` of KINDS, and how many open trips followed it."""

    line: str
    slot: str
    what: tuple[str, ...]
    retimed: int
    withdrawn: int
    kept: tuple[Kept, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """A trip that differs from the timetable: its rows as they should be, None when it should not run."""

    trip: Trip
    slot: Slot
    row: Mapping[str, Any]
    calls: Sequence[Mapping[str, Any]] | None
    what: frozenset[str]


def end_slots(slots: Iterable[Slot], *, now: datetime) -> list[Slot]:
    """Let departures that a file no longer has run until yesterday; those that would still have run."""
    ended = []
    for slot in slots:
        today = local_date(now, slot.zone)
        past = {day: runs for day, runs in slot.exceptions.items() if day < today.isoformat()}
        if slot.valid_until >= today or past != slot.exceptions:
            slot.valid_until, slot.exceptions = min(slot.valid_until, today - timedelta(days=1)), past
            ended.append(slot)
    return ended


def follow(session: Session, lines: Iterable[int], told: Mapping[int, frozenset[str]], *, now: datetime,
           actor: str) -> tuple[Change, ...]:
    """Bring the open trips of these lines to their timetable, and say what changed and whom it touches.

    `told` has the changes that the import made itself, by slot id, in words of KINDS.
    """
    lines = list(lines)
    codes = {slot_id: (line, slot) for slot_id, line, slot in session.execute(
        select(Slot.id, Line.code, Slot.code).join(Pattern, Slot.pattern_id == Pattern.id)
        .join(Line, Pattern.line_id == Line.id).where(Line.id.in_(lines)))}
    plans = list(_plans(session, lines, now))
    used = _in_use(session, [plan.trip.id for plan in plans], now)
    free = [plan for plan in plans if plan.trip.id not in used]
    _rewrite(session, [plan for plan in free if plan.calls is not None])
    webhooks.announce(session, "trip.changed", [
        {"trip": plan.trip.id, "change": "withdrawn" if plan.calls is None else "rescheduled"} for plan in free],
        now=now)
    _withdraw(session, [plan.trip.id for plan in free if plan.calls is None], now=now, actor=actor)
    touched: dict[int, list[_Plan]] = {slot_id: [] for slot_id in told}
    for plan in plans:
        touched.setdefault(plan.slot.id, []).append(plan)
    return tuple(sorted((_change(codes[slot_id], told.get(slot_id, frozenset()), of_slot, used)
                         for slot_id, of_slot in touched.items()), key=lambda change: (change.line, change.slot)))


def kinds(columns: Iterable[str]) -> frozenset[str]:
    """The words of KINDS for changed columns of a slot."""
    return frozenset(KIND_OF[column] for column in columns if column in KIND_OF)


def _change(codes: tuple[str, str], told: frozenset[str], plans: Sequence[_Plan],
            used: Mapping[int, tuple[str, ...]]) -> Change:
    what = told.union(*(plan.what for plan in plans))
    what -= {implied for kind, implied in (("removed", "calendar"), ("course", "times")) if kind in what}
    kept = tuple(Kept(plan.trip.id, plan.trip.service_date, used[plan.trip.id])
                 for plan in plans if plan.trip.id in used)
    free = [plan for plan in plans if plan.trip.id not in used]
    withdrawn = sum(plan.calls is None for plan in free)
    return Change(*codes, tuple(kind for kind in KINDS if kind in what), len(free) - withdrawn, withdrawn, kept)


def _plans(session: Session, lines: Sequence[int], now: datetime) -> Iterator[_Plan]:
    ahead = (Trip.line_id.in_(lines), Trip.slot_id.is_not(None), Trip.status == "open", Trip.departs_at > now)
    courses: dict[int, list[PatternCall]] = {}
    for call in session.scalars(select(PatternCall).join(Pattern, PatternCall.pattern_id == Pattern.id)
                                .where(Pattern.line_id.in_(lines)).order_by(PatternCall.pattern_id, PatternCall.seq)):
        courses.setdefault(call.pattern_id, []).append(call)
    there: dict[int, list[dict[str, Any]]] = {}
    names = ("seq", "stop_id", "km", "km_estimated", "road", "arrives_at", "departs_at")
    for trip_id, *values in session.execute(select(Call.trip_id, *(getattr(Call, name) for name in names)).join(
            Trip, Call.trip_id == Trip.id).where(*ahead).order_by(Call.trip_id, Call.seq)):
        there.setdefault(trip_id, []).append(dict(zip(names, values, strict=True)))
    for trip, slot in session.execute(select(Trip, Slot).join(Slot, Trip.slot_id == Slot.id).where(*ahead)
                                      .order_by(Trip.service_date, Trip.id)).all():
        course = courses[slot.pattern_id]
        if not slot_runs(slot, trip.service_date):
            yield _Plan(trip, slot, {}, None, frozenset({"calendar"}))
            continue
        calls = call_rows(slot, course, trip.service_date)
        if what := _differ(there[trip.id], calls):
            yield _Plan(trip, slot, trip_row(slot, course, trip.service_date), calls, what)


def _differ(here: Sequence[Mapping[str, Any]], there: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    columns = {"course": ("stop_id",), "times": ("arrives_at", "departs_at"), "km": ("km", "km_estimated", "road")}
    what = {kind for kind, names in columns.items()
            if [[call[name] for name in names] for call in here] != [[call[name] for name in names] for call in there]}
    return frozenset({"course"} if "course" in what else what)


def _in_use(session: Session, trips: Sequence[int], now: datetime) -> dict[int, tuple[str, ...]]:
    """The codes of valid tickets by trip; a trip with a live hold, or a ticket of any status, is there with none."""
    used: dict[int, tuple[str, ...]] = {}
    for some in _some_of(trips):
        # a sale under way is waited for, and the next waits until the trip is what it will be
        session.execute(select(Trip.id).where(Trip.id.in_(some)).order_by(Trip.id).with_for_update()).all()
        held = select(SeatHold.trip_id).where(SeatHold.trip_id.in_(some), SeatHold.status == "held",
                                              SeatHold.expires_at > now)
        unpaid = select(PendingBooking.trip_id).where(PendingBooking.trip_id.in_(some),
                                                      PendingBooking.status == "pending")
        used |= dict.fromkeys([*session.scalars(held), *session.scalars(unpaid)], ())
        for trip_id, code, status in session.execute(select(Ticket.trip_id, Ticket.code, Ticket.status).where(
                Ticket.trip_id.in_(some)).order_by(Ticket.code)):
            used[trip_id] = (*used.get(trip_id, ()), *((code,) if status in VALID else ()))
    return used


def _rewrite(session: Session, plans: Sequence[_Plan]) -> None:
    for some in _some_of(plans):
        session.execute(delete(Call).where(Call.trip_id.in_([plan.trip.id for plan in some]))
                        .execution_options(synchronize_session=False))
        session.execute(insert(Call), [{"trip_id": plan.trip.id, **call} for plan in some for call in plan.calls or ()])
        for plan in some:
            for column, value in plan.row.items():
                setattr(plan.trip, column, value)
    session.flush()


def _withdraw(session: Session, trips: Sequence[int], *, now: datetime, actor: str) -> None:
    """Take back trips that nobody has anything of; where something still names one, it stands cancelled."""
    named: set[int] = set()
    for table in Base.metadata.tables.values():
        for column in table.columns:
            if table is not Call.__table__ and any(key.column is Trip.__table__.c.id for key in column.foreign_keys):
                for some in _some_of(trips):
                    named |= set(session.scalars(select(column).where(column.in_(some)).distinct()))
    for trip_id in sorted(named):
        cancel_trip(session, trip_id, "other", now=now, actor=actor)
    for some in _some_of([trip_id for trip_id in trips if trip_id not in named]):
        for gone in (delete(Call).where(Call.trip_id.in_(some)), delete(Trip).where(Trip.id.in_(some))):
            session.execute(gone.execution_options(synchronize_session=False))


def _some_of(things: Sequence[Thing]) -> Iterator[Sequence[Thing]]:
    return (things[start:start + AT_ONCE] for start in range(0, len(things), AT_ONCE))
