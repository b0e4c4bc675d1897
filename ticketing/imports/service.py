"""Brings a feed into the network's tables: by code, in the caller's one transaction, whole or not at all.

What a file leaves out stays as it is; a departure that moved to another course takes its code with it.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from kernel import audit
from kernel.clock import day_everywhere, local_date
from kernel.db import Base
from kernel.errors import Conflict, InvalidInput, NotFound
from ticketing.imports.policy import Feed, FeedSlot, FeedStop, rehearse
from ticketing.network.models import Carrier, Line, Pattern, PatternCall, Place, Slot, Stop, Title, Vehicle
from ticketing.network.policy import check_title, last_day_allowed
from ticketing.tariffs.models import Tariff
from ticketing.tariffs.policy import TariffVersion
from ticketing.tariffs.service import add_tariff

NO_STATE = "--"  # a feed from elsewhere: no state's law is cited for its lines
LONGEST_CODE = 80
REHEARSAL_ACT = "ENSAIO"
REHEARSAL_TARIFF = "ENSAIO – sem valor"
REHEARSAL_REAIS_PER_KM = Decimal("0.28")
REHEARSAL_VEHICLE = "ENSAIO-46"
REHEARSAL_CARRIER = ("Transportadora de ensaio", "00000000000000")
REHEARSAL_LAYOUT: list[list[Any]] = [["crew", None, None, "stairs", "door"],
                    *([n, n + 1, None, n + 3, n + 2] for n in range(1, 45, 4)), [45, 46, None, "wc", "wc"]]

VehicleOf = Callable[[FeedSlot], int]
Row = Mapping[str, Any]
Model = TypeVar("Model", bound=Base)
Coded = TypeVar("Coded", Line, Stop, Vehicle)
NAMES: dict[type[Base], str] = {Line: "linha", Stop: "ponto", Vehicle: "veículo"}


@dataclass(frozen=True, slots=True)
class Naming:
    """How a feed's codes become this network's: `prefix` keeps two feeds apart, `state` is for rows that name none."""

    prefix: str = ""
    state: str | None = None

    def code(self, code: str) -> str:
        """The code with its prefix, cut with a digest where it would not fit."""
        whole = f"{self.prefix}:{code}" if self.prefix else code
        if len(whole) <= LONGEST_CODE:
            return whole
        return f"{whole[:LONGEST_CODE - 13]}-{hashlib.sha256(whole.encode()).hexdigest()[:12]}"

    def stop_code(self, stop: FeedStop) -> str:
        """The stop's code; one whose file names no state is told from its namesake in another state."""
        known = stop.state or self.prefix or not self.state
        return self.code(stop.code if known else f"{self.state}-{stop.code}")


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows `new` and `changed` by table, and the ids of the feed's lines by their code here."""

    new: dict[str, int]
    changed: dict[str, int]
    lines: dict[str, int]


