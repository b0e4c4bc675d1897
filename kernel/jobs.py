"""Work that no request waits for: named jobs with a period, each run by one process at a time."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import String, select, update
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base, Database, rows_changed
from kernel.errors import DomainError

log = logging.getLogger("embarque.jobs")


@dataclass(frozen=True)
class Job:
    """`run` is given `now` and opens its own transactions; it returns counts for the log."""

    name: str
    every: timedelta
    run: Callable[[datetime], dict[str, int]]


class JobTurn(Base):
    """When a job is next due, and how its last turn ended."""

    __tablename__ = "job_turn"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    due_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str | None] = mapped_column(String(200))


def run_due(database: Database, jobs: list[Job], *, now: datetime) -> list[str]:
    """Run each job whose turn has come; the names run. Taking a turn is an UPDATE whose row count decides."""
    return [job.name for job in jobs if _has_turn(database, job, now) and _run(database, job, now)]


def _has_turn(database: Database, job: Job, now: datetime) -> bool:
    try:
        return _take_turn(database, job, now)
    except (OperationalError, IntegrityError):  # the database is away, or two workers met a job nobody had run yet
        log.warning("no turn taken", extra={"job": job.name})
        return False


def _take_turn(database: Database, job: Job, now: datetime) -> bool:
    with database.transaction() as session:
        if session.get(JobTurn, job.name) is None:
            session.add(JobTurn(name=job.name, due_at=now))
            session.flush()
        return rows_changed(session.execute(update(JobTurn).where(
            JobTurn.name == job.name, JobTurn.due_at <= now).values(due_at=now + job.every))) == 1


def _run(database: Database, job: Job, now: datetime) -> bool:
    try:
        counts = job.run(now)
        outcome = "ok"
        log.info("job ended", extra={"job": job.name, **counts})
    except Exception as error:  # the other jobs still have their turn; the row and the log tell
        outcome = error.code if isinstance(error, DomainError) else type(error).__name__
        log.exception("job failed", extra={"job": job.name, "outcome": outcome})
    with suppress(OperationalError), database.transaction() as session:
        session.execute(update(JobTurn).where(JobTurn.name == job.name).values(ended_at=now, outcome=outcome))
    return True


def turns(database: Database) -> list[JobTurn]:
    """Every job's last outcome and next turn, for the operator."""
    with database.reading() as session:
        rows = list(session.scalars(select(JobTurn).order_by(JobTurn.name)))
        session.expunge_all()
        return rows


def work(database: Database, jobs: list[Job], stop: threading.Event, clock: Callable[[], datetime]) -> None:
    """Look for due jobs every five seconds until told to stop."""
    while not stop.is_set():
        run_due(database, jobs, now=clock())
        stop.wait(5)
