"""The migrations build what the models declare, on both databases, and a populated database goes both ways."""

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Integer, MetaData, String, UniqueConstraint, text
from sqlalchemy.exc import DBAPIError

from kernel import db
from kernel.db import Database, migrate
from migrations.tables import APPEND_ONLY, metadata
from tests.conftest import DIALECTS
from tests.schema import functions, picture, populate, rows, triggers

ROOT = Path(__file__).parent.parent
MISTAKES = {  # what a model may gain without a migration
    "a column": lambda table: table.append_column(Column("note", String(9))),
    "a check": lambda table: table.append_constraint(CheckConstraint("seat < 300", name="seat")),
    "a unique": lambda table: table.append_constraint(UniqueConstraint("sold_at", name="uq_ticket_sold_at")),
    "an index": lambda table: Index("ix_ticket_seat", table.c.seat),
    "a foreign key": lambda table: table.append_column(Column("seen_by", Integer, ForeignKey("staff.id"))),
}


@pytest.fixture(params=DIALECTS)
def dialect(request):
    """The name of each dialect in turn."""
    return request.param


@pytest.fixture
def empty_url(templates, dialect):
    """A database without a table."""
    with templates.copied(dialect, "empty", make_empty) as url:
        yield url


@contextlib.contextmanager
def opened(url):
    database = Database(url)
    yield database
    database.engine.dispose()


def make_empty(url: str) -> None:
    """Connect once, so that SQLite makes its file."""
    with opened(url) as database, database.engine.connect():
        pass


def revisions() -> list[str]:
    """The history, newest first."""
    config = Config()
    config.set_main_option("script_location", str(db.MIGRATIONS))
    return [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]


def declared(url: str, tables: MetaData):
    """The shape that models build by themselves; triggers are the migrations' own."""
    with opened(url) as database:
        tables.create_all(database.engine)
        return {**picture(database.engine), "triggers": []}


def migrated(database: Database):
    return {**picture(database.engine), "triggers": []}


def test_the_migrations_build_exactly_what_the_models_declare(database, templates):
    with templates.copied(database.engine.dialect.name, "empty", make_empty) as url:
        assert migrated(database) == declared(url, metadata)


def test_alembic_finds_nothing_to_change(database):
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection, {"compare_type": True}), metadata) == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_model_without_its_migration_is_caught(database, templates, mistake):
    changed = MetaData(naming_convention=metadata.naming_convention)
    for table in metadata.sorted_tables:
        table.to_metadata(changed)
    MISTAKES[mistake](changed.tables["ticket"])
    with templates.copied(database.engine.dialect.name, "empty", make_empty) as url:
        assert migrated(database) != declared(url, changed)


def test_every_append_only_table_has_its_triggers(database):
    guarded = {table for table, _name in triggers(database.engine)}
    assert guarded == set(APPEND_ONLY)


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_the_database_refuses_to_change_what_is_append_only(database, table):
    with database.transaction() as session:
        populate(session.connection(), metadata)
    column = next(iter(metadata.tables[table].columns)).name
    for change in (f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"):
        with pytest.raises(DBAPIError, match="append-only"), database.transaction() as session:
            session.execute(text(change))
    with database.reading() as session:
        assert session.scalar(text(f"SELECT count(*) FROM {table}")) == 1


def test_a_populated_database_goes_both_ways(database, database_url):
    with database.transaction() as session:
        populate(session.connection(), metadata)
    with database.reading() as session:
        before = rows(session.connection())
    shape = picture(database.engine)
    assert all(before.values())

    for revision in revisions()[1:]:  # every step but the first, which has no table to keep rows in
        migrate(database_url, revision)
        with database.reading() as session:
            kept = set(rows(session.connection()))  # a table that the way back drops has no rows to bring back
        migrate(database_url)
        with database.reading() as session:
            after = rows(session.connection())
        assert after == {table: before[table] if table in kept else [] for table in before}, f"after {revision}"
        assert picture(database.engine) == shape


def test_the_way_back_is_refused_while_the_ledger_holds_pix(database, database_url):
    with database.transaction() as session:
        session.execute(text("INSERT INTO ledger_entry (at, kind, method, amount, subject, reference, actor) VALUES "
                             "('2026-03-02 12:00:00', 'sale', 'pix', 100, 'B', 'E', 'tests')"))
    with pytest.raises(RuntimeError, match="PIX entries"):
        migrate(database_url, "0001")
    with database.reading() as session:
        assert session.scalar(text("SELECT count(*) FROM ledger_entry")) == 1


def test_the_way_back_to_the_start_leaves_nothing_and_the_way_forth_builds_it_again(database, database_url):
    shape, made = picture(database.engine), functions(database.engine)
    with database.transaction() as session:
        populate(session.connection(), metadata)
    database.engine.dispose()

    migrate(database_url, "base")
    assert picture(database.engine) == {"triggers": [], "without rowid": []}
    assert functions(database.engine) == []

    migrate(database_url)
    assert picture(database.engine) == shape
    assert functions(database.engine) == made


def test_a_migration_that_leaves_rows_pointing_nowhere_is_refused_whole(templates, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "migrations", tmp_path / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "migrations/versions/9999_careless.py").write_text(
        f"from alembic import op\nrevision, down_revision = '9999', '{revisions()[0]}'\n"
        "def upgrade():\n    op.execute('DELETE FROM staff')\ndef downgrade(): ...\n")
    with templates.copied("sqlite") as url, opened(url) as database:
        with database.transaction() as session:
            populate(session.connection(), metadata)
        monkeypatch.setattr(db, "MIGRATIONS", tmp_path / "migrations")

        with pytest.raises(RuntimeError, match="pointing nowhere"):
            migrate(url)

        with database.reading() as session:
            assert session.scalar(text("SELECT count(*) FROM staff")) == 1
            assert session.scalar(text("SELECT version_num FROM alembic_version")) != "9999"


def test_several_processes_may_start_the_migration_at_once(empty_url):
    command = [sys.executable, "-c", "import sys; from kernel.db import migrate; migrate(sys.argv[1])", empty_url]
    started = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(3)]

    told = [process.communicate(timeout=60)[1] for process in started]

    assert [process.returncode for process in started] == [0, 0, 0], told
    with opened(empty_url) as database:
        assert set(picture(database.engine)) - {"triggers", "without rowid"} == set(metadata.tables)
