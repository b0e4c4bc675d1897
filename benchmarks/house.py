"""A served company for measuring: agents at their tills, drivers on trips that leave soon, four workers."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kept import furnish, logins
from benchmarks.meters import children
from tests import postgres
from tests.races.counters import Person, bring_forward, first_stop, roster, trips_of
from tests.server import serving

WORKERS, TRIPS = 4, 60
SEATS = 42  # every vehicle of the demonstration's long line has at least as many


@dataclass(frozen=True)
class House:
    """`places` yields a fresh (trip, seat) each time; `database` are the database server's processes, if it has any."""

    env: dict[str, str]
    address: str
    agents: list[Person]
    drivers: list[Person]
    places: Iterator[tuple[int, int]]
    master: int
    postmaster: int | None

    @property
    def url(self) -> str:
        return self.env["DATABASE_URL"]

    @property
    def workers(self) -> list[int]:
        return children(self.master)

    @property
    def database(self) -> list[int]:
        return [self.postmaster, *children(self.postmaster)] if self.postmaster else []


@contextmanager
def house(dialect: str, tickets: int) -> Iterator[House]:
    """Everything in one folder under /tmp, gone at the end. PostgreSQL forces each commit to disk, as SQLite does."""
    folder = Path(tempfile.mkdtemp(prefix="embarque-bench-", dir="/tmp"))
    folder.chmod(0o755)  # PostgreSQL's own user passes through it
    pid_file = folder / "postgres" / "data" / "postmaster.pid"
    try:
        env = furnish(dialect, folder, tickets)
        with _staffed(env, int(pid_file.read_text().split()[0]) if pid_file.exists() else None) as furnished:
            yield furnished
    finally:
        postgres.stop_in(folder / "postgres")
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _staffed(env: dict[str, str], postmaster: int | None) -> Iterator[House]:
    agents, drivers = logins()
    trips = trips_of(env["DATABASE_URL"], "32-1")[:TRIPS]
    for trip in trips:
        bring_forward(env, trip, minutes=100)  # on sale still, and boarding already
        roster(env, trip, drivers)
    places = ((trip, seat) for trip in trips for seat in range(1, SEATS + 1))
    with serving(env, workers=WORKERS) as server:
        people = [Person(server.url, login, n) for n, login in enumerate(agents + drivers)]
        for agent in people[:len(agents)]:
            agent.open_till(first_stop(env["DATABASE_URL"], trips[0]))
        yield House(env, server.url, people[:len(agents)], people[len(agents):], places, server.pid, postmaster)
