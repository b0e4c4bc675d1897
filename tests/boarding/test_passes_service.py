"""The pass behind a ticket, its token, its link and its facts, on both databases."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from app import create_app
from boarding.passes import service
from boarding.passes.models import Pass
from boarding.passes.policy import PassFlag, document_code
from boarding.passes.signing import Outcome, verify
from kernel.config import ConfigError
from kernel.errors import Conflict, NotFound
from kernel.money import Money
from tests.boarding.conftest import BOARDING
from tests.instants import at
from ticketing.network.service import cancel_trip
from ticketing.sales import service as sales

SECRET = service.derive_link_secret("a secret for the tests alone, 32+")


def show(door, code, link=None, make_pass=True, now=BOARDING):
    with door.database.transaction() as session:
        return service.show_ticket(session, code, door.issuer, link=link, make_pass=make_pass, now=now)


def test_a_pass_is_made_once_for_a_revision_whoever_shows_it_first(door):
    code = door.sell(seat=5)
    with ThreadPoolExecutor(4) as pool:
        tokens = set(pool.map(lambda _: show(door, code).token, range(8)))
    assert len(tokens) == 1
    with door.database.transaction() as session:
        ticket = sales.find_ticket(session, code).ticket
        later = service.ensure_pass(session, ticket.id, 2, ticket.sold_at)
        assert session.scalar(select(func.count()).select_from(Pass)) == 2
        assert later.issued_at == ticket.sold_at


def test_a_page_that_only_reads_makes_no_pass(door):
    code = door.sell(seat=5)
    with door.database.reading() as session:
        assert service.show_ticket(session, code, door.issuer, link=None, make_pass=False, now=BOARDING) is None
    made = show(door, code)
    with door.database.reading() as session:
        assert service.show_ticket(session, code, door.issuer, link=None, make_pass=False, now=BOARDING) == made


def test_the_token_says_the_ticket_in_numbers_and_never_a_name(door):
    shown = show(door, door.sell(board=1, alight=3, seat=5))
    read = verify(shown.token, door.issuer.keys.public_keys)
    body = read.body
    assert read.outcome is Outcome.OK
    assert (body.trip_id, body.revision, body.seat, body.board, body.alight) == (door.world.long_trip, 1, 5, 1, 3)
    assert (body.flags, body.document, body.last_four) == (PassFlag.CHECK_DOCUMENT, document_code("RG"), "1098")
    assert body.opens_at == at("2026-03-03T10:35") - timedelta(hours=2)
    assert len(shown.token) == 154


def test_a_ticket_without_identity_asks_for_no_document(door):
    body = verify(show(door, door.sell(trip=door.world.short_trip, identity={})).token, door.issuer.keys.public_keys).body
    assert (body.flags, body.document, body.last_four) == (0, 0, None)


def test_a_link_is_128_bits_of_its_own_for_each_code_revision_and_installation():
    links = {service.link_token(code, revision, secret) for code in ("7K3MQ2XD", "7K3MQ2XE") for revision in (1, 2)
             for secret in (SECRET, service.derive_link_secret("another secret for the tests, 32+"))}
    assert len(links) == 8
    assert all(len(link) == 22 and link.isascii() for link in links)


@pytest.mark.parametrize("wrong", ["", "x", "çã", "\ud800", "a" * 22, "a" * 500])
def test_no_other_text_opens_a_link(wrong):
    assert service.check_link("7K3MQ2XD", 1, service.link_token("7K3MQ2XD", 1, SECRET), SECRET)
    assert not service.check_link("7K3MQ2XD", 1, wrong, SECRET)


def test_a_wrong_link_and_an_unknown_code_are_refused_alike(door):
    code, other = door.sell(seat=5), door.sell(seat=6)
    link = show(door, code).link
    assert show(door, code, link).code == code
    refusals = []
    for asked in ((code, show(door, other).link), (code, ""), ("00000000", link), ("não há", link)):
        with pytest.raises(NotFound) as refused:
            show(door, *asked)
        refusals.append((refused.value.code, refused.value.sentence))
    assert len(set(refusals)) == 1


def test_the_ticket_shows_every_field_in_the_stops_own_time(door):
    facts = show(door, door.sell(board=0, alight=2, seat=5)).facts
    assert (facts.origin, facts.destination, facts.boarding_stop) == ("Criciúma", "Imbituba", "Terminal de Criciúma")
    assert (facts.departs.day, facts.departs.hour, facts.departs.zone_name) == (
        "ter 03/03/2026", "06:30", "horário de Brasília")
    assert (facts.arrives.hour, facts.seat, facts.platform) == ("08:30", "5", "1")
    assert (facts.passenger, facts.document) == ("Passageira de Teste", "RG 4.321.098 SSP/SC")
    assert facts.refund_until == "Devolução integral até 02/03/2026 18:30, horário de Brasília"
    assert sum(amount.cents for _, amount in facts.fare_items) == facts.total.cents > Money(0).cents
    assert (facts.channel, facts.agent, facts.payment) == ("counter", "agent", "dinheiro")
    assert facts.carrier_cnpj == "00.000.000/0001-91"
    assert "art. 11-A" in facts.identity_rule
    assert facts.bring


def test_a_child_with_a_certificate_is_told_to_bring_it(door):
    child = {"name": "Criança de Teste", "document_kind": "BIRTH_CERTIFICATE", "document_issuer": "",
             "document_number": "livro 3 folha 12 termo 455", "birth_date": "2009-05-01"}
    facts = show(door, door.sell(seat=5, identity=child)).facts
    assert facts.bring == "a certidão de nascimento original"


@pytest.mark.parametrize("status", ["refunded", "voided"])
def test_a_ticket_that_was_paid_back_has_no_token(door, status):
    code = door.sell(seat=5)
    show(door, code)
    door.settle(code, status)
    shown = show(door, code)
    assert (shown.state, shown.token) == (status, None)
    with pytest.raises(Conflict):
        service.travelling_token(shown)


def test_a_cancelled_trip_and_a_trip_long_over_have_no_token(door):
    code = door.sell(seat=5)
    arrival = at("2026-03-03T10:30")
    assert show(door, code, now=arrival + timedelta(hours=24)).state == "valid"
    over = show(door, code, now=arrival + timedelta(hours=24, seconds=1))
    assert (over.state, over.token) == ("over", None)
    with door.database.transaction() as session:
        cancel_trip(session, door.world.long_trip, "weather", now=BOARDING, actor="office")
    assert show(door, code).state == "cancelled"


def test_a_boarded_ticket_says_where_and_when(door):
    code = door.sell(seat=5)
    door.board(code)
    shown = show(door, code)
    assert (shown.state, shown.boarded_stop, shown.boarded.hour) == ("boarded", "Terminal de Criciúma", "06:20")


def test_after_erasure_the_ticket_says_so_and_names_nobody(door):
    code = door.sell(seat=5)
    assert not show(door, code).erased
    door.issuer.vault.advance(at("2027-03-04T00:00").date(), days_limit=400)
    shown = show(door, code)
    assert shown.erased
    assert "Passageira" not in str(shown.facts) and "4.321.098" not in str(shown.facts)
    nobody = show(door, door.sell(trip=door.world.short_trip, identity={}))
    assert not nobody.erased


@pytest.mark.parametrize("keys", ["", "1", "1:AAAA", "99:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=", "x:y"])
def test_malformed_pass_keys_stop_the_start_with_a_sentence(settings, keys):
    with pytest.raises(ConfigError, match="PASS_KEYS"):
        create_app(replace(settings, pass_keys=keys))
