"""Writes a feed's rows into the network's tables, each by its code: bulk inserts, and updates of what differs."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from kernel.db import Base
from kernel.errors import Conflict, InvalidInput
from ticketing.imports.courses import KnownCall, folded, measured
from ticketing.imports.policy import Feed, FeedSlot, FeedStop
from ticketing.network.models import Line, Pattern, PatternCall, Place, Slot, Stop

NO_STATE = "--"  # a feed from elsewhere: no state's law is cited for its lines
LONGEST_CODE = 80
LONGEST_TOWN = 120

VehicleOf = Callable[[FeedSlot], int]
Row = Mapping[str, Any]
Model = TypeVar("Model", bound=Base)


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
        """The stop's code; one known by its name alone is told from its namesake in another state."""
        known = stop.state or stop.lat is not None or self.prefix or not self.state
        return self.code(stop.code if known else f"{self.state}-{stop.code}")


class Tally:
    """Counts what an import writes, and does the writing: bulk inserts, and updates of what differs.

    `edits` names, by table and key, the columns that differed.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.new: dict[str, int] = {}
        self.changed: dict[str, int] = {}
        self.edits: dict[str, dict[Any, frozenset[str]]] = {}

    def keep(self, model: type[Model], there: Mapping[Any, Model], rows: Mapping[Any, Row], *,
             fixed: Iterable[str] = ()) -> dict[Any, int]:
        """The ids by key once each row is there; the columns in `fixed` are only written to a new row."""
        name = model.__tablename__
        missing = [key for key in rows if key not in there]
        ids = {key: row.id for key, row in there.items()}  # type: ignore[attr-defined]
        if missing:
            fresh = insert(model).returning(model.id, sort_by_parameter_order=True)  # type: ignore[attr-defined]
            ids |= zip(missing, self.session.scalars(fresh, [dict(rows[key]) for key in missing]), strict=True)
        edits = {key: _change(there[key], row, fixed) for key, row in rows.items() if key in there}
        self.edits[name] = {key: columns for key, columns in edits.items() if columns}
        self.new[name], self.changed[name] = len(missing), len(self.edits[name])
        return ids


def keep_stops(tally: Tally, feed: Feed, naming: Naming) -> dict[str, int]:
    """The ids of the feed's stops by their code in the feed.

    A table knows a stop by its name alone: it does not unsay what was registered about one.
    """
    codes = {stop.code: naming.stop_code(stop) for stop in feed.stops}
    known = {stop.code: stop for stop in tally.session.scalars(select(Stop))}
    there = {code: known[code] for code in codes.values() if code in known}
    told = [stop for stop in feed.stops if stop.lat is not None or codes[stop.code] not in there]
    places = _keep_places(tally, told, naming)
    ids = tally.keep(Stop, there, {codes[stop.code]: {
        "code": codes[stop.code], "place_id": places[stop.code], "name": stop.name, "zone": stop.zone,
        "platform": stop.platform, "latitude": _plain(stop.lat), "longitude": _plain(stop.lon)} for stop in told})
    return {code: ids[here] for code, here in codes.items()}


def _keep_places(tally: Tally, stops: Sequence[FeedStop], naming: Naming) -> dict[str, int]:
    """The ids of the stops' towns by stop code: the town of that IBGE code, or of that name whatever its accents."""
    towns = list(tally.session.scalars(select(Place)))
    by_name = {(folded(town.name), town.state): town for town in towns}
    by_ibge = {town.ibge_code: town for town in towns if town.ibge_code}
    keys: dict[str, tuple[str, str]] = {}
    rows: dict[tuple[str, str], Row] = {}
    there: dict[tuple[str, str], Place] = {}
    for stop in stops:
        name, state = (stop.place or stop.name)[:LONGEST_TOWN], stop.state or naming.state or NO_STATE
        keys[stop.code] = key = folded(name), state
        rows.setdefault(key, {"name": name, "state": state, "ibge_code": stop.ibge})
        if town := by_ibge.get(stop.ibge or "") or by_name.get(key):
            there[key] = town
    ids = tally.keep(Place, there, rows, fixed=("name", "state", "ibge_code"))
    return {code: ids[key] for code, key in keys.items()}


def _plain(degrees: Decimal | None) -> str | None:
    return None if degrees is None else f"{degrees:f}"


def keep_lines(tally: Tally, feed: Feed, naming: Naming, carrier_id: int, rehearsal: bool) -> dict[str, int]:
    """The ids of the feed's lines by their code here. Raises InvalidInput, Conflict."""
    there = {line.code: line for line in tally.session.scalars(select(Line))}
    rows: dict[str, Row] = {}
    for line in feed.lines:
        state = line.state or naming.state
        if not state and not rehearsal:
            raise InvalidInput("state_missing", "O arquivo não diz o estado das linhas: diga SC ou MS.", fields={
                "state": "Escolha o estado das linhas."})
        code = naming.code(line.code)
        if code in there and (there[code].carrier_id, there[code].rehearsal) != (carrier_id, rehearsal):
            raise Conflict("line_of_another", f"A linha {code[:40]} já existe em outra transportadora ou fora de "
                                              "ensaio. Nada foi importado.")
        rows[code] = {"code": code, "carrier_id": carrier_id, "name": line.name[:160], "state": state or NO_STATE,
                      "service_class": "convencional", "urban_like": False, "standing_allowed": False,
                      "rehearsal": rehearsal}
    return tally.keep(Line, {code: there[code] for code in rows if code in there}, rows,
                      fixed=("service_class", "urban_like", "standing_allowed"))


