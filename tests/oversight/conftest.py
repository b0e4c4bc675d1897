"""What the tests of this room share: a network with an open till, and who looks at it."""

import pytest

from tests.world import World, build, open_till


@pytest.fixture
def world(database) -> World:
    """The small network, committed, with an agent's till open."""
    with database.transaction() as session:
        built = build(session)
        open_till(session, built)
        return built


@pytest.fixture
def inspector(signed_in):
    return signed_in("inspector")


@pytest.fixture
def office(signed_in):
    return signed_in("office")
