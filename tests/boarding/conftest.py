"""A trip about to leave, its driver with a phone, and tickets for it."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from boarding.doors.models import Roster, Scan
from boarding.passes import service as passes
from kernel.auth import SignIn, find_staff
from kernel.db import Database
from tests.instants import at
from tests.world import World, build, open_till, order
from ticketing.sales import service as sales
from ticketing.sales.models import Ticket

BOARDING = at("2026-03-03T09:20")  # 06:20 in Criciúma: the long trip leaves at 06:30, the short one at 09:00
SELLER = "agent"


@dataclass
class Door:
    """The application's database and world, and what people do at the door, over HTTP."""

    app: Flask
    world: World
    driver: FlaskClient
    database: Database = field(init=False)

    def __post_init__(self) -> None:
        self.database = self.app.extensions["database"]

    @property
    def issuer(self) -> passes.Issuer:
        return self.app.extensions["pass_issuer"]

    def clock(self, instant: datetime) -> None:
        """Move the application's present."""
        self.app.extensions["clock"] = lambda: instant

    def sell(self, **changes) -> str:
        """The code of a ticket sold the day before: Criciúma to Tubarão on the long trip, unless changed."""
        with self.database.transaction() as session:
            wanted = order(self.world, **{"booking": sales.new_code(), "seat": None, **changes})
            return sales.sell(session, wanted, vault=self.issuer.vault, now=at("2026-03-02T12:00"),
                              actor=SELLER).tickets[0]

    def show(self, code: str) -> passes.Shown:
        """The ticket as its passenger sees it now."""
        with self.database.transaction() as session:
            return passes.show_ticket(session, code, self.issuer, link=None, make_pass=True, now=BOARDING)

    def token(self, code: str) -> str:
        """What its QR says."""
        return self.show(code).token

    def ticket(self, code: str) -> Ticket:
        """The row as it is now."""
        with self.database.reading() as session:
            found = sales.find_ticket(session, code).ticket
            session.expunge_all()
        return found

    def scans(self) -> list[Scan]:
        """Every recorded scan, as they arrived."""
        with self.database.reading() as session:
            found = session.query(Scan).order_by(Scan.received_at).all()
            session.expunge_all()
        return found

    def settle(self, code: str, status: str) -> None:
        """Refund or void a ticket, as the counter does."""
        with self.database.transaction() as session:
            sales.release_ticket(session, sales.find_ticket(session, code).ticket, ("sold",), status)

    def post(self, text: str, *, kind: str = "scan", trip: int | None = None, id: str | None = None, stop_seq: int = 0,
             at: str = "2026-03-03T09:20:00Z", driver: FlaskClient | None = None):
        """The response to one presentation."""
        return (driver or self.driver).post(f"/driver/trips/{trip or self.world.long_trip}/scans", json={
            "id": id or str(uuid4()), "kind": kind, "text": text, "stop_seq": stop_seq, "at": at})

    def scan(self, text: str, **more) -> dict:
        """The answer to one presentation."""
        response = self.post(text, **more)
        assert response.status_code == 200, response.get_data(as_text=True)
        return response.get_json()

    def answer(self, scan: dict, outcome: str, reason: str | None = None, driver: FlaskClient | None = None) -> dict:
        """The answer after the document was looked at."""
        response = (driver or self.driver).post(
            f"/driver/trips/{self.world.long_trip}/scans/{scan['id']}/answer",
            json={"outcome": outcome, "reason": reason} if reason else {"outcome": outcome})
        assert response.status_code == 200, response.get_data(as_text=True)
        return response.get_json()

    def board(self, code: str, **more) -> dict:
        """Scan and confirm."""
        told = self.scan(self.token(code), **more)
        return self.answer(told, "confirmed") if told["checks"] else told

    def put_on_roster(self, driver: FlaskClient, *trips: int) -> None:
        """The driver's trips."""
        with self.database.transaction() as session:
            staff_id = find_staff(session, driver.login).id
            session.add_all(Roster(trip_id=trip, staff_id=staff_id) for trip in trips)


@pytest.fixture
def signed_in(app, signed_in):
    """The same, for people who stay signed in until the bus has gone."""
    def sign_in(role: str, **more) -> FlaskClient:
        client = signed_in(role, **more)
        with app.extensions["database"].transaction() as session:
            session.execute(update(SignIn).values(expires_at=at("2026-03-06T00:00")))
        return client
    return sign_in


@pytest.fixture
def standing() -> bool:
    """Whether people may stand; a test overrides it."""
    return False


@pytest.fixture
def door(app, signed_in, standing) -> Door:
    """The long trip ten minutes before it leaves, with a driver who has it and the short one on the roster."""
    with app.extensions["database"].transaction() as session:
        world = build(session, standing=standing)
        open_till(session, world, SELLER)
    app.extensions["clock"] = lambda: BOARDING
    door = Door(app, world, signed_in("driver"))
    door.put_on_roster(door.driver, world.long_trip, world.short_trip)
    return door
