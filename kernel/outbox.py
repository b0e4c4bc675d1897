"""What must be told to somebody outside: rows written with the act they belong to, delivered later, at least once."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import JSON, Index, SmallInteger, String, delete, insert, select, text, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from kernel.db import Base, Database, rows_changed
from kernel.errors import DomainError

log = logging.getLogger("embarque.outbox")
Payload = Mapping[str, str | int | bool | None]
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=30), timedelta(hours=1)
KEPT = timedelta(days=30)


class OutboxRow(Base):
    """One letter. `subject` and `payload` are codes and counts, never names or documents."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index("ix_outbox_open", "topic", "due_at", sqlite_where=text("done_at IS NULL"),
              postgresql_where=text("done_at IS NULL")),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    topic: Mapped[str] = mapped_column(String(20))
    subject: Mapped[str] = mapped_column(String(60))
    payload: Mapped[Any] = mapped_column(JSON)
    due_at: Mapped[datetime]
    attempts: Mapped[int] = mapped_column(SmallInteger)
    done_at: Mapped[datetime | None]
    outcome: Mapped[str | None] = mapped_column(String(60))


@dataclass(frozen=True, slots=True)
class Letter:
    """A row as its sender sees it; `attempt` counts from 1, and `id` stays the same however often it is sent."""

    id: int
    topic: str
    subject: str
    payload: Payload
    attempt: int


class Undeliverable(Exception):
    """Raised by a sender that will never succeed: the letter is closed with this text, a short code."""


Send = Callable[[Letter], None]
_INSERT = insert(OutboxRow)
_CLOSED = "done"


def put(session: Session, topic: str, *, subject: str, payload: Payload, due_at: datetime) -> None:
    """Write a letter in the caller's transaction: no act without its letter, no letter without its act."""
    session.connection().execute(_INSERT, {
        "topic": topic, "subject": subject, "payload": dict(payload), "due_at": due_at, "attempts": 0,
        "done_at": None, "outcome": None})


def deliver(database: Database, topic: str, send: Send, *, now: datetime, limit: int = 50) -> dict[str, int]:
    """Send the letters of a topic whose turn has come, oldest first; counts of `sent`, `later` and `dropped`.

    `send` is called outside any transaction and may be called again for a letter that it has sent: it must be
    repeatable. Taking a letter pushes its next turn away, so that two workers do not send it at once and one that dies
    costs a wait. An error keeps the letter for a later turn (30 s, 60 s, … 1 h); `Undeliverable` closes it.
    """
    counts = {"sent": 0, "later": 0, "dropped": 0}
    for letter in _due(database, topic, now, limit):
        if _take(database, letter, now):
            counts[_send(database, letter, send, now)] += 1
    return counts


def wait_after(attempt: int) -> timedelta:
    """How long after the n-th attempt the next one comes: 30 s, doubled each time, an hour at most."""
    return min(FIRST_WAIT * (1 << min(attempt - 1, 10)), LONGEST_WAIT)


def waiting(session: Session, topic: str, subject: str) -> bool:
    """Whether a letter about this subject is still to be delivered."""
    return session.scalar(select(OutboxRow.id).where(OutboxRow.topic == topic, OutboxRow.subject == subject,
                                                     OutboxRow.done_at.is_(None)).limit(1)) is not None


def forget_old(session: Session, *, now: datetime) -> int:
    """Delete letters closed more than 30 days ago; the number deleted."""
    return rows_changed(session.execute(delete(OutboxRow).where(OutboxRow.done_at < now - KEPT)))


def _due(database: Database, topic: str, now: datetime, limit: int) -> list[Letter]:
    with database.reading() as session:
        rows = session.scalars(select(OutboxRow).where(
            OutboxRow.topic == topic, OutboxRow.done_at.is_(None), OutboxRow.due_at <= now)
            .order_by(OutboxRow.due_at, OutboxRow.id).limit(limit))
        return [Letter(row.id, row.topic, row.subject, row.payload, row.attempts + 1) for row in rows]


def _take(database: Database, letter: Letter, now: datetime) -> bool:
    with database.transaction() as session:
        return rows_changed(session.execute(update(OutboxRow).where(
            OutboxRow.id == letter.id, OutboxRow.attempts == letter.attempt - 1, OutboxRow.done_at.is_(None))
            .values(attempts=letter.attempt, due_at=now + wait_after(letter.attempt)))) == 1


def _send(database: Database, letter: Letter, send: Send, now: datetime) -> str:
    try:
        send(letter)
    except Undeliverable as never:
        _close(database, letter, now, str(never) or "undeliverable")
        return "dropped"
    except Exception as error:  # the next letter still has its turn; the row and the log tell
        code = error.code if isinstance(error, DomainError) else type(error).__name__
        log.warning("letter kept for later", extra={"topic": letter.topic, "letter": letter.id, "outcome": code,
                                                    "attempt": letter.attempt})
        with database.transaction() as session:
            session.execute(update(OutboxRow).where(OutboxRow.id == letter.id).values(outcome=code[:60]))
        return "later"
    _close(database, letter, now, _CLOSED)
    return "sent"


def _close(database: Database, letter: Letter, now: datetime, outcome: str) -> None:
    with database.transaction() as session:
        session.execute(update(OutboxRow).where(OutboxRow.id == letter.id, OutboxRow.done_at.is_(None))
                        .values(done_at=now, outcome=outcome[:60]))
