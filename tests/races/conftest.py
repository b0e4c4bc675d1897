"""A served demonstration on each database, with a staff of agents at their tills and two drivers."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.conftest import DIALECTS
from tests.races.counters import Person, first_stop, hire, roster, trips_of
from tests.server import Server, demonstration, serving

AGENTS = 16


@dataclass(frozen=True)
class Stage:
    """A running server with people signed in. `trips` and `short_trips` are far enough ahead to be refunded."""

    server: Server
    agents: list[Person]
    drivers: list[Person]
    trips: list[int]
    short_trips: list[int]

    @property
    def url(self) -> str:
        return self.server.database_url


@pytest.fixture(scope="module", params=DIALECTS)
def prepared(request, templates) -> Iterator[dict[str, str]]:
    """The environment of a fresh demonstration whose server believes the address that each person claims."""
    with demonstration(templates, request.param) as env:
        yield env | {"PROXY_HOPS": "1"}


@pytest.fixture(scope="module")
def stage(prepared) -> Iterator[Stage]:
    """Four workers, sixteen agents with open tills, two drivers."""
    url = prepared["DATABASE_URL"]
    agents, drivers = hire(prepared, "agent", AGENTS), hire(prepared, "driver", 2)
    trips, short_trips = trips_of(url, "32-1"), trips_of(url, "D-1")
    for trip in (trips[0], short_trips[0]):
        roster(prepared, trip, drivers)
    with serving(prepared, workers=4) as server:
        people = [Person(server.url, login, n) for n, login in enumerate(agents + drivers)]
        for agent in people[:AGENTS]:
            agent.open_till(first_stop(url, trips[0]))
        yield Stage(server, people[:AGENTS], people[AGENTS:], trips, short_trips)
