"""A ticket opened once opens without a line, and no other ticket does; what became of it is told when there is a line."""

import re
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, expect

from app import create_app
from boarding.passes.service import show_ticket
from kernel.clock import utc_now
from kernel.config import read_settings
from kernel.money import Money
from ticketing.network.models import Line, Trip
from ticketing.payments.service import Means, open_shift
from ticketing.sales import service as sales

pytestmark = pytest.mark.browser
PERSON = {"name": "Célia d’Ávila", "document_kind": "RG", "document_number": "4.321.098", "document_issuer": "SSP/SC",
          "birth_date": ""}


@dataclass
class Counter:
    """Sells and pays back on the running server's own database."""

    server: object
    app: object = field(init=False)

    def __post_init__(self) -> None:
        self.app = create_app(read_settings(self.server.env))
        with self.transaction() as session:
            open_shift(session, stop_id=1, opening_float=Money(0), now=utc_now(), actor="passes")

    def transaction(self):
        return self.app.extensions["database"].transaction()

    def sell(self) -> str:
        """The address of a fresh ticket's page."""
        now, issuer = utc_now(), self.app.extensions["pass_issuer"]
        with self.transaction() as session:
            trip = session.query(Trip).join(Line, Trip.line_id == Line.id).filter(
                Line.code == "32-1", Trip.departs_at > now).order_by(Trip.departs_at.desc()).first()
            order = sales.Order(sales.new_code(), "counter", trip.id, 0, 1, [sales.Place(None, "", PERSON)], Means("cash"))
            code = sales.sell(session, order, vault=issuer.vault, now=now, actor="passes").tickets[0]
            shown = show_ticket(session, code, issuer, link=None, make_pass=True, now=now)
            return f"/passes/{code}/{shown.link}"

    def refund(self, address: str) -> None:
        with self.transaction() as session:
            ticket = sales.find_ticket(session, address.split("/")[2]).ticket
            sales.release_ticket(session, ticket, ("sold",), "refunded")


@pytest.fixture(scope="module")
def counter(live_server) -> Counter:
    return Counter(live_server)


def kept(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_text("Guardado neste celular")).to_be_visible()


def test_a_ticket_opened_once_opens_without_a_line(phone, counter):
    address, other = counter.sell(), counter.sell()
    kept(phone, address)
    phone.context.set_offline(True)
    phone.reload()
    expect(phone.get_by_role("img", name="QR do bilhete")).to_be_visible()
    expect(phone.get_by_text("Célia d’Ávila")).to_be_visible()
    assert phone.locator(".ticket-sign").evaluate("sign => getComputedStyle(sign).backgroundColor") == "rgb(11, 107, 58)"
    phone.goto(other)
    expect(phone.get_by_role("heading", name="Sem internet")).to_be_visible()


def test_a_kept_ticket_that_was_paid_back_says_so_and_is_kept_so(phone, counter):
    address = counter.sell()
    kept(phone, address)
    counter.refund(address)
    for offline in (False, True):
        phone.context.set_offline(offline)
        phone.goto(address)
        expect(phone.get_by_text("não embarca mais")).to_be_visible()
        expect(phone.locator("svg.qr")).to_have_count(0)


def test_a_ticket_taken_off_the_phone_is_gone(phone, counter):
    address = counter.sell()
    kept(phone, address)
    phone.get_by_role("button", name="Apagar deste celular").click()
    expect(phone.get_by_text("Apagado deste celular.")).to_be_visible()
    assert phone.evaluate("caches.keys()") == []
    phone.context.set_offline(True)
    phone.goto(address)
    expect(phone.get_by_role("heading", name="Sem internet")).to_be_visible()


def test_only_the_ticket_and_its_parts_are_kept(phone, counter):
    address = counter.sell()
    kept(phone, address)
    phone.goto("/passes")
    phone.goto(f"{address}/print")
    paths = phone.evaluate("caches.open('passes-1').then(s => s.keys()).then(k => k.map(r => new URL(r.url).pathname))")
    assert [path for path in paths if not path.startswith("/static/")] == [address]
    assert not any(re.search(r"/(driver|counter|office)/", path) for path in paths)


def test_the_passengers_pages_have_no_serious_barrier(phone, counter, axe):
    address = counter.sell()
    for path in (address, "/passes", f"{address}/print"):
        phone.goto(path)
        axe(phone)
