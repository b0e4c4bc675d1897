"""Texts made to be slow to read cost little and are refused, whatever field they are typed into."""

import time

import pytest

from tests.world import PERSON, build

CPU_SECONDS = 20.0  # linear work takes hundredths of it on a busy machine too; a pattern that backtracks would not end
SLOW = {
    "quote": '"' + "a" * 50000, "dots": "a." * 20000 + "@", "blanks": "A" + " " * 50000 + "!", "ones": "1" * 100000 + "x",
    "wildcards": "%" + "_%" * 5000, "brackets": "+" + "(1" * 5000, "accents": "a" + "\u0301" * 50000, "hidden": "\u200d" * 50000,
    "apostrophes": "d'" * 30000, "hyphens": "-" * 60000, "nines": "9" * 100000, "exponent": "1e" + "9" * 50000, "commas": "," * 50000,
}
NAMES = tuple(SLOW)


@pytest.fixture
def world(app, database):
    with database.transaction() as session:
        return build(session)


@pytest.fixture
def agent(signed_in, world):
    client = signed_in("agent", stop_id=world.stops[0])
    client.post("/counter/shift/open", data={"stop_id": world.stops[0], "opening_float": "100,00"})
    return client


def refused(client, address: str, data: dict[str, object], field: str) -> None:
    """Every slow text in that field is refused with a 4xx within the CPU time, one after the other."""
    for name in NAMES:
        before = time.process_time()
        answer = client.post(address, data={**data, field: SLOW[name]})
        spent = time.process_time() - before
        assert 400 <= answer.status_code < 500, (address, field, name, answer.status_code)
        assert spent < CPU_SECONDS, (address, field, name, spent)


@pytest.mark.parametrize("field", ["name", "document_number", "document_issuer", "birth_date", "document_kind", "reference", "received",
                                   "method", "seat", "hold", "trip", "board", "alight", "idempotency_key"])
def test_a_sale_reads_no_field_slowly(world, agent, field):
    whole = {**PERSON, "trip": world.long_trip, "board": 0, "alight": 1, "day": world.day.isoformat(), "to": "", "seat": "5", "hold": "",
             "method": "card" if field == "reference" else "cash", "reference": "", "received": "50,00", "idempotency_key": "key-0001"}
    refused(agent, "/counter/sales", whole, field)


@pytest.mark.parametrize("kind", ["RG", "CIN", "CNH", "PASSPORT", "RNM", "BIRTH_CERTIFICATE"])
def test_no_document_s_number_is_read_slowly(world, agent, kind):
    whole = {**PERSON, "document_kind": kind, "birth_date": "01/01/2015", "trip": world.long_trip, "board": 0, "alight": 1, "seat": "5",
             "method": "cash", "received": "50,00", "idempotency_key": "key-0001"}
    refused(agent, "/counter/sales", whole, "document_number")


@pytest.mark.parametrize(("address", "field"), [
    ("/counter/tickets/AAAA0000/name", "name"), ("/counter/tickets/AAAA0000/void", "reason"), ("/counter/tickets/AAAA0000/refund", "shown"),
    ("/counter/shift/open", "opening_float"), ("/counter/shift/close", "counted"), ("/counter/holds", "seat")])
def test_no_other_form_of_the_counter_reads_slowly(agent, address, field):
    refused(agent, address, {"method": "cash", "idempotency_key": "key-0001"}, field)


@pytest.mark.parametrize("field", ["document_kind", "document_number", "document_issuer"])
def test_the_inspector_s_look_up_reads_no_field_slowly(signed_in, world, field):
    refused(signed_in("inspector"), "/inspector/documents", {"document_kind": "RG", "document_number": "1234567", "document_issuer": "SSP/SC"}, field)


@pytest.mark.parametrize(("address", "field"), [("/login", "login"), ("/login", "password"), ("/passes", "code"), ("/passes", "link")])
def test_no_open_door_reads_slowly(client, address, field):
    refused(client, address, {}, field)
