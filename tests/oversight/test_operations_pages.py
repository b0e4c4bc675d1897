"""The office's day on both databases: counts, what needs a person, delay and cancelling, and what a wrong form keeps."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import event, select

from boarding.doors.models import Roster
from kernel.audit import AuditEntry
from kernel.auth import Staff
from oversight.operations import service
from refunds.windows.service import refund
from tests.instants import NOW
from tests.world import CASH, order
from ticketing.network.models import Title, Trip
from ticketing.network.service import cancel_trip
from ticketing.sales import service as sales


@pytest.fixture
def database(app):
    """The application's own, whose statements a test counts."""
    return app.extensions["database"]


@pytest.fixture
def sell(app, database, world):
    def sell(board, alight, seat):
        with database.transaction() as session:
            wanted = order(world, booking=sales.new_code(), board=board, alight=alight, seat=seat)
            return sales.sell(session, wanted, vault=app.extensions["vault"], now=NOW, actor="agent").tickets[0]
    return sell


def words(answer):
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text).replace("\u00a0", " ").split())


def row_of(database, world):
    with database.reading() as session:
        return next(row for row in service.trips_of_day(session, world.day) if row.trip.id == world.long_trip)


def test_a_seat_sold_twice_on_different_legs_is_two_tickets_and_one_seat(database, world, sell):
    codes = [sell(0, 1, 5), sell(1, 3, 5), sell(0, 2, 6)]
    with database.transaction() as session:
        sales.board_ticket(session, sales.find_ticket(session, codes[0]).ticket.id, 0, now=NOW, actor="driver")
    row = row_of(database, world)
    assert (row.sold, row.aboard, row.fullest, row.capacity) == (3, 1, 2, 11)


def test_a_refunded_ticket_is_counted_no_more(database, world, sell):
    code = sell(0, 3, 5)
    with database.transaction() as session:
        refund(session, code, CASH, shown=None, now=NOW, actor="agent")
    row = row_of(database, world)
    assert (row.sold, row.fullest) == (0, 0)


def test_the_page_shows_the_day_by_hour_and_keeps_the_filter_in_the_address(office, world, sell):
    sell(0, 3, 5)
    told = words(office.get(f"/office/trips?day={world.day}"))
    assert "Viagens de terça, 03/03/2026" in told
    assert told.index("06:30 Criciúma → Florianópolis") < told.index("09:00 Criciúma → Tubarão")
    assert "T-1 no horário 1 0 1 / 11" in told
    one = office.get(f"/office/trips?day={world.day}&line=T-80").text
    assert "Florianópolis" not in one
    assert f"/office/trips?day={world.day + timedelta(days=1)}&amp;line=T-80" in one


@pytest.mark.parametrize("day", ["2026-07-01", "1899-12-31", "9999-12-31", "ontem", ""])
def test_any_day_is_answered(office, world, day):
    assert office.get(f"/office/trips?day={day}").status_code == 200


def test_a_day_without_trips_says_what_to_do(office, world):
    assert "Nenhuma viagem neste dia" in words(office.get("/office/trips?day=2026-07-01"))


def test_a_trip_without_a_title_on_its_day_needs_a_person(database, world):
    with database.transaction() as session:
        for title in session.scalars(select(Title)):
            title.valid_until = world.day - timedelta(days=1)
    with database.reading() as session:
        found = service.needs(session, now=NOW)
        assert (found.untitled, found.untitled_from) == (4, world.day)


@pytest.mark.parametrize(("before", "found"), [
    (timedelta(hours=3), True), (timedelta(hours=3, seconds=1), False), (timedelta(0), True), (-timedelta(seconds=1), False)])
def test_a_trip_that_leaves_within_three_hours_without_a_driver_needs_a_person(database, world, before, found):
    with database.transaction() as session:
        now = session.get_one(Trip, world.long_trip).departs_at - before
        assert (world.long_trip in [row.trip.id for row in service.needs(session, now=now).driverless]) is found
        session.add(Staff(login="driver", display_name="Motorista", role="driver", password_hash="none", stop_id=None,
                          disabled_at=None))
        session.flush()
        session.add(Roster(trip_id=world.long_trip, staff_id=session.scalars(select(Staff.id)).one()))
        session.flush()
        assert world.long_trip not in [row.trip.id for row in service.needs(session, now=now).driverless]


