"""The price of a journey by the tariff in force on the day of sale, and registering a new version."""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from kernel import audit
from kernel.clock import local_date
from kernel.errors import RuleViolation
from kernel.money import Money
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
)


@dataclass(frozen=True, slots=True)
class Price:
    """The itemised fare and the version that gave it."""

    tariff_id: int
    act: str
    fare: Fare


_IN_FORCE = select(Tariff, SectionFare.tariff_id, SectionFare.amount).order_by(
    Tariff.starts_on.desc(), Tariff.id.desc()).limit(1)


def price(session: Session, journey: Journey, *, now: datetime) -> Price:
    """The fare of the journey by the version in force today at the boarding stop. One statement.

    Raises RuleViolation (T3) when there is no version, the pair is not sold, or its kilometres are an estimate.
    """
    today = local_date(now, journey.board.stop.zone)
    row = session.execute(_IN_FORCE.outerjoin(SectionFare, and_(
        SectionFare.tariff_id == Tariff.id, SectionFare.from_stop_id == journey.board.stop_id,
        SectionFare.to_stop_id == journey.alight.stop_id,
    )).where(Tariff.line_id == journey.line.id, Tariff.starts_on <= today)).first()
    if row is None:
        raise RuleViolation("no_tariff_in_force", "Esta linha não tem tarifa em vigor hoje. Avise o escritório.",
                            citation=tariff_citation(state=journey.line.state, day=today))
    tariff: Tariff = row[0]
    section: Money | SectionSale | None = None if row[1] is None else NOT_SOLD if row[2] is None else row[2]
    stretch = stretch_of(journey.calls, journey.board_seq, journey.alight_seq)
    estimated = any(call.km_estimated for call in journey.calls[journey.board_seq:journey.alight_seq + 1])
    priced = fare(as_version(tariff), stretch, section_fare=section, estimated=estimated,
                  rehearsal=journey.line.rehearsal, state=journey.line.state, day=today)
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
