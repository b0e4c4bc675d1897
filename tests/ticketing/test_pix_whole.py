"""From a purchase on the web to the bank and back, on both databases, while the bank fails in every way."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import func, select

from kernel.errors import Conflict
from kernel.money import Money
from tests.instants import NOW
from tests.ticketing.fake_bank import KEY, SECRET
from tests.ticketing.pix import MINUTE, books, look, payouts
from tests.world import build, open_till, order
from ticketing.online import service as online
from ticketing.online.models import PendingBooking
from ticketing.payments import bankapi
from ticketing.payments.models import LedgerEntry, Payout, Receipt
from ticketing.sales.models import Booking, Ticket
from ticketing.sales.service import sell

FAULTS = {"GET cob": [503, "garbage", None, 500], "GET list": [503, None, "garbage"], "PUT cob": ["lost", None, 503],
          "PUT return": ["lost", 503], "GET return": [500, None], "PATCH cob": [503]}


@pytest.fixture
def settings(settings, bank, monkeypatch):
    monkeypatch.setattr(bankapi, "TIMEOUT", httpx.Timeout(5, read=0.4))  # before the application opens its bank
    return replace(settings, pix={
        "PIX_PROVIDER": "bank", "PIX_KEY": KEY, "PIX_NAME": "Viação de Teste", "PIX_CITY": "Criciúma",
        "PIX_BASE_URL": bank.url, "PIX_TOKEN_URL": f"{bank.url}/oauth/token", "PIX_CLIENT_ID": "embarque",
        "PIX_CLIENT_SECRET": SECRET})


@pytest.fixture
def world(app):
    with app.extensions["database"].transaction() as session:
        world = build(session)
        open_till(session, world)
    return world


@pytest.fixture
def real(app):
    """The application's own desk: its bank is the one on the loopback, its sales are real."""
    return app.extensions["pix_desk"]


def buy(desk, world, code: str, seat: int) -> str:
    """The txid of a purchase of one seat, 80 km, for R$ 26,30 (no name is asked); tried until the bank answers."""
    with desk.database.transaction() as session:
        row = online.start_booking(session, code, (world.short_trip, 0, 1), [seat], now=NOW)
        txid = online.open_charge(session, row, desk.bank, now=NOW)
    for _n in range(5):
        try:
            desk.activate(txid, now=NOW)
            return txid
        except Conflict:
            continue
    raise AssertionError("the bank never answered")


def tell(client, *txids: str) -> set[int]:
    """Call back about these charges, twice each and at once; the answers' statuses."""
    body = {"pix": [{"txid": txid, "valor": "0.01", "endToEndId": "E" * 32} for txid in txids]}
    with ThreadPoolExecutor(3) as pool:
        return set(pool.map(lambda _n: client.application.test_client().post("/hooks/pix", json=body).status_code, range(3)))


def test_no_payment_ends_with_neither_ticket_nor_money_back(app, client, bank, real, world, vault):
    real.reconcile(now=NOW)
    bank.faults.update({name: list(faults) for name, faults in FAULTS.items()})
    codes = ["GOOD", "TWICE", "SHORT", "OVER", "LATEFREE", "LATESOLD", "UNTOLD", "NEVER"]
    txids = {code: buy(real, world, code, seat) for seat, code in enumerate(codes, 3)}
    price = look(real, lambda session: session.get_one(PendingBooking, "GOOD").total.cents)
    for code, cents in (("GOOD", price), ("TWICE", price), ("TWICE", price), ("SHORT", price - 1), ("OVER", price + 1),
                        ("UNTOLD", price)):
        bank.pay(txids[code], cents)
    assert tell(client, *(txids[code] for code in ("GOOD", "TWICE", "SHORT", "OVER"))) == {200}
    late = NOW + 35 * MINUTE
    for n in (*range(1, 6), 15, 25, 32, 33, 34):
        real.reconcile(now=NOW + n * MINUTE)
        real.work_off(now=NOW + n * MINUTE)
    with real.database.transaction() as session:  # the counter sells one of the two seats whose time ran out
        sell(session, order(world, booking="COUNTER1", trip=world.short_trip, seat=8, identity={}), vault=vault, now=late, actor="agent")
    bank.now = late
    bank.pay(txids["LATEFREE"], price)
    bank.pay(txids["LATESOLD"], price)
    bank.pay(None, 4200)
    for n in (1, 2, 3, 5, 9, 17, 33, 65):
        app.extensions["clock"] = lambda n=n: late + n * MINUTE
        assert n > 2 or tell(client, *txids.values()) == {200}
        real.reconcile(now=late + n * MINUTE)
        real.work_off(now=late + n * MINUTE)

    assert set(look(real, books).values()) == {0}
    assert look(real, lambda session: session.scalar(select(func.count()).select_from(Receipt))) == len(bank.received) == 9
    assert Counter(look(real, lambda session: list(session.scalars(select(Booking.code))))) == Counter(
        ["GOOD", "TWICE", "OVER", "LATEFREE", "UNTOLD", "COUNTER1"])
    assert sorted(look(real, payouts)) == [
        ("late", price, "done"), ("over", 1, "done"), ("repeated", price, "done"), ("short", price - 1, "done"),
        ("unknown", 4200, "due")]
    back = {pix["endToEndId"]: bank.returned(pix["endToEndId"]) for pix in bank.received}
    owed = look(real, lambda session: {row.e2e_id: row.amount.cents for row in session.scalars(
        select(Payout).where(Payout.status == "done"))})
    assert {e2e_id: cents for e2e_id, cents in back.items() if cents} == owed
    seats = look(real, lambda session: list(session.scalars(select(Ticket.seat).where(Ticket.status == "sold"))))
    assert sorted(seats) == [3, 4, 6, 7, 8, 9]
    sold, booked = look(real, lambda session: (
        session.scalar(select(func.sum(LedgerEntry.amount)).where(LedgerEntry.kind == "sale")),
        session.scalar(select(func.sum(Ticket.fare)))))
    assert sold == booked == Money(price * 6)


def test_two_hundred_notices_of_one_payment_issue_one_set_of_tickets(app, client, bank, real, world):
    txid = buy(real, world, "K06", 5)
    price = look(real, lambda session: session.get_one(PendingBooking, "K06").total.cents)
    bank.pay(txid, price)
    app.extensions["clock"] = lambda: NOW + timedelta(seconds=30)
    for _n in range(5):
        assert tell(client, *[txid] * 40) == {200}
    counts = look(real, lambda session: [session.scalar(select(func.count()).select_from(table))
                                         for table in (Ticket, Receipt, LedgerEntry, Payout)])
    assert counts == [1, 1, 1, 0]
