"""Shifts of a till and the ledger. Every movement belongs to an open shift; nothing here knows what was sold."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from kernel import audit
from kernel.db import InsertNew, MoneyType
from kernel.errors import Conflict, InvalidInput
from kernel.money import LARGEST_CENTS, ZERO, Money
from ticketing.payments.models import LedgerEntry, Shift

Kind = Literal["sale", "void", "refund"]
LONGEST_REFERENCE = 40

_insert_entry = InsertNew(LedgerEntry, "kind", "reference")


@dataclass(frozen=True, slots=True)
class Means:
    """How money moves: in cash, by card with the terminal's reference (of the sale or of its reversal), by PIX with
    the end-to-end id that came in or the return id of the payout that goes out, or on a partner's account.
    """

    method: Literal["cash", "card", "pix", "account"]
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class ShiftReport:
    """What a shift took, by method, and how its count came out. Amounts are net of voids and refunds."""

    shift: Shift
    cash: Money
    card: Money
    sales: int
    difference: Money | None


def read_means(method: str, reference: str) -> Means:
    """Cash, or card with a reference of 1 to 40 letters and digits. Raises InvalidInput."""
    if method == "cash":
        return Means("cash")
    if method != "card":
        raise InvalidInput("unknown_method", "Escolha dinheiro ou cartão.", fields={"method": "Escolha como pagar."})
    plain = reference.strip().upper()
    if not 1 <= len(plain) <= LONGEST_REFERENCE or not plain.isascii() or not plain.replace("-", "").isalnum():
        sentence = "Digite o número do comprovante da maquininha (NSU)."
        raise InvalidInput("reference_missing", sentence, fields={"reference": sentence})
    return Means("card", plain)


def open_shift(session: Session, *, stop_id: int, opening_float: Money, now: datetime, actor: str) -> Shift:
    """Open the agent's turn with the change in the drawer. Raises Conflict when one is open already."""
    _check_amount(opening_float, "opening_float")
    if current_shift(session, actor) is not None:
        raise Conflict("shift_open", "Seu caixa já está aberto.")
    shift = Shift(code=secrets.token_hex(4).upper(), agent=actor, stop_id=stop_id, opened_at=now,
                  opening_float=opening_float, cash=opening_float)
    session.add(shift)
    try:
        session.flush()
    except IntegrityError as error:
        if "uq_shift_open" not in str(error.orig) and "shift.agent" not in str(error.orig):
            raise
        raise Conflict("shift_open", "Seu caixa já está aberto.") from error
    audit.record(session, "shift_opened", subject=shift.code, details={"float": opening_float.cents}, now=now,
                 actor=actor)
    return shift


def current_shift(session: Session, agent: str) -> Shift | None:
    """The agent's open shift."""
    return session.scalar(select(Shift).where(Shift.agent == agent, Shift.closed_at.is_(None)))


def close_shift(session: Session, *, counted: Money, now: datetime, actor: str) -> ShiftReport:
    """Close with a blind count: the agent says what is in the drawer, then learns the difference, which is kept.

    Raises Conflict when no shift is open.
    """
    _check_amount(counted, "counted")
    closed = session.scalar(update(Shift).where(Shift.agent == actor, Shift.closed_at.is_(None))
                            .values(closed_at=now, counted=counted).returning(Shift.id)
                            .execution_options(synchronize_session=False))
    if closed is None:
        raise _no_shift()
    report = shift_report(session, session.get_one(Shift, closed, populate_existing=True))
    difference = report.difference or ZERO
    audit.record(session, "shift_closed", subject=report.shift.code,
                 details={"counted": counted.cents, "difference": difference.cents}, now=now, actor=actor)
    return report


def shift_report(session: Session, shift: Shift) -> ShiftReport:
    """The shift's takings. The drawer and the ledger are two tallies of the same money; they must agree."""
    rows = session.execute(select(LedgerEntry.method, func.sum(LedgerEntry.amount)).where(
        LedgerEntry.shift_id == shift.id).group_by(LedgerEntry.method)).all()
    taken = {method: amount if isinstance(amount, Money) else Money(int(amount)) for method, amount in rows}
    sales = session.scalar(select(func.count()).select_from(LedgerEntry).where(
        LedgerEntry.shift_id == shift.id, LedgerEntry.kind == "sale")) or 0
    difference = None if shift.counted is None else shift.counted - shift.cash
    return ShiftReport(shift, taken.get("cash", ZERO), taken.get("card", ZERO), sales, difference)


def recent_shifts(session: Session, limit: int = 50) -> list[ShiftReport]:
    """The latest shifts of every till, open ones first, for the office."""
    shifts = session.scalars(select(Shift).order_by(Shift.closed_at.is_not(None), Shift.opened_at.desc())
                             .limit(limit))
    return [shift_report(session, shift) for shift in shifts]


_DRAWER = (update(Shift).where(Shift.agent == bindparam("who"), Shift.closed_at.is_(None))
           .values(cash=Shift.cash + bindparam("moved", type_=MoneyType)).returning(Shift.id, Shift.cash))


def move_money(session: Session, kind: Kind, means: Means, amount: Money, *, subject: str, now: datetime,
               actor: str) -> int | None:
    """Write money in (positive) or out (negative) to the ledger and the drawer of the actor's open shift; its id.

    A PIX and an account (whose reference is made here) need no shift and give None. Raises Conflict `no_shift`,
    `drawer_short` when the cash to pay out is not there, `slip_used` when a card slip stands in the ledger already,
    `pix_used` when that PIX does.
    """
    row = {"at": now, "kind": kind, "method": means.method, "amount": amount, "subject": subject,
           "reference": means.reference, "shift_id": None, "actor": actor}
    if means.method == "account":
        row["reference"] = f"account:{subject}"  # a card slip has no colon and no small letter
    if means.method in ("pix", "account"):
        if not _insert_entry(session, row):
            raise Conflict("pix_used", "Este PIX já foi usado. Confira o identificador.")
        return None
    in_drawer = amount if means.method == "cash" else ZERO
    shift = session.connection().execute(_DRAWER, {"who": actor, "moved": in_drawer}).first()
    if shift is None:
        raise _no_shift()
    if in_drawer < ZERO and shift.cash < ZERO:
        raise Conflict("drawer_short", "Não há dinheiro suficiente no caixa para devolver. Reforce o caixa.")
    if _gave_back_before(session, kind, means) or not _insert_entry(session, {**row, "shift_id": shift.id}):
        raise Conflict("slip_used", "Este comprovante da maquininha já foi usado. Confira o número.",
                       fields={"reference": "Este comprovante já foi usado."})
    return int(shift.id)


def _gave_back_before(session: Session, kind: Kind, means: Means) -> bool:
    """Whether this slip of a reversal stands for money back already, be it a void's or a refund's."""
    return kind != "sale" and means.method == "card" and session.scalar(select(LedgerEntry.id).where(
        LedgerEntry.kind.in_(("void", "refund")), LedgerEntry.reference == means.reference).limit(1)) is not None


def _no_shift() -> Conflict:
    return Conflict("no_shift", "Abra o caixa antes de vender ou devolver.")


def _check_amount(amount: Money, field: str) -> None:
    if not ZERO <= amount <= Money(LARGEST_CENTS):
        sentence = "Digite um valor de zero em diante."
        raise InvalidInput("amount_out_of_range", sentence, fields={field: sentence})
