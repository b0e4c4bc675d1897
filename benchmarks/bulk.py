"""Writing millions of rows in a few minutes: COPY on PostgreSQL, executemany on SQLite; no foreign key is checked."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import psycopg


class Bulk:
    """A connection for filling an empty house; nothing else may be at work on the database."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._sqlite = isinstance(connection, sqlite3.Connection)

    def put(self, table: str, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write the rows in the order given."""
        if self._sqlite:
            marks = ", ".join("?" * len(names))
            self._connection.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows)
            return
        with self._connection.cursor().copy(f"COPY {table} ({', '.join(names)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def next_id(self, table: str) -> int:
        """The first number that no row has yet."""
        return self._one(f"SELECT coalesce(max(id), 0) + 1 FROM {table}")

    def change(self, statement: str) -> None:
        """Run one statement."""
        self._connection.execute(statement)

    def count_on(self, *tables: str) -> None:
        """Let the database's own numbers go on after those that were written."""
        for table in () if self._sqlite else tables:
            self._one(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))")

    def _one(self, query: str) -> int:
        return self._connection.execute(query).fetchone()[0]


@contextmanager
def bulk(url: str) -> Iterator[Bulk]:
    """Everything is committed at the end, and PostgreSQL knows its tables' sizes as it would after a night."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute("PRAGMA cache_size=-800000")
            yield Bulk(connection)
            connection.commit()
        return
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute("SET session_replication_role = replica")
        yield Bulk(connection)
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def plain(value: Any) -> Any:
    """A value as either driver takes it."""
    return json.dumps(value) if isinstance(value, (dict, list)) else value
