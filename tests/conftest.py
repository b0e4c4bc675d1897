"""Fixtures that every room's tests share: both databases, the vault, the application, a person signed in.

Browser fixtures are in tests/browser.py. Each run makes one folder under /tmp, with one PostgreSQL server and one
migrated template for each database; a test gets a copy of its own.
"""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings as settings_of_hypothesis

from kernel import auth
from kernel.config import Settings
from kernel.db import Database, migrate
from kernel.vault import Vault
from tests import postgres
from tests.instants import NOW
from tests.server import PASS_KEYS

settings_of_hypothesis.register_profile("house", deadline=None)  # a busy machine is no failure
settings_of_hypothesis.load_profile("house")
pytest_plugins = ["tests.browser"]
DIALECTS = ("sqlite", "postgresql")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.run_folder = tempfile.mkdtemp(prefix="embarque-tests-", dir="/tmp")
        Path(config.run_folder).chmod(0o755)  # PostgreSQL's own user passes through it
        config.run_process = os.getpid()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    node.workerinput["run_folder"] = node.config.run_folder
    node.workerinput["run_process"] = node.config.run_process


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "run_folder"):
        postgres.stop(Path(config.run_folder))
        shutil.rmtree(config.run_folder, ignore_errors=True)


class Templates:
    """A migrated database of each dialect, made once in a run by whichever process first needs it."""

    def __init__(self, folder: Path, process: int) -> None:
        self.folder, self._process = folder, process

    def copied(self, dialect: str, name: str = "migrated", prepare=migrate) -> contextlib.AbstractContextManager[str]:
        """The URL of a fresh copy of a template, dropped after; `prepare(url)` fills the template the first time."""
        return (self._sqlite if dialect == "sqlite" else self._postgresql)(name, prepare)

    @contextlib.contextmanager
    def _sqlite(self, name: str, prepare) -> Iterator[str]:
        template = self.folder / f"{name}.sqlite"
        with postgres.locked(self.folder / f"{name}.sqlite.lock"):
            if not template.exists():
                draft = template.with_suffix(".draft")
                prepare(f"sqlite:///{draft}")
                with contextlib.closing(sqlite3.connect(draft)) as connection:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                draft.rename(template)
        copy = self.folder / f"{uuid4().hex}.sqlite"
        shutil.copyfile(template, copy)
        yield f"sqlite:///{copy}"
        for suffix in ("", "-wal", "-shm"):
            Path(f"{copy}{suffix}").unlink(missing_ok=True)

    @contextlib.contextmanager
    def _postgresql(self, name: str, prepare) -> Iterator[str]:
        server = postgres.administration(postgres.server_url(self.folder, self._process))
        template, made = postgres.template_name(self.folder, name), self.folder / f"{name}.postgresql"
        with postgres.locked(self.folder / f"{name}.postgresql.lock"):
            if not made.exists():
                prepare(postgres.create(server, template))
                made.touch()
        copy = f"embarque_{uuid4().hex}"
        yield postgres.create(server, copy, template)
        postgres.drop(server, copy)


@pytest.fixture(scope="session")
def templates(request) -> Templates:
    """Where fresh databases come from: `with templates.copied("sqlite") as url`."""
    given = getattr(request.config, "workerinput", vars(request.config))
    return Templates(Path(given["run_folder"]), given["run_process"])


@pytest.fixture(params=DIALECTS)
def database_url(request, templates) -> Iterator[str]:
    """A migrated database without rows of the demonstration, on each dialect in turn."""
    with templates.copied(request.param) as url:
        yield url


@pytest.fixture
def database(database_url) -> Iterator[Database]:
    """The same as a kernel.db.Database."""
    database = Database(database_url)
    yield database
    database.engine.dispose()


@pytest.fixture
def session(database):
    """A session in one writing transaction that is never committed."""

    class Discarded(Exception):
        """Ends the transaction without keeping it."""

    with contextlib.suppress(Discarded), database.transaction() as session:
        yield session
        raise Discarded


@pytest.fixture
def vault_file(tmp_path) -> Path:
    """A vault file of the test's own, owed from the day of NOW."""
    path = tmp_path / "vault" / "embarque.vault"
    Vault.create([path], NOW.date())
    return path


@pytest.fixture
def vault(vault_file) -> Vault:
    """The vault of that file."""
    return Vault([vault_file])


@pytest.fixture
def settings(database_url, vault_file) -> Settings:
    """Settings for an application on the test's database and vault."""
    return Settings(secret_key="a secret for the tests alone, 32+", database_url=database_url,
                    vault_files=(vault_file,), pass_keys=PASS_KEYS, secure_cookies=False)


@pytest.fixture
def app(settings, monkeypatch):
    """The application at NOW; set `app.extensions["clock"]` to move it. Forms need no CSRF token, nobody is throttled."""
    from app import create_app
    from kernel.login import limiter

    app = create_app(settings)
    app.config.update(TESTING=True, WTF_CSRF_ENABLED=False)
    monkeypatch.setattr(limiter, "enabled", False)
    app.extensions["clock"] = lambda: NOW
    yield app
    app.extensions["database"].engine.dispose()


@pytest.fixture
def client(app):
    """A visitor whom nobody knows."""
    return app.test_client()


@pytest.fixture
def signed_in(app):
    """`signed_in("agent")` is a test client of a new person with that role; their login is `client.login`."""

    def sign_in(role: str, *, stop_id: int | None = None, login: str | None = None):
        client = app.test_client()
        client.login = login or f"{role}-{uuid4().hex[:8]}"
        with app.extensions["database"].transaction() as session:
            staff = auth.add_staff(session, login=client.login, display_name=f"Pessoa de teste ({role})", role=role,
                                   password_hash="no password opens this", stop_id=stop_id, now=NOW, actor="tests")
            token = auth.start_session(session, staff, now=NOW).token
        with client.session_transaction() as cookie:
            cookie.update(_user_id=token, _fresh=True)
        return client

    return sign_in