class _Tally:
    """Counts what an import writes, and does the writing: bulk inserts, and updates of what differs."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.new: dict[str, int] = {}
        self.changed: dict[str, int] = {}

    def keep(self, model: type[Model], there: Mapping[Any, Model], rows: Mapping[Any, Row], *,
             fixed: Iterable[str] = ()) -> dict[Any, int]:
        """The ids by key once each row is there; the columns in `fixed` are only written to a new row."""
        name = model.__tablename__
        missing = [key for key in rows if key not in there]
        ids = {key: row.id for key, row in there.items()}  # type: ignore[attr-defined]
        if missing:
            fresh = insert(model).returning(model.id, sort_by_parameter_order=True)  # type: ignore[attr-defined]
            ids |= zip(missing, self.session.scalars(fresh, [dict(rows[key]) for key in missing]), strict=True)
        changed = sum(_change(there[key], row, fixed) for key, row in rows.items() if key in there)
        self.new[name], self.changed[name] = len(missing), changed
        return ids


def load_feed(session: Session, feed: Feed, *, carrier_id: int, naming: Naming, vehicle_of: VehicleOf | None,
              rehearsal: bool = False, now: datetime, actor: str) -> Loaded:
    """Import places, stops, lines, patterns and timetable; the same feed twice changes nothing.

    Raises InvalidInput when the timetable has no vehicle or a line no state, Conflict for a line of another carrier
    or one that is sold in earnest.
    """
    if feed.slots and vehicle_of is None:
        raise InvalidInput("vehicle_missing", "O arquivo traz partidas: diga o veículo delas com --vehicle CÓDIGO.")
    tally = _Tally(session)
    stops = _keep_stops(session, tally, feed, naming)
    lines = _keep_lines(session, tally, feed, naming, carrier_id, rehearsal)
    patterns = _keep_patterns(session, tally, feed, naming, stops, lines)
    if vehicle_of is not None:
        _keep_slots(session, tally, feed, naming, lines, patterns, vehicle_of)
    session.flush()
    audit.record(session, "network_imported", subject=naming.prefix[:60] or "network", now=now, actor=actor, details={
        "rehearsal": rehearsal, **{f"{table}_new": number for table, number in tally.new.items()},
        **{f"{table}_changed": number for table, number in tally.changed.items()}})
    return Loaded(tally.new, tally.changed, lines)


def rehearse_feed(session: Session, feed: Feed, *, carrier_id: int | None, name: str, now: datetime,
                  actor: str) -> Loaded:
    """Import a feed to be tried out: its period moved to today, its lines marked, under a title, a tariff and a
    vehicle that say they are worth nothing. Without a carrier one is made for rehearsals.
    """
    carrier_id = carrier_id or _rehearsal_carrier(session)
    vehicle_id = session.scalar(select(Vehicle.id).where(Vehicle.code == REHEARSAL_VEHICLE)) or add_vehicle(
        session, REHEARSAL_VEHICLE, None, "Ensaio, 46 poltronas", REHEARSAL_LAYOUT, 0)
    loaded = load_feed(session, rehearse(feed, local_date(now, feed.zone)), carrier_id=carrier_id,
                       naming=Naming(prefix=name), vehicle_of=lambda slot: vehicle_id, rehearsal=True, now=now,
                       actor=actor)
    start = day_everywhere(now)  # today has begun for no stop before this day
    titled = set(session.scalars(select(Title.line_id).where(Title.valid_from <= start, Title.valid_until >= start)))
    priced = set(session.scalars(select(Tariff.line_id)))
    for line in session.scalars(select(Line).where(Line.id.in_(loaded.lines.values()))):
        if line.id not in titled:
            until = last_day_allowed("licence", line.state, start, renewal=False) or start + timedelta(days=365)
            session.add(Title(line_id=line.id, kind="licence", act=REHEARSAL_ACT, valid_from=start,
                              valid_until=until))
        if line.id not in priced:
            add_tariff(session, line.id, TariffVersion(0, REHEARSAL_TARIFF, start, "coefficient",
                                                       REHEARSAL_REAIS_PER_KM, REHEARSAL_REAIS_PER_KM),
                       state=line.state, first=True, today=start, now=now, actor=actor)
    return loaded


def find_carrier(session: Session, cnpj: str | None) -> int | None:
    """The carrier of that CNPJ, or the only one there is; None when there is none. Raises NotFound, InvalidInput."""
    carriers = list(session.scalars(select(Carrier)))
    if cnpj is not None:
        carriers = [carrier for carrier in carriers if carrier.cnpj == cnpj]
        if not carriers:
            raise NotFound("no_such_carrier", "Não há transportadora com esse CNPJ.")
    if len(carriers) > 1:
        raise InvalidInput("carrier_missing", "Há mais de uma transportadora: diga qual com --carrier CNPJ.")
    return carriers[0].id if carriers else None


def find_by_code(session: Session, model: type[Coded], code: str) -> Coded:
    """The line, stop or vehicle of a code. Raises NotFound."""
    found: Coded | None = session.scalar(select(model).where(model.code == code))
    if found is None:
        raise NotFound(f"no_such_{model.__tablename__}", f"Não há {NAMES[model]} com o código {code[:40]}.")
    return found


def add_vehicle(session: Session, code: str, plate: str | None, description: str, layout: Sequence[Sequence[Any]],
                standing_places: int) -> int:
    """A new vehicle's id. The layout must have passed `network.policy.read_layout`."""
    vehicle = Vehicle(code=code, plate=plate, description=description, layout=[list(row) for row in layout],
                      standing_places=standing_places)
    session.add(vehicle)
    session.flush()
    return vehicle.id


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


def has_tariff(session: Session, line_id: int) -> bool:
    """Whether any version was ever registered for the line."""
    return session.scalar(select(Tariff.id).where(Tariff.line_id == line_id).limit(1)) is not None


def _keep_stops(session: Session, tally: _Tally, feed: Feed, naming: Naming) -> dict[str, int]:
    places = list(session.scalars(select(Place)))
    wanted = {_place_key(stop, naming): {"ibge_code": stop.ibge} for stop in feed.stops}
    known = {(place.name, place.state): place for place in places}
    by_ibge = {place.ibge_code: place for place in places if place.ibge_code}
    for key, row in wanted.items():
        if row["ibge_code"] in by_ibge:
            known[key] = by_ibge[row["ibge_code"]]
    rows = {key: {"name": key[0], "state": key[1], **row} for key, row in wanted.items()}
    place_ids = tally.keep(Place, {key: known[key] for key in wanted if key in known}, rows,
                           fixed=("name", "state", "ibge_code"))
    codes = {stop.code: naming.stop_code(stop) for stop in feed.stops}
    stops = {stop.code: stop for stop in session.scalars(select(Stop))}
    ids = tally.keep(Stop, {code: stops[code] for code in codes.values() if code in stops}, {
        codes[stop.code]: {
            "code": codes[stop.code], "place_id": place_ids[_place_key(stop, naming)], "name": stop.name,
            "zone": stop.zone, "platform": stop.platform, "latitude": _plain(stop.lat), "longitude": _plain(stop.lon)}
        for stop in feed.stops}, fixed=() if any(stop.lat for stop in feed.stops) else _SAID_BY_OTHERS)
    return {code: ids[here] for code, here in codes.items()}


