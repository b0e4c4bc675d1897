"""Keeping identities 365 days and then erasing them for good (SC 11-A par. 4); legal holds; the vault at the start.

Rows are cleared only for days whose key the vault has destroyed, never because a clock says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import and_, delete, func, select, update
from sqlalchemy.orm import Session, joinedload

from kernel import audit
from kernel.clock import day_everywhere
from kernel.db import Database, InsertNew, rows_changed
from kernel.errors import Conflict, DomainError, NotFound
from kernel.vault import LONGEST_STEP_DAYS, StepTooLong, Vault, VaultError
from oversight.retention.models import LegalHold, VaultMark
from oversight.retention.policy import check_hold, check_step, hold_is_over
from ticketing.network.models import Call, Trip
from ticketing.sales.identities import opened_or_none, seal_row
from ticketing.sales.models import Identity, Ticket

_insert_mark = InsertNew(VaultMark)


@dataclass(frozen=True, slots=True)
class Erased:
    """What one run did: days whose keys were destroyed, rows cleared, holds ended, and the first day still owed."""

    days: int
    identities: int
    holds_ended: int
    owed_from: date


@dataclass(frozen=True, slots=True)
class Status:
    """Where retention stands: `overdue` rows are unreadable already and wait for the next run to clear them."""

    owed_from: date
    days_behind: int
    identities: int
    overdue: int
    holds: Sequence[LegalHold]


def run(database: Database, vault: Vault, *, days_limit: int = LONGEST_STEP_DAYS, now: datetime, actor: str) -> Erased:
    """Destroy the keys of the days that have ended everywhere on Earth, then clear their rows and end holds whose
    last day has passed. Repeating it changes nothing.

    Raises Conflict `step_too_long`, with nothing changed, when more than `days_limit` days would go at once.
    """
    today = day_everywhere(now)
    check_step(vault.owed_from(), today, days_limit)
    with database.transaction() as session:
        for hold in _live_holds(session):
            _hold_rows(session, hold, vault)  # tickets sold since the hold was placed
    days = _advance(vault, today, days_limit)
    vault.mend_copies()
    with database.transaction() as session:
        live = _live_holds(session)
        keys = vault.hold_ids()  # after the rows: a hold being placed has its key before its row
        ended = [hold for hold in live if hold_is_over(hold.ends_on, today) or hold.code not in keys]
        cleared = sum(_end_hold(session, hold, vault, now=now, actor=actor).erased for hold in ended)
        owed_from = vault.owed_from()
        cleared += rows_changed(session.execute(delete(Identity).where(
            Identity.keep_until < owed_from, Identity.legal_hold.is_(None))))
        _set_mark(session, vault.vault_id, owed_from)
        if days or cleared:
            audit.record(session, "identities_erased", subject=owed_from.isoformat(), now=now, actor=actor,
                         details={"days": days, "identities": cleared, "holds_ended": len(ended)})
    _destroy_released(database, vault)
    return Erased(days, cleared, len(ended), owed_from)


def place_hold(database: Database, vault: Vault, trip_id: int, reason: str, ends_on: date, *, now: datetime,
               actor: str) -> str:
    """Keep one trip's identities past their day, until the end of `ends_on` or a release; the hold's code.

    Tickets that the trip still sells come under it at the next run. Raises InvalidInput (`reason`, `ends_on`),
    NotFound for an unknown trip, Conflict when the trip is held already.
    """
    check_hold(reason, ends_on, day_everywhere(now))
    code = vault.new_hold()
    try:
        with database.transaction() as session:
            if session.scalar(select(Trip.id).where(Trip.id == trip_id).with_for_update()) is None:
                raise NotFound("no_such_trip", "Não há viagem com esse número.")
            if session.scalar(_LIVE.where(LegalHold.trip_id == trip_id)) is not None:
                raise Conflict("trip_held", "Esta viagem já tem uma guarda legal. Encerre a primeira antes.")
            hold = LegalHold(code=code, trip_id=trip_id, reason=reason.strip(), ends_on=ends_on, placed_at=now,
                             placed_by=actor, released_at=None)
            session.add(hold)
            session.flush()
            held = _hold_rows(session, hold, vault)
            audit.record(session, "hold_placed", subject=code, now=now, actor=actor, details={
                "trip": trip_id, "until": ends_on.isoformat(), "identities": held})
    except DomainError:  # anything else may have been committed: a key too many is harmless, one too few is not
        vault.release_hold(code)
        raise
    return code


@dataclass(frozen=True, slots=True)
class Released:
    """What became of a hold's rows: sealed again for their own day, or erased since it has passed."""

    kept: int
    erased: int


def release_hold(database: Database, vault: Vault, code: str, *, now: datetime, actor: str) -> Released:
    """End a hold today; its key is destroyed. Raises NotFound for a code that is not in force."""
    with database.transaction() as session:
        hold = session.scalar(_LIVE.where(LegalHold.code == code.strip()).with_for_update())
        if hold is None:
            raise NotFound("no_such_hold", "Não há guarda legal em vigor com esse código.")
        released = _end_hold(session, hold, vault, now=now, actor=actor)
    _destroy_released(database, vault)
    return released


@dataclass(frozen=True, slots=True)
class Held:
    """A hold with the trip that it is about."""

    hold: LegalHold
    trip: Trip
    first: Call
    identities: int


