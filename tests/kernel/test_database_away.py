"""A database that is away is told as such on every page: no error page needs the database that failed."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from app import create_app
from kernel.config import Settings
from kernel.db import Database
from kernel.vault import Vault
from tests.instants import NOW
from tests.server import PASS_KEYS


@pytest.fixture
def nobody_there(tmp_path):
    vault_file = tmp_path / "embarque.vault"
    Vault.create([vault_file], NOW.date())
    return Settings(secret_key="a secret for the tests alone, 32+", vault_files=(vault_file,), pass_keys=PASS_KEYS,
                    database_url="postgresql+psycopg://embarque@127.0.0.1:1/embarque", secure_cookies=False)


def visitor(settings):
    """Somebody who signed in before the database went away."""
    client = create_app(settings).test_client()
    with client.session_transaction() as cookie:
        cookie.update(_user_id="a token of an earlier day", _fresh=True)
    return client


def test_a_page_that_is_not_there_is_still_told_as_such(nobody_there):
    answer = visitor(nobody_there).get("/nowhere")
    assert (answer.status_code, "não existe" in answer.text) == (404, True)


@pytest.mark.parametrize("page", ["/login", "/counter", "/driver/trips", "/passes/ABCD1234/x", "/health"])
@pytest.mark.parametrize("away", ["refused", "missing"])
def test_every_page_says_that_the_system_is_busy(nobody_there, tmp_path, page, away):
    url = nobody_there.database_url if away == "refused" else f"sqlite:///{tmp_path / 'no-folder' / 'file'}"
    client = visitor(replace(nobody_there, database_url=url))
    for accept, kind in (("text/html", "text/html; charset=utf-8"), ("application/json", "application/problem+json")):
        answer = client.get(page, headers={"Accept": accept})
        assert (answer.status_code, answer.content_type) == (503, kind)
        assert "ocupado e nada foi gravado" in answer.get_data(as_text=True) or answer.json["code"] == "busy"


def test_a_connection_that_the_server_ended_is_not_used_again(templates):
    with templates.copied("postgresql") as url:
        database, other = Database(url), Database(url)
        with database.reading() as session:
            backend = session.scalar(text("SELECT pg_backend_pid()"))
        with other.transaction() as session:
            assert session.scalar(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": backend})
        with database.transaction() as session:
            assert session.scalar(text("SELECT pg_backend_pid()")) != backend
        for used in (database, other):
            used.engine.dispose()
