"""One trip of 46 seats and 12 legs that everybody wants: any seat, stretches at random, until the bus is full."""

from collections import Counter
from random import Random

from benchmarks.house import House
from benchmarks.load import Request, measured, prepared
from benchmarks.meters import Cost
from benchmarks.packing import LEGS, REQUESTS, SEATS
from tests.races.books import change, rows
from tests.races.counters import sale_form


def contest(at: House, clients: int) -> tuple[Cost, str]:
    """What a request cost, sold or refused, and how it ended; each contest has a new trip."""
    trip = _spare(at)
    random, answers = Random(clients), Counter()

    def check(status: int, body: bytes) -> None:
        answers[status] += 1
        if status not in (303, 409):
            raise SystemExit(f"expected 303 or 409, was told {status}: {body[-600:].decode(errors='replace')}")

    def request(n: int) -> Request:
        board, alight = sorted(random.sample(range(LEGS + 1), 2))
        form = sale_form(trip, "", board=board, alight=alight)
        return prepared(at.agents[n % len(at.agents)], "POST", "/counter/sales", check, form=form)

    requests = [request(n) for n in range(REQUESTS)]
    cost = measured(at, [requests[n::clients] for n in range(clients)])
    [legs] = rows(at.url, "SELECT count(*) AS sold FROM seat_leg WHERE trip_id = ?", trip)
    return cost, (f"contested trip, {clients} clients: {answers[303]} sold, {answers[409]} refused, "
                  f"{legs['sold']} of {SEATS * LEGS} legs, {answers[303] / REQUESTS * cost.rate:.0f} sales a second")


def _spare(at: House) -> int:
    """A new trip without a ticket, with the calls of a trip of the measured network."""
    columns = ("vehicle_id, service_date, status, departs_at, arrives_at, last_day, course_km, km_estimated, "
               "delay_minutes")
    [like] = rows(at.url, "SELECT trip.id, trip.line_id FROM trip JOIN line ON line.id = trip.line_id "
                          "WHERE line.code = 'bench-0' ORDER BY trip.id DESC LIMIT 1")
    change(at.url, f"INSERT INTO trip (line_id, {columns}) SELECT line_id, {columns} FROM trip WHERE id = {like['id']}")
    [made] = rows(at.url, "SELECT max(id) AS id FROM trip")
    calls = "seq, stop_id, km, km_estimated, road, arrives_at, departs_at"
    change(at.url, f"INSERT INTO trip_call (trip_id, {calls}) SELECT {made['id']}, {calls} FROM trip_call "
                   f"WHERE trip_id = {like['id']}")
    return made["id"]
