"""The requests that are measured, made ready beforehand: sales and what follows them at counter and door."""

import json
from collections.abc import Callable, Sequence
from uuid import uuid4

from benchmarks.house import House
from benchmarks.load import Request, measured, prepared
from benchmarks.meters import Cost
from kernel.clock import utc_now
from tests.races.counters import Person, passes_of, sale_form, sold

Keys = list[tuple[int, Person, str]]


def sales(at: House, number: int, clients: int) -> tuple[Keys, Cost]:
    """Sell seats that nobody else wants; trip, agent and key of each sale, and what one cost."""
    requests, keys = [], []
    for n in range(number):
        trip, seat = next(at.places)
        agent = at.agents[n % clients % len(at.agents)]
        form = sale_form(trip, seat, alight=3)
        keys.append((trip, agent, form["idempotency_key"]))
        requests.append(prepared(agent, "POST", "/counter/sales", expect(303), form=form))
    return keys, measured(at, split(requests, clients))


def pages(at: House, number: int) -> list[Request]:
    """The counter's page of a trip with its seats."""
    trip, _seat = next(at.places)
    return [prepared(at.agents[n % len(at.agents)], "GET", f"/counter?trip={trip}&board=0&alight=3", expect(200))
            for n in range(number)]


def scans(at: House, keys: Keys) -> tuple[list[Request], list[tuple[Person, int, str]]]:
    """Scan the passes that were sold; each asks for the document."""
    requests, ids = [], []
    texts = passes_of(at.env, [str(sold(at.url, key)) for _trip, _agent, key in keys])
    for n, ((trip, _agent, _key), text) in enumerate(zip(keys, texts, strict=True)):
        driver, scan_id = at.drivers[n % len(at.drivers)], str(uuid4())
        ids.append((driver, trip, scan_id))
        requests.append(prepared(driver, "POST", f"/driver/trips/{trip}/scans", expect(200, "OK"), data={
            "id": scan_id, "kind": "scan", "text": text, "stop_seq": 0, "at": utc_now().isoformat()}))
    return requests, ids


def documents(at: House, ids: list[tuple[Person, int, str]]) -> list[Request]:
    """The driver's word that the document is the passenger's."""
    return [prepared(driver, "POST", f"/driver/trips/{trip}/scans/{scan_id}/answer", expect(200, "OK"),
                     data={"outcome": "confirmed"}) for driver, trip, scan_id in ids]


def refunds(at: House, keys: Keys) -> list[Request]:
    """Pay the tickets back, each by the agent who sold it: the till holds its price."""
    return [prepared(agent, "POST", f"/counter/tickets/{sold(at.url, key)}/refund", expect(303), form={
        "method": "cash", "reference": "", "idempotency_key": uuid4().hex}) for _trip, agent, key in keys]


def expect(status: int, result: str = "") -> Callable[[int, bytes], None]:
    """A check that ends the run when an answer has another status, or JSON with another result."""
    def check(told: int, body: bytes) -> None:
        if told != status or (result and json.loads(body)["result"] != result):
            raise SystemExit(f"expected {status} {result}, was told {told}: {body[-600:].decode(errors='replace')}")
    return check


def split(requests: Sequence[Request], clients: int) -> list[Sequence[Request]]:
    """Every client's share, dealt out in turn."""
    return [requests[n::clients] for n in range(clients)]
