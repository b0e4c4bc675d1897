"""The passenger's pages without JavaScript: from the search to the passes, bad input, foreign addresses, the bank's call."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text

from tests.instants import NOW
from tests.world import PERSON, build
from ticketing.online import policy
from ticketing.online.models import PendingBooking
from ticketing.payments.models import Charge, DemoPayment, Payout
from ticketing.sales.models import Ticket

DAY = (NOW + timedelta(days=1)).date().isoformat()
SECOND = {**PERSON, "name": "Passageiro Segundo de Teste", "document_number": "5.432.109"}


def people(*given):
    return {policy.field_of(field, n): value for n, person in enumerate(given, 1) for field, value in person.items()}


@pytest.fixture
def settings(settings):
    return replace(settings, demo=True)


@pytest.fixture
def world(database):
    with database.transaction() as session:
        return build(session)


@pytest.fixture
def start(client, world):
    """`start(5, 6)` is the address of a purchase of these seats."""

    def begin(*seats, trip=None, key="a-key-of-its-own", visitor=client):
        answer = visitor.post("/bookings", data={"trip": trip or world.long_trip, "board": 0, "alight": 1,
                                                 "seat": list(seats), "idempotency_key": key})
        assert answer.status_code == 303, answer.text
        return answer.location

    return begin


def count(database, model, *where):
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(model).where(*where))


def paid(client, start, *seats):
    """The address of the trip of a purchase that the demonstration's bank was told to be paid."""
    address = start(*seats, key="-".join(["a-key-for", *map(str, seats)]))
    client.post(f"{address}/passengers", data=people(PERSON, SECOND))
    client.post(f"{address}/demonstration")
    return client.get(address).location


def test_a_search_leads_to_the_board_and_the_board_to_the_seats(client, world):
    assert 'value="Criciúma, SC"' in client.get("/").text
    page = client.get(f"/departures?from=criciuma&to=florianopolis&day={DAY}").text
    assert "06:30" in page and "Tarifa" in page and "11 livres" in page
    seats = client.get(re.search(r'/bookings/new\?[^"]+', page)[0].replace("&amp;", "&"))
    assert seats.status_code == 200
    assert 'type="checkbox" id="seat-5"' in seats.text


@pytest.mark.parametrize("asked", ["from=&to=&day=", "from=Paris&to=Roma&day=x", "from=%00", "", "from=criciuma&to=criciuma&day=9999-12-31"])
def test_a_search_that_makes_no_sense_comes_back_with_what_was_typed(client, world, asked):
    answer = client.get(f"/departures?{asked}")
    assert answer.status_code in (400, 422)
    if "Paris" in asked:
        assert 'value="Paris"' in answer.text and 'value="Roma"' in answer.text


def test_a_name_of_several_towns_is_asked_back(client, database, world):
    with database.transaction() as session:
        session.execute(text("UPDATE place SET name = 'Nova ' || name WHERE name IN ('Tubarão', 'Imbituba')"))
    page = client.get(f"/departures?from=nova&to=florianopolis&day={DAY}")
    assert page.status_code == 200
    assert "Nova Tubarão, SC" in page.text and "Nova Imbituba, SC" in page.text


def test_two_people_buy_without_javascript_and_open_their_passes(client, database, start):
    address = start(5, 6)
    assert "Quem viaja" in client.get(address).text
    assert client.post(f"{address}/passengers", data=people(PERSON, SECOND)).status_code == 303
    page = client.get(address).text
    assert "br.gov.bcb.pix" in page and '<noscript><meta http-equiv="refresh"' in page and "<svg" in page
    assert client.get(f"{address}/state").get_json()["state"] == "open"
    assert client.post(f"{address}/demonstration").status_code == 303
    assert client.get(f"{address}/state").get_json()["state"] == "paid"
    trip = client.get(client.get(address).location).text
    assert PERSON["name"] in trip and SECOND["name"] in trip
    passes = re.findall(r"/passes/[A-Z0-9]{8}/[\w-]{22}", trip)
    assert len(set(passes)) == 2
    assert all(client.get(each).status_code == 200 for each in passes)
    assert count(database, Ticket) == 2


def test_where_the_law_asks_no_name_none_is_asked(client, database, world, start):
    address = start(5, trip=world.short_trip)
    page = client.get(address).text
    assert "Quem viaja" not in page and "Gerar código PIX" in page
    client.post(f"{address}/payment")
    client.post(f"{address}/demonstration")
    assert "não identificado" in client.get(client.get(address).location).text
    assert count(database, Ticket) == 1


