"""More buyers than seats on the web, all at once: each seat ends in one pass, everybody else is told so politely."""

import re
import secrets
from collections import Counter
from datetime import timedelta
from functools import partial
from uuid import uuid4

import httpx
import pytest

from kernel.clock import utc_now
from tests.races.books import faults, rows
from tests.races.counters import PASSENGER, TOKEN, at_once, database_of
from ticketing.network.service import load_journey
from ticketing.seats import service as seats

FREE = re.compile(r'<input type="checkbox" id="seat-(\d+)"(?![^>]*disabled)')
PASS = re.compile(r"/passes/[A-Z0-9]{8}/[\w-]{22}")
TRIES = 100


def leave_free(env: dict[str, str], trip: int, number: int) -> None:
    """Hold every seat of a trip but so many, for hours."""
    with database_of(env) as database, database.transaction() as session:
        journey = load_journey(session, trip)
        for seat in journey.layout.seats_for_sale[number:]:
            seats.claim(session, journey, seat, until=utc_now() + timedelta(hours=5), now=utc_now(), actor="tests")


class Buyer:
    """A passenger with a browser and an address of their own."""

    def __init__(self, url: str, trip: int, address: int) -> None:
        self.page = f"/bookings/new?trip={trip}&board=0&alight=3"
        self.form = {"trip": trip, "board": 0, "alight": 3}
        self.web = httpx.Client(base_url=url, timeout=120, headers={"X-Forwarded-For": f"10.9.{address >> 8}.{address & 255}"})

    def buy(self) -> str:
        """"pass" when a ticket with its code was opened, "sold out" when the page says that no seat is left."""
        answer = self.web.get(self.page)
        for _try in range(TRIES):
            assert answer.status_code in (200, 409), answer.text
            free = FREE.findall(answer.text)
            if not free:
                assert "Não há poltrona livre neste trecho" in answer.text
                return "sold out"
            answer = self._post(answer, "/bookings", {**self.form, "seat": secrets.choice(free), "idempotency_key": uuid4().hex})
            if answer.status_code == 303:
                return self._pay(answer.headers["location"])
            assert "acabou de ser vendida" in answer.text
        return "never answered"

    def _pay(self, address: str) -> str:
        people = {f"{field}-1": value for field, value in PASSENGER.items()}
        for step, form in (("passengers", people), ("demonstration", {})):
            answer = self._post(self.web.get(address), f"{address}/{step}", form)
            assert answer.status_code == 303, answer.text
        trip = self.web.get(self.web.get(address).headers["location"])
        opened = self.web.get(PASS.search(trip.text)[0])
        assert "QR do bilhete" in opened.text
        return "pass"

    def _post(self, page: httpx.Response, address: str, form: dict) -> httpx.Response:
        return self.web.post(address, data={"csrf_token": TOKEN.search(page.text)[1], **form})


def rush(stage, prepared, trip: int, buyers: int, places: int) -> None:
    leave_free(prepared, trip, places)
    outcomes = Counter(at_once([partial(Buyer(stage.server.url, trip, n).buy) for n in range(buyers)]))
    assert outcomes == {"pass": places, "sold out": buyers - places}
    assert len(rows(stage.url, "SELECT id FROM ticket WHERE trip_id = ? AND status = 'sold'", trip)) == places
    assert rows(stage.url, "SELECT id FROM payout") == []
    assert faults(stage.url) == []


def test_thirty_buyers_of_three_seats_get_three_passes_and_twenty_seven_answers(stage, prepared):
    rush(stage, prepared, stage.trips[8], 30, 3)


@pytest.mark.heavy
def test_two_hundred_buyers_of_ten_seats_get_ten_passes_and_a_hundred_and_ninety_answers(stage, prepared):
    rush(stage, prepared, stage.trips[9], 200, 10)
