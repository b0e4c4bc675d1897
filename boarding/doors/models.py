"""Who works which door, every scan whatever its answer, and every document that was looked at."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, SmallInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base


class Roster(Base):
    """A driver's trips: a driver sees and boards only these."""

    __tablename__ = "roster"

    trip_id: Mapped[int] = mapped_column(ForeignKey("trip.id"), primary_key=True)
    staff_id: Mapped[int] = mapped_column(ForeignKey("staff.id"), primary_key=True, index=True)


class Scan(Base):
    """One presentation at the door, under the id the client made. Append-only."""

    __tablename__ = "scan"
    __table_args__ = (
        CheckConstraint("kind IN ('scan', 'code', 'name')", name="kind"),
        Index("ix_scan_trip_id", "trip_id"), Index("ix_scan_ticket_id", "ticket_id"),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    trip_id: Mapped[int] = mapped_column(ForeignKey("trip.id"))
    ticket_id: Mapped[int | None] = mapped_column(ForeignKey("ticket.id"))
    driver: Mapped[str] = mapped_column(String(60))
    kind: Mapped[str] = mapped_column(String(4))
    stop_seq: Mapped[int] = mapped_column(SmallInteger)
    at: Mapped[datetime]  # as the phone says, kept within what is possible: see doors/policy.py
    received_at: Mapped[datetime]
    result: Mapped[str] = mapped_column(String(20))
    facts: Mapped[Any] = mapped_column(JSON)  # what the answer told, without name or document


class DocumentCheck(Base):
    """The driver's answer to "is this the person": confirmed (and boarded) or refused, with a reason."""

    __tablename__ = "document_check"
    __table_args__ = (CheckConstraint("outcome IN ('confirmed', 'refused')", name="outcome"),)

    scan_id: Mapped[str] = mapped_column(ForeignKey("scan.id"), primary_key=True)
    outcome: Mapped[str] = mapped_column(String(10))
    reason: Mapped[str | None] = mapped_column(String(20))
    result: Mapped[str] = mapped_column(String(20))
    driver: Mapped[str] = mapped_column(String(60))
    at: Mapped[datetime]
