"""Letters to the outside: with the act or not at all, at least once, and one that fails stops no other."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select

from kernel import outbox
from kernel.errors import Conflict
from tests.instants import NOW

SECOND = timedelta(seconds=1)


def put(database, *subjects: str, topic: str = "told", due_at=NOW) -> None:
    with database.transaction() as session:
        for subject in subjects:
            outbox.put(session, topic, subject=subject, payload={"code": subject}, due_at=due_at)


def rows(database) -> list[tuple]:
    with database.reading() as session:
        return [(row.subject, row.attempts, row.done_at, row.outcome) for row in session.scalars(
            select(outbox.OutboxRow).order_by(outbox.OutboxRow.id))]


def test_a_letter_is_delivered_once_it_is_due_and_not_again(database):
    put(database, "A", due_at=NOW + SECOND)
    sent: list = []
    for moment in (NOW, NOW + SECOND, NOW + timedelta(days=2)):
        outbox.deliver(database, "told", sent.append, now=moment)
    letter, = sent
    assert (letter.topic, letter.subject, letter.payload, letter.attempt) == ("told", "A", {"code": "A"}, 1)
    assert rows(database) == [("A", 1, NOW + SECOND, "done")]


def test_a_rolled_back_act_sends_no_letter(database):
    with pytest.raises(RuntimeError), database.transaction() as session:
        outbox.put(session, "told", subject="A", payload={}, due_at=NOW)
        raise RuntimeError
    assert rows(database) == []


def test_each_topic_has_its_own_sender(database):
    put(database, "A")
    put(database, "B", topic="other")
    sent: list = []
    assert outbox.deliver(database, "other", sent.append, now=NOW) == {"sent": 1, "later": 0, "dropped": 0}
    assert [letter.subject for letter in sent] == ["B"]


def test_a_letter_that_fails_comes_again_later_and_later_and_stops_no_other(database, caplog):
    put(database, "A", "B")
    attempts: list = []

    def send(letter):
        if letter.subject == "A":
            attempts.append((letter.id, letter.attempt))
            raise Conflict("partner_away", "Zzmarcador Teste")

    moment = NOW
    for _n in range(3):
        outbox.deliver(database, "told", send, now=moment)
        moment += outbox.wait_after(len(attempts))
        outbox.deliver(database, "told", send, now=moment - SECOND)
    assert [attempt for _id, attempt in attempts] == [1, 2, 3]
    assert len({letter for letter, _attempt in attempts}) == 1
    assert rows(database) == [("A", 3, None, "partner_away"), ("B", 1, NOW, "done")]
    assert "Zzmarcador" not in caplog.text


@pytest.mark.parametrize(("attempt", "wait"), [(1, 30), (2, 60), (3, 120), (7, 1920), (8, 3600), (9, 3600), (30000, 3600)])
def test_the_wait_doubles_up_to_an_hour(attempt, wait):
    assert outbox.wait_after(attempt) == timedelta(seconds=wait)


def test_a_letter_that_will_never_arrive_is_closed_with_its_reason(database):
    put(database, "A")

    def send(_letter):
        raise outbox.Undeliverable("gone")

    assert outbox.deliver(database, "told", send, now=NOW)["dropped"] == 1
    assert rows(database) == [("A", 1, NOW, "gone")]


def test_a_worker_that_dies_while_sending_costs_a_wait_and_no_letter(database):
    put(database, "A")

    class Killed(BaseException):
        """Nothing runs after it."""

    def die(_letter):
        raise Killed

    with pytest.raises(Killed):
        outbox.deliver(database, "told", die, now=NOW)
    sent: list = []
    outbox.deliver(database, "told", sent.append, now=NOW)
    assert sent == []
    outbox.deliver(database, "told", sent.append, now=NOW + outbox.wait_after(1))
    assert [letter.attempt for letter in sent] == [2]


def test_several_workers_share_the_letters(database):
    subjects = [f"L{n}" for n in range(12)]
    put(database, *subjects)
    sent: list = []
    together = threading.Barrier(4)

    def one(_n: int) -> None:
        together.wait()
        outbox.deliver(database, "told", lambda letter: sent.append(letter.subject), now=NOW)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(4)))
    assert sorted(sent) == sorted(subjects)


def test_waiting_says_whether_somebody_is_still_to_be_told(database):
    put(database, "A")
    with database.reading() as session:
        assert (outbox.waiting(session, "told", "A"), outbox.waiting(session, "told", "B")) == (True, False)
    outbox.deliver(database, "told", lambda letter: None, now=NOW)
    with database.reading() as session:
        assert not outbox.waiting(session, "told", "A")


def test_closed_letters_are_forgotten_after_thirty_days_and_open_ones_never(database):
    put(database, "A")
    outbox.deliver(database, "told", lambda letter: None, now=NOW)
    put(database, "B")
    with database.transaction() as session:
        assert outbox.forget_old(session, now=NOW + timedelta(days=30)) == 0
        assert outbox.forget_old(session, now=NOW + timedelta(days=30, seconds=1)) == 1
    assert [row[0] for row in rows(database)] == ["B"]
