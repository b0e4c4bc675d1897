"""Agents and drivers who work a running server over HTTP, many at a time; and what it takes to set their scene."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx
from sqlalchemy import select, update

from boarding.doors.models import Roster
from boarding.passes.service import Issuer, derive_link_secret, show_ticket
from boarding.passes.signing import KeyRing
from kernel import auth
from kernel.clock import utc_now
from kernel.db import Database
from kernel.vault import Vault
from tests.races.books import rows
from ticketing.network.models import Call, Trip

Answer = TypeVar("Answer")
PASSWORD = "a password for the tests"
PASSENGER = {"name": "Passageira de Teste", "document_kind": "RG", "document_number": "4.321.098",
             "document_issuer": "SSP/SC", "birth_date": ""}
FLOAT = 100_000  # cents in every drawer at opening
TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')


class Person:
    """Someone of the staff with a browser of their own, at an address of their own (the server trusts one proxy)."""

    def __init__(self, url: str, login: str, address: int) -> None:
        self.login = login
        self.web = httpx.Client(base_url=url, timeout=60, headers={"X-Forwarded-For": f"10.0.{address >> 8}.{address & 255}"})
        self.token = self._token("/login")
        entered = self.web.post("/login", data={"csrf_token": self.token, "login": login, "password": PASSWORD})
        assert entered.status_code == 303, entered.text
        self.token = self._token("/password")  # the session of who signed in has a token of its own

    def post(self, path: str, form: dict[str, Any]) -> httpx.Response:
        """Send a form with the page's token."""
        return self.web.post(path, data={"csrf_token": self.token, **form})

    def send(self, path: str, body: dict[str, Any]) -> httpx.Response:
        """Send JSON as the driver's page does."""
        return self.web.post(path, json=body, headers={"X-CSRFToken": self.token})

    def open_till(self, stop_id: int) -> None:
        """Open a shift with the usual float."""
        opened = self.post("/counter/shift/open", {"stop_id": stop_id, "opening_float": f"{FLOAT // 100},00"})
        assert opened.status_code == 303, opened.text

    def sell(self, trip: int, seat: int | str, *, board: int = 0, alight: int = 1, **changes: Any) -> httpx.Response:
        """Send the counter's form for one passenger."""
        return self.post("/counter/sales", sale_form(trip, seat, board=board, alight=alight, **changes))

    def refund(self, code: str, key: str) -> httpx.Response:
        """Press the refund button of a ticket's page."""
        return self.post(f"/counter/tickets/{code}/refund", {"method": "cash", "reference": "", "idempotency_key": key})

    def scan(self, trip: int, text: str, *, kind: str = "scan", scan_id: str = "") -> dict[str, Any]:
        """What the phone is told when it shows the server what it read."""
        told = self.send(f"/driver/trips/{trip}/scans", {"id": scan_id or str(uuid4()), "kind": kind, "text": text,
                                                        "stop_seq": 0, "at": utc_now().isoformat()})
        assert told.status_code == 200, told.text
        return told.json()

    def confirm(self, trip: int, scan_id: str) -> dict[str, Any]:
        """The document was looked at and is the passenger's."""
        told = self.send(f"/driver/trips/{trip}/scans/{scan_id}/answer", {"outcome": "confirmed"})
        assert told.status_code == 200, told.text
        return told.json()

    def _token(self, page: str) -> str:
        found = TOKEN.search(self.web.get(page).text)
        assert found, f"no form on {page}"
        return found[1]


def sale_form(trip: int, seat: int | str, *, board: int = 0, alight: int = 1, **changes: Any) -> dict[str, Any]:
    """What the counter's page sends for one passenger; a fresh key unless one is given."""
    return {**PASSENGER, "trip": trip, "board": board, "alight": alight, "seat": seat, "hold": "", "method": "cash",
            "reference": "", "received": "", "idempotency_key": uuid4().hex, **changes}


def at_once(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """The answers of all calls, started in the same moment from a thread each."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Answer]) -> Answer:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@contextmanager
def database_of(env: dict[str, str]) -> Iterator[Database]:
    """The database behind a server, for setting the scene."""
    database = Database(env["DATABASE_URL"])
    yield database
    database.engine.dispose()


def hire(env: dict[str, str], role: str, number: int) -> list[str]:
    """The logins of new staff of a role, all with PASSWORD; agents work at the demonstration's first terminal."""
    logins = [f"{role}-{n}" for n in range(number)]
    hashed = auth.hash_password(PASSWORD)
    with database_of(env) as database, database.transaction() as session:
        for login in logins:
            auth.add_staff(session, login=login, display_name=f"Pessoa de teste ({login})", role=role,
                           password_hash=hashed, stop_id=None, now=utc_now(), actor="tests")
    return logins


def trips_of(url: str, line: str) -> list[int]:
    """The trips of a line that are more than a day away, by departure."""
    found = rows(url, "SELECT trip.id, trip.departs_at FROM trip JOIN line ON line.id = trip.line_id "
                      "WHERE line.code = ? AND trip.status = 'open' ORDER BY trip.departs_at, trip.id", line)
    day_after = (utc_now() + timedelta(days=1)).strftime("%Y-%m-%d %H:%M:%S")
    return [row["id"] for row in found if str(row["departs_at"]) > day_after]


def first_stop(url: str, trip: int) -> int:
    """The stop where a trip begins."""
    return rows(url, "SELECT stop_id FROM trip_call WHERE trip_id = ? AND seq = 0", trip)[0]["stop_id"]


def bring_forward(env: dict[str, str], trip: int, minutes: int = 30) -> None:
    """Let a trip leave that many minutes from now, every call moved by as much."""
    with database_of(env) as database, database.transaction() as session:
        calls = list(session.scalars(select(Call).where(Call.trip_id == trip).order_by(Call.seq)))
        moved = calls[0].departs_at - (utc_now() + timedelta(minutes=minutes))
        for call in calls:
            call.arrives_at, call.departs_at = call.arrives_at - moved, call.departs_at - moved
        session.execute(update(Trip).where(Trip.id == trip).values(
            departs_at=calls[0].departs_at, arrives_at=calls[-1].arrives_at))


def roster(env: dict[str, str], trip: int, logins: Sequence[str]) -> None:
    """Put drivers on a trip."""
    with database_of(env) as database, database.transaction() as session:
        session.add_all(Roster(trip_id=trip, staff_id=staff_id) for staff_id in session.scalars(
            select(auth.Staff.id).where(auth.Staff.login.in_(logins))))


def passes_of(env: dict[str, str], codes: Sequence[str]) -> list[str]:
    """The signed texts that the QR codes of these tickets hold."""
    issuer = Issuer(KeyRing.parse(env["PASS_KEYS"]), derive_link_secret(env["SECRET_KEY"]),
                    Vault([Path(env["VAULT_FILE"])]))
    with database_of(env) as database, database.transaction() as session:
        shown = [show_ticket(session, code, issuer, link=None, make_pass=True, now=utc_now()) for code in codes]
    assert all(one is not None and one.token for one in shown)
    return [str(one.token) for one in shown if one is not None]


def sold(url: str, key: str) -> str | None:
    """The code of the ticket that the sale with this key made, if it is there."""
    found = rows(url, "SELECT ticket.code FROM repeat_key JOIN booking ON booking.code = repeat_key.subject "
                      "JOIN ticket ON ticket.booking_id = booking.id WHERE repeat_key.key = ?", key)
    assert len(found) <= 1, found
    return found[0]["code"] if found else None
