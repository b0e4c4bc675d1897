"""Refunds that were paid. The ticket is the primary key: one ticket, one refund."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base
from kernel.money import Money


class Refund(Base):
    """What was paid back and what was kept, by which rule; `refunded` + `kept` is the ticket's fare."""

    __tablename__ = "refund"

    ticket_id: Mapped[int] = mapped_column(ForeignKey("ticket.id"), primary_key=True)
    refunded: Mapped[Money]
    kept: Mapped[Money]
    method: Mapped[str] = mapped_column(String(8))
    reference: Mapped[str | None] = mapped_column(String(40))
    shift_id: Mapped[int] = mapped_column(ForeignKey("shift.id"))
    paid_at: Mapped[datetime]
    paid_by: Mapped[str] = mapped_column(String(60))
    decision: Mapped[Any] = mapped_column(JSON)
