"""Column types, the two kinds of transaction, and what an error may tell."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from sqlalchemy import bindparam, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DatabaseError, IntegrityError

from kernel.auth import Staff
from kernel.db import Database, InsertNew, Km, Millionths, MoneyType, UtcDateTime
from kernel.jobs import JobTurn
from kernel.money import Money
from kernel.repeats import RepeatKey
from tests.instants import NOW

DIALECTS = (sqlite.dialect(), postgresql.dialect())


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)
def test_an_instant_without_its_zone_is_refused(dialect):
    with pytest.raises(ValueError, match="time zone"):
        UtcDateTime().process_bind_param(datetime(2026, 3, 2), dialect)  # noqa: DTZ001


@pytest.mark.parametrize("instant", [NOW, NOW.astimezone(timezone(timedelta(hours=-4))), datetime(2026, 3, 2, 12, 0, 0, 1, UTC)])
def test_an_instant_comes_back_as_the_same_instant_in_utc(database, instant):
    with database.transaction() as session:
        session.add(JobTurn(name="x", due_at=instant, ended_at=None, outcome=None))
    with database.reading() as session:
        told = session.scalar(select(JobTurn.due_at))
        assert session.scalar(select(JobTurn.ended_at)) is None
    assert told == instant
    assert told.tzinfo is UTC


@pytest.mark.parametrize(("type_", "value", "stored"), [
    (Km(), Decimal("33.3"), 33300), (Km(), Decimal("99.999"), 99999), (Km(), None, None), (MoneyType(), Money(-5), -5),
    (MoneyType(), None, None), (Millionths(), Decimal("0.280001"), 280001), (Millionths(), None, None)])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)
def test_a_value_is_stored_as_a_whole_number_and_comes_back(type_, value, stored, dialect):
    assert type_.process_bind_param(value, dialect) == stored
    assert type_.process_result_value(stored, dialect) == value


@pytest.mark.parametrize(("type_", "value"), [(Km(), Decimal("0.0001")), (Millionths(), Decimal("0.0000001"))])
def test_more_decimals_than_are_kept_are_refused(type_, value):
    with pytest.raises(ValueError, match="decimals"):
        type_.process_bind_param(value, DIALECTS[0])


def test_what_raises_is_rolled_back_whole(database):
    with pytest.raises(ZeroDivisionError), database.transaction() as session:
        session.add(JobTurn(name="x", due_at=NOW, ended_at=None, outcome=None))
        session.flush()
        raise ZeroDivisionError
    with database.reading() as session:
        assert session.scalars(select(JobTurn)).all() == []


def test_a_row_whose_key_is_there_is_not_written_again_and_keeps_its_values(session):
    insert = InsertNew(JobTurn, "name", returning=JobTurn.due_at)
    row = {"name": "x", "due_at": NOW, "ended_at": None, "outcome": None}
    assert insert.new_value(session, row) == NOW
    assert insert.new_value(session, row | {"outcome": "again"}) is None
    assert session.scalars(select(JobTurn.outcome)).all() == [None]


def test_a_conflict_with_another_key_than_the_one_named_is_an_error(session):
    InsertNew(Staff)(session, person := {"login": "ana", "display_name": "A", "role": "agent", "password_hash": "x"})
    assert not InsertNew(Staff, "login")(session, person)
    with pytest.raises(IntegrityError):
        InsertNew(Staff, "id")(session, person | {"id": 99})


def test_an_error_of_the_database_never_quotes_what_was_to_be_stored(database):
    values = {"actor": "a", "route": "r", "key": "k", "body_hash": None, "subject": "Zzmarcador Teste", "created_at": NOW}
    with pytest.raises(IntegrityError) as failed, database.transaction() as session:
        session.execute(RepeatKey.__table__.insert(), values)
    assert "Zzmarcador" not in str(failed.value).partition("[SQL")[2]  # PostgreSQL's own sentence holds the row
    with pytest.raises(DatabaseError) as failed, database.transaction() as session:
        session.execute(text("SELECT * FROM nothing WHERE x = :x").bindparams(bindparam("x", "Zzmarcador Teste")))
    assert "Zzmarcador" not in str(failed.value)


def test_sqlite_waits_writes_ahead_and_overwrites_what_it_deletes(templates):
    with templates.copied("sqlite") as url:
        database = Database(url)
        with database.reading() as session:
            told = {name: session.scalar(text(f"PRAGMA {name}")) for name in (
                "busy_timeout", "journal_mode", "synchronous", "foreign_keys", "secure_delete")}
        database.engine.dispose()
    assert told == {"busy_timeout": 30000, "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
