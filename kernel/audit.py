"""The audit log: who did what to which code, when. Append-only by a trigger in the database; codes, never names."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, String, insert
from sqlalchemy.orm import Mapped, Session, mapped_column

from kernel.db import Base

Details = dict[str, str | int | bool | None]


class AuditEntry(Base):
    """One act. `subject` is a code (ticket, trip, shift); `details` holds codes and counts."""

    __tablename__ = "audit_entry"
    __table_args__ = (Index("ix_audit_entry_subject", "subject"), Index("ix_audit_entry_at", "at"))

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(String(60))
    action: Mapped[str] = mapped_column(String(40))
    subject: Mapped[str] = mapped_column(String(60))
    details: Mapped[Any] = mapped_column(JSON)


_INSERT = insert(AuditEntry)


def record(session: Session, action: str, *, subject: str, details: Details | None = None,
           now: datetime, actor: str) -> None:
    """Write one entry in the caller's transaction: no act without its entry, no entry without its act."""
    session.connection().execute(_INSERT, {
        "at": now, "actor": actor, "action": action, "subject": subject, "details": details or {}})
