"""PIX asked for and PIX received. Every receipt ends as a ticket or as a payout, in the transaction that records it."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from kernel import audit, outbox
from kernel.db import InsertNew, rows_changed
from kernel.errors import Conflict, DomainError, NotFound
from kernel.money import ZERO, Money
from ticketing.payments.models import Charge, LedgerEntry, Receipt
from ticketing.payments.payouts import payout_due
from ticketing.payments.port import Bank, BankReceipt, new_txid

Settle = Callable[[Session, str, Receipt, datetime], bool]
CANCEL = "pix_cancel"
GRACE = timedelta(minutes=10)  # a payment begun in the last second is seen before its charge is given up
_OPEN = ("intent", "active")

_insert_receipt = InsertNew(Receipt, "e2e_id")


def open_charge(session: Session, bank: Bank, *, subject: str, amount: Money, expires_at: datetime,
                now: datetime) -> Charge:
    """The intent to ask for money: a row, no network. `desk.activate` asks the bank after the commit.

    Raises ValueError for an amount that is not over zero or an end that is past.
    """
    if amount <= ZERO or expires_at <= now:
        raise ValueError("a charge is over zero and ends later")
    charge = Charge(txid=new_txid(bank.txid_length), subject=subject, amount=amount, provider=bank.name,
                    status="intent", br_code=None, created_at=now, expires_at=expires_at, checked_at=now)
    session.add(charge)
    session.flush()
    return charge


def activate(session: Session, txid: str, br_code: str) -> None:
    """Keep the code that the bank gave; a charge that meanwhile ended or was paid stays as it is."""
    session.execute(update(Charge).where(Charge.txid == txid, Charge.status == "intent")
                    .values(status="active", br_code=br_code).execution_options(synchronize_session=False))


def find_charge(session: Session, txid: str) -> Charge:
    """The charge of an id. Raises NotFound."""
    charge = session.get(Charge, txid)
    if charge is None:
        raise NotFound("no_such_charge", "Não há cobrança com esse código.")
    return charge


def latest_charge(session: Session, subject: str) -> Charge | None:
    """The newest charge of a booking, whatever became of it."""
    return session.scalar(select(Charge).where(Charge.subject == subject)
                          .order_by(Charge.created_at.desc(), Charge.txid).limit(1))


def paid_with(session: Session, subject: str) -> str:
    """The end-to-end id that a booking was paid with: what its refunds come out of. Raises NotFound."""
    e2e_id = session.scalar(select(LedgerEntry.reference).where(
        LedgerEntry.subject == subject, LedgerEntry.kind == "sale", LedgerEntry.method == "pix"))
    if e2e_id is None:
        raise NotFound("not_paid_by_pix", "Esta venda não foi paga com PIX.")
    return e2e_id


def cancel_charge(session: Session, txid: str, *, now: datetime) -> bool:
    """Give up a charge that nobody will pay; the bank is told by the worker. False when it had ended already."""
    ended = session.execute(update(Charge).where(Charge.txid == txid, Charge.status.in_(_OPEN))
                            .values(status="cancelled").execution_options(synchronize_session=False))
    if rows_changed(ended) != 1:
        return False
    outbox.put(session, CANCEL, subject=txid, payload={}, due_at=now)
    return True


def take(session: Session, money: BankReceipt, settle: Settle, *, source: str, now: datetime,
         actor: str) -> str | None:
    """Record a PIX and decide what it is for; None when it was recorded before.

    `settled` when `settle(session, subject, receipt, now)` issued the tickets; else the reason of the payout that now
    stands: `late` (it returned False or refused), `repeated`, `short`, `unknown`. More than was asked comes back as
    `over`. Row counts decide, so it may be called by several processes at once, in any order, again and again.
    """
    receipt = record_receipt(session, money, source=source, now=now, actor=actor)
    if receipt is None:
        return None
    charge = session.get(Charge, money.txid) if money.txid else None
    outcome = _outcome(session, charge, receipt, settle, now)
    subject = charge.subject if charge else "-"
    back = receipt.amount if outcome != "settled" else receipt.amount - (charge.amount if charge else ZERO)
    if back > ZERO:
        payout_due(session, reason="over" if outcome == "settled" else outcome, e2e_id=receipt.e2e_id,
                   subject=subject, amount=back, now=now, actor=actor)
    audit.record(session, "pix_received", subject=subject, now=now, actor=actor, details={
        "e2e_id": receipt.e2e_id, "amount": receipt.amount.cents, "outcome": outcome, "back": back.cents})
    return outcome


def record_receipt(session: Session, money: BankReceipt, *, source: str, now: datetime, actor: str) -> Receipt | None:
    """The row of a PIX that is new, None when its end-to-end id stands here already. `take` does the rest."""
    if not _insert_receipt(session, {
            "e2e_id": money.e2e_id, "txid": money.txid, "amount": money.amount, "paid_at": money.paid_at,
            "received_at": now, "source": source, "actor": actor}):
        return None
    return session.get_one(Receipt, money.e2e_id)


def known_receipts(session: Session, e2e_ids: Sequence[str]) -> set[str]:
    """Which of these are recorded already."""
    return set(session.scalars(select(Receipt.e2e_id).where(Receipt.e2e_id.in_(e2e_ids))))


def known_charges(session: Session, txids: Sequence[str]) -> list[str]:
    """Which of these are charges of this product, each once, in the order given."""
    known = set(session.scalars(select(Charge.txid).where(Charge.txid.in_(txids))))
    return [txid for txid in dict.fromkeys(txids) if txid in known]


def charges_to_check(session: Session, provider: str, *, older_than: datetime, limit: int) -> list[Charge]:
    """Open charges that the bank was not asked about since, longest ago first; detached."""
    found = list(session.scalars(select(Charge).where(
        Charge.status.in_(_OPEN), Charge.provider == provider, Charge.checked_at <= older_than)
        .order_by(Charge.checked_at, Charge.txid).limit(limit)))
    session.expunge_all()
    return found


def checked(session: Session, charge: Charge, *, gone: bool, now: datetime) -> None:
    """Note that the bank was asked; `gone` ends a charge that is past its time."""
    ended = {"status": "expired"} if gone and now >= charge.expires_at + GRACE else {}
    session.execute(update(Charge).where(Charge.txid == charge.txid, Charge.status.in_(_OPEN))
                    .values(checked_at=now, **ended).execution_options(synchronize_session=False))


def _outcome(session: Session, charge: Charge | None, receipt: Receipt, settle: Settle, now: datetime) -> str:
    if charge is None:
        return "unknown"
    if receipt.amount < charge.amount:
        return "short"
    first = session.execute(update(Charge).where(Charge.txid == charge.txid, Charge.status != "paid")
                            .values(status="paid").execution_options(synchronize_session=False))
    if rows_changed(first) != 1:
        return "repeated"
    try:
        with session.begin_nested():
            return "settled" if settle(session, charge.subject, receipt, now) else "late"
    except DomainError:  # whatever refused to sell, the money may not stay
        return "late"


def charge_for_hand(session: Session, code: str) -> Charge:
    """The charge that an agent confirms by hand. Raises NotFound, Conflict `bank_confirms` where a bank does that."""
    charge = latest_charge(session, "".join(code.split()).replace("-", "").upper()[:20])
    if charge is None:
        raise NotFound("no_such_charge", "Não há compra com esse código esperando PIX.")
    if charge.provider != "static":
        raise Conflict("bank_confirms", "O banco confirma este PIX sozinho. Espere alguns segundos.")
    return charge
