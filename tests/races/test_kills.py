"""Killed outright under load: what an agent saw sold is there after the restart, once, and the books are sound."""

import os
import secrets
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests import postgres
from tests.races.books import faults
from tests.races.counters import Person, first_stop, hire, trips_of
from tests.races.load import loaded
from tests.server import Server, demonstration, environment, flask, serving

pytestmark = pytest.mark.heavy
AGENTS, TRIPS, BETWEEN_KILLS = 6, 24, 15


@dataclass
class House:
    """A demonstration with agents who follow it from server to server."""

    env: dict[str, str]
    agents: list[Person]
    trips: list[int]

    def move_to(self, server: Server) -> None:
        for agent in self.agents:
            agent.web.base_url = server.url


def furnished(env: dict[str, str]) -> House:
    """Agents with open tills and sessions that outlive any server."""
    env = env | {"PROXY_HOPS": "1"}
    trips = trips_of(env["DATABASE_URL"], "32-1")[:TRIPS]
    logins = hire(env, "agent", AGENTS)
    with serving(env) as server:
        agents = [Person(server.url, login, n) for n, login in enumerate(logins)]
        for agent in agents:
            agent.open_till(first_stop(env["DATABASE_URL"], trips[0]))
    return House(env, agents, trips)


@pytest.fixture
def on_sqlite(templates) -> Iterator[House]:
    """On the embedded database."""
    with demonstration(templates, "sqlite") as env:
        yield furnished(env)


@pytest.fixture
def postgres_home(templates, tmp_path) -> Iterator[Path]:
    """The folder of a server of the test's own, which forces every commit to disk."""
    home = templates.folder / "killed-postgres"
    postgres.start(home, os.getpid(), postgres.DURABLE)
    yield home
    postgres.stop_in(home)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def on_postgresql(postgres_home, tmp_path) -> House:
    """On that server."""
    port = (postgres_home / "data" / "postmaster.pid").read_text().split()[3]
    url = f"postgresql+psycopg://{postgres.OWNER}@127.0.0.1:{port}/postgres"
    env = environment(postgres.create(postgres.administration(url), "embarque"), tmp_path / "embarque.vault")
    flask(env, "database", "upgrade")
    flask(env, "demo", "seed")
    return furnished(env)


def test_sqlite_keeps_what_was_seen_sold_when_workers_and_server_are_killed(on_sqlite):
    _sell_while_killing(on_sqlite, [])


def test_postgresql_keeps_what_was_seen_sold_when_it_is_killed_too(on_postgresql, postgres_home):
    def kill_a_backend() -> None:
        with psycopg.connect(on_postgresql.env["DATABASE_URL"].replace("+psycopg", "")) as connection:
            [(backend,)] = connection.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
                                              "AND pid <> pg_backend_pid() LIMIT 1").fetchall()
        os.kill(backend, signal.SIGKILL)

    def kill_the_server() -> None:
        postgres.kill(postgres_home)
        postgres.start_again(postgres_home)

    _sell_while_killing(on_postgresql, [kill_a_backend, kill_the_server, kill_a_backend, kill_the_server])


def _sell_while_killing(house: House, kills: list[Callable[[], None]]) -> None:
    with loaded(house.agents, house.env["DATABASE_URL"], house.trips) as load:
        for _server in range(2):
            with serving(house.env, workers=4) as server:
                house.move_to(server)
                for kill in [*[lambda server=server: _kill_a_worker(server)] * 5, *kills]:
                    load.wait_for_more(BETWEEN_KILLS)
                    kill()
                load.wait_for_more(BETWEEN_KILLS)
                os.killpg(server.pid, signal.SIGKILL)
        with serving(house.env, workers=4) as server:
            house.move_to(server)
            load.wait_for_more(BETWEEN_KILLS)
            load.stop()
    assert load.wrong == []
    assert load.unanswered > 0  # the kills were felt
    assert load.lost() == []
    assert faults(house.env["DATABASE_URL"]) == []


def _kill_a_worker(server: Server) -> None:
    workers = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    os.kill(int(secrets.choice(workers)), signal.SIGKILL)
