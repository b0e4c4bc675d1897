"""The inspector's look-up: what is shown, what is audited, and that no address, log or audit row holds a document."""

import logging
from datetime import timedelta

import pytest
from sqlalchemy import event, select, update

from kernel.audit import AuditEntry
from kernel.auth import SignIn
from oversight.retention import service as retention
from tests.instants import NOW, at
from tests.world import PERSON, order
from ticketing.sales.models import Identity, Ticket
from ticketing.sales.service import board_ticket, sell

OVER = at("2027-03-04T12:00")
CIN = {"name": "Outra Passageira de Teste", "document_kind": "CIN", "document_number": "000.000.012-44",
       "document_issuer": "SSP/SC", "birth_date": ""}


@pytest.fixture
def tickets(database, vault, world) -> list[str]:
    """One passenger twice on the long trip and once on the short one without identity; another once."""
    wanted = [order(world, booking="B1", seat=5, board=0, alight=1), order(world, booking="B2", seat=5, board=1, alight=3),
              order(world, booking="B3", seat=6, identity=CIN, alight=3),
              order(world, booking="B4", trip=world.short_trip, seat=7, identity=dict.fromkeys(PERSON, ""))]
    with database.transaction() as session:
        return [sell(session, one, vault=vault, now=NOW, actor="agent").tickets[0] for one in wanted]


def looked(database) -> list[tuple[str, dict, str]]:
    with database.reading() as session:
        return [(entry.subject, entry.details, entry.actor) for entry in session.scalars(
            select(AuditEntry).where(AuditEntry.action == "inspector_looked").order_by(AuditEntry.id))]


def ask(client, **changes):
    return client.post("/inspector/documents", data={
        "document_kind": "RG", "document_number": "4.321.098", "document_issuer": "SSP/SC", **changes})


def test_the_day_s_trips_are_listed_with_their_tickets(world, tickets, inspector):
    page = inspector.get(f"/inspector?day={world.day}")
    assert page.status_code == 200
    assert f"/inspector/trips/{world.long_trip}" in page.text
    assert f"/inspector/trips/{world.short_trip}" in page.text
    one_line = inspector.get(f"/inspector?day={world.day}&line=T-80").text
    assert f"/inspector/trips/{world.long_trip}" not in one_line


@pytest.mark.parametrize("query", ["", "?day=", "?day=31/02/2026", "?day=0001-01-01", "?day=9999-12-31", "?line='--",
                                   "?day=2026-03-03&line=nenhuma"])
def test_any_day_and_line_are_answered_by_the_page(world, inspector, query):
    assert inspector.get(f"/inspector{query}").status_code == 200


def test_a_trip_shows_who_travels_by_what_title_and_tariff(database, world, tickets, inspector):
    with database.transaction() as session:
        ticket_id = session.scalar(select(Ticket.id).where(Ticket.code == tickets[0]))
        board_ticket(session, ticket_id, 0, now=at("2026-03-03T09:25"), actor="motorista")
    page = inspector.get(f"/inspector/trips/{world.long_trip}").text
    for shown in (PERSON["name"], CIN["name"], "RG 4.321.098 SSP/SC", "000.000.012-44", *tickets[:3], "concessão, de 01/01/2024 a 01/01/2034", "Ato 1", "Ato 10",
                  "11 poltronas", "204 km", "3 de 3 guardadas", "03/03/2026 06:25, Criciúma", "art. 11-A"):
        assert shown in page or shown in page.replace("\n", " "), shown
    assert "sem a identificação exigida" not in page
    assert looked(database) == [(f"trip {world.long_trip}", {"tickets": 3}, inspector.login)]


def test_identity_that_should_be_there_and_is_not_stands_out(database, world, tickets, inspector):
    with database.transaction() as session:
        ticket_id = session.scalar(select(Ticket.id).where(Ticket.code == tickets[0]))
        session.delete(session.get(Identity, ticket_id))
    page = inspector.get(f"/inspector/trips/{world.long_trip}").text
    assert "1 passagem sem a identificação exigida" in page
    assert "2 de 3 guardadas" in page


def test_where_identity_is_not_asked_nothing_is_missing(world, tickets, inspector):
    page = inspector.get(f"/inspector/trips/{world.short_trip}").text
    assert "não exigida" in page
    assert "sem a identificação" not in page


@pytest.mark.parametrize("trip", [999999, 2147483647, 2147483648, 10**20])
def test_an_unknown_trip_is_not_found(world, inspector, trip):
    assert inspector.get(f"/inspector/trips/{trip}").status_code == 404


@pytest.mark.parametrize("typed", [
    {}, {"document_number": "4321098"}, {"document_number": " 4-321.098 "}, {"document_issuer": "ssp / sc"}])
def test_a_document_finds_its_tickets_however_it_is_typed(database, tickets, inspector, typed):
    page = ask(inspector, **typed)
    assert page.status_code == 200
    assert [code in page.text for code in tickets] == [True, True, False, False]
    assert looked(database) == [("document", {"tickets": 2}, inspector.login)]


