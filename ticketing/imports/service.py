"""Brings a feed into the network in the caller's one transaction, and registers what files do not say.

A line that a file leaves out stays as it is. Of a line that it has, a departure that it no longer has ends, and one
that moved to another course takes its code with it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session
from validate_docbr import CNPJ

from kernel import audit
from kernel.clock import day_everywhere, local_date
from kernel.db import Base
from kernel.errors import Conflict, InvalidInput, NotFound
from ticketing.imports.changes import Change, end_slots, follow, kinds
from ticketing.imports.policy import Feed, rehearse
from ticketing.imports.rows import (
    Naming,
    Tally,
    VehicleOf,
    keep_lines,
    keep_measures,
    keep_patterns,
    keep_slots,
    keep_stops,
)
from ticketing.network.models import Carrier, Line, Pattern, PatternCall, Stop, Title, Vehicle
from ticketing.network.policy import check_title, last_day_allowed, read_layout
from ticketing.tariffs.models import Tariff
from ticketing.tariffs.policy import TariffVersion
from ticketing.tariffs.service import add_tariff

LONGEST_COURSE = 200  # legs, as many as seats are kept for
REHEARSAL_ACT = "ENSAIO"
REHEARSAL_TARIFF = "ENSAIO – sem valor"
REHEARSAL_REAIS_PER_KM = Decimal("0.28")
REHEARSAL_VEHICLE = "ENSAIO-46"
REHEARSAL_SEATS = 46
REHEARSAL_CARRIER = ("Transportadora de ensaio", "00000000000000")

Coded = TypeVar("Coded", Line, Stop, Vehicle)
NAMES: dict[type[Base], str] = {Line: "linha", Stop: "ponto", Vehicle: "veículo"}


@dataclass(frozen=True, slots=True)
class Choice:
    """How a file is to come in: `name` is the file's own; state, vehicle, carrier and zone are codes, where told."""

    name: str
    rehearsal: bool = False
    state: str | None = None
    vehicle: str | None = None
    carrier: str | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows `new` and `changed` by table, the ids of the feed's lines by their code here, and whom changes touch."""

    new: dict[str, int]
    changed: dict[str, int]
    lines: dict[str, int]
    changes: tuple[Change, ...] = ()


def bring_in(session: Session, feed: Feed, choice: Choice, *, now: datetime, actor: str) -> Loaded:
    """Import a feed as the operator chose. Raises what `load_feed`, `find_carrier` and `find_by_code` raise."""
    carrier_id = find_carrier(session, choice.carrier)
    if choice.rehearsal:
        return rehearse_feed(session, feed, carrier_id=carrier_id, name=choice.name, now=now, actor=actor)
    if carrier_id is None:
        raise InvalidInput("carrier_missing", "Cadastre antes a transportadora, com o comando `network carrier`.")
    vehicle_id = find_by_code(session, Vehicle, choice.vehicle).id if choice.vehicle else None
    return load_feed(session, feed, carrier_id=carrier_id, naming=Naming(state=choice.state),
                     vehicle_of=(lambda slot: vehicle_id) if vehicle_id else None, now=now, actor=actor)


def load_feed(session: Session, feed: Feed, *, carrier_id: int, naming: Naming, vehicle_of: VehicleOf | None,
              rehearsal: bool = False, now: datetime, actor: str) -> Loaded:
    """Import places, stops, lines, patterns and timetable; the same feed twice changes nothing.

    Outside a rehearsal a course takes the measured kilometres that another course of its line has for the same stops.
    Open trips follow a changed timetable unless somebody holds a ticket or a seat. Raises InvalidInput when the
    timetable has no vehicle, a line no state or a course over 200 legs, Conflict for a line of another carrier or one
    that is sold in earnest.
    """
    if feed.slots and vehicle_of is None:
        raise InvalidInput("vehicle_missing", "O arquivo traz partidas: diga o código do veículo delas.", fields={
            "vehicle": "Escolha o veículo das partidas."})
    if any(len(one.calls) > LONGEST_COURSE + 1 for one in feed.patterns):
        raise InvalidInput("course_too_long", f"Há um itinerário com mais de {LONGEST_COURSE + 1} paradas: divida-o.")
    # one import of a carrier at a time: two at once would meet in the codes that both bring
    session.execute(select(Carrier.id).where(Carrier.id == carrier_id).with_for_update())
    tally = Tally(session)
    stops = keep_stops(tally, feed, naming)
    lines = keep_lines(tally, feed, naming, carrier_id, rehearsal)
    patterns = keep_patterns(tally, feed, naming, stops, lines)
    told: dict[int, frozenset[str]] = {}
    if vehicle_of is not None and feed.slots:
        edited, gone = keep_slots(tally, feed, naming, lines, patterns, vehicle_of)
        told = {slot_id: kinds(columns) for slot_id, columns in edited.items()}
        told |= {slot.id: frozenset({"removed"}) for slot in end_slots(gone, now=now)}
    if not rehearsal:
        keep_measures(tally, lines.values())
    session.flush()
    changes = follow(session, lines.values(), told, now=now, actor=actor)
    audit.record(session, "network_imported", subject=naming.prefix or "network", now=now, actor=actor, details={
        "rehearsal": rehearsal, **{f"{table}_new": number for table, number in tally.new.items()},
        **{f"{table}_changed": number for table, number in tally.changed.items()},
        "trips_retimed": sum(change.retimed for change in changes),
        "trips_withdrawn": sum(change.withdrawn for change in changes),
        "trips_kept": sum(len(change.kept) for change in changes)})
    return Loaded(tally.new, tally.changed, lines, changes)


