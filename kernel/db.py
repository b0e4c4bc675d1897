"""Storage: one engine, two kinds of transaction, the column types, and the triggers that keep a table append-only."""

import select
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, MetaData, create_engine, event
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.types import TypeDecorator

from kernel.money import Money

MIGRATIONS = Path(__file__).parent.parent / "migrations"


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: aware in Python, UTC in the database. A naive value is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant needs its time zone")
        instant = value.astimezone(UTC)
        return instant.replace(tzinfo=None) if dialect.name == "sqlite" else instant

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class MoneyType(TypeDecorator[Money]):
    """Whole cents in a 64-bit integer column."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Money | None, dialect: Dialect) -> int | None:
        return None if value is None else value.cents

    def process_result_value(self, value: int | None, dialect: Dialect) -> Money | None:
        return None if value is None else Money(int(value))


class Km(TypeDecorator[Decimal]):
    """Kilometres as Decimal with at most three decimals, stored as whole metres, so that sums are exact."""

    impl = Integer
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        if value is None:
            return None
        metres = value * 1000
        if metres != int(metres):
            raise ValueError("kilometres have at most three decimals")
        return int(metres)

    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value) / 1000


class Millionths(TypeDecorator[Decimal]):
    """A Decimal with at most six decimals (reais per km), stored as a whole number of millionths."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        if value is None:
            return None
        if value * 1_000_000 != int(value * 1_000_000):
            raise ValueError("a coefficient has at most six decimals")
        return int(value * 1_000_000)

    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value) / 1_000_000


class Base(DeclarativeBase):
    """The declarative base; every constraint gets a name from this convention."""

    metadata = MetaData(naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s", "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s", "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    })
    type_annotation_map = {datetime: UtcDateTime, Money: MoneyType, Decimal: Km}


class Database:
    """An engine with the product's habits on SQLite (WAL, BEGIN IMMEDIATE) and PostgreSQL (READ COMMITTED)."""

    def __init__(self, url: str) -> None:
        if url.startswith("sqlite"):
            self.engine: Engine = create_engine(url, hide_parameters=True)  # an error may quote no name or document
            event.listen(self.engine, "connect", _sqlite_connect)
            event.listen(self.engine, "begin", _sqlite_begin)
        else:
            self.engine = create_engine(url, pool_size=5, max_overflow=5, hide_parameters=True)
            event.listen(self.engine, "checkout", _drop_a_dead_connection)
        self._writing = self.engine.execution_options(sqlite_begin="IMMEDIATE")
        self._glancing = self.engine if url.startswith("sqlite") else self.engine.execution_options(
            isolation_level="AUTOCOMMIT")

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A session that may write; committed at the end, rolled back when anything is raised."""
        with Session(self._writing) as session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session for pages that only look."""
        with Session(self.engine) as session, session.begin():
            yield session

    @contextmanager
    def glance(self) -> Iterator[Connection]:
        """A connection for one SELECT, without the two journeys to PostgreSQL that begin and end a transaction."""
        with self._glancing.connect() as connection:
            yield connection


def _drop_a_dead_connection(dbapi: Any, _record: ConnectionPoolEntry, _fairy: Any) -> None:
    # a server that went away has closed the socket, which can then be read: no journey there to ask, as a ping takes
    if dbapi.closed:
        raise DisconnectionError
    waiting = select.poll()
    waiting.register(dbapi.fileno(), select.POLLIN)
    if waiting.poll(0):
        raise DisconnectionError


def _sqlite_connect(dbapi: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    dbapi.isolation_level = None  # the driver emits no BEGIN of its own: see _sqlite_begin
    for pragma in ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON",
                   "secure_delete=ON"):
        dbapi.cursor().execute("PRAGMA " + pragma)


def _sqlite_begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")


def append_only(table: str, dialect: str) -> list[str]:
    """The statements that make the database refuse UPDATE and DELETE (and TRUNCATE) on a table."""
    if dialect == "sqlite":
        return [f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END" for verb in ("UPDATE", "DELETE")]
    return [
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$BEGIN RAISE EXCEPTION '{table} is append-only'; END$$",
        f"CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()",
    ]


def drop_append_only(table: str, dialect: str) -> list[str]:
    """The reverse of `append_only`, for a migration's way back."""
    if dialect == "sqlite":
        return [f"DROP TRIGGER IF EXISTS {table}_no_{verb}" for verb in ("update", "delete")]
    return [f"DROP TRIGGER IF EXISTS {table}_no_change ON {table}",
            f"DROP FUNCTION IF EXISTS {table}_append_only()"]


def migrate(url: str, revision: str = "head") -> None:
    """Bring the database at `url` to a revision, up or down. Safe to start from several processes at once."""
    from alembic import command  # the command line's need only: a web worker never loads alembic
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = url
    if revision in ("head", "heads"):
        command.upgrade(config, revision)
        return
    command.downgrade(config, revision)


class InsertNew:
    """INSERT … ON CONFLICT DO NOTHING for one table on either database; made once, since making it costs more than
    running it.

    `key` names the columns of the one constraint that may be met; without it any may. `returning` is the column that
    `new_value` gives.
    """

    def __init__(self, model: type[Base], *key: str, returning: Any = None) -> None:
        self._by_dialect: dict[str, Any] = {}
        for dialect, insert in (("sqlite", sqlite_insert), ("postgresql", postgresql_insert)):
            statement = insert(model).on_conflict_do_nothing(index_elements=key or None)
            self._by_dialect[dialect] = statement if returning is None else statement.returning(returning)

    def __call__(self, session: Session, row: Mapping[str, Any]) -> bool:
        """Whether the row was written; False when one with its key is there. PostgreSQL waits for one being written."""
        return rows_changed(self._run(session, row)) == 1

    def new_value(self, session: Session, row: Mapping[str, Any]) -> Any:
        """The `returning` column of the new row, None when one with its key is there."""
        return self._run(session, row).scalar_one_or_none()

    def _run(self, session: Session, row: Mapping[str, Any]) -> Any:
        connection = session.connection()
        return connection.execute(self._by_dialect[connection.dialect.name], row,
                                  execution_options={"preserve_rowcount": True})


def rows_changed(result: Any) -> int:
    """The row count of a Core UPDATE, DELETE or INSERT … ON CONFLICT: what decides a race.

    An INSERT keeps its count only with the execution option `preserve_rowcount`.
    """
    count = int(result.rowcount)
    if count < 0:
        raise RuntimeError("the driver kept no row count: set preserve_rowcount")
    return count