def test_wrong_passengers_keep_what_was_typed(client, database, start):
    address = start(5, 6)
    answer = client.post(f"{address}/passengers", data=people({**PERSON, "document_kind": "CIN", "document_number": "111.111.111-00"}, {**SECOND, "name": ""}))
    assert answer.status_code == 422
    assert PERSON["name"].replace("'", "&#39;") in answer.text and "111.111.111-00" in answer.text and "5.432.109" in answer.text
    assert "Passageiro 2:" in answer.text
    assert count(database, Charge) == 0


@pytest.mark.parametrize("seats", [[], ["x"], ["1"], ["99"], ["2", "3", "4", "5", "6", "7", "8"]])
def test_seats_that_cannot_be_sold_come_back_on_the_map(client, database, world, seats):
    answer = client.post("/bookings", data={"trip": world.long_trip, "board": 0, "alight": 1, "seat": seats, "idempotency_key": "a-key-of-its-own"})
    assert answer.status_code in (409, 422)
    assert 'id="f-seat-error"' in answer.text
    assert count(database, PendingBooking) == 0


def test_a_seat_that_was_just_taken_says_so_and_keeps_the_other(client, start, world):
    start(5)
    answer = client.post("/bookings", data={"trip": world.long_trip, "board": 0, "alight": 1, "seat": ["5", "6"], "idempotency_key": "another-key"})
    assert answer.status_code == 409
    assert re.search(r'id="seat-6"[^>]*checked', answer.text)


def test_a_form_sent_twice_makes_one_purchase(client, database, start):
    assert start(5, 6) == start(5, 6)
    assert count(database, PendingBooking) == 1


def test_an_ended_hold_says_so_and_leads_on(client, app, start, world):
    address = start(5)
    app.extensions["clock"] = lambda: NOW + timedelta(minutes=10)
    for answer in (client.get(address), client.post(f"{address}/passengers", data=people(PERSON))):
        assert "O tempo da reserva acabou" in answer.text
        assert f"/bookings/new?trip={world.long_trip}" in answer.text
    assert client.post(f"{address}/payment").status_code == 409
    assert client.get(f"{address}/state").get_json()["state"] == "over"


def test_more_time_is_given_once(client, start):
    address = start(5)
    assert "Mais tempo" in client.get(address).text
    client.post(f"{address}/extension")
    page = client.get(address).text
    assert "Mais tempo para terminar" in page and 'action="' + address + '/extension"' not in page
    client.post(f"{address}/extension")
    assert "já foi aumentado uma vez" in client.get(address).text


def test_who_gives_up_is_led_back_to_the_seats(client, start):
    address = start(5)
    answer = client.post(f"{address}/cancellation")
    assert answer.status_code == 303
    assert not re.search(r'id="seat-5"[^>]*disabled', client.get(answer.location).text)


def test_another_address_opens_nothing(client, app, start):
    address, other = start(5), start(6, key="another-key")
    code, link = other.split("/")[2:4]
    foreign = address.replace(address.split("/")[3], link)
    unknown = f"/bookings/ZZZZZZZZ/{link}"
    trip = paid(client, start, 7)
    ticket = re.search(r"/tickets/([A-Z0-9]{8})/refund", client.get(trip).text)[1]
    for wrong in (foreign, unknown, f"/trips/{code}/{address.split('/')[3]}", f"{address}x"):
        assert client.get(wrong).status_code == 404
    for step in ("passengers", "payment", "check", "extension", "cancellation", "demonstration"):
        assert client.post(f"{foreign}/{step}", data=people(PERSON)).status_code == 404
    stolen = f"/trips/{code}/{link}/tickets/{ticket}/refund"
    assert client.get(stolen).status_code == client.post(stolen, data={"idempotency_key": "a-third-key"}).status_code == 404