def test_a_cancelled_trip_is_listed_until_every_ticket_was_paid_back(office, database, world, sell):
    codes = [sell(0, 1, 5), sell(1, 3, 6)]
    answer = office.post(f"/office/trips/{world.long_trip}/cancel", data={"reason": "road"})
    assert answer.status_code == 303
    told = words(office.get("/office/trips"))
    assert "2 devoluções a pagar" in told
    assert "Canceladas com passagens por devolver" in told
    for code in codes:
        with database.transaction() as session:
            refund(session, code, CASH, shown=None, now=NOW, actor="agent")
    told = words(office.get("/office/trips"))
    assert "0 devoluções a pagar" in told
    assert "Canceladas com passagens por devolver" not in told


def test_a_cancelling_keeps_its_reason_as_a_word_in_the_audit_log(office, database, world):
    office.post(f"/office/trips/{world.long_trip}/cancel", data={"reason": "weather"})
    with database.reading() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "trip_cancelled")).one()
        assert (entry.subject, entry.actor, entry.details) == (str(world.long_trip), office.login, {"reason": "weather"})


def test_free_text_of_a_reason_stays_out_of_the_audit_log(database, world):
    with database.transaction() as session:
        cancel_trip(session, world.long_trip, "a pedido de alguém", now=NOW, actor="office")
        assert session.scalars(select(AuditEntry).where(AuditEntry.action == "trip_cancelled")).one().details == {
            "reason": "other"}


@pytest.mark.parametrize("reason", ["", "porque sim"])
def test_a_cancelling_without_a_reason_of_the_list_changes_nothing(office, database, world, reason):
    answer = office.post(f"/office/trips/{world.long_trip}/cancel", data={"reason": reason})
    assert answer.status_code == 422
    assert 'href="#f-reason"' in answer.text
    with database.reading() as session:
        assert session.get_one(Trip, world.long_trip).status == "open"


def test_a_delay_is_reported_shown_and_taken_back(office, database, world):
    for minutes, shown in ((61, "atrasada 61 min"), (0, "no horário")):
        assert office.post(f"/office/trips/{world.long_trip}/delay", data={"minutes": minutes}).status_code == 303
        assert shown in words(office.get(f"/office/trips/{world.long_trip}"))
        with database.reading() as session:
            assert session.get_one(Trip, world.long_trip).delay_minutes == minutes


@pytest.mark.parametrize("minutes", ["-1", "1441", "meia hora", "", "1" * 5000])
def test_a_wrong_delay_is_refused_and_what_was_typed_stays(office, database, world, minutes):
    answer = office.post(f"/office/trips/{world.long_trip}/delay", data={"minutes": minutes})
    assert answer.status_code == 422
    assert f'value="{minutes}"' in answer.text
    with database.reading() as session:
        assert session.get_one(Trip, world.long_trip).delay_minutes == 0


@pytest.mark.parametrize("act", ["delay", "cancel"])
def test_a_cancelled_trip_takes_no_more_changes(office, database, world, act):
    with database.transaction() as session:
        cancel_trip(session, world.long_trip, "crew", now=NOW, actor="office")
    answer = office.post(f"/office/trips/{world.long_trip}/{act}", data={"minutes": "5", "reason": "crew"})
    assert answer.status_code == 409
    assert "Esta viagem já foi cancelada ou encerrada." in words(answer)


def test_the_trip_page_shows_calls_and_tickets_by_code_without_names(office, world, sell):
    code = sell(0, 2, 5)
    answer = office.get(f"/office/trips/{world.long_trip}")
    assert f"{code[:4]}-{code[4:]} Criciúma → Imbituba vendida dinheiro R$ 34,70" in words(answer)
    assert "Passageira" not in answer.text


@pytest.mark.parametrize("trip", ["999999", "99999999999999999999", "abc"])
def test_an_unknown_trip_is_not_found(office, trip):
    assert office.get(f"/office/trips/{trip}").status_code == 404


@pytest.mark.parametrize("role", ["agent", "driver", "inspector"])
def test_others_may_not_run_trips(signed_in, world, role):
    client = signed_in(role)
    assert client.get("/office/trips").status_code == 403
    assert client.post(f"/office/trips/{world.long_trip}/cancel", data={"reason": "road"}).status_code == 403


def test_the_day_takes_the_same_few_statements_however_many_trips_there_are(office, database, world, sell):
    sell(0, 3, 5)
    seen = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: seen.append(given[2]))
    counts = []
    for line in ("", "T-80"):
        seen.clear()
        office.get(f"/office/trips?day={world.day}&line={line}")
        counts.append(len([text for text in seen if not text.startswith("BEGIN")]))
    assert counts == [10, 10], "\n".join(seen)
