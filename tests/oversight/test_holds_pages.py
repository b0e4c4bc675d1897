"""The office places and ends legal holds: reason and end are asked, ending is said twice, no reason stays behind."""

from datetime import date

import pytest
from sqlalchemy import select

from kernel.audit import AuditEntry
from oversight.retention import service as retention
from oversight.retention.models import LegalHold
from tests.instants import NOW
from tests.oversight.test_inspection import OVER
from tests.world import PERSON, order
from ticketing.sales.identities import of_ticket
from ticketing.sales.service import find_ticket, sell

ASKED = {"reason": "Ofício 12/2026 da 1ª Vara", "ends_on": "2028-01-01"}


@pytest.fixture
def code(database, vault, world) -> str:
    with database.transaction() as session:
        return sell(session, order(world, seat=5), vault=vault, now=NOW, actor="agent").tickets[0]


@pytest.fixture
def held(database, world, code, office) -> LegalHold:
    """The hold that the office has placed on the long trip."""
    answer = office.post(f"/office/trips/{world.long_trip}/hold", data=ASKED)
    assert (answer.status_code, answer.location) == (303, "/office/holds")
    with database.reading() as session:
        hold = session.scalars(select(LegalHold)).one()
        session.expunge_all()
    return hold


def audited(database) -> list[tuple[str, str, dict, str]]:
    with database.reading() as session:
        return [(entry.action, entry.subject, entry.details, entry.actor) for entry in session.scalars(
            select(AuditEntry).where(AuditEntry.action.like("hold_%")).order_by(AuditEntry.id))]


def test_a_trip_is_held_with_its_reason_and_end_and_stays_readable_past_its_day(app, database, world, code, office, held):
    assert (held.trip_id, held.reason, held.ends_on, held.placed_by) == (
        world.long_trip, ASKED["reason"], date(2028, 1, 1), office.login)
    retention.run(database, app.extensions["vault"], days_limit=400, now=OVER, actor="tests")
    with database.reading() as session:
        assert of_ticket(session, find_ticket(session, code).ticket, app.extensions["vault"]).name == PERSON["name"]
    page = office.get("/office/holds").text
    for shown in (held.code, ASKED["reason"], "01/01/2028", f"/office/trips/{world.long_trip}", office.login):
        assert shown in page
    assert audited(database) == [("hold_placed", held.code, {
        "trip": world.long_trip, "until": "2028-01-01", "identities": 1}, office.login)]


def test_the_trips_own_page_leads_to_the_hold(world, office):
    assert f"/office/trips/{world.long_trip}/hold" in office.get(f"/office/trips/{world.long_trip}").text
    page = office.get(f"/office/trips/{world.long_trip}/hold").text
    assert "T-204" in page and "Criciúma → Florianópolis" in page
    assert office.get("/office/trips/999999/hold").status_code == 404


@pytest.mark.parametrize(("changes", "field"), [
    ({"reason": ""}, "reason"), ({"reason": "  a "}, "reason"), ({"reason": "x" * 201}, "reason"), ({"ends_on": ""}, "ends_on"),
    ({"ends_on": "31/02/2028"}, "ends_on"), ({"ends_on": "2020-01-01"}, "ends_on"), ({"ends_on": "2099-01-01"}, "ends_on")])
def test_a_wrong_form_says_what_is_wrong_keeps_what_was_typed_and_holds_nothing(app, database, world, office, changes, field):
    typed = {**ASKED, **changes}
    answer = office.post(f"/office/trips/{world.long_trip}/hold", data=typed)
    assert answer.status_code == 422
    assert f'id="f-{field}-error"' in answer.text
    assert f'value="{typed["reason"]}"' in answer.text and f'value="{typed["ends_on"]}"' in answer.text
    assert (audited(database), app.extensions["vault"].hold_ids()) == ([], frozenset())


def test_a_held_trip_is_not_held_twice_and_an_unknown_one_not_at_all(app, world, office, held):
    again = office.post(f"/office/trips/{world.long_trip}/hold", data=ASKED)
    assert again.status_code == 409
    assert office.post("/office/trips/999999/hold", data=ASKED).status_code == 404
    assert app.extensions["vault"].hold_ids() == {held.code}


def test_ending_a_hold_is_said_twice(app, database, office, held):
    answer = office.post(f"/office/holds/{held.code}/release", data={})
    assert answer.status_code == 422
    assert "Marque a caixa" in answer.text
    assert app.extensions["vault"].hold_ids() == {held.code}
    assert len(audited(database)) == 1


def test_an_ended_hold_loses_its_key_and_its_reason_and_stays_on_the_list(app, database, world, office, held):
    answer = office.post(f"/office/holds/{held.code}/release", data={"confirm": "yes"})
    assert (answer.status_code, answer.location) == (303, "/office/holds")
    assert app.extensions["vault"].hold_ids() == frozenset()
    page = office.get("/office/holds").text
    assert held.code in page and "Nenhuma guarda em vigor" in page
    assert ASKED["reason"] not in page
    assert audited(database)[-1] == ("hold_ended", held.code, {"trip": world.long_trip, "kept": 1, "erased": 0}, office.login)
    again = office.post(f"/office/holds/{held.code}/release", data={"confirm": "yes"})
    assert again.status_code == 404


def test_what_is_past_its_day_goes_with_the_hold(app, database, code, office, held):
    retention.run(database, app.extensions["vault"], days_limit=400, now=OVER, actor="tests")
    office.post(f"/office/holds/{held.code}/release", data={"confirm": "yes"})
    assert audited(database)[-1][2] == {"trip": held.trip_id, "kept": 0, "erased": 1}
    with database.reading() as session:
        assert of_ticket(session, find_ticket(session, code).ticket, app.extensions["vault"]) is None


def test_no_reason_stands_in_the_audit_log(database, office, held):
    office.post(f"/office/holds/{held.code}/release", data={"confirm": "yes"})
    with database.reading() as session:
        assert not [entry for entry in session.scalars(select(AuditEntry)) if "Vara" in str(entry.details) + entry.subject]
        assert session.scalars(select(LegalHold.reason)).one() == ""


def test_markup_in_a_reason_is_characters(world, office):
    office.post(f"/office/trips/{world.long_trip}/hold", data={**ASKED, "reason": "<img src=x onerror=alert(1)>"})
    assert "<img src=x" not in office.get("/office/holds").text


@pytest.mark.parametrize("role", ["agent", "supervisor", "driver", "inspector"])
def test_nobody_else_holds_or_lets_go(world, signed_in, held, role):
    other = signed_in(role)
    assert other.get("/office/holds").status_code == 403
    assert other.post(f"/office/trips/{world.short_trip}/hold", data=ASKED).status_code == 403
    assert other.post(f"/office/holds/{held.code}/release", data={"confirm": "yes"}).status_code == 403


def test_an_administrator_may_too(world, signed_in):
    assert signed_in("admin").post(f"/office/trips/{world.long_trip}/hold", data=ASKED).status_code == 303
