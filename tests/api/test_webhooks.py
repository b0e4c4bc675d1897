"""Partners are told what happened: signed, at least once, with codes alone, and again until they have answered."""

import hashlib
import hmac
import json
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from sqlalchemy import select

from kernel import webhooks
from kernel.errors import InvalidInput, NotFound
from kernel.outbox import OutboxRow
from kernel.partners import add_partner
from tests.instants import NOW
from tests.world import PERSON, open_till, order
from ticketing.network.service import cancel_trip, report_delay
from ticketing.sales.service import sell

SECRET_KEY = "a secret for the tests alone, 32+"


class Receiver:
    """A partner's server: keeps what came and answers with the statuses given, the last one for ever."""

    def __init__(self) -> None:
        self.came, self.statuses = [], [200]
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.came.append((dict(self.headers), body))
                status = outer.statuses.pop(0) if len(outer.statuses) > 1 else outer.statuses[0]
                self.send_response(status)
                self.send_header("Location", outer.url + "elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *told):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def told(self) -> list[dict]:
        return [json.loads(body) for _headers, body in self.came]


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


@pytest.fixture
def database(app):
    return app.extensions["database"]


@pytest.fixture
def subscribe(database, partner, receiver):
    """Subscribe the partner (or another) to some events, or to all."""
    def made(*events, code="acme"):
        with database.transaction() as session:
            return webhooks.subscribe(session, code, receiver.url, events or webhooks.EVENTS, secret_key=SECRET_KEY, now=NOW,
                                      actor="tests")
    return made


def deliver(database, after=timedelta()):
    return webhooks.deliver(database, SECRET_KEY, now=NOW + after)


def letters(database) -> list[OutboxRow]:
    with database.reading() as session:
        found = list(session.scalars(select(OutboxRow).where(OutboxRow.topic == "webhook").order_by(OutboxRow.id)))
        session.expunge_all()
        return found


def test_a_sale_is_told_once_for_each_ticket_with_codes_alone(database, partner, world, receiver, subscribe):
    subscribe()
    sold = partner.sell(world, seats=(5, 6))[1]
    assert deliver(database) == {"sent": 2, "later": 0, "dropped": 0}
    assert [(told["event"], told["ticket"], told["booking"], told["trip"]) for told in receiver.told] == [
        ("ticket.sold", code, sold["booking"], world.long_trip) for code in sold["tickets"]]
    text = b"".join(body for _, body in receiver.came).decode()
    assert PERSON["name"] not in text and "4321098" not in text
    assert deliver(database) == {"sent": 0, "later": 0, "dropped": 0}


def test_a_letter_is_signed_over_its_time_and_its_body(database, partner, world, receiver, subscribe):
    secret = subscribe().secret
    partner.sell(world)
    deliver(database)
    headers, body = receiver.came[0]
    expected = hmac.digest(secret.encode(), headers["Webhook-Timestamp"].encode() + b"." + body, hashlib.sha256).hex()
    assert headers["Webhook-Signature"] == "v1=" + expected
    assert headers["Webhook-Timestamp"] == str(int(NOW.timestamp()))
    assert headers["Webhook-Id"] == str(json.loads(body)["id"])


def test_the_secret_is_not_in_the_database(database, subscribe):
    secret = subscribe().secret
    with database.reading() as session:
        salt = session.scalars(select(webhooks.Webhook.salt)).one()
    assert webhooks.derive_secret(SECRET_KEY, salt) == secret
    assert webhooks.derive_secret(SECRET_KEY + "x", salt) != secret


@pytest.mark.parametrize("status", [500, 404, 302, 429])
def test_a_letter_without_success_is_sent_again_under_the_same_number(database, partner, world, receiver, subscribe, status):
    subscribe("ticket.sold")
    receiver.statuses = [status, 200]
    partner.sell(world)
    assert deliver(database)["later"] == 1
    assert deliver(database, timedelta(seconds=29)) == {"sent": 0, "later": 0, "dropped": 0}
    assert deliver(database, timedelta(seconds=30))["sent"] == 1
    assert receiver.told[0]["id"] == receiver.told[1]["id"] and len(receiver.came) == 2


def test_a_partner_whose_server_is_away_is_told_later(database, partner, world, receiver, subscribe):
    subscribe()
    partner.sell(world)
    receiver.server.shutdown()
    receiver.server.server_close()
    assert deliver(database)["later"] == 1
    assert letters(database)[0].outcome == "ConnectError"


def test_a_letter_is_given_up_in_the_end(database, partner, world, receiver, subscribe):
    subscribe()
    receiver.statuses = [500]
    partner.sell(world)
    outcomes = [deliver(database, timedelta(hours=2 * n)) for n in range(webhooks.MOST_ATTEMPTS + 1)]
    assert outcomes[-1]["dropped"] == 1
    assert len(receiver.came) == webhooks.MOST_ATTEMPTS


def test_a_refund_is_told_to_who_sold_the_ticket(database, partner, caller, world, receiver, subscribe):
    caller(code="other")
    subscribe("ticket.refunded")
    subscribe("ticket.refunded", code="other")
    code = partner.sell(world)[1]["tickets"][0]
    partner.post(f"/tickets/{code}/refund", {"refund": "21.25"})
    deliver(database)
    assert [(told["event"], told["ticket"], told["refunded"]) for told in receiver.told] == [
        ("ticket.refunded", code, "21.25")]


def test_a_changed_trip_is_told_to_every_partner(database, caller, world, receiver, subscribe):
    caller(code="other")
    subscribe("trip.changed")
    subscribe("trip.changed", code="other")
    with database.transaction() as session:
        report_delay(session, world.long_trip, 90, now=NOW, actor="office")
        cancel_trip(session, world.short_trip, "vehicle", now=NOW, actor="office")
    assert deliver(database)["sent"] == 4
    assert sorted((told["trip"], told["change"], told.get("minutes")) for told in receiver.told) == sorted(
        [(world.long_trip, "delayed", 90), (world.short_trip, "cancelled", None)] * 2, key=str)


def test_a_sale_at_the_counter_is_no_partners_business(database, world, vault, subscribe):
    subscribe()
    with database.transaction() as session:
        open_till(session, world)
        sell(session, order(world), vault=vault, now=NOW, actor="agent")
    assert letters(database) == []


def test_a_refused_sale_tells_nobody(database, partner, world, subscribe):
    subscribe()
    partner.sell(world, total="1.00")
    assert letters(database) == []


def test_an_ended_subscription_gets_nothing_more(database, partner, world, receiver, subscribe):
    number = subscribe().id
    partner.sell(world)
    with database.transaction() as session:
        webhooks.unsubscribe(session, number, now=NOW, actor="tests")
    partner.sell(world, seats=(6,))
    assert deliver(database) == {"sent": 0, "later": 0, "dropped": 1}
    assert receiver.came == []
    with pytest.raises(NotFound), database.transaction() as session:
        webhooks.unsubscribe(session, number, now=NOW, actor="tests")


@pytest.mark.parametrize("url", [
    "http://example.com/", "https://", "ftp://example.com", "https://user:pass@example.com/", "https://[::1", "https://a b/",
    "https://example.com/" + "x" * 300, "file:///etc/passwd", "http://127.0.0.1.example.com/", ""])
def test_an_address_that_is_not_https_is_refused(session, url):
    add_partner(session, code="acme", name="Empresa", now=NOW, actor="tests")
    with pytest.raises(InvalidInput):
        webhooks.subscribe(session, "acme", url, webhooks.EVENTS, secret_key=SECRET_KEY, now=NOW, actor="tests")


@pytest.mark.parametrize("url", ["https://example.com/hook?a=1", "http://localhost:8000/", "http://[::1]:1/"])
def test_https_and_this_machine_are_taken(session, url):
    add_partner(session, code="acme", name="Empresa", now=NOW, actor="tests")
    assert webhooks.subscribe(session, "acme", url, ("trip.changed",), secret_key=SECRET_KEY, now=NOW, actor="tests").id


def test_the_operator_subscribes_lists_and_ends(app, partner):
    run = app.test_cli_runner().invoke
    told = run(app.cli, ["partner", "webhook", "acme", "https://example.com/hook", "--event", "ticket.sold"]).output
    assert told.startswith("aviso 1: whs_")
    assert "https://example.com/hook  ticket.sold" in run(app.cli, ["partner", "list"]).output
    assert run(app.cli, ["partner", "webhook-end", "1"]).exit_code == 0
    assert run(app.cli, ["partner", "webhook-end", "1"]).exit_code == 1
