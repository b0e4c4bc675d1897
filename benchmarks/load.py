"""Clients that send prepared requests one after another over HTTP, and the bill of what that cost the server."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import count
from threading import Barrier, Thread
from time import perf_counter
from urllib.parse import urlencode, urlsplit

from benchmarks.house import House
from benchmarks.meters import Cost, percentile, spent
from tests.races.counters import Person

_ADDRESS = count()


@dataclass(frozen=True)
class Request:
    """One request of one person, ready to send; `check` raises for an answer that is not as it should be."""

    person: Person
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    check: Callable[[int, bytes], None]

    def send(self) -> float:
        """Milliseconds until the last byte of the answer."""
        start = perf_counter()
        connection = HTTPConnection(urlsplit(str(self.person.web.base_url)).netloc, timeout=60)
        connection.request(self.method, self.path, self.body, self.headers)
        answer = connection.getresponse()
        status, body = answer.status, answer.read()
        taken = (perf_counter() - start) * 1000
        connection.close()
        self.check(status, body)
        return taken


def prepared(person: Person, method: str, path: str, check: Callable[[int, bytes], None], *, form: dict | None = None,
             data: dict | None = None) -> Request:
    """A request with the person's session, from an address of its own: the rate limiter works but does not stop it."""
    n = next(_ADDRESS)
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in person.web.cookies.items()),
               "X-Forwarded-For": f"10.{1 + (n >> 16)}.{n >> 8 & 255}.{n & 255}", "X-CSRFToken": person.token}
    body = b""
    if form is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = urlencode({"csrf_token": person.token, **form}).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(data).encode()
    return Request(person, method, path, headers, body, check)


def measured(house: House, clients: Sequence[Sequence[Request]]) -> Cost:
    """Send each client's requests from a thread of its own and say what a request cost."""
    times: list[float] = []
    faults: list[BaseException] = []
    start = Barrier(len(clients) + 1)

    def work(requests: Sequence[Request]) -> None:
        start.wait()
        try:
            times.extend([request.send() for request in requests])
        except BaseException as fault:
            faults.append(fault)

    threads = [Thread(target=work, args=(requests,)) for requests in clients]
    for thread in threads:
        thread.start()
    workers, database = house.workers, house.database
    before, began = (spent(workers), spent(database)), perf_counter()
    start.wait()
    for thread in threads:
        thread.join()
    seconds = perf_counter() - began
    if faults:
        raise faults[0]
    number = len(times)
    return Cost((spent(workers) - before[0]) / number, (spent(house.database) - before[1]) / number, number / seconds,
                *(percentile(times, share) for share in (0.5, 0.95, 0.99)))
