"""What a person decides about a carrier and a line, and no file says."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernel import audit
from kernel.errors import InvalidInput, NotFound
from ticketing.network.models import Carrier, Line, Vehicle
from ticketing.network.policy import check_policies, check_service_class

Row = TypeVar("Row", Carrier, Line)


@dataclass(frozen=True, slots=True)
class LineSettings:
    """What to change of a line; None leaves it."""

    service_class: str | None = None
    standing_allowed: bool | None = None
    urban_like: bool | None = None


@dataclass(frozen=True, slots=True)
class Policies:
    """What to change of a carrier's policies; None leaves it. `late_refund` is judged by who pays refunds (R2)."""

    identity_basis: str | None = None
    void_minutes: int | None = None
    hold_minutes: int | None = None
    open_days: int | None = None
    late_refund: list[dict[str, Any]] | None = None


def set_line(session: Session, code: str, settings: LineSettings, *, now: datetime, actor: str) -> Line:
    """The line with its new settings. Raises NotFound, InvalidInput for an unknown class or nothing to change."""
    line = session.scalar(select(Line).where(Line.code == code))
    if line is None:
        raise NotFound("no_such_line", f"Não há linha com o código {code[:40]}.")
    if settings.service_class is not None:
        check_service_class(settings.service_class)
    return _set(session, line, settings, "line_set", now=now, actor=actor)


def set_policies(session: Session, cnpj: str | None, policies: Policies, *, now: datetime, actor: str) -> Carrier:
    """The carrier of that CNPJ, or the only one, with its new policies. Raises NotFound, InvalidInput."""
    wanted = select(Carrier)
    carriers = list(session.scalars(wanted.where(Carrier.cnpj == cnpj) if cnpj else wanted))
    if not carriers:
        raise NotFound("no_such_carrier", "Não há transportadora com esse CNPJ." if cnpj else
                       "Cadastre antes a transportadora com `network carrier`.")
    if len(carriers) > 1:
        raise InvalidInput("carrier_missing", "Há mais de uma transportadora: diga o CNPJ de qual.")
    check_policies(policies.identity_basis, policies.void_minutes, policies.hold_minutes, policies.open_days)
    return _set(session, carriers[0], policies, "policies_set", now=now, actor=actor)


def _set(session: Session, row: Row, settings: LineSettings | Policies, action: str, *, now: datetime,
         actor: str) -> Row:
    told = {name: value for name in settings.__slots__ if (value := getattr(settings, name)) is not None}
    if not told:
        raise InvalidInput("nothing_to_set", "Diga o que mudar.")
    for name, value in told.items():
        setattr(row, name, value)
    audit.record(session, action, subject=f"{row.__tablename__} {row.id}", now=now, actor=actor,
                 details={name: value if isinstance(value, str | int) else str(value) for name, value in told.items()})
    return row


def vehicle_codes(session: Session) -> list[str]:
    """The codes of all vehicles, in order."""
    return list(session.scalars(select(Vehicle.code).order_by(Vehicle.code)))


def carriers(session: Session) -> list[tuple[str, str]]:
    """CNPJ and name of each carrier, by name."""
    return [(cnpj, name) for cnpj, name in session.execute(select(Carrier.cnpj, Carrier.name).order_by(Carrier.name))]
