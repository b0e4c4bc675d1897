"""Money that moved: shifts of a till and the append-only ledger. Knows codes, never tickets or passengers."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, text
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
    """Money in (positive) or out (negative), for a booking or ticket code. The database refuses changes."""

    __tablename__ = "ledger_entry"
    __table_args__ = (
        CheckConstraint("kind IN ('sale', 'void', 'refund')", name="kind"),
        CheckConstraint("method IN ('cash', 'card')", name="method"),
        CheckConstraint("(method = 'card') = (reference IS NOT NULL)", name="reference"),
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
    shift_id: Mapped[int] = mapped_column(ForeignKey("shift.id"))
    actor: Mapped[str] = mapped_column(String(60))
