"""What strangers may send to the shop on the web: nothing of it is a fault of ours, and nobody is told a wrong thing."""

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from kernel.audit import AuditEntry
from kernel.errors import InvalidInput
from kernel.money import Money
from tests.instants import NOW
from tests.ticketing.pix import STATIC, asked, e2e, sale
from tests.world import PERSON, build
from ticketing.online.models import PendingBooking
from ticketing.payments.desk import Desk
from ticketing.payments.models import Payout, Receipt
from ticketing.sales.models import Ticket

PASSENGER = {f"{field}-1": value for field, value in PERSON.items()}


@pytest.fixture
def settings(settings):
    return replace(settings, demo=True)  # whose bank says that somebody paid


@pytest.fixture
def world(app):
    with app.extensions["database"].transaction() as session:
        return build(session)


def start(client, world, seats=("5",), **changes):
    return client.post("/bookings", data={"trip": world.long_trip, "board": 0, "alight": 1, "seat": list(seats),
                                          "idempotency_key": "key-0001", **changes})


def count(app, table):
    with app.extensions["database"].reading() as session:
        return session.scalar(select(func.count()).select_from(table))


@pytest.mark.parametrize("seats", [["9" * 5000], ["9" * 300], ["0"], ["-1"], ["٥"], ["5e0"], ["5"] * 150 + ["200"], []])
def test_a_seat_that_no_map_offers_is_refused_on_the_page(app, client, world, seats):
    answer = start(client, world, seats)
    assert answer.status_code == 422
    assert "<h1" in answer.text
    assert count(app, PendingBooking) == 0


@pytest.fixture
def paid(app, client, world):
    """The address of a purchase that the bank says was paid."""
    address = start(client, world).location
    assert client.post(address + "/passengers", data=PASSENGER).status_code == 303
    assert client.post(address + "/demonstration").status_code == 303
    assert count(app, Ticket) == 1
    return address


def test_a_paid_purchase_is_not_said_to_have_cost_nothing(app, client, paid):
    answer = client.post(paid + "/cancellation", follow_redirects=True)
    assert "nada foi cobrado" not in answer.text
    assert "Esta compra já foi paga" in answer.text
    with app.extensions["database"].reading() as session:
        assert session.scalars(select(PendingBooking.status)).one() == "paid"
        assert session.scalars(select(Ticket.status)).one() == "sold"
        assert not session.scalars(select(AuditEntry).where(AuditEntry.action == "booking_given_up")).all()
        assert not session.scalars(select(Payout)).all()


def test_an_open_purchase_may_be_given_up_twice(app, client, world):
    address = start(client, world).location
    for _ in range(2):
        answer = client.post(address + "/cancellation", follow_redirects=True)
        assert answer.status_code == 200 and "nada foi cobrado" in answer.text
    assert start(client, world, idempotency_key="key-0002").status_code == 303


@pytest.mark.parametrize("cents", [-8559, 0, 2 * 8559 + 1, 999_999_999])
def test_a_hand_that_slips_over_the_amount_makes_no_debt(database, cents):
    desk = Desk(database, STATIC, sale)
    asked(desk)
    with pytest.raises(InvalidInput) as refusal:
        desk.confirm_by_hand("booking-1", e2e(1), Money(cents), now=NOW, actor="agent")
    assert refusal.value.fields.keys() == {"amount"}
    with database.reading() as session:
        assert not session.scalars(select(Receipt)).all() and not session.scalars(select(Payout)).all()