def rehearse_feed(session: Session, feed: Feed, *, carrier_id: int | None, name: str, now: datetime,
                  actor: str) -> Loaded:
    """Import a feed to be tried out: its period moved to today, its lines marked, under a title, a tariff and a
    vehicle that say they are worth nothing. Without a carrier one is made for rehearsals.
    """
    vehicle_id = session.scalar(select(Vehicle.id).where(Vehicle.code == REHEARSAL_VEHICLE)) or add_vehicle(
        session, REHEARSAL_VEHICLE, None, "Ensaio, 46 poltronas", two_and_two(REHEARSAL_SEATS), 0)
    naming = Naming(prefix=rehearsal_prefix(name))
    loaded = load_feed(session, rehearse(feed, local_date(now, feed.zone)),
                       carrier_id=carrier_id or rehearsal_carrier(session), naming=naming,
                       vehicle_of=lambda slot: vehicle_id, rehearsal=True, now=now, actor=actor)
    rehearsal_papers(session, loaded.lines.values(), now=now, actor=actor)
    return loaded


def rehearsal_papers(session: Session, lines: Iterable[int], *, now: datetime, actor: str) -> None:
    """A title and a tariff worth nothing for each of these lines that has none, in force today at every stop."""
    start = day_everywhere(now)  # the earliest date that anybody has
    titled = set(session.scalars(select(Title.line_id).where(Title.valid_from <= start, Title.valid_until > start)))
    for line in session.scalars(select(Line).where(Line.id.in_(lines))):
        if line.id not in titled:
            until = last_day_allowed("licence", line.state, start, renewal=False) or start + timedelta(days=365)
            session.add(Title(line_id=line.id, kind="licence", act=REHEARSAL_ACT, valid_from=start,
                              valid_until=until))
        if not has_tariff(session, line.id):
            add_tariff(session, line.id, TariffVersion(0, REHEARSAL_TARIFF, start, "coefficient",
                                                       REHEARSAL_REAIS_PER_KM, REHEARSAL_REAIS_PER_KM),
                       state=line.state, first=True, today=start, now=now, actor=actor)


def set_road(session: Session, code: str, start: str, end: str, road: str, *, now: datetime,
             actor: str) -> tuple[int, tuple[Change, ...]]:
    """Set the road of every leg of a line between two stops, either way; the legs set, and what became of open trips.

    A course that calls at other stops of the two towns is meant too. Raises NotFound for a line or stop, InvalidInput
    when no course of the line calls at both.
    """
    line = find_by_code(session, Line, code)
    here, there = (find_by_code(session, Stop, code) for code in (start, end))
    one_town = here.place_id == there.place_id
    ends = {here.id, there.id} if one_town else {here.place_id, there.place_id}
    calls = session.execute(
        select(PatternCall, Stop.id if one_town else Stop.place_id).join(Stop, PatternCall.stop_id == Stop.id)
        .join(Pattern, PatternCall.pattern_id == Pattern.id).where(Pattern.line_id == line.id)
        .order_by(PatternCall.pattern_id, PatternCall.seq)).all()
    legs = 0
    for _, course in groupby(calls, key=lambda row: row[0].pattern_id):
        legs += _set_between([(call, where) for call, where in course], ends, road)
    if not legs:
        raise InvalidInput("not_on_one_course", "Nenhum itinerário da linha passa pelos dois pontos.")
    session.flush()
    audit.record(session, "road_set", subject=f"line {line.id}", details={"legs": legs, "road": road}, now=now,
                 actor=actor)
    return legs, follow(session, [line.id], {}, now=now, actor=actor)


def _set_between(course: Sequence[tuple[PatternCall, int]], ends: set[int], road: str) -> int:
    """Set the legs from a course's first call at one end to its next at the other; how many."""
    first = next((n for n, (_, where) in enumerate(course) if where in ends), len(course))
    last = next((n for n, (_, where) in enumerate(course) if n > first and where in ends - {course[first][1]}), first)
    for call, _ in course[first + 1:last + 1]:
        call.road = road
    return last - first


