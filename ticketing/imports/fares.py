"""Makes fare matrices the section tariffs of lines: places become the line's stops, each pair a price or "not sold"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernel.clock import day_everywhere, local_date
from kernel.errors import InvalidInput
from kernel.money import Money
from ticketing.imports.courses import folded
from ticketing.imports.matrix import FareTable, as_feed
from ticketing.imports.rows import Naming
from ticketing.imports.service import (
    REHEARSAL_REAIS_PER_KM,
    REHEARSAL_TARIFF,
    Choice,
    find_by_code,
    find_carrier,
    has_tariff,
    load_feed,
    rehearsal_carrier,
    rehearsal_papers,
    rehearsal_prefix,
)
from ticketing.network.models import Line, Pattern, PatternCall, Stop
from ticketing.tariffs.models import SectionFare, Tariff
from ticketing.tariffs.policy import Component, TariffVersion
from ticketing.tariffs.service import add_tariff

DEFAULT_ZONE = "America/Sao_Paulo"

Sections = dict[tuple[int, int], Money | None]


@dataclass(frozen=True, slots=True)
class Act:
    """What a fare matrix does not say of itself: its act, its first day, what is owed beside it, and for which line.

    `line` is a code here, for a file of one line that goes by another; `both_ways` gives the way back the same prices.
    """

    act: str = ""
    starts_on: date | None = None
    line: str | None = None
    both_ways: bool = False
    components: tuple[Component, ...] = ()


@dataclass(frozen=True, slots=True)
class Priced:
    """A line's tariff: pairs of places sold and not sold, those that the table does not name, and whether it is new."""

    line: str
    sold: int
    unsold: int
    missing: int
    new: bool


def bring_in_fares(session: Session, tables: Sequence[FareTable], choice: Choice, act: Act, *, now: datetime,
                   actor: str) -> tuple[Priced, ...]:
    """Register every table of a file as its line's tariff; the same file twice changes nothing.

    In rehearsal a line that is not there is made out of the table, with guessed km and no departures. Raises
    InvalidInput, NotFound for a line that is not there, RuleViolation (T3) for a version that begins too early.
    """
    if act.line and len(tables) != 1:
        raise InvalidInput("one_line_at_a_time", "O arquivo traz mais de uma linha: importe sem dizer a linha.")
    if choice.rehearsal:
        return tuple(_rehearse(session, table, choice, act, now=now, actor=actor) for table in tables)
    if not act.act.strip() or act.starts_on is None:
        raise InvalidInput("act_missing", "Diga o ato que fixou as tarifas e o primeiro dia delas.", fields={
            "act": "Informe o ato.", "starts_on": "Informe o primeiro dia."})
    version = TariffVersion(0, act.act[:120], act.starts_on, "sections", components=act.components)
    return tuple(price_line(session, find_by_code(session, Line, act.line or table.line), table, version,
                            both_ways=act.both_ways, now=now, actor=actor) for table in tables)


def _rehearse(session: Session, table: FareTable, choice: Choice, act: Act, *, now: datetime, actor: str) -> Priced:
    line_id = session.scalar(select(Line.id).where(Line.code == act.line, Line.rehearsal)) if act.line else None
    if line_id is None:
        feed = as_feed(table, zone=choice.zone or DEFAULT_ZONE, reais_per_km=REHEARSAL_REAIS_PER_KM)
        carrier_id = find_carrier(session, choice.carrier) or rehearsal_carrier(session)
        naming = Naming(prefix=rehearsal_prefix(choice.name), state=choice.state)
        loaded = load_feed(session, feed, carrier_id=carrier_id, naming=naming, vehicle_of=None, rehearsal=True,
                           now=now, actor=actor)
        line_id = next(iter(loaded.lines.values()))
    line = session.get_one(Line, line_id)
    today = day_everywhere(now)
    starts_on = today if not has_tariff(session, line.id) else local_date(now, "UTC") + timedelta(days=1)
    version = TariffVersion(0, REHEARSAL_TARIFF, starts_on, "sections", components=act.components)
    priced = price_line(session, line, table, version, both_ways=act.both_ways, now=now, actor=actor)
    rehearsal_papers(session, [line.id], now=now, actor=actor)
    return priced


def price_line(session: Session, line: Line, table: FareTable, version: TariffVersion, *, both_ways: bool,
               now: datetime, actor: str) -> Priced:
    """Register a table as a version of the line's tariff, unless its latest version says exactly that already.

    A place with several stops on the line has one price at all of them. Raises InvalidInput `place_not_on_line`,
    RuleViolation (T3) for a version that begins too early.
    """
    stops = _stops_of(session, line.id, table)
    sections: Sections = {}
    for (here, there), fare in table.fares.items():
        for pair in ((board, alight) for board in stops[here] for alight in stops[there]):
            sections[pair] = fare
            if both_ways:
                sections[pair[::-1]] = fare
    unsold = sum(fare is None for fare in table.fares.values())
    new = not _is_there(session, line, version, sections)
    if new:
        add_tariff(session, line.id, version, state=line.state, sections=sections,
                   first=not has_tariff(session, line.id), today=local_date(now, "UTC"), now=now, actor=actor)
    return Priced(line.code, len(table.fares) - unsold, unsold, table.missing, new)


def _is_there(session: Session, line: Line, version: TariffVersion, sections: Sections) -> bool:
    latest = session.scalar(select(Tariff).where(Tariff.line_id == line.id)
                            .order_by(Tariff.starts_on.desc(), Tariff.id.desc()).limit(1))
    if latest is None or (latest.act, latest.method) != (version.act, version.method):
        return False
    if latest.starts_on != version.starts_on and not line.rehearsal:
        return False
    there = {(row.from_stop_id, row.to_stop_id): row.amount for row in session.scalars(
        select(SectionFare).where(SectionFare.tariff_id == latest.id))}
    components = [{"kind": one.kind, "cents": one.amount.cents, "stop_id": one.stop_id} for one in version.components]
    return there == sections and latest.components == components


def _stops_of(session: Session, line_id: int, table: FareTable) -> list[list[int]]:
    """The ids of the line's stops for each place of the table: by the stop's code or name, else by its town's name."""
    on_line = list(session.scalars(select(Stop).where(Stop.id.in_(
        select(PatternCall.stop_id).join(Pattern, PatternCall.pattern_id == Pattern.id)
        .where(Pattern.line_id == line_id))).order_by(Stop.id)))
    own: dict[str, list[int]] = {}
    town: dict[str, list[int]] = {}
    for stop in on_line:
        for known in {folded(stop.code), folded(stop.name)}:
            own.setdefault(known, []).append(stop.id)
        town.setdefault(folded(stop.place.name), []).append(stop.id)
    found = [_named(place, own, town) for place in table.places]
    if lost := [place for place, stops in zip(table.places, found, strict=True) if not stops]:
        raise InvalidInput("place_not_on_line", f"A linha não para em {', '.join(lost)[:120]}: use os nomes dos pontos "
                                                "ou das cidades da linha. Nada foi importado.")
    return found


def _named(place: str, own: Mapping[str, list[int]], town: Mapping[str, list[int]]) -> list[int]:
    return own.get(folded(place)) or town.get(folded(place), [])