def holds(session: Session, *, in_force: bool, limit: int = 100) -> list[Held]:
    """The holds in force, the one that ends first before the others; or those that ended, the latest first."""
    kept = select(func.count()).where(Identity.legal_hold == LegalHold.code).correlate(LegalHold).scalar_subquery()
    wanted = select(LegalHold, Trip, Call, kept).join(Trip, LegalHold.trip_id == Trip.id).join(
        Call, and_(Call.trip_id == Trip.id, Call.seq == 0)).options(joinedload(Trip.line)).limit(limit)
    wanted = wanted.where(LegalHold.released_at.is_(None)).order_by(LegalHold.ends_on, LegalHold.code) if in_force \
        else wanted.where(LegalHold.released_at.is_not(None)).order_by(LegalHold.released_at.desc(), LegalHold.code)
    return [Held(hold, trip, first, identities) for hold, trip, first, identities in session.execute(wanted)]


def check_vault(database: Database, vault: Vault) -> None:
    """Make sure, before anything is served, that this vault is this database's own and as far as it was.

    Copies that lag are mended, an older file is advanced to where the rows were last cleared. Raises VaultError when
    the database belongs to another vault. Leaves no key in memory.
    """
    vault.mend_copies()
    with database.transaction() as session:
        owed_from = _bind(session, vault)
    behind = (owed_from - vault.owed_from()).days
    if behind > 0:
        vault.advance(owed_from, days_limit=behind)
    _destroy_released(database, vault)
    vault.forget()


def status(database: Database, vault: Vault, *, now: datetime) -> Status:
    """What is kept, what is overdue and what is held, for the operator."""
    owed_from = vault.owed_from()
    overdue = Identity.keep_until < owed_from
    with database.reading() as session:
        kept, late = session.execute(select(func.count(), func.count().filter(
            overdue, Identity.legal_hold.is_(None))).select_from(Identity)).one()
        holds = list(session.scalars(_LIVE.order_by(LegalHold.ends_on)))
        session.expunge_all()
    return Status(owed_from, max((day_everywhere(now) - owed_from).days, 0), kept, late, holds)


_LIVE = select(LegalHold).where(LegalHold.released_at.is_(None))


def _live_holds(session: Session) -> list[LegalHold]:
    return list(session.scalars(_LIVE.order_by(LegalHold.code).with_for_update()))


def _advance(vault: Vault, today: date, days_limit: int) -> int:
    try:
        return vault.advance(today, days_limit=days_limit)
    except StepTooLong:  # the file was put back by an older copy since the check
        check_step(vault.owed_from(), today, days_limit)
        raise


def _hold_rows(session: Session, hold: LegalHold, vault: Vault) -> int:
    """Put the trip's rows that are still readable under the hold's key."""
    if hold.code not in vault.hold_ids():
        return 0
    rows = session.execute(select(Identity, Ticket.code).join(Ticket, Identity.ticket_id == Ticket.id).where(
        Ticket.trip_id == hold.trip_id, Identity.legal_hold.is_(None)).with_for_update(of=Identity)).all()
    held = 0
    for row, ticket_code in rows:
        passenger = opened_or_none(row, ticket_code, vault)
        if passenger is not None:
            row.legal_hold = hold.code
            seal_row(row, ticket_code, passenger, vault)
            held += 1
    return held


def _end_hold(session: Session, hold: LegalHold, vault: Vault, *, now: datetime, actor: str) -> Released:
    rows = session.execute(select(Identity, Ticket.code).join(Ticket, Identity.ticket_id == Ticket.id).where(
        Identity.legal_hold == hold.code).with_for_update(of=Identity)).all()
    owed_from, kept = vault.owed_from(), 0
    for row, ticket_code in rows:
        passenger = opened_or_none(row, ticket_code, vault)
        if passenger is None or row.keep_until < owed_from:
            session.delete(row)
            continue
        row.legal_hold = None
        seal_row(row, ticket_code, passenger, vault)
        kept += 1
    hold.released_at = now
    hold.reason = ""  # free text goes with what it was about
    audit.record(session, "hold_ended", subject=hold.code, now=now, actor=actor, details={
        "trip": hold.trip_id, "kept": kept, "erased": len(rows) - kept})
    return Released(kept, len(rows) - kept)


def _destroy_released(database: Database, vault: Vault) -> None:
    """Destroy the keys of holds that ended, those of a process that died before it could included."""
    keys = vault.hold_ids()
    if not keys:
        return
    with database.reading() as session:
        over = list(session.scalars(select(LegalHold.code).where(
            LegalHold.code.in_(keys), LegalHold.released_at.is_not(None))))
    for code in over:
        vault.release_hold(code)


def _bind(session: Session, vault: Vault) -> date:
    """The first owed day that the database remembers; a database that remembers no vault takes this one."""
    _insert_mark(session, {"vault_id": vault.vault_id, "owed_from": vault.owed_from()})
    marks = list(session.scalars(select(VaultMark)))
    if len(marks) != 1 or marks[0].vault_id != vault.vault_id:
        raise VaultError("VAULT_FILE is the vault of another system: this database's names are sealed with vault "
                         f"{next(m.vault_id for m in marks if m.vault_id != vault.vault_id)}. Put back its file.")
    return marks[0].owed_from


def _set_mark(session: Session, vault_id: str, owed_from: date) -> None:
    _insert_mark(session, {"vault_id": vault_id, "owed_from": owed_from})
    session.execute(update(VaultMark).where(VaultMark.vault_id == vault_id, VaultMark.owed_from < owed_from)
                    .values(owed_from=owed_from))