@pytest.mark.parametrize("typed", [
    {"document_number": "4.321.099"}, {"document_issuer": "SSP/PR"}, {"document_kind": "PASSPORT"}])
def test_another_document_finds_nothing(database, tickets, inspector, typed):
    page = ask(inspector, **typed)
    assert page.status_code == 200
    assert not any(code in page.text for code in tickets)
    assert looked(database) == [("document", {"tickets": 0}, inspector.login)]


def test_the_national_card_is_found_by_its_cpf_without_an_issuer(tickets, inspector):
    page = ask(inspector, document_kind="CIN", document_number="00000001244", document_issuer="")
    assert tickets[2] in page.text


@pytest.mark.parametrize(("typed", "field"), [
    ({"document_kind": ""}, "document_kind"), ({"document_kind": "VOTER"}, "document_kind"),
    ({"document_number": ""}, "document_number"), ({"document_number": "0" * 10**5}, "document_number"),
    ({"document_issuer": ""}, "document_issuer"), ({"document_kind": "CIN", "document_number": "123"}, "document_number")])
def test_a_document_that_cannot_be_one_is_refused_beside_its_field_and_is_no_look(database, tickets, inspector, typed, field):
    page = ask(inspector, **typed)
    assert page.status_code == 422
    assert f'id="f-{field}-error"' in page.text
    assert looked(database) == []


def test_held_rows_are_found_too(database, vault, world, tickets, inspector):
    retention.place_hold(database, vault, world.long_trip, "Ofício 12", NOW.date() + timedelta(days=700), now=NOW, actor="tests")
    page = ask(inspector).text
    assert tickets[0] in page
    assert PERSON["name"] in page
    assert "Guarda legal." in inspector.get(f"/inspector/trips/{world.long_trip}").text


def test_after_its_last_day_an_identity_is_shown_as_erased(app, database, vault, world, tickets, inspector, signed_in):
    retention.run(database, vault, days_limit=400, now=OVER, actor="tests")
    later = signed_in("inspector")  # yesterday's session has ended by then
    with database.transaction() as session:
        session.execute(update(SignIn).values(expires_at=OVER + timedelta(days=1)))
    app.extensions["clock"] = lambda: OVER
    page = later.get(f"/inspector/trips/{world.long_trip}").text
    assert page.count("apagada em 04/03/2027") == 3
    assert PERSON["name"] not in page
    assert tickets[0] in page
    assert not any(code in ask(later).text for code in tickets)


def test_an_identity_whose_hold_ended_later_was_erased_that_day(app, database, vault, world, tickets, inspector):
    hold = retention.place_hold(database, vault, world.long_trip, "Ofício 12", NOW.date() + timedelta(days=700), now=NOW, actor="tests")
    retention.run(database, vault, days_limit=400, now=OVER, actor="tests")
    retention.release_hold(database, vault, hold, now=at("2027-05-10T15:00"), actor="tests")
    assert "apagada em 10/05/2027" in inspector.get(f"/inspector/trips/{world.long_trip}").text


def test_finding_a_person_over_a_year_is_one_statement(app, database, tickets, inspector):
    with database.transaction() as session:
        session.execute(update(Identity).where(Identity.ticket_id == select(Ticket.id).where(Ticket.code == tickets[3]).scalar_subquery())
                        .values(keep_until=NOW.date() + timedelta(days=395)))
    statements: list[str] = []
    event.listen(app.extensions["database"].engine, "before_cursor_execute", lambda _c, _x, statement, *_: statements.append(statement))
    ask(inspector)
    looks = [one for one in statements if "identity.tag IN" in one]
    assert len(looks) == 1


def test_a_look_leaves_the_document_in_no_log_and_no_audit_row(database, tickets, inspector, caplog):
    caplog.set_level(logging.DEBUG)
    ask(inspector)
    ask(inspector, document_kind="CIN", document_number="123.456.789-00")
    with database.reading() as session:
        rows = str([(e.subject, e.details, e.action) for e in session.scalars(select(AuditEntry))])
    for text in (rows, caplog.text, str([vars(record) for record in caplog.records])):
        for secret in ("4.321.098", "4321098", "123.456.789", "12345678900", PERSON["name"]):
            assert secret not in text


def test_a_document_is_never_asked_for_in_an_address(inspector):
    assert inspector.get("/inspector/documents?document_number=4321098").status_code == 405


@pytest.mark.parametrize("role", ["agent", "supervisor", "driver", "office", "admin"])
def test_nobody_else_looks(world, tickets, signed_in, role):
    client = signed_in(role)
    for answer in (client.get("/inspector"), client.get(f"/inspector/trips/{world.long_trip}"), ask(client)):
        assert answer.status_code == 403
        assert PERSON["name"] not in answer.text
