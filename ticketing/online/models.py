"""Purchases on the web that are not paid yet: the seats they hold, who will travel (sealed), and how they ended."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, LargeBinary, SmallInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base
from kernel.money import Money


class PendingBooking(Base):
    """A purchase from the choice of seats to its end. A paid one has a Booking of the same code.

    `seats` is a list of [seat number, hold code]. `sealed` holds the passengers' forms under the vault's key of
    `keep_until`, and is emptied when the purchase is paid or over. The status moves only by UPDATE … WHERE status.
    """

    __tablename__ = "pending_booking"
    __table_args__ = (
        CheckConstraint("status IN ('pending', 'paid', 'expired')", name="status"),
        CheckConstraint("board_seq >= 0 AND board_seq < alight_seq", name="stretch"),
        CheckConstraint("status = 'pending' OR sealed IS NULL", name="sealed"),
        Index("ix_pending_booking_status_ends_at", "status", "ends_at"),
    )

    code: Mapped[str] = mapped_column(String(12), primary_key=True)
    trip_id: Mapped[int] = mapped_column(ForeignKey("trip.id"))
    board_seq: Mapped[int] = mapped_column(SmallInteger)
    alight_seq: Mapped[int] = mapped_column(SmallInteger)
    seats: Mapped[Any] = mapped_column(JSON)
    identity_required: Mapped[bool]
    total: Mapped[Money]
    status: Mapped[str] = mapped_column(String(8))
    extended: Mapped[bool]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]  # until when the seats are held
    ends_at: Mapped[datetime]  # until when a late payment may still find its passengers; then they are erased
    keep_until: Mapped[date]
    sealed: Mapped[bytes | None] = mapped_column(LargeBinary)
    txid: Mapped[str | None] = mapped_column(String(35))