def keep_patterns(tally: Tally, feed: Feed, naming: Naming, stops: Mapping[str, int],
                   lines: Mapping[str, int]) -> dict[str, int]:
    there = {(pattern.line_id, pattern.code): pattern for pattern in tally.session.scalars(
        select(Pattern).where(Pattern.line_id.in_(lines.values())))}
    keys = {one.key: (lines[naming.code(one.line)], naming.code(one.key)) for one in feed.patterns}
    ids = tally.keep(Pattern, there, {key: {"line_id": key[0], "code": key[1]} for key in keys.values()})
    calls = [{"pattern_id": ids[keys[one.key]], "seq": seq, "stop_id": stops[call.stop], "km": call.km or Decimal(0),
              "km_estimated": call.estimated, "road": "asphalt"}
             for one in feed.patterns if keys[one.key] not in there for seq, call in enumerate(one.calls)]
    if calls:
        tally.session.execute(insert(PatternCall), calls)
    return {key: ids[here] for key, here in keys.items()}


def keep_measures(tally: Tally, lines: Iterable[int]) -> int:
    """How many courses with estimated km took measured ones from another course of their line."""
    courses: dict[int, dict[int, list[PatternCall]]] = {}
    known: dict[tuple[int, int], KnownCall] = {}
    for line_id, call, stop in tally.session.execute(
            select(Pattern.line_id, PatternCall, Stop).join(Pattern, PatternCall.pattern_id == Pattern.id)
            .join(Stop, PatternCall.stop_id == Stop.id).where(Pattern.line_id.in_(lines))
            .order_by(Pattern.id, PatternCall.seq)):
        courses.setdefault(line_id, {}).setdefault(call.pattern_id, []).append(call)
        names = frozenset((folded(stop.name), folded(stop.place.name)))
        known[call.pattern_id, call.seq] = KnownCall(stop.id, names, call.km, call.road)
    done = 0
    for of_line in courses.values():
        sure = [course for course in of_line.values() if not any(call.km_estimated for call in course)]
        for course in of_line.values():
            found = None if course in sure else measured(_known(course, known), [_known(one, known) for one in sure])
            done += found is not None
            for call, (km, road) in zip(course, found or (), strict=False):
                call.km, call.road, call.km_estimated = km, road, False
    tally.changed["pattern"] = tally.changed.get("pattern", 0) + done
    return done


def _known(course: Iterable[PatternCall], known: Mapping[tuple[int, int], KnownCall]) -> list[KnownCall]:
    return [known[call.pattern_id, call.seq] for call in course]


def keep_slots(tally: Tally, feed: Feed, naming: Naming, lines: Mapping[str, int],
               patterns: Mapping[str, int], vehicle_of: VehicleOf) -> tuple[dict[int, frozenset[str]], list[Slot]]:
    """Which columns changed by slot id, and the slots of the feed's lines that it no longer has."""
    line_of = {one.key: lines[naming.code(one.line)] for one in feed.patterns}
    there = {(line_id, slot.code): slot for line_id, slot in tally.session.execute(
        select(Pattern.line_id, Slot).join(Pattern, Slot.pattern_id == Pattern.id)
        .where(Pattern.line_id.in_(lines.values())))}
    rows: dict[tuple[int, str], Row] = {(line_of[slot.pattern], naming.code(slot.code)): {
        "pattern_id": patterns[slot.pattern], "vehicle_id": vehicle_of(slot), "code": naming.code(slot.code),
        "zone": feed.zone, "valid_from": slot.valid_from, "valid_until": slot.valid_until, "weekdays": slot.weekdays,
        "times": [list(call) for call in slot.times],
        "exceptions": {day.isoformat(): runs for day, runs in slot.exceptions.items()}}
        for slot in feed.slots}
    tally.keep(Slot, there, rows, fixed=("vehicle_id",))
    withheld = {naming.code(code) for code in feed.withheld}
    gone = [] if "" in feed.withheld else [
        slot for key, slot in there.items() if key not in rows and slot.code.partition("@")[0] not in withheld]
    return {there[key].id: columns for key, columns in tally.edits["slot"].items()}, gone


def _change(there: Base, row: Row, fixed: Iterable[str]) -> frozenset[str]:
    differs = {column: value for column, value in row.items()
               if column not in fixed and getattr(there, column) != value}
    for column, value in differs.items():
        setattr(there, column, value)
    return frozenset(differs)
