"""A database's shape as plain values, and one row in each of its tables, to compare before and after a migration."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import CheckConstraint, Column, Connection, Engine, MetaData, Table, inspect, text

from kernel.money import Money

Picture = dict[str, Any]
CHOICES = {  # values that a table's checks ask for and the first choice of a column does not meet
    "ticket.alight_seq": 2, "seat_hold.leg_to": 2, "seat_hold.status": "sold",
    "pending_booking.alight_seq": 2,
}
VALUES = {int: 1, bool: False, str: "çã", bytes: b"\x00\xff", dict: {"a": [1]}, date: date(2026, 3, 2),
          datetime: datetime(2026, 3, 2, 12, tzinfo=UTC), Decimal: Decimal("1.5"), Money: Money(150)}


def picture(engine: Engine) -> Picture:
    """Tables with their columns and every constraint, index and trigger by name."""
    seen = inspect(engine)
    tables = {table: _table(seen, table) for table in seen.get_table_names() if table != "alembic_version"}
    return {**tables, "triggers": triggers(engine), "without rowid": _without_rowid(engine)}


def _table(seen: Any, table: str) -> Picture:
    primary = seen.get_pk_constraint(table)
    return {
        "columns": {c["name"]: (str(c["type"]), c["nullable"], c["default"]) for c in seen.get_columns(table)},
        "primary key": (primary["name"], primary["constrained_columns"]),
        "foreign keys": sorted((f["name"], f["constrained_columns"], f["referred_table"], f["referred_columns"],
                                str(f["options"])) for f in seen.get_foreign_keys(table)),
        "uniques": sorted((u["name"], u["column_names"]) for u in seen.get_unique_constraints(table)),
        "checks": sorted((c["name"], c["sqltext"]) for c in seen.get_check_constraints(table)),
        "indexes": sorted((i["name"], i["column_names"], bool(i["unique"]), str(_where(i)))
                          for i in seen.get_indexes(table)),
    }


def _where(index: Any) -> Any:
    options = index.get("dialect_options", {})
    return options.get("sqlite_where", options.get("postgresql_where"))


def triggers(engine: Engine) -> list[tuple[str, str]]:
    """(table, trigger) of every trigger that somebody made."""
    query = {"sqlite": "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger'",
             "postgresql": "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"}
    with engine.connect() as connection:
        return sorted((row[0], row[1]) for row in connection.execute(text(query[engine.dialect.name])))


def functions(engine: Engine) -> list[str]:
    """Functions that somebody made; SQLite has none."""
    if engine.dialect.name == "sqlite":
        return []
    with engine.connect() as connection:
        return list(connection.scalars(text("SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace")))


def _without_rowid(engine: Engine) -> list[str]:
    if engine.dialect.name != "sqlite":
        return []
    with engine.connect() as connection:
        return sorted(connection.scalars(text("SELECT name FROM sqlite_master WHERE sql LIKE '%WITHOUT ROWID%'")))


def populate(connection: Connection, metadata: MetaData) -> None:
    """One row in every table that has none, parents first."""
    for table in metadata.sorted_tables:
        if connection.execute(table.select().limit(1)).first() is None:
            row = {column.name: _value(connection, table, column) for column in table.columns
                   if column.foreign_keys or not column.nullable}
            connection.execute(table.insert(), row)


def _value(connection: Connection, table: Table, column: Column) -> Any:
    if (chosen := CHOICES.get(f"{table.name}.{column.name}")) is not None:
        return chosen
    if column.foreign_keys:
        return connection.scalar(next(iter(column.foreign_keys)).column.table.select().with_only_columns(
            next(iter(column.foreign_keys)).column))
    for constraint in table.constraints:
        if isinstance(constraint, CheckConstraint):
            listed = re.match(rf"{column.name} IN \('(\w+)'", str(constraint.sqltext))
            if listed:
                return listed[1]
    return VALUES[_python_type(column)]


def _python_type(column: Column) -> type:
    kind = type(column.type).__name__
    return {"UtcDateTime": datetime, "MoneyType": Money, "Km": Decimal, "Millionths": Decimal,
            "JSON": dict}.get(kind) or column.type.python_type


def rows(connection: Connection) -> dict[str, list[tuple]]:
    """Every row of every table, as stored."""
    tables = [table for table in inspect(connection).get_table_names() if table != "alembic_version"]
    return {table: sorted((tuple(row) for row in connection.execute(text(f'SELECT * FROM "{table}"'))), key=repr)
            for table in tables}
