"""Bookings, tickets and the one table that holds identity, sealed."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, LargeBinary, SmallInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base
from kernel.money import Money


class Booking(Base):
    """What one buyer bought in one go, by one channel."""

    __tablename__ = "booking"
    __table_args__ = (CheckConstraint("channel IN ('counter', 'online', 'on_board', 'partner')", name="channel"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(12), unique=True)
    channel: Mapped[str] = mapped_column(String(10))
    method: Mapped[str] = mapped_column(String(8))
    total: Mapped[Money]
    sold_by: Mapped[str] = mapped_column(String(60))
    sold_at: Mapped[datetime] = mapped_column(index=True)


class Ticket(Base):
    """One passenger on one trip from one call to another. Its status moves only by UPDATE … WHERE status = old."""

    __tablename__ = "ticket"
    __table_args__ = (
        CheckConstraint("status IN ('sold', 'boarded', 'refunded', 'voided')", name="status"),
        CheckConstraint("board_seq >= 0 AND board_seq < alight_seq", name="stretch"),
        CheckConstraint("(status = 'boarded') <= (boarded_at IS NOT NULL)", name="boarded"),
        Index("ix_ticket_trip_id_status", "trip_id", "status"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(12), unique=True)
    booking_id: Mapped[int] = mapped_column(ForeignKey("booking.id"), index=True)
    trip_id: Mapped[int] = mapped_column(ForeignKey("trip.id"))
    board_seq: Mapped[int] = mapped_column(SmallInteger)
    alight_seq: Mapped[int] = mapped_column(SmallInteger)
    seat: Mapped[int] = mapped_column(SmallInteger)
    hold_id: Mapped[int] = mapped_column(ForeignKey("seat_hold.id"), unique=True)
    status: Mapped[str] = mapped_column(String(10))
    revision: Mapped[int] = mapped_column(SmallInteger)
    sold_at: Mapped[datetime]
    tariff_id: Mapped[int] = mapped_column(ForeignKey("tariff.id"))
    fare: Mapped[Money]
    identity_required: Mapped[bool]
    refund_until: Mapped[datetime]  # the last instant of the full refund, frozen at the sale
    decisions: Mapped[Any] = mapped_column(JSON)  # identity, concession and refund decisions with their citations
    boarded_at: Mapped[datetime | None]
    boarded_seq: Mapped[int | None] = mapped_column(SmallInteger)
    boarded_by: Mapped[str | None] = mapped_column(String(60))


class FareLine(Base):
    """One item of a ticket's fare, as sold; the items' sum is the ticket's fare."""

    __tablename__ = "fare_line"

    ticket_id: Mapped[int] = mapped_column(ForeignKey("ticket.id"), primary_key=True)
    position: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    amount: Mapped[Money]


class Identity(Base):
    """Who travels, sealed until the end of `keep_until` (SC 11-A par. 4), and a keyed tag to find a document by."""

    __tablename__ = "identity"

    ticket_id: Mapped[int] = mapped_column(ForeignKey("ticket.id"), primary_key=True)
    keep_until: Mapped[date] = mapped_column(index=True)
    legal_hold: Mapped[str | None] = mapped_column(String(16), index=True)
    tag: Mapped[bytes] = mapped_column(LargeBinary(32), index=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
