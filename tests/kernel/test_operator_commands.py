"""The operator's commands: database, vault, staff and worker, and how they refuse."""

import os
import signal
from dataclasses import replace

import pytest
from sqlalchemy import select

import app as root
from kernel import auth
from kernel.audit import AuditEntry
from kernel.vault import Vault
from tests.server import environment
from tests.server import flask as run_flask

SECRET = "uma senha de teste"


@pytest.fixture
def flask(app):
    """`flask("staff", ...)` is the result of a command; `said=` is typed at its prompts."""
    return lambda *words, said=None, env=None: app.test_cli_runner().invoke(args=words, input=said, env=env)


@pytest.fixture
def person(app):
    """The person of a login, as stored."""
    def person(login):
        with app.extensions["database"].reading() as session:
            return auth.find_staff(session, login)
    return person


def add(flask, login="maria.teste", role="agent", **how):
    return flask("staff", "add", login, "--role", role, "--name", "Pessoa de teste", **how)


def test_a_person_is_added_with_the_password_typed_twice(flask, person):
    done = add(flask, said=f"{SECRET}\n{SECRET}\n")
    assert done.exit_code == 0 and SECRET not in done.output
    assert auth.password_matches(person("maria.teste"), SECRET)


def test_two_different_passwords_add_nobody(flask, person):
    assert add(flask, said=f"{SECRET}\noutra senha\n").exit_code != 0
    assert person("maria.teste") is None


def test_a_script_gives_the_password_in_the_environment(flask, person):
    assert add(flask, env={"STAFF_PASSWORD": SECRET}).exit_code == 0
    assert auth.password_matches(person("maria.teste"), SECRET)


@pytest.mark.parametrize(("words", "said"), [
    (("staff", "add", "x", "--role", "agent", "--name", "X"), "usuário"),
    (("staff", "add", "joao", "--role", "agent", "--name", "X", "--stop", "NADA"), "NADA"),
    (("staff", "add", "maria.teste", "--role", "agent", "--name", "X"), "Já existe"),
    (("staff", "disable", "ninguem"), "Não há"),
    (("staff", "password", "ninguem"), "Não há"),
])
def test_a_refusal_is_a_sentence_and_code_1(flask, words, said):
    add(flask, env={"STAFF_PASSWORD": SECRET})
    done = flask(*words, env={"STAFF_PASSWORD": SECRET})
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit)
    assert said in done.stderr and not done.stdout


def test_a_short_password_is_refused(flask, person):
    assert "10" in add(flask, env={"STAFF_PASSWORD": "curta"}).stderr
    assert person("maria.teste") is None


def test_a_new_password_is_set_and_the_log_says_for_whom(flask, app, person):
    add(flask, env={"STAFF_PASSWORD": SECRET})
    assert flask("staff", "password", "maria.teste", env={"STAFF_PASSWORD": "outra senha boa"}).exit_code == 0
    assert auth.password_matches(person("maria.teste"), "outra senha boa")
    with app.extensions["database"].reading() as session:
        assert ("password_reset", "maria.teste") in session.execute(
            select(AuditEntry.action, AuditEntry.subject)).all()


def test_a_disabled_person_signs_in_no_more(flask, person):
    add(flask, env={"STAFF_PASSWORD": SECRET})
    assert flask("staff", "disable", "maria.teste").exit_code == 0
    assert not auth.password_matches(person("maria.teste"), SECRET)


def test_a_vault_is_made_once_and_never_written_over(flask, app, settings, tmp_path):
    files = (tmp_path / "new" / "v", tmp_path / "copy" / "v")
    app.extensions["settings"] = replace(settings, vault_files=files)
    assert flask("vault", "create").exit_code == 0
    made = Vault(files).vault_id
    again = flask("vault", "create")
    assert again.exit_code == 1 and "never overwritten" in again.output
    assert Vault(files).vault_id == Vault(files[1:]).vault_id == made


def test_an_upgrade_of_a_database_in_step_changes_nothing(flask):
    assert flask("database", "upgrade").exit_code == 0


def test_an_unknown_revision_is_refused(flask):
    done = flask("database", "upgrade", "--to", "9999", said="y\n")
    assert done.exit_code == 1 and "9999" in done.stderr


def test_going_back_is_asked_about_first(flask):
    assert flask("database", "upgrade", "--to", "base", said="n\n").exit_code == 1
    assert flask("staff", "disable", "nobody").exit_code == 1  # the tables are still there to look in


def test_a_database_that_was_never_upgraded_is_told_what_to_run(tmp_path):
    env = environment(f"sqlite:///{tmp_path / 'empty.db'}", tmp_path / "v")
    with pytest.raises(AssertionError) as told:
        run_flask(env, "network", "open-trips")
    assert "database upgrade" in str(told.value) and "Traceback" not in str(told.value)


def test_a_missing_setting_is_a_sentence(tmp_path):
    env = environment("sqlite://", tmp_path / "v")
    del env["SECRET_KEY"]
    with pytest.raises(AssertionError) as told:
        run_flask(env, "database", "upgrade")
    assert "SECRET_KEY is not set" in str(told.value) and "Traceback" not in str(told.value)


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_the_worker_ends_when_it_is_told(flask, monkeypatch, told):
    seen = []
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def work(_app, stop):
        os.kill(os.getpid(), told)
        seen.append(stop.wait(5))
    monkeypatch.setattr(root, "work", work)
    monkeypatch.setattr(root, "start_logging", lambda level: None)
    try:
        assert flask("worker").exit_code == 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert seen == [True]
