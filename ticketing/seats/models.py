"""Seat inventory: one row per (trip, leg, seat), whose primary key decides every race. See docs/architecture.md.

Seats are 1..200 as painted in the bus, standing places 201..255. A hold and a sold ticket are both a `SeatHold`.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, SmallInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base


class LegNumber(Base):
    """0, 1, 2 … as rows, so that a stretch becomes its legs in one INSERT … SELECT."""

    __tablename__ = "leg_number"

    n: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)


class SeatHold(Base):
    """A claim on one seat for the legs [leg_from, leg_to): held for a while, then sold, released or expired."""

    __tablename__ = "seat_hold"
    __table_args__ = (
        CheckConstraint("leg_from >= 0 AND leg_from < leg_to", name="legs"),
        CheckConstraint("status IN ('held', 'sold', 'released')", name="status"),
        CheckConstraint("(status = 'held') = (expires_at IS NOT NULL)", name="expiry"),
        Index("ix_seat_hold_trip_id", "trip_id"),
        Index("ix_seat_hold_expires_at", "expires_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(32), unique=True)
    trip_id: Mapped[int] = mapped_column(ForeignKey("trip.id"))
    seat: Mapped[int] = mapped_column(SmallInteger)
    leg_from: Mapped[int] = mapped_column(SmallInteger)
    leg_to: Mapped[int] = mapped_column(SmallInteger)
    status: Mapped[str] = mapped_column(String(8))
    holder: Mapped[str] = mapped_column(String(60))
    expires_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class SeatLeg(Base):
    """A seat taken on one leg. `hold_until` null means sold; a past one may be taken over by anybody."""

    __tablename__ = "seat_leg"
    __table_args__ = {"sqlite_with_rowid": False}

    trip_id: Mapped[int] = mapped_column(ForeignKey("trip.id"), primary_key=True)
    leg: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    seat: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    hold_id: Mapped[int] = mapped_column(ForeignKey("seat_hold.id"), index=True)
    hold_until: Mapped[datetime | None]
