"""Agents who sell and pay back without pause while the house falls down around them, and remember what they saw."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import count, cycle
from uuid import uuid4

import httpx

from tests.races.books import rows
from tests.races.counters import Person, sale_form, sold

PATIENCE = 90.0  # seconds without a sale, after which the house counts as dead
TRIES = 1200  # of one request, a twentieth of a second apart
EVERY = 5  # one sale in so many is paid back


class Load:
    """What the agents saw: keys of sales and of refunds answered 303, and answers that nobody should get."""

    def __init__(self, url: str, trips: Sequence[int]) -> None:
        self.url, self.trips = url, trips
        self.sales: list[str] = []
        self.refunds: list[str] = []
        self.wrong: list[str] = []
        self.unanswered = 0
        self.work: list[Future[None]] = []
        self._told, self._over = threading.Condition(), threading.Event()

    def wait_for_more(self, sales: int) -> None:
        """Return when so many more sales have been seen."""
        goal = len(self.sales) + sales
        with self._told:
            assert self._told.wait_for(lambda: len(self.sales) >= goal or self.wrong, PATIENCE), "nothing sells any more"
        assert not self.wrong, self.wrong

    def run(self, agent: Person) -> None:
        """Sell until told to stop; the last request is still brought to its end."""
        trips = cycle(self.trips)
        for n in count():
            if self._over.is_set() or self.wrong:
                return
            key = uuid4().hex
            form = sale_form(next(trips), "", alight=3, idempotency_key=key)
            if self._until_answered(lambda form=form: agent.post("/counter/sales", form), (303, 409)) != 303:
                continue
            with self._told:
                self.sales.append(key)
                self._told.notify_all()
            if n % EVERY == 0:
                self._pay_back(agent, key)

    def stop(self) -> None:
        """Let every agent bring the last request to its end; the server must still be there."""
        self._over.set()
        wait(self.work)

    def lost(self) -> list[str]:
        """Keys of sales and codes of refunds that an agent saw and the tables lack."""
        paid = {row["code"] for row in rows(self.url, "SELECT code FROM refund JOIN ticket ON ticket.id = ticket_id")}
        return [key for key in self.sales if sold(self.url, key) is None] + [
            code for code in self.refunds if code not in paid]

    def _pay_back(self, agent: Person, key: str) -> None:
        code, refund_key = self._code(key), uuid4().hex
        if code and self._until_answered(lambda: agent.refund(code, refund_key), (303,)) == 303:
            self.refunds.append(code)

    def _code(self, key: str) -> str | None:
        while not self._over.is_set():
            try:
                return sold(self.url, key)
            except Exception:  # the database is down, and will be back
                self._pause()
        return None

    def _until_answered(self, ask: Callable[[], httpx.Response], expected: tuple[int, ...]) -> int:
        """Send the same request again until it is answered, as an agent at a dead screen does."""
        for _try in range(TRIES):
            if self.wrong:
                return 0
            try:
                answer = ask()
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code in expected:
                return answer.status_code
            if answer is not None and answer.status_code != 503:
                self.give_up(f"{answer.status_code}: {answer.text[-2000:]}")
                return answer.status_code
            self.unanswered += 1
            self._pause()
        self.give_up("the house does not come back")
        return 0

    def give_up(self, what: str) -> None:
        """Note what went wrong; nobody goes on."""
        with self._told:
            self.wrong.append(what)
            self._told.notify_all()

    def _pause(self) -> None:
        threading.Event().wait(0.05)  # not to spend the machine on knocking at a closed door


@contextmanager
def loaded(agents: Sequence[Person], url: str, trips: Sequence[int]) -> Iterator[Load]:
    """Every agent at work until the block ends."""
    load = Load(url, trips)
    with ThreadPoolExecutor(len(agents)) as pool:
        load.work = [pool.submit(load.run, agent) for agent in agents]
        try:
            yield load
        except BaseException as failure:  # the server is gone with the block: nobody is to wait for it
            load.give_up(repr(failure))
            raise
        finally:
            load.stop()
    for one in load.work:
        one.result()
