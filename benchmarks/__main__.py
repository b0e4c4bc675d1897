"""`make bench`: what sale, scan, search and refund cost over HTTP among half a million tickets. Prints tables.

`python -m benchmarks [--database sqlite|postgresql] [--requests N] [--clients 1 8 32]`; BENCH_TICKETS sizes it down.
"""

import argparse
import os
from collections.abc import Iterator
from itertools import chain

from benchmarks.bare import sell_bare
from benchmarks.contested import contest
from benchmarks.crowd import sample_sale
from benchmarks.house import WORKERS, House, house
from benchmarks.kept import TICKETS
from benchmarks.load import measured
from benchmarks.meters import Cost, idle_share, machine
from benchmarks.packing import packing
from benchmarks.requests import documents, expect, pages, refunds, sales, scans, split
from benchmarks.search import plan, searches
from benchmarks.statements import count_statements
from kernel.clock import utc_now
from tests.races.books import faults, rows

HEAD = ("", "statements", "clients", "server ms", "database ms", "together ms", "a second", "p50 ms", "p95 ms",
        "p99 ms", "load")
WARMING, AUDITED = 40, 20_000


def main() -> None:
    """Measure each database in turn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--database", choices=["sqlite", "postgresql"], help="one of the two only")
    parser.add_argument("--requests", type=int, default=200, help="requests of each kind and number of clients")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32], help="how many at once, in turn")
    told = parser.parse_args()
    tickets = int(os.environ.get("BENCH_TICKETS", TICKETS))
    print(f"{utc_now():%Y-%m-%d %H:%M} UTC; {os.cpu_count()} processors for server, database and clients; {WORKERS} "
          f"workers; {tickets} tickets; load before: {os.getloadavg()[0]:.1f}")
    for name, of_reseated, of_optimum in packing():
        print(f"packing, {name}: {of_reseated:.1%} of perfect re-seating, {of_optimum:.1%} of the optimum")
    for dialect in [told.database] if told.database else ["sqlite", "postgresql"]:
        with house(dialect, tickets) as furnished:
            _report(furnished, dialect, told.requests, told.clients)
            print("\n".join(faults(furnished.url)) or "the books are sound" if tickets <= AUDITED else _sums(furnished))


def _report(at: House, dialect: str, number: int, clients: list[int]) -> None:
    before = machine()
    print(f"\n{dialect}: a commit is on disk when it is answered; milliseconds are processor time a request"
          f"{'; SQLite works inside the server' if dialect == 'sqlite' else ''}")
    for row in chain([HEAD], _measure(at, number, clients)):
        print(f"{row[0]:<28}" + "".join(f"{cell:>13}" for cell in row[1:]), flush=True)
    print(f"{idle_share(before, machine()):.0%} of the machine stood idle")
    for line in plan(at):
        print(line)


def _sums(at: House) -> str:
    """What the auditor would find that holds all tickets in memory, as far as sums tell it."""
    [told] = rows(at.url, "SELECT (SELECT sum(alight_seq - board_seq) FROM ticket WHERE status IN ('sold', 'boarded')) "
                          "AS ridden, (SELECT count(*) FROM seat_leg WHERE hold_until IS NULL) AS taken, "
                          "(SELECT sum(amount) FROM ledger_entry WHERE method = 'cash') AS moved, "
                          "(SELECT sum(cash - opening_float) FROM shift) AS drawers")
    sound = told["ridden"] == told["taken"] and told["moved"] == told["drawers"]
    return f"legs of live tickets and of the inventory, ledger and drawers: {'equal' if sound else told}"


def _measure(at: House, number: int, clients: list[int]) -> Iterator[tuple[str, ...]]:
    counted = count_statements(at)
    measured(at, [searches(at, WARMING, 0, expect(200))])
    sales(at, WARMING, 1)
    sample = sample_sale(at.url)
    served: dict[int, Cost] = {}
    bare = [sell_bare(at, sample, number)]
    yield _row("the same rows, bare driver", "", 1, bare[0])
    for many in clients:
        yield _row("search page", counted["search"], many,
                   measured(at, split(searches(at, number * 2, many, expect(200)), many)))
        yield _row("counter page", "", many, measured(at, split(pages(at, number // 2), many)))
        keys, served[many] = sales(at, number, many)
        yield _row("sale", counted["sale"], many, served[many])
        asked, ids = scans(at, keys[::2])
        yield _row("scan", counted["scan"], many, measured(at, split(asked, many)))
        yield _row("document", counted["document"], many, measured(at, split(documents(at, ids), many)))
        yield _row("refund", counted["refund"], many, measured(at, split(refunds(at, keys[1::2]), many)))
        cost, ending = contest(at, many)
        yield _row("contested sale", "", many, cost)
        yield (ending,)
    bare.append(sell_bare(at, sample, number))
    yield _row("the same rows, bare driver", "", 1, bare[1])
    rate = sum(one.rate for one in bare) / len(bare)
    for many, cost in served.items():
        yield (f"sales served to {many}: {cost.rate / rate:.0%} of the bare driver's rate",)


def _row(what: str, statements: int | str, clients: int, cost: Cost) -> tuple[str, ...]:
    figures = (cost.server_ms, cost.database_ms, cost.total_ms)
    return (what, str(statements), str(clients), *(f"{one:.2f}" for one in figures), f"{cost.rate:.0f}",
            *(f"{one:.1f}" for one in (cost.p50_ms, cost.p95_ms, cost.p99_ms, os.getloadavg()[0])))


if __name__ == "__main__":
    main()
