"""`make bench`: what sales and scans cost over HTTP, on SQLite and on PostgreSQL. Prints tables, keeps nothing.

`python -m benchmarks [--database sqlite|postgresql] [--requests N]`
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from uuid import uuid4

from benchmarks.bare import sell_bare
from benchmarks.house import CLIENTS, WORKERS, House, house
from benchmarks.load import Request, measured, prepared
from benchmarks.meters import Cost, idle_share, machine
from benchmarks.statements import count_statements
from kernel.clock import utc_now
from tests.races.books import faults
from tests.races.counters import Person, passes_of, sale_form, sold

TITLES = {"page": "counter page", "sale": "sale", "scan": "scan", "document": "document"}
HEAD = ("", "statements", "clients", "server ms", "database ms", "together ms", "a second", "p50 ms", "p95 ms")
WARMING = 40


def main() -> None:
    """Measure each database in turn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--database", choices=["sqlite", "postgresql"], help="one of the two only")
    parser.add_argument("--requests", type=int, default=240, help="requests of each kind and number of clients")
    told = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors for server, database and clients; {WORKERS} workers; load before: {load:.1f}")
    for dialect in [told.database] if told.database else ["sqlite", "postgresql"]:
        with house(dialect) as furnished:
            before = machine()
            table = list(_measure(furnished, told.requests))
            print(f"\n{dialect}: a commit is on disk when it is answered; milliseconds are processor time a request"
                  f"{'; SQLite works inside the server' if dialect == 'sqlite' else ''}; "
                  f"{idle_share(before, machine()):.0%} of the machine stood idle")
            _print(table)
            wrong = faults(furnished.url)
            print("the books are sound" if not wrong else "\n".join(wrong))


def _measure(at: House, number: int) -> Iterator[tuple[str, ...]]:
    _sales(at, WARMING, 1)
    statements = count_statements(at)
    served: dict[int, Cost] = {}
    for clients in (1, CLIENTS):
        yield _row("page", "", clients, measured(at, _split(_pages(at, number // 2), clients)))
        keys, served[clients] = _sales(at, number, clients)
        yield _row("sale", statements["sale"], clients, served[clients])
        scans, ids = _scans(at, keys)
        yield _row("scan", statements["scan"], clients, measured(at, _split(scans, clients)))
        yield _row("document", statements["document"], clients, measured(at, _split(_documents(at, ids), clients)))
    bare = sell_bare(at, number)
    yield _row("the same rows, bare driver", "", 1, bare)
    for clients, cost in served.items():
        yield (f"sales served to {clients}: {cost.rate / bare.rate:.0%} of the bare driver's rate",)


def _sales(at: House, number: int, clients: int) -> tuple[list[tuple[int, str]], Cost]:
    """Sell to each client's own trips and seats; the trip and the key of each sale."""
    requests, keys = [], []
    for n in range(number):
        trip, seat = next(at.places)
        form = sale_form(trip, seat, alight=3)
        keys.append((trip, form["idempotency_key"]))
        requests.append(prepared(at.agents[n % clients], "POST", "/counter/sales", _expect(303), form=form))
    return keys, measured(at, _split(requests, clients))


def _pages(at: House, number: int) -> list[Request]:
    trip, _seat = next(at.places)
    path = f"/counter?trip={trip}&board=0&alight=3"
    return [prepared(at.agents[n % CLIENTS], "GET", path, _expect(200)) for n in range(number)]


def _scans(at: House, keys: list[tuple[int, str]]) -> tuple[list[Request], list[tuple[Person, int, str]]]:
    """Scan the passes that were sold; each asks for the document."""
    requests, ids = [], []
    texts = passes_of(at.env, [str(sold(at.url, key)) for _trip, key in keys])
    for n, ((trip, _key), text) in enumerate(zip(keys, texts, strict=True)):
        driver, scan_id = at.drivers[n % CLIENTS], str(uuid4())
        ids.append((driver, trip, scan_id))
        requests.append(prepared(driver, "POST", f"/driver/trips/{trip}/scans", _expect(200, "OK"), data={
            "id": scan_id, "kind": "scan", "text": text, "stop_seq": 0, "at": utc_now().isoformat()}))
    return requests, ids


def _documents(at: House, ids: list[tuple[Person, int, str]]) -> list[Request]:
    return [prepared(driver, "POST", f"/driver/trips/{trip}/scans/{scan_id}/answer", _expect(200, "OK"),
                     data={"outcome": "confirmed"}) for driver, trip, scan_id in ids]


def _expect(status: int, result: str = "") -> Callable[[int, bytes], None]:
    def check(told: int, body: bytes) -> None:
        if told != status or (result and json.loads(body)["result"] != result):
            raise SystemExit(f"expected {status} {result}, was told {told}: {body[-600:].decode(errors='replace')}")
    return check


def _split(requests: list[Request], clients: int) -> list[list[Request]]:
    return [requests[n::clients] for n in range(clients)]


def _row(what: str, statements: int | str, clients: int, cost: Cost) -> tuple[str, ...]:
    return (TITLES.get(what, what), str(statements), str(clients), f"{cost.server_ms:.2f}", f"{cost.database_ms:.2f}",
            f"{cost.total_ms:.2f}", f"{cost.rate:.0f}", f"{cost.p50_ms:.1f}", f"{cost.p95_ms:.1f}")


def _print(table: list[tuple[str, ...]]) -> None:
    for row in (HEAD, *table):
        print(f"{row[0]:<28}" + "".join(f"{cell:>13}" for cell in row[1:]))


if __name__ == "__main__":
    main()
