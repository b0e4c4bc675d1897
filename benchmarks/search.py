"""Passengers who look for departures by town and day, and how the database goes about the statement behind it."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from random import Random
from time import perf_counter
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import httpx
from sqlalchemy import event

from benchmarks.country import DAYS, town, towns_of
from benchmarks.house import House
from benchmarks.load import Request, prepared
from benchmarks.meters import percentile
from kernel.clock import LEGAL_ZONE, local_date, utc_now
from tests.races.books import rows
from tests.races.counters import database_of
from ticketing.online import search

Asked = tuple[str, str, str]


def questions(at: House, number: int, seed: int) -> list[Asked]:
    """From, to and day as typed, for a line that exists; each another draw."""
    random = Random(seed)
    [found] = rows(at.url, "SELECT count(*) AS lines FROM line WHERE code LIKE ?", "bench-%")
    today = local_date(utc_now(), LEGAL_ZONE)
    asked = []
    for _ in range(number):
        towns = towns_of(random.randrange(found["lines"]))
        board, alight = sorted(random.sample(range(len(towns)), 2))
        day = today + timedelta(days=random.randrange(1, DAYS - 6))
        asked.append((town(towns[board]), town(towns[alight]), day.isoformat()))
    return asked


def searches(at: House, number: int, seed: int, expect: Callable[[int, bytes], None]) -> list[Request]:
    """The page of each question, for somebody without a session."""
    nobody: Any = SimpleNamespace(web=httpx.Client(base_url=at.address), token="")
    return [prepared(nobody, "GET", "/departures?" + urlencode({"from": start, "to": end, "day": day}), expect)
            for start, end, day in questions(at, number, seed)]


def plan(at: House) -> Iterator[str]:
    """The answer's size, its statements, their time in the database alone, and the plan of the longest one."""
    seen: list[tuple[str, Any]] = []
    with database_of(at.env) as database:
        event.listen(database.engine, "before_cursor_execute", lambda *told: seen.append((told[2], told[3])))
        times, found = [], 0
        for start, end, day in questions(at, 200, seed=1):
            seen.clear()
            began = perf_counter()
            with database.reading() as session:
                wanted = search.read_search(search.towns(session), start, end, day, now=utc_now())
                assert isinstance(wanted, search.Wanted)
                found += len(search.options(session, wanted, now=utc_now()))
            times.append((perf_counter() - began) * 1000)
        told = [one for one in seen if not one[0].startswith("BEGIN")]
        yield (f"search without the page: {len(told)} statements, {found / len(times):.1f} departures an answer, "
               f"p50 {percentile(times, 0.5):.1f} ms, p95 {percentile(times, 0.95):.1f} ms")
        query, values = next(one for one in told if "seat_leg" in one[0])
        sqlite = database.engine.dialect.name == "sqlite"
        with database.engine.connect() as connection:
            lines = connection.exec_driver_sql(("EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN (ANALYZE, BUFFERS) ")
                                               + query, values)
            yield from (str(line[-1]) for line in lines)
