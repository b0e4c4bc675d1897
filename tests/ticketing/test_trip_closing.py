"""Trips that are over are closed by the worker, whatever was sold on them."""

from datetime import timedelta

from kernel.errors import Conflict
from tests.instants import NOW
from tests.world import build
from ticketing.network.models import Trip
from ticketing.network.service import check_open_for_sale, close_trips, load_journey


def test_a_trip_is_closed_two_days_after_its_arrival_and_sells_no_more(session):
    world = build(session)
    arrives = session.get(Trip, world.long_trip).arrives_at
    close_trips(session, now=arrives + timedelta(days=2), actor="worker")
    assert session.get(Trip, world.long_trip, populate_existing=True).status == "open"
    late = arrives + timedelta(days=2, seconds=1)
    assert close_trips(session, now=late, actor="worker") >= 1
    assert session.get(Trip, world.long_trip, populate_existing=True).status == "closed"
    try:
        check_open_for_sale(load_journey(session, world.long_trip), NOW)
    except Conflict as refusal:
        assert refusal.code == "trip_not_open"
    else:
        raise AssertionError("a closed trip was sold")
    assert close_trips(session, now=late, actor="worker") == 0
