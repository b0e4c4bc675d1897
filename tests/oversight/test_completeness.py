"""Whether the identity that the law asks for is there, over a period: counted on both databases, as the trip's page says."""

from datetime import date, timedelta

import pytest
from sqlalchemy import event, select

from kernel.audit import AuditEntry
from kernel.errors import InvalidInput
from oversight.inspection import service
from oversight.inspection.policy import check_period
from oversight.inspection.service import Record
from oversight.retention import service as retention
from tests.instants import NOW
from tests.oversight.test_inspection import CIN, OVER
from tests.oversight.test_listings import cells
from tests.world import CASH, PERSON, order
from ticketing.sales.corrections import void_ticket
from ticketing.sales.models import Identity
from ticketing.sales.service import find_ticket, sell

URL = "/inspector/completeness?from=2026-03-01&until=2026-03-31"


@pytest.fixture
def tickets(database, vault, world) -> list[str]:
    """Two on the long trip, which asks for identity, and one on the short one, which does not."""
    wanted = [order(world, booking="B1", seat=5, alight=3), order(world, booking="B2", seat=6, identity=CIN, alight=3),
              order(world, booking="B3", trip=world.short_trip, seat=7, identity=dict.fromkeys(PERSON, ""))]
    with database.transaction() as session:
        return [sell(session, one, vault=vault, now=NOW, actor="agent").tickets[0] for one in wanted]


def lose(database, code: str) -> None:
    with database.transaction() as session:
        session.delete(session.get(Identity, find_ticket(session, code).ticket.id))


def count(database, vault, first=date(2026, 3, 1), last=date(2026, 3, 31), line="") -> list[service.TripRecord]:
    with database.transaction() as session:
        return service.completeness(session, first, last, line, vault=vault, now=NOW, actor="tests")


@pytest.mark.parametrize(("days", "allowed"), [(-1, False), (0, True), (366, True), (367, False)])
def test_a_period_runs_forwards_and_is_a_year_at_most(days, allowed):
    first = date(2026, 3, 1)
    if allowed:
        check_period(first, first + timedelta(days=days))
    else:
        with pytest.raises(InvalidInput) as refused:
            check_period(first, first + timedelta(days=days))
        assert set(refused.value.fields) == {"until"}


def test_only_tickets_that_must_carry_identity_are_counted(database, vault, world, tickets):
    found = count(database, vault)
    assert [(row.trip_id, row.record) for row in found] == [(world.long_trip, Record(2, 2, 0))]
    assert service.by_line(found) == [("T-204", "T-204", 1, Record(2, 2, 0))]


def test_an_identity_that_is_not_there_is_missing_and_an_undone_sale_needs_none(database, vault, world, tickets):
    lose(database, tickets[0])
    assert count(database, vault)[0].record == Record(2, 1, 0)
    assert count(database, vault)[0].record.missing == 1
    with database.transaction() as session:
        void_ticket(session, tickets[0], CASH, "engano", supervisor=False, now=NOW, actor="agent")
    assert count(database, vault)[0].record == Record(1, 1, 0)


@pytest.mark.parametrize(("first", "last", "line", "found"), [
    (0, 0, "", 1), (0, 0, "T-204", 1), (0, 0, "T-80", 0), (0, 0, "nenhuma", 0), (-2, -1, "", 0), (1, 2, "", 0), (-1, 0, "", 1), (0, 1, "", 1)])
def test_the_period_holds_both_its_days_and_the_line_is_kept_to(database, vault, world, tickets, first, last, line, found):
    assert len(count(database, vault, world.day + timedelta(days=first), world.day + timedelta(days=last), line)) == found


def test_after_365_days_what_was_kept_is_erased_and_nothing_is_missing(database, vault, world, tickets):
    vault.advance(OVER.date(), days_limit=400)
    assert count(database, vault)[0].record == Record(2, 0, 2)  # unreadable, not yet cleared
    retention.run(database, vault, days_limit=400, now=OVER, actor="tests")
    assert count(database, vault)[0].record == Record(2, 0, 2)


def test_a_held_trip_is_kept_past_its_day(database, vault, world, tickets):
    retention.place_hold(database, vault, world.long_trip, "Ofício 12/2026", date(2028, 1, 1), now=NOW, actor="office")
    retention.run(database, vault, days_limit=400, now=OVER, actor="tests")
    assert count(database, vault)[0].record == Record(2, 2, 0)


def test_a_period_costs_one_statement_however_many_trips(database, vault, world, tickets):
    statements = []
    event.listen(database.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    count(database, vault)
    assert len([told for told in statements if "FROM trip" in told]) == 1


def test_the_page_counts_keeps_its_filters_in_the_address_and_is_audited(database, world, tickets, inspector):
    page = inspector.get(URL + "&line=T-204")
    assert page.status_code == 200
    assert "Nenhuma passagem do período está sem a identificação exigida" in page.text
    assert "/inspector/completeness.csv?from=2026-03-01&amp;until=2026-03-31&amp;line=T-204" in page.text
    assert f"/inspector/trips/{world.long_trip}" in page.text
    with database.reading() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "inspector_looked")).one()
        assert (entry.subject, entry.details) == ("completeness", {"from": "2026-03-01", "until": "2026-03-31", "trips": 1})


def test_a_trip_in_which_identity_is_missing_stands_on_the_page(database, world, tickets, inspector):
    assert f"/inspector/trips/{world.long_trip}" not in inspector.get(URL).text
    lose(database, tickets[0])
    page = inspector.get(URL).text
    assert "1 passagem sem a identificação exigida, em 1 viagem" in page
    assert f"/inspector/trips/{world.long_trip}" in page


def test_the_file_has_a_row_for_each_trip_and_taking_it_is_audited(database, world, tickets, inspector):
    lose(database, tickets[0])
    answer = inspector.get(URL.replace("completeness", "completeness.csv"))
    assert answer.headers["Content-Disposition"] == 'attachment; filename="identificacao-20260301-20260331.csv"'
    assert cells(answer.data)[1:] == [["03/03/2026", "06:30", "horário de Brasília", "T-204", "T-204", str(world.long_trip),
                                       "2", "1", "0", "1"]]
    with database.reading() as session:
        assert session.scalars(select(AuditEntry).where(AuditEntry.action == "inspector_looked")).one().details["taken_as"] == "csv"


def test_a_period_that_is_too_long_is_refused_in_the_form_and_counts_nothing(database, world, tickets, inspector):
    page = inspector.get("/inspector/completeness?from=2020-01-01&until=2026-03-31")
    assert page.status_code == 422
    assert 'value="2020-01-01"' in page.text and "366 dias" in page.text
    assert "Por linha" not in page.text


@pytest.mark.parametrize("query", [
    "", "?from=ontem&until=", "?until=0001-01-01", "?from=9999-12-31&until=9999-12-31", "?line='--", "?until=2026-03-31&line=x"])
def test_any_address_is_answered_by_the_page(world, inspector, query):
    assert inspector.get(f"/inspector/completeness{query}").status_code == 200


def test_without_a_period_the_last_30_days_are_shown(world, inspector):
    page = inspector.get("/inspector/completeness").text
    assert f'value="{NOW.date() - timedelta(days=30)}"' in page and f'value="{NOW.date()}"' in page
