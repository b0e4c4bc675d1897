"""Repeated requests: one deed, one answer; another body is refused; nobody's death leaves a key locked."""

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from kernel.errors import Conflict, InvalidInput
from kernel.repeats import KEPT, RepeatKey, body_hash, claim, forget_old
from tests.instants import NOW

BODY = body_hash({"seat": 5, "name": "Passageira de Teste"}, "secret")
OTHER = body_hash({"seat": 6, "name": "Passageira de Teste"}, "secret")


def ask(session, subject: str, **changes) -> str:
    return claim(session, **{"route": "counter.sales", "key": "key-0001", "body": BODY, "subject": subject, "now": NOW,
                             "actor": "agente", **changes})


def keys(database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(RepeatKey))


def test_a_repeat_is_told_what_the_first_made(database):
    with database.transaction() as session:
        assert ask(session, "FIRST") == "FIRST"
    for again in ("SECOND", "THIRD"):
        with database.transaction() as session:
            assert ask(session, again, now=NOW + timedelta(days=1)) == "FIRST"
    assert keys(database) == 1


def test_the_same_key_with_another_body_is_refused(database):
    with database.transaction() as session:
        ask(session, "FIRST")
    with pytest.raises(Conflict) as refused, database.transaction() as session:
        ask(session, "SECOND", body=OTHER)
    assert refused.value.code == "key_reused"


@pytest.mark.parametrize("changes", [{"actor": "agente2"}, {"route": "counter.refunds"}, {"key": "key-0002"}])
def test_a_key_is_one_s_own_and_one_route_s(database, changes):
    with database.transaction() as session:
        ask(session, "FIRST")
        assert ask(session, "SECOND", **changes) == "SECOND"


def test_a_key_of_something_that_was_not_done_is_free_again(database):
    with pytest.raises(ZeroDivisionError), database.transaction() as session:
        ask(session, "FIRST")
        raise ZeroDivisionError
    with database.transaction() as session:
        assert ask(session, "SECOND", body=OTHER) == "SECOND"


def test_a_worker_that_dies_leaves_no_key_behind(database):
    connection = database.engine.connect()
    connection.begin()
    connection.execute(RepeatKey.__table__.insert(), {"actor": "agente", "route": "counter.sales", "key": "key-0001",
                                                      "body_hash": BODY, "subject": "FIRST", "created_at": NOW})
    connection.invalidate()  # the database sees the connection end without a word
    connection.close()
    with database.transaction() as session:
        assert ask(session, "SECOND", body=OTHER) == "SECOND"


def test_the_same_request_sent_many_times_at_once_is_done_once(database):
    together, done = threading.Barrier(6), []

    def send(n: int) -> str:
        together.wait()
        with database.transaction() as session:
            subject = ask(session, f"SUBJECT{n}")
            if subject == f"SUBJECT{n}":
                done.append(subject)
            return subject

    with ThreadPoolExecutor(6) as pool:
        told = set(pool.map(send, range(6)))
    assert told == set(done)
    assert len(done) == 1


def test_a_second_request_waits_for_the_first_and_takes_over_when_it_fails(database):
    first_claimed, second_told = threading.Event(), []

    def second() -> None:
        first_claimed.wait()
        with database.transaction() as session:
            second_told.append(ask(session, "SECOND"))

    waiting = threading.Thread(target=second)
    waiting.start()
    with pytest.raises(ZeroDivisionError), database.transaction() as session:
        ask(session, "FIRST")
        first_claimed.set()
        assert second_told == []
        raise ZeroDivisionError
    waiting.join(60)
    assert second_told == ["SECOND"]


@pytest.mark.parametrize("key", ["", "1234567", "x" * 65, "with blank", "chave-é-ã", "a'b--cdefg", "key\n00001", "--------"])
def test_a_malformed_key_is_refused(session, key):
    with pytest.raises(InvalidInput):
        ask(session, "FIRST", key=key)


@pytest.mark.parametrize("key", ["12345678", "x" * 64, "0b5e1c1e-6b0c-4d3e-9d0f-1b7f0d0c2a11"])
def test_a_key_of_any_usual_shape_is_taken(session, key):
    assert ask(session, "FIRST", key=key) == "FIRST"


def test_equal_bodies_have_equal_hashes_and_no_hash_can_be_guessed_without_the_secret():
    assert body_hash({"a": 1, "b": "é"}, "secret") == body_hash({"b": "é", "a": "1"}, "secret")
    told = {body_hash(body, secret) for body, secret in [
        ({"a": 1}, "secret"), ({"a": 1}, "other"), ({"a": 2}, "secret"), ({"b": 1}, "secret"), ({"a": 1, "b": 1}, "secret"), ({}, "secret")]}
    assert len(told) == 6
    assert all(len(one) == 32 for one in told)


def test_keys_are_kept_three_days_and_no_longer(database):
    with database.transaction() as session:
        for n, age in enumerate((timedelta(0), KEPT, KEPT + timedelta(seconds=1))):
            ask(session, secrets.token_hex(4), key=f"key-{n:04}", now=NOW - age)
        assert forget_old(session, now=NOW) == 1
    assert keys(database) == 2
