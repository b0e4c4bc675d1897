"""The counter over HTTP: what is typed stays, repeats answer the same, and a sale costs a fixed number of statements."""

from datetime import timedelta

import pytest
from sqlalchemy import event, func, select

from kernel import auth
from kernel.money import Money
from tests.instants import NOW
from tests.world import PERSON, build
from ticketing.payments.models import LedgerEntry, Shift
from ticketing.sales.models import Booking, Ticket
from ticketing.seats.models import SeatLeg


@pytest.fixture
def world(app):
    with app.extensions["database"].transaction() as session:
        return build(session)


@pytest.fixture
def agent(signed_in, world):
    client = signed_in("agent", stop_id=world.stops[0])
    opened = client.post("/counter/shift/open", data={"stop_id": world.stops[0], "opening_float": "100,00"})
    assert opened.status_code == 303
    return client


def form(world, **changes):
    return {**PERSON, "trip": world.long_trip, "board": 0, "alight": 1, "day": world.day.isoformat(), "to": "",
            "seat": "5", "hold": "", "method": "cash", "reference": "", "received": "50,00",
            "idempotency_key": "key-0001", **changes}


def count(app, table):
    with app.extensions["database"].reading() as session:
        return session.scalar(select(func.count()).select_from(table))


def test_a_sale_leaves_the_screen_ready_with_the_last_code_and_the_change(app, world, agent):
    answer = agent.post("/counter/sales", data=form(world))
    assert answer.status_code == 303
    page = agent.get(answer.location).text
    with app.extensions["database"].reading() as session:
        code = session.scalars(select(Ticket.code)).one()
    assert f"{code[:4]}-{code[4:]}" in page
    assert "R$\u00a028,75" in page  # 50.00 less 17.35 and the 3.90 boarding fee
    assert PERSON["name"] not in page


def test_a_refused_sale_keeps_what_was_typed_and_writes_nothing(app, world, agent):
    answer = agent.post("/counter/sales", data=form(world, document_issuer="", name="<img src=x onerror=alert(1)>"))
    assert answer.status_code == 422
    assert "&lt;img src=x onerror=alert(1)&gt;" in answer.text
    assert "4.321.098" in answer.text
    assert "11-A" in answer.text
    assert count(app, Ticket) == count(app, Booking) == count(app, SeatLeg) == 0


@pytest.mark.parametrize(("field", "value", "status"), [
    ("received", "1,00", 422), ("received", "muito", 422), ("method", "cheque", 422), ("seat", "999", 422),
    ("seat", "x", 422), ("trip", "999999", 404), ("trip", "abc", 422), ("alight", "0", 422), ("alight", "77", 422),
    ("idempotency_key", "", 422), ("idempotency_key", "a b'--", 422), ("birth_date", "31/02/2020", 422),
    ("document_kind", "VOTER", 422), ("hold", "0" * 32, 409), ("hold", "x" * 5000, 422),
    ("board", "99999999999999999999", 422), ("received", "1e9", 422), ("received", "NaN", 422),
    ("birth_date", f"01/01/{10**30}", 422), ("birth_date", "1" * 5000, 422)])
def test_bad_input_is_answered_by_a_page_and_sells_nothing(app, world, agent, field, value, status):
    answer = agent.post("/counter/sales", data={**form(world), field: value})
    assert answer.status_code == status
    assert "<h1" in answer.text
    assert count(app, Ticket) == 0


def test_the_same_form_sent_again_sells_once_and_answers_the_same(app, world, agent):
    first = agent.post("/counter/sales", data=form(world))
    again = agent.post("/counter/sales", data=form(world))
    assert (first.status_code, first.location) == (again.status_code, again.location)
    assert count(app, Ticket) == 1
    assert count(app, LedgerEntry) == 1


def test_the_same_key_with_another_body_is_refused(app, world, agent):
    agent.post("/counter/sales", data=form(world))
    other = agent.post("/counter/sales", data=form(world, seat="6"))
    assert other.status_code == 409
    assert count(app, Ticket) == 1


def test_a_key_belongs_to_its_agent(app, world, agent, signed_in):
    other = signed_in("agent", stop_id=world.stops[0])
    other.post("/counter/shift/open", data={"stop_id": world.stops[0], "opening_float": "0"})
    assert agent.post("/counter/sales", data=form(world)).status_code == 303
    assert other.post("/counter/sales", data=form(world, seat="6")).status_code == 303
    assert count(app, Ticket) == 2