# a section table knows a stop by its name alone: it does not unsay what was registered about it
_SAID_BY_OTHERS = ("place_id", "name", "zone", "platform", "latitude", "longitude")


def _place_key(stop: FeedStop, naming: Naming) -> tuple[str, str]:
    return (stop.place or stop.name)[:120], stop.state or naming.state or NO_STATE


def _plain(degrees: Decimal | None) -> str | None:
    return None if degrees is None else f"{degrees:f}"


def _keep_lines(session: Session, tally: _Tally, feed: Feed, naming: Naming, carrier_id: int,
                rehearsal: bool) -> dict[str, int]:
    there = {line.code: line for line in session.scalars(select(Line))}
    rows: dict[str, Row] = {}
    for line in feed.lines:
        state = line.state or naming.state
        if not state and not rehearsal:
            raise InvalidInput("state_missing", "O arquivo não diz o estado das linhas: use --state SC ou MS.")
        code = naming.code(line.code)
        if code in there and (there[code].carrier_id, there[code].rehearsal) != (carrier_id, rehearsal):
            raise Conflict("line_of_another", f"A linha {code[:40]} já existe em outra transportadora ou fora de "
                                              "ensaio. Nada foi importado.")
        rows[code] = {"code": code, "carrier_id": carrier_id, "name": line.name[:160], "state": state or NO_STATE,
                      "service_class": "convencional", "urban_like": False, "standing_allowed": False,
                      "rehearsal": rehearsal}
    return tally.keep(Line, {code: there[code] for code in rows if code in there}, rows,
                      fixed=("service_class", "urban_like", "standing_allowed"))


def _keep_patterns(session: Session, tally: _Tally, feed: Feed, naming: Naming, stops: Mapping[str, int],
                   lines: Mapping[str, int]) -> dict[str, int]:
    there = {(pattern.line_id, pattern.code): pattern for pattern in session.scalars(
        select(Pattern).where(Pattern.line_id.in_(lines.values())))}
    keys = {one.key: (lines[naming.code(one.line)], naming.code(one.key)) for one in feed.patterns}
    ids = tally.keep(Pattern, there, {key: {"line_id": key[0], "code": key[1]} for key in keys.values()})
    calls = [{"pattern_id": ids[keys[one.key]], "seq": seq, "stop_id": stops[call.stop], "km": call.km or Decimal(0),
              "km_estimated": call.estimated, "road": "asphalt"}
             for one in feed.patterns if keys[one.key] not in there for seq, call in enumerate(one.calls)]
    if calls:
        session.execute(insert(PatternCall), calls)
    return {key: ids[here] for key, here in keys.items()}


def _keep_slots(session: Session, tally: _Tally, feed: Feed, naming: Naming, lines: Mapping[str, int],
                patterns: Mapping[str, int], vehicle_of: VehicleOf) -> None:
    line_of = {one.key: lines[naming.code(one.line)] for one in feed.patterns}
    there = {(line_id, slot.code): slot for line_id, slot in session.execute(
        select(Pattern.line_id, Slot).join(Pattern, Slot.pattern_id == Pattern.id)
        .where(Pattern.line_id.in_(lines.values())))}
    tally.keep(Slot, there, {(line_of[slot.pattern], naming.code(slot.code)): {
        "pattern_id": patterns[slot.pattern], "vehicle_id": vehicle_of(slot), "code": naming.code(slot.code),
        "zone": feed.zone, "valid_from": slot.valid_from, "valid_until": slot.valid_until, "weekdays": slot.weekdays,
        "times": [list(call) for call in slot.times],
        "exceptions": {day.isoformat(): runs for day, runs in slot.exceptions.items()}}
        for slot in feed.slots}, fixed=("vehicle_id",))


def _change(there: Base, row: Row, fixed: Iterable[str]) -> bool:
    differs = {column: value for column, value in row.items()
               if column not in fixed and getattr(there, column) != value}
    for column, value in differs.items():
        setattr(there, column, value)
    return bool(differs)


def _rehearsal_carrier(session: Session) -> int:
    name, cnpj = REHEARSAL_CARRIER
    carrier = Carrier(name=name, cnpj=cnpj, late_refund=[])
    session.add(carrier)
    session.flush()
    return carrier.id
