"""The price of a journey by the tariff in force on the day of sale, and registering a new version."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import and_, bindparam, select
from sqlalchemy.orm import Session

from kernel import audit
from kernel.clock import local_date
from kernel.errors import RuleViolation
from kernel.money import Money
from ticketing.network.models import Line
from ticketing.network.service import Journey
from ticketing.tariffs.models import SectionFare, Tariff
from ticketing.tariffs.policy import (
    NOT_SOLD,
    Fare,
    SectionSale,
    TariffVersion,
    fare,
    read_components,
    stretch_of,
    tariff_citation,
    version_in_force,
)


@dataclass(frozen=True, slots=True)
class Price:
    """The itemised fare and the version that gave it."""

    tariff_id: int
    act: str
    fare: Fare


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a price is made of; `calls` are the trip's in order, `day` the local date of sale at the boarding stop."""

    line: Line
    calls: Sequence[Any]
    board_seq: int
    alight_seq: int
    day: date

    @property
    def pair(self) -> tuple[int, int]:
        """The stops of the two ends."""
        return self.calls[self.board_seq].stop_id, self.calls[self.alight_seq].stop_id


_TARIFFS = (select(Tariff, SectionFare.tariff_id, SectionFare.amount)
            .outerjoin(SectionFare, and_(
                SectionFare.tariff_id == Tariff.id, SectionFare.from_stop_id == bindparam("board"),
                SectionFare.to_stop_id == bindparam("alight"))).where(Tariff.line_id == bindparam("line")))


def price(session: Session, journey: Journey, *, now: datetime) -> Price:
    """The fare of the journey by the version in force today at the boarding stop. One statement.

    Raises RuleViolation (T3) when there is no version, the pair is not sold, or its kilometres are an estimate.
    """
    today = local_date(now, journey.board.stop.zone)
    stretch = Stretch(journey.line, journey.calls, journey.board_seq, journey.alight_seq, today)
    rows = session.execute(_TARIFFS, {"line": journey.line.id, "board": journey.board.stop_id,
                                      "alight": journey.alight.stop_id}).all()
    chosen = version_in_force([row[0] for row in rows], today, state=journey.line.state)
    listed, amount = next((row[1], row[2]) for row in rows if row[0] is chosen)
    return _priced(stretch, chosen, NOT_SOLD if listed is not None and amount is None else amount)


def prices(session: Session, stretches: Sequence[Stretch]) -> list[Price | RuleViolation]:
    """The price of each stretch, or why it is not sold (T3), in the order given. Two statements for any number."""
    versions: dict[int, list[Tariff]] = defaultdict(list)
    for tariff in session.scalars(select(Tariff).where(Tariff.line_id.in_({each.line.id for each in stretches}))):
        versions[tariff.line_id].append(tariff)
    chosen = [_in_force(stretch, versions[stretch.line.id]) for stretch in stretches]
    sections = _sections(session, {tariff.id for tariff in chosen if isinstance(tariff, Tariff)}, stretches)
    return [_priced_or_refused(stretch, tariff, sections) for stretch, tariff in zip(stretches, chosen, strict=True)]


def _in_force(stretch: Stretch, versions: Sequence[Tariff]) -> Tariff | RuleViolation:
    try:
        return version_in_force(versions, stretch.day, state=stretch.line.state)
    except RuleViolation as refusal:
        return refusal


def _sections(session: Session, tariffs: Collection[int],
              stretches: Sequence[Stretch]) -> dict[tuple[int, int, int], Money | None]:
    pairs = {stretch.pair for stretch in stretches}
    rows = session.execute(select(SectionFare.tariff_id, SectionFare.from_stop_id, SectionFare.to_stop_id,
                                  SectionFare.amount).where(
        SectionFare.tariff_id.in_(tariffs), SectionFare.from_stop_id.in_({pair[0] for pair in pairs}),
        SectionFare.to_stop_id.in_({pair[1] for pair in pairs})))
    return {(row.tariff_id, row.from_stop_id, row.to_stop_id): row.amount for row in rows}


def _priced_or_refused(stretch: Stretch, tariff: Tariff | RuleViolation,
                       sections: dict[tuple[int, int, int], Money | None]) -> Price | RuleViolation:
    if isinstance(tariff, RuleViolation):
        return tariff
    key = (tariff.id, *stretch.pair)
    try:
        section = sections.get(key) if key in sections else None
        return _priced(stretch, tariff, NOT_SOLD if key in sections and section is None else section)
    except RuleViolation as refusal:
        return refusal


def _priced(stretch: Stretch, tariff: Tariff, section: Money | SectionSale | None) -> Price:
    board, alight, line = stretch.board_seq, stretch.alight_seq, stretch.line
    estimated = any(call.km_estimated for call in stretch.calls[board:alight + 1])
    priced = fare(as_version(tariff), stretch_of(stretch.calls, board, alight), section_fare=section,
                  estimated=estimated, rehearsal=line.rehearsal, state=line.state, day=stretch.day)
    return Price(tariff.id, tariff.act, priced)


def as_version(tariff: Tariff) -> TariffVersion:
    """The stored version as the policy's value."""
    return TariffVersion(
        tariff.id, tariff.act, tariff.starts_on, tariff.method, tariff.coefficient_asphalt, tariff.coefficient_earth,
        tariff.minimum, tariff.rounding, read_components(tariff.components))


def add_tariff(session: Session, line_id: int, version: TariffVersion, *, state: str,
               sections: dict[tuple[int, int], Money | None] | None = None, first: bool = False, today: date,
               now: datetime, actor: str) -> Tariff:
    """Register a version by its act; `sections` maps (from stop, to stop) to an amount, None for a pair not sold.

    The database refuses any later change. Only a line's `first` version may start today or earlier. Raises
    RuleViolation (T3).
    """
    if version.starts_on <= today and not first:
        raise RuleViolation("tariff_starts_in_past", "Uma nova tarifa começa amanhã ou depois: corrija o início.",
                            citation=tariff_citation(state=state, day=today))
    tariff = Tariff(line_id=line_id, act=version.act, starts_on=version.starts_on, method=version.method,
                    rounding=version.rounding, coefficient_asphalt=version.coefficient_asphalt,
                    coefficient_earth=version.coefficient_earth, minimum=version.minimum,
                    components=[{"kind": c.kind, "cents": c.amount.cents, "stop_id": c.stop_id}
                                for c in version.components])
    session.add(tariff)
    session.flush()
    session.add_all(SectionFare(tariff_id=tariff.id, from_stop_id=pair[0], to_stop_id=pair[1], amount=amount)
                    for pair, amount in (sections or {}).items())
    audit.record(session, "tariff_added", subject=f"tariff {tariff.id}",
                 details={"line": line_id, "starts_on": version.starts_on.isoformat()}, now=now, actor=actor)
    return tariff