def test_a_taken_seat_is_a_409_that_names_the_seat_and_keeps_the_form(app, world, agent):
    agent.post("/counter/sales", data=form(world))
    answer = agent.post("/counter/sales", data=form(world, idempotency_key="key-0002"))
    assert answer.status_code == 409
    assert "poltrona 5" in answer.text
    assert PERSON["document_number"] in answer.text


def test_a_held_seat_is_shown_as_held_elsewhere_and_mine_here(world, agent, signed_in):
    held = agent.post("/counter/holds", data={"trip": world.long_trip, "board": 0, "alight": 1, "seat": 7}).json
    other = signed_in("agent", stop_id=world.stops[0])
    other.post("/counter/shift/open", data={"stop_id": world.stops[0], "opening_float": "0"})
    address = f"/counter?day={world.day}&trip={world.long_trip}&board=0&alight=1"
    assert "reservada em outra venda" in other.get(address).text
    again = other.post("/counter/holds", data={"trip": world.long_trip, "board": 0, "alight": 1, "seat": 7},
                       headers={"Accept": "application/json"})
    assert (again.status_code, again.json["code"]) == (409, "seat_taken")
    assert agent.post("/counter/sales", data=form(world, seat="7", hold=held["hold"])).status_code == 303


def test_the_counter_opens_only_with_a_till(world, signed_in):
    client = signed_in("agent", stop_id=world.stops[0])
    assert client.get("/counter").location == "/counter/shift"
    assert "Abrir caixa" in client.get("/counter/shift").text


def test_the_count_at_closing_is_blind(app, world, agent):
    agent.post("/counter/sales", data=form(world))
    assert "121,25" not in agent.get("/counter/shift").text
    closed = agent.post("/counter/shift/close", data={"counted": "120,00"})
    assert "121,25" in closed.text
    assert "−R$\u00a01,25" in closed.text
    with app.extensions["database"].reading() as session:
        assert session.scalars(select(Shift)).one().counted == Money(12000)


def test_a_sale_takes_at_most_16_statements(app, world, agent):
    agent.post("/counter/sales", data=form(world))
    statements = []
    engine = app.extensions["database"].engine
    event.listen(engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    answer = agent.post("/counter/sales", data=form(world, seat="6", idempotency_key="key-0002"))
    assert answer.status_code == 303
    assert len(statements) <= 16, "\n".join(statements)


def test_an_expired_session_asks_to_sign_in_and_comes_back(app, world, agent):
    app.extensions["clock"] = lambda: NOW + auth.SESSION_LENGTH + timedelta(seconds=1)
    answer = agent.get("/counter?day=2026-03-03")
    assert answer.status_code == 303
    assert answer.location == "/login?next=/counter?day%3D2026-03-03"


def test_a_ticket_is_found_voided_and_its_name_corrected(app, world, agent):
    agent.post("/counter/sales", data=form(world))
    with app.extensions["database"].reading() as session:
        code = session.scalars(select(Ticket.code)).one()
    assert agent.get(f"/counter/tickets?code={code.lower()}").location == f"/counter/tickets/{code}"
    assert agent.get("/counter/tickets?code=NADA").status_code == 404
    assert agent.post(f"/counter/tickets/{code}/name", data={"name": "   "}).status_code == 422
    assert agent.post(f"/counter/tickets/{code}/name", data={"name": "Outra de Teste"}).status_code == 303
    assert "Outra de Teste" in agent.get(f"/counter/tickets/{code}").text
    assert agent.post(f"/counter/tickets/{code}/void", data={"method": "cash", "reason": ""}).status_code == 422
    assert agent.post(f"/counter/tickets/{code}/void", data={"method": "cash", "reason": "engano"}).status_code == 303
    assert agent.post(f"/counter/tickets/{code}/void", data={"method": "cash", "reason": "engano"}).status_code == 409


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "2101-01-01", "amanhã", ""])
def test_a_day_that_no_timetable_has_is_today(world, agent, day):
    page = agent.get(f"/counter?day={day}")
    assert page.status_code == 200
    assert f'value="{NOW.date().isoformat()}"' in page.text


@pytest.mark.parametrize("stop", ["9" * 30, str(2**31), "-1", "1e3", "x", ""])
def test_a_till_opens_at_no_stop_that_is_not_on_the_list(world, signed_in, stop):
    other = signed_in("agent")
    answer = other.post("/counter/shift/open", data={"opening_float": "10,00", "stop_id": stop})
    assert answer.status_code == 404
    assert "<h1" in answer.text
