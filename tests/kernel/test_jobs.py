"""The worker's jobs: each in its turn, one process at a time, and one that fails stops no other."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from kernel.errors import Conflict
from kernel.jobs import Job, run_due, turns, work
from tests.instants import NOW

HOUR = timedelta(hours=1)


def counted(name: str, ran: list, every: timedelta = HOUR) -> Job:
    return Job(name, every, lambda now: ran.append((name, now)) or {"done": 1})


def outcomes(database) -> dict[str, str | None]:
    return {turn.name: turn.outcome for turn in turns(database)}


def test_a_job_runs_at_the_start_and_then_in_its_turn(database):
    ran: list = []
    jobs = [counted("erase", ran)]
    moments = (NOW, NOW + HOUR - timedelta(seconds=1), NOW + HOUR, NOW + HOUR)
    assert [run_due(database, jobs, now=moment) for moment in moments] == [["erase"], [], ["erase"], []]
    assert ran == [("erase", NOW), ("erase", NOW + HOUR)]
    turn, = turns(database)
    assert (turn.due_at, turn.ended_at, turn.outcome) == (NOW + 2 * HOUR, NOW + HOUR, "ok")


def test_a_job_missed_for_days_runs_once(database):
    ran: list = []
    jobs = [counted("erase", ran)]
    for moment in (NOW, NOW + timedelta(days=3), NOW + timedelta(days=3, minutes=1)):
        run_due(database, jobs, now=moment)
    assert len(ran) == 2


def test_a_job_that_fails_stops_no_other_and_tells_how_it_ended(database, caplog):
    ran: list = []

    def fails(now):
        raise ValueError("Zzmarcador Teste")

    def refuses(now):
        raise Conflict("step_too_long", "…")

    jobs = [Job("fails", HOUR, fails), Job("refuses", HOUR, refuses), counted("last", ran)]
    run_due(database, jobs, now=NOW)
    assert outcomes(database) == {"fails": "ValueError", "refuses": "step_too_long", "last": "ok"}
    assert len(ran) == 1
    run_due(database, jobs, now=NOW + HOUR)
    assert len(ran) == 2


def test_two_workers_share_each_turn(database):
    ran: list = []
    together = threading.Barrier(4)

    def one(_n: int) -> None:
        together.wait()
        for n in range(5):
            run_due(database, [counted("erase", ran)], now=NOW + n * HOUR)

    run_due(database, [counted("erase", ran)], now=NOW - HOUR)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(4)))
    assert sorted(moment for _, moment in ran) == sorted({moment for _, moment in ran})


def test_the_worker_ends_when_told(database):
    stop, ran = threading.Event(), []

    def once(now):
        ran.append(now)
        stop.set()
        return {}

    work(database, [Job("once", HOUR, once)], stop, lambda: NOW)
    assert ran == [NOW]