def find_carrier(session: Session, cnpj: str | None) -> int | None:
    """The carrier of that CNPJ, or the only one there is; None when there is none. Raises NotFound, InvalidInput."""
    carriers = list(session.scalars(select(Carrier)))
    if cnpj is not None:
        carriers = [carrier for carrier in carriers if carrier.cnpj == _plain_cnpj(cnpj)]
        if not carriers:
            raise NotFound("no_such_carrier", "Não há transportadora com esse CNPJ.")
    if len(carriers) > 1:
        raise InvalidInput("carrier_missing", "Há mais de uma transportadora: diga o CNPJ de qual.", fields={
            "carrier": "Escolha a transportadora."})
    return carriers[0].id if carriers else None


def find_by_code(session: Session, model: type[Coded], code: str) -> Coded:
    """The line, stop or vehicle of a code. Raises NotFound."""
    found: Coded | None = session.scalar(select(model).where(model.code == code))
    if found is None:
        raise NotFound(f"no_such_{model.__tablename__}", f"Não há {NAMES[model]} com o código {code[:40]}.")
    return found


def add_carrier(session: Session, name: str, cnpj: str, *, now: datetime, actor: str) -> Carrier:
    """A new carrier with the product's default policies. Raises InvalidInput for the CNPJ, Conflict when known."""
    plain = _plain_cnpj(cnpj)
    if not CNPJ().validate(plain):
        raise InvalidInput("bad_cnpj", "O CNPJ não confere: digite os 14 caracteres de novo.")
    if session.scalar(select(Carrier.id).where(Carrier.cnpj == plain)) is not None:
        raise Conflict("carrier_known", "Essa transportadora já está cadastrada.")
    carrier = Carrier(name=name.strip()[:80], cnpj=plain, late_refund=[])
    session.add(carrier)
    session.flush()
    audit.record(session, "carrier_added", subject=f"carrier {carrier.id}", now=now, actor=actor)
    return carrier


def add_vehicle(session: Session, code: str, plate: str | None, description: str, layout: Sequence[Sequence[Any]],
                standing_places: int) -> int:
    """A new vehicle's id. Raises InvalidInput for the layout or a text too long, Conflict for a code that is taken."""
    read_layout(layout)
    if not 1 <= len(code) <= 20 or len(plate or "") > 8:
        raise InvalidInput("bad_vehicle", "O código do veículo tem até 20 caracteres, a placa até 8.")
    if session.scalar(select(Vehicle.id).where(Vehicle.code == code)) is not None:
        raise Conflict("vehicle_known", "Já existe um veículo com esse código.")
    vehicle = Vehicle(code=code, plate=plate, description=description[:60], layout=[list(row) for row in layout],
                      standing_places=standing_places)
    session.add(vehicle)
    session.flush()
    return vehicle.id


def two_and_two(seats: int) -> list[list[int | str | None]]:
    """A layout with two seats on each side of the aisle, odd numbers at the windows, behind a crew seat and a door."""
    rows: list[list[int | str | None]] = [["crew", None, None, "stairs", "door"]]
    for first in range(1, seats + 1, 4):
        left, right = (first, first + 1), (first + 3, first + 2)
        rows.append([*(seat if seat <= seats else None for seat in left), None,
                     *(seat if seat <= seats else None for seat in right)])
    return rows


def add_title(session: Session, line: Line, title: Title, *, renewal: bool, now: datetime, actor: str) -> Title:
    """Register the act under which a line runs. Raises InvalidInput and RuleViolation (T2) as `check_title` does."""
    check_title(title.kind, line.state, title.valid_from, title.valid_until, renewal=renewal)
    title.line_id = line.id
    session.add(title)
    session.flush()
    audit.record(session, "title_added", subject=f"title {title.id}", now=now, actor=actor, details={
        "line": line.id, "kind": title.kind, "from": title.valid_from.isoformat(),
        "until": title.valid_until.isoformat()})
    return title


def add_version(session: Session, line: Line, version: TariffVersion, *, now: datetime, actor: str) -> Tariff:
    """Register a version of a line's tariff; only its first may have begun. Raises RuleViolation (T3)."""
    return add_tariff(session, line.id, version, state=line.state, first=not has_tariff(session, line.id),
                      today=local_date(now, "UTC"), now=now, actor=actor)


def has_tariff(session: Session, line_id: int) -> bool:
    """Whether any version was ever registered for the line."""
    return session.scalar(select(Tariff.id).where(Tariff.line_id == line_id).limit(1)) is not None


def rehearsal_prefix(name: str) -> str:
    """What stands before the codes of a file that is tried out: the file's own name."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")[:30] or "ensaio"


def _plain_cnpj(text: str) -> str:
    return re.sub(r"[\s./-]", "", text).upper()


def rehearsal_carrier(session: Session) -> int:
    """The id of a new carrier for rehearsals, where there is none."""
    name, cnpj = REHEARSAL_CARRIER
    carrier = Carrier(name=name, cnpj=cnpj, late_refund=[])
    session.add(carrier)
    session.flush()
    return carrier.id
