"""Phones of the crew: how they were enrolled, what they recorded at the door, and what nobody could believe."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, SmallInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base


class EnrolmentCode(Base):
    """A code that lets one phone in, once; only its hash is kept."""

    __tablename__ = "enrolment_code"

    code_hash: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    made_by: Mapped[str] = mapped_column(String(60))
    made_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Device(Base):
    """An enrolled phone: its Ed25519 public key, and the hash of the token that it calls with."""

    __tablename__ = "device"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(String(60))
    public_key: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    token_hash: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    enrolled_at: Mapped[datetime]
    enrolled_by: Mapped[str] = mapped_column(String(60))  # who made the code
    revoked_at: Mapped[datetime | None]


class DeviceRecord(Base):
    """One signed line of a phone's log, as it was signed (`body`), under the id that the phone made. Append-only.

    `seq` counts from 1 for each phone on each trip. What the lines come to is decided anew from all of them: see
    devices/policy.py. `trip_id` may be unknown here and `ticket_id` none: no line is thrown away.
    """

    __tablename__ = "device_record"
    __table_args__ = (
        CheckConstraint("kind IN ('scan', 'manual', 'undo', 'override', 'close')", name="kind"),
        Index("ix_device_record_trip_id", "trip_id"), Index("ix_device_record_ticket_id", "ticket_id"),
        Index("ix_device_record_received_at", "received_at"),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    device_id: Mapped[str] = mapped_column(ForeignKey("device.id"))
    trip_id: Mapped[int]
    seq: Mapped[int]
    kind: Mapped[str] = mapped_column(String(8))
    ticket_id: Mapped[int | None] = mapped_column(ForeignKey("ticket.id"))
    stop_seq: Mapped[int] = mapped_column(SmallInteger)
    result: Mapped[str] = mapped_column(String(20))
    accepted: Mapped[bool]
    undoes: Mapped[str | None] = mapped_column(String(36))
    at: Mapped[datetime]  # as the phone tells
    asof: Mapped[datetime | None]  # of the list that the phone had
    received_at: Mapped[datetime]
    body: Mapped[str] = mapped_column(Text)
    signature: Mapped[bytes] = mapped_column(LargeBinary(64))


class QuarantinedRecord(Base):
    """A line that no enrolled phone can be shown to have written. Kept apart, so that it takes nobody's id."""

    __tablename__ = "quarantined_record"

    digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    record_id: Mapped[str] = mapped_column(String(36))
    device_id: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str] = mapped_column(String(20))
    uploaded_by: Mapped[str] = mapped_column(String(60))
    received_at: Mapped[datetime] = mapped_column(index=True)
    body: Mapped[str] = mapped_column(Text)
