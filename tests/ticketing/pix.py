"""What the tests of PIX share: a bank that only makes ids, a sale that only writes the ledger, and the books."""

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernel import outbox
from kernel.money import Money
from tests.instants import NOW
from ticketing.payments import charges
from ticketing.payments.desk import Desk
from ticketing.payments.models import Charge, LedgerEntry, Payout, Receipt
from ticketing.payments.port import BankReceipt
from ticketing.payments.providers import StaticCode
from ticketing.payments.service import Means, move_money

MINUTE = timedelta(minutes=1)
END = NOW + 10 * MINUTE  # of every charge here
STATIC = StaticCode("key@example.com", "Viação de Teste", "Criciúma")


def e2e(n: int, moment: datetime = NOW) -> str:
    return f"E12345678{moment:%Y%m%d%H%M}{n:011d}"


def money(txid: str | None, cents: int, n: int = 1) -> BankReceipt:
    """A PIX as the bank tells it, the n-th of the test."""
    return BankReceipt(e2e(n), txid, Money(cents), NOW)


def sale(session: Session, subject: str, receipt: Receipt, now: datetime) -> bool:
    """Settle by writing the ledger alone, for the charge's amount: what selling tickets does among other things."""
    asked = session.get_one(Charge, receipt.txid).amount
    move_money(session, "sale", Means("pix", receipt.e2e_id), asked, subject=subject, now=now, actor="tests")
    return True


def no_sale(session: Session, subject: str, receipt: Receipt, now: datetime) -> bool:
    """Settle where the seats are gone."""
    return False


def take(session: Session, told: BankReceipt, settle: Callable = sale) -> str | None:
    return charges.take(session, told, settle, source="bank", now=NOW, actor="tests")


def books(session: Session) -> dict[str, int]:
    """For each receipt what came in, less what was sold for it and what is owed or was sent back: zero each."""
    left = {receipt.e2e_id: receipt.amount.cents for receipt in session.scalars(select(Receipt))}
    for entry in session.scalars(select(LedgerEntry).where(LedgerEntry.method == "pix", LedgerEntry.kind == "sale")):
        left[entry.reference] -= entry.amount.cents
    for payout in session.scalars(select(Payout).where(Payout.reason != "refund")):
        left[payout.e2e_id] -= payout.amount.cents
    return left


def payouts(session: Session) -> list[tuple[str, int, str]]:
    return [(row.reason, row.amount.cents, row.status) for row in session.scalars(select(Payout).order_by(Payout.id))]


def letters(session: Session) -> list[tuple[str, str]]:
    """Topic and subject of what is still to be sent."""
    return [(row.topic, row.subject) for row in session.scalars(
        select(outbox.OutboxRow).where(outbox.OutboxRow.done_at.is_(None)).order_by(outbox.OutboxRow.id))]


def opened_charge(desk: Desk, subject: str = "BOOKING1", cents: int = 8559) -> str:
    """The txid of a charge until END that the bank does not know yet."""
    with desk.database.transaction() as session:
        return charges.open_charge(session, desk.bank, subject=subject, amount=Money(cents), expires_at=END, now=NOW).txid


def asked(desk: Desk, subject: str = "BOOKING1", cents: int = 8559) -> str:
    """The txid of a charge that the bank knows."""
    txid = opened_charge(desk, subject, cents)
    desk.activate(txid, now=NOW)
    return txid


def look(desk: Desk, read: Callable):
    with desk.database.reading() as session:
        return read(session)


def status(desk: Desk, txid: str) -> str:
    return look(desk, lambda session: session.get_one(Charge, txid).status)
