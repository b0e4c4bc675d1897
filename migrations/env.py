"""Runs migrations on either database: all in one transaction, one process at a time; SQLite's foreign keys checked."""

from alembic import context
from sqlalchemy import text

from kernel.config import read_settings
from kernel.db import Database
from migrations.tables import metadata

ADVISORY_LOCK = 0x656D6261


def run() -> None:
    database = Database(context.config.attributes.get("url") or read_settings().database_url)
    sqlite = database.engine.dialect.name == "sqlite"
    with database.engine.connect().execution_options(sqlite_begin="IMMEDIATE") as connection:
        if sqlite:
            # before any BEGIN, where alone it has an effect: batch operations rebuild tables that others point to
            connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
        context.configure(connection=connection, target_metadata=metadata, render_as_batch=sqlite,
                          transactional_ddl=True)
        with context.begin_transaction():
            if not sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
            context.run_migrations()
            if sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()):
                raise RuntimeError(f"the migration leaves {len(broken)} rows pointing nowhere; nothing was changed")
    database.engine.dispose()


run()
