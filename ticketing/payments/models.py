"""Money that moved: shifts of a till, the append-only ledger, PIX charges with what came in and what goes back.

Knows codes, never tickets or passengers.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, SmallInteger, String, text
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base
from kernel.money import Money


class Shift(Base):
    """An agent's turn at a till: the float at opening, the blind count at close, and the difference, kept."""

    __tablename__ = "shift"
    __table_args__ = (
        Index("uq_shift_open", "agent", unique=True, sqlite_where=text("closed_at IS NULL"),
              postgresql_where=text("closed_at IS NULL")),
        CheckConstraint("(closed_at IS NULL) = (counted IS NULL)", name="counted"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(12), unique=True)
    agent: Mapped[str] = mapped_column(String(60))
    stop_id: Mapped[int] = mapped_column(ForeignKey("stop.id"))
    opened_at: Mapped[datetime]
    opening_float: Mapped[Money]
    cash: Mapped[Money]  # what the drawer should hold: the float and every cash entry since
    closed_at: Mapped[datetime | None]
    counted: Mapped[Money | None]


class LedgerEntry(Base):
    """Money in (positive) or out (negative), for a booking or ticket code. The database refuses changes.

    `reference` is the card slip's number; of a PIX the end-to-end id (in) or the payout's return id (out); of a
    partner's account its line there. The last two move through no till.
    """

    __tablename__ = "ledger_entry"
    __table_args__ = (
        CheckConstraint("kind IN ('sale', 'void', 'refund')", name="kind"),
        CheckConstraint("method IN ('cash', 'card', 'pix', 'account')", name="method"),
        CheckConstraint("(method = 'cash') = (reference IS NULL)", name="reference"),
        CheckConstraint("(method IN ('pix', 'account')) = (shift_id IS NULL)", name="till"),
        Index("uq_ledger_entry_card", "kind", "reference", unique=True),
        Index("ix_ledger_entry_subject", "subject"),
        Index("ix_ledger_entry_shift_id", "shift_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(String(8))
    method: Mapped[str] = mapped_column(String(8))
    amount: Mapped[Money]
    subject: Mapped[str] = mapped_column(String(20))
    reference: Mapped[str | None] = mapped_column(String(40))
    shift_id: Mapped[int | None] = mapped_column(ForeignKey("shift.id"))
    actor: Mapped[str] = mapped_column(String(60))


class Charge(Base):
    """A PIX asked for: `intent` until the bank (or the static code) has its BR Code, then `active` until paid,
    cancelled or expired. Money may come in any state; `paid` says that the whole amount came once.
    """

    __tablename__ = "charge"
    __table_args__ = (
        CheckConstraint("provider IN ('bank', 'static', 'demo')", name="provider"),
        CheckConstraint("status IN ('intent', 'active', 'paid', 'cancelled', 'expired')", name="status"),
        CheckConstraint("amount > 0", name="amount"),
        CheckConstraint("status <> 'active' OR br_code IS NOT NULL", name="br_code"),
        Index("ix_charge_subject", "subject"),
        Index("ix_charge_open", "checked_at", sqlite_where=text("status IN ('intent', 'active')"),
              postgresql_where=text("status IN ('intent', 'active')")),
    )

    txid: Mapped[str] = mapped_column(String(35), primary_key=True)
    subject: Mapped[str] = mapped_column(String(20))
    amount: Mapped[Money]
    provider: Mapped[str] = mapped_column(String(6))
    status: Mapped[str] = mapped_column(String(9))
    br_code: Mapped[str | None] = mapped_column(String(512))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    checked_at: Mapped[datetime]  # when the bank was last asked about it


class Receipt(Base):
    """One PIX that came in, by its end-to-end id; `txid` is what the payer's bank sent along, perhaps unknown here."""

    __tablename__ = "receipt"
    __table_args__ = (
        CheckConstraint("amount > 0", name="amount"),
        CheckConstraint("source IN ('bank', 'agent')", name="source"),
        Index("ix_receipt_txid", "txid"),
    )

    e2e_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    txid: Mapped[str | None] = mapped_column(String(35))
    amount: Mapped[Money]
    paid_at: Mapped[datetime]  # as the bank tells
    received_at: Mapped[datetime]  # when it was recorded here
    source: Mapped[str] = mapped_column(String(5))
    actor: Mapped[str] = mapped_column(String(60))


class Payout(Base):
    """Money that goes back out of a receipt. `due` waits for the bank or a person, `sent` for the bank's word,
    `refused` and an `unknown` that is due for a person; `kept` is an unknown that a person knew.
    """

    __tablename__ = "payout"
    __table_args__ = (
        CheckConstraint("reason IN ('late', 'repeated', 'short', 'over', 'unknown', 'refund')", name="reason"),
        CheckConstraint("status IN ('due', 'sent', 'done', 'refused', 'kept')", name="status"),
        CheckConstraint("amount > 0", name="amount"),
        CheckConstraint("(status IN ('done', 'kept')) = (settled_at IS NOT NULL)", name="settled"),
        Index("uq_payout_refund", "subject", unique=True, sqlite_where=text("reason = 'refund'"),
              postgresql_where=text("reason = 'refund'")),
        Index("uq_payout_receipt", "e2e_id", unique=True, sqlite_where=text("reason <> 'refund'"),
              postgresql_where=text("reason <> 'refund'")),
        Index("ix_payout_e2e_id", "e2e_id"),
        Index("ix_payout_open", "created_at", sqlite_where=text("status IN ('due', 'sent', 'refused')"),
              postgresql_where=text("status IN ('due', 'sent', 'refused')")),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    reason: Mapped[str] = mapped_column(String(8))
    e2e_id: Mapped[str] = mapped_column(ForeignKey("receipt.e2e_id"))
    subject: Mapped[str] = mapped_column(String(20))  # the ticket's code of a refund, else the charge's subject
    amount: Mapped[Money]
    status: Mapped[str] = mapped_column(String(7))
    return_id: Mapped[str] = mapped_column(String(20), unique=True)  # ours; the bank's repeats are told apart by it
    attempt: Mapped[int] = mapped_column(SmallInteger)  # a refused return is asked for again under another id
    outcome: Mapped[str | None] = mapped_column(String(60))  # the bank's last word, a code
    reference: Mapped[str | None] = mapped_column(String(40))  # of what a person paid by hand
    created_at: Mapped[datetime]
    settled_at: Mapped[datetime | None]
    settled_by: Mapped[str | None] = mapped_column(String(60))


class ReceivedMark(Base):
    """Until which instant the bank's list of received PIX has been read, for each provider."""

    __tablename__ = "received_mark"

    provider: Mapped[str] = mapped_column(String(6), primary_key=True)
    until: Mapped[datetime]


class DemoPayment(Base):
    """What the demonstration's bank was "paid"; no money. Empty wherever DEMO is not set."""

    __tablename__ = "demo_payment"

    e2e_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    txid: Mapped[str] = mapped_column(String(35), index=True)
    amount: Mapped[Money]
    paid_at: Mapped[datetime] = mapped_column(index=True)
