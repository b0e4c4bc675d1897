"""Refunds that were paid. The ticket is the primary key: one ticket, one refund."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base
from kernel.money import Money


class Refund(Base):
    """What was paid back and what was kept, by which rule; `refunded` + `kept` is the ticket's fare.

    A PIX goes back through no till: its payout (ticketing/payments) names the return. Nor does a partner's account.
    """

    __tablename__ = "refund"
    __table_args__ = (CheckConstraint("(method IN ('pix', 'account')) = (shift_id IS NULL)", name="till"),)

    ticket_id: Mapped[int] = mapped_column(ForeignKey("ticket.id"), primary_key=True)
    refunded: Mapped[Money]
    kept: Mapped[Money]
    method: Mapped[str] = mapped_column(String(8))
    reference: Mapped[str | None] = mapped_column(String(40))
    shift_id: Mapped[int | None] = mapped_column(ForeignKey("shift.id"))
    paid_at: Mapped[datetime]
    paid_by: Mapped[str] = mapped_column(String(60))
    decision: Mapped[Any] = mapped_column(JSON)