def test_a_buyer_pays_one_ticket_back_and_the_other_still_travels(client, database, start):
    trip = paid(client, start, 5, 6)
    code = re.findall(r"/tickets/([A-Z0-9]{8})/refund", client.get(trip).text)[1]
    address = f"{trip}/tickets/{code}/refund"
    page = client.get(address).text
    shown = re.search(r'name="shown" value="([\d.]+)"', page)[1]
    assert "R$\u00a021,25" in page
    form = {"shown": shown, "idempotency_key": "a-refund-key-1"}
    assert client.post(address, data=form).status_code == 303
    assert client.post(address, data=form).status_code == 303
    assert client.post(address, data={**form, "idempotency_key": "a-refund-key-2"}).status_code == 409
    assert "Devolvido." in client.get(address).text
    assert client.get(trip).text.count("pronto para embarcar") == 1
    with database.reading() as session:
        owed = session.scalars(select(Payout)).one()
        assert (owed.reason, owed.subject, owed.amount.cents) == ("refund", code, 2125)
        returned = owed.return_id
        entries = session.execute(text("SELECT kind, amount, reference FROM ledger_entry ORDER BY id")).all()
    assert [(row[0], row[1]) for row in entries] == [("sale", 4250), ("refund", -2125)]
    assert entries[1][2] == returned


def test_late_requests_keep_what_the_counter_keeps(client, app, start):
    trip = paid(client, start, 5)
    app.extensions["clock"] = lambda: NOW + timedelta(hours=20)
    page = client.get(re.search(rf"{trip}/tickets/\w+/refund", client.get(trip).text)[0]).text
    assert "retém 5" in page and "R$\u00a020,19" in page


def test_the_counter_pays_an_online_ticket_back_by_pix_without_a_till(client, database, start, signed_in):
    trip = paid(client, start, 5)
    code = re.search(r"/tickets/([A-Z0-9]{8})/refund", client.get(trip).text)[1]
    agent = signed_in("agent")
    assert "por PIX" in agent.get(f"/counter/tickets/{code}/refund").text
    answer = agent.post(f"/counter/tickets/{code}/refund", data={"method": "pix", "shown": "21.25", "idempotency_key": "a-counter-key"})
    assert answer.status_code == 303
    assert count(database, Payout, Payout.reason == "refund") == 1


def test_a_purchase_opens_by_its_code_and_link_too(client, start):
    trip = paid(client, start, 5)
    code, link = trip.split("/")[2:4]
    assert client.post("/passes", data={"code": f"{code[:4]}-{code[4:]}".lower(), "link": f"https://example.org{trip}"}).location == trip
    assert client.get(f"/bookings/{code}/{link}").location == trip


def test_the_banks_call_is_only_a_hint(client, app, database, start):
    address = start(5)
    client.post(f"{address}/passengers", data=people(PERSON))
    with database.reading() as session:
        txid, amount = session.execute(select(Charge.txid, Charge.amount)).one()
    told = {"pix": [{"endToEndId": "E" + "1" * 31, "txid": txid, "valor": "21.25", "horario": "2026-03-02T12:00:00Z"}]}
    assert client.post("/hooks/pix", json=told).status_code == 200
    assert count(database, Ticket) == 0
    with database.transaction() as session:
        session.add(DemoPayment(e2e_id="E" + "2" * 31, txid=txid, amount=amount, paid_at=NOW))
    app.config["WTF_CSRF_ENABLED"] = True
    assert [client.post("/hooks/pix", json=told).status_code for _ in range(3)] == [200] * 3
    assert count(database, Ticket) == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b'{"pix": 5}', b'{"pix": [1, null, {"txid": {}}]}', b'{"pix": [{"txid": "x"}]}', b"[" * 100_000])
def test_nonsense_from_a_bank_is_answered_and_forgotten(client, database, world, body):
    answer = client.post("/hooks/pix", data=body, content_type="application/json")
    assert answer.status_code in (200, 400)
    assert count(database, Charge) == 0


def test_nothing_is_kept_in_a_cookie(client, start):
    address = start(5)
    client.post(f"{address}/passengers", data=people(PERSON))
    cookies = [str(cookie) for cookie in (client._cookies or {}).values()]
    assert not any(PERSON["document_number"] in each or address.split("/")[2] in each for each in cookies)


@pytest.fixture
def closed(app):
    app.extensions["pix_desk"] = None


def test_without_a_bank_the_web_sells_nothing_and_says_where_to_buy(closed, client, database, world):
    answer = client.post("/bookings", data={"trip": world.long_trip, "board": 0, "alight": 1, "seat": ["5"], "idempotency_key": "a-key-of-its-own"})
    assert answer.status_code == 409
    assert "guichê" in answer.text
    assert count(database, PendingBooking) == 0
