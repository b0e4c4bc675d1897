"""The refund page over HTTP, on both databases: the window's edges, a form sent again, and what was typed kept."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import event, select, update

from kernel.auth import SignIn
from kernel.money import Money
from refunds.windows.models import Refund
from tests.instants import NOW
from tests.world import CASH, build, open_till, order
from ticketing.network.models import Line
from ticketing.network.service import cancel_trip, report_delay
from ticketing.payments.models import LedgerEntry, Shift
from ticketing.payments.service import Means, close_shift
from ticketing.sales import service as sales
from ticketing.sales.models import Ticket

FARE = Money(3470)


@pytest.fixture
def database(app):
    """The application's own."""
    return app.extensions["database"]


@pytest.fixture
def world(database):
    with database.transaction() as session:
        return build(session)


@pytest.fixture
def agent(signed_in, database, world):
    """An agent with an open till, signed in."""
    client = signed_in("agent", stop_id=world.stops[0])
    with database.transaction() as session:
        open_till(session, world, client.login)
    return client


@pytest.fixture
def sell(app, database, world, agent):
    def sell(**changes):
        with database.transaction() as session:
            wanted = order(world, **{"booking": sales.new_code(), "board": 0, "alight": 2, **changes})
            return sales.sell(session, wanted, vault=app.extensions["vault"], now=NOW, actor=agent.login).tickets[0]
    return sell


@pytest.fixture
def clock(app, database):
    """`clock(code, before)` sets the present to that long before the ticket's own departure; nobody is signed out."""
    def set_clock(code, before):
        with database.transaction() as session:
            instant = sales.find_ticket(session, code).journey.board.departs_at - before
            session.execute(update(SignIn).values(expires_at=instant + timedelta(hours=1)))
        app.extensions["clock"] = lambda: instant
        return instant
    return set_clock


def address(code):
    return f"/counter/tickets/{code}/refund"


def form_of(client, code):
    """The hidden values of the page's refund form; empty when it offers none."""
    page = client.get(address(code)).text
    form = re.search(r'<form class="form" method="post".*?</form>', page, re.S)
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0])) if form else {}


def words(answer):
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text).replace("\u00a0", " ").split())


@pytest.mark.parametrize(("before", "amount"), [
    (timedelta(hours=12, seconds=1), "34.70"), (timedelta(hours=12), "34.70"),
    (timedelta(hours=11, minutes=59, seconds=59), "32.96"), (timedelta(0), "32.96"), (-timedelta(seconds=1), None),
])
def test_each_side_of_the_window_is_offered_and_paid_by_instants(agent, database, sell, clock, before, amount):
    code = sell()
    clock(code, before)
    form = form_of(agent, code)
    assert form.get("shown") == amount
    answer = agent.post(address(code), data=form or {"method": "cash", "idempotency_key": "key-000000000001"})
    assert answer.status_code == (303 if amount else 422)
    with database.reading() as session:
        rows = session.scalars(select(Refund)).all()
        assert [str(row.refunded) for row in rows] == ([amount] if amount else [])
        assert [row.refunded + row.kept for row in rows] == ([FARE] if amount else [])
        cash = session.scalars(select(Shift.cash)).one()
        assert cash == Money(10_000) + FARE - (rows[0].refunded if rows else Money(0))


def test_the_page_says_until_when_with_the_zone_the_rule_and_the_legs(agent, sell):
    told = words(agent.get(address(sell())))
    assert "Devolução integral até 02/03/2026 18:30 horário de Brasília" in told
    assert "Pedido até 12 h antes da partida: devolução integral." in told
    assert "Regra: política da transportadora (Código Civil, art. 740)" in told
    assert "06:30 Criciúma → Tubarão 07:35 Tubarão → Imbituba" in told
    assert "Volta em dinheiro R$ 34,70" in told


def test_a_line_of_mato_grosso_do_sul_shows_its_article_and_wording(agent, database, sell):
    with database.transaction() as session:
        session.scalars(select(Line).where(Line.code == "T-204")).one().state = "MS"
    told = words(agent.get(address(sell())))
    assert "Lei MS 36/1979, art. 40, III, c" in told
    assert "redação em vigor desde 17/11/2022" in told


def test_a_late_request_shows_what_the_carrier_keeps(agent, sell, clock):
    code = sell()
    clock(code, timedelta(hours=2))
    told = words(agent.get(address(code)))
    assert "A transportadora retém R$ 1,74" in told
    assert "Volta em dinheiro R$ 32,96" in told


def test_after_departure_the_page_refuses_by_the_rule_and_says_what_is_possible(agent, sell, clock):
    code = sell()
    clock(code, -timedelta(hours=1))
    told = words(agent.get(address(code)))
    assert "Pedido depois da partida: sem devolução." in told
    assert "Regra: política da transportadora" in told
    assert "peça ao escritório" in told
    assert form_of(agent, code) == {}


@pytest.mark.parametrize("late", [0, 61])
def test_a_trip_cancelled_or_over_an_hour_late_gives_all_back(agent, database, world, sell, clock, late):
    code = sell()
    with database.transaction() as session:
        if late:
            report_delay(session, world.long_trip, late, now=NOW, actor="office")
        else:
            cancel_trip(session, world.long_trip, "vehicle", now=NOW, actor="office")
    clock(code, -timedelta(hours=5))
    assert form_of(agent, code)["shown"] == "34.70"
    assert agent.post(address(code), data=form_of(agent, code)).status_code == 303


def test_the_same_form_sent_again_gets_the_same_answer_and_pays_once(agent, database, sell):
    code = sell()
    form = form_of(agent, code)
    first, again = (agent.post(address(code), data=form) for _ in range(2))
    assert (first.status_code, first.location) == (again.status_code, again.location) == (303, address(code))
    assert "Devolvido: R$ 34,70 em dinheiro." in words(agent.get(address(code)))
    with database.reading() as session:
        assert len(session.scalars(select(Refund)).all()) == 1
        assert session.scalars(select(Shift.cash)).one() == Money(10_000)


def test_the_button_pressed_twenty_times_at_once_pays_once(app, agent, database, sell):
    code = sell()
    forms = [form_of(agent, code) for _ in range(2)]  # two windows of one browser, ten presses in each
    cookie = agent.get_cookie("session").value

    def press(form):
        client = app.test_client()
        client.set_cookie("session", cookie)
        return client.post(address(code), data=form).status_code

    with ThreadPoolExecutor(20) as pool:
        codes = list(pool.map(press, forms * 10))
    assert sorted(codes) == [303] * 10 + [409] * 10
    with database.reading() as session:
        assert session.scalars(select(Refund)).one().refunded == FARE
        assert session.scalars(select(Shift.cash)).one() == Money(10_000)
        assert session.scalars(select(LedgerEntry.amount).where(LedgerEntry.kind == "refund")).all() == [-FARE]


def test_another_clerk_later_learns_when_and_how_much(agent, signed_in, database, world, sell):
    code = sell()
    other = signed_in("supervisor", stop_id=world.stops[0])
    with database.transaction() as session:
        open_till(session, world, other.login)
    form = form_of(other, code)
    agent.post(address(code), data=form_of(agent, code))
    answer = other.post(address(code), data=form)
    assert answer.status_code == 409
    assert "Esta passagem já foi devolvida em 02/03/2026 às 09:00 (horário de Brasília): R$ 34,70 em dinheiro." in words(answer)
    assert agent.login in words(answer)


def test_a_press_after_the_window_closed_asks_again_instead_of_paying_less(agent, database, sell, clock):
    code = sell()
    clock(code, timedelta(hours=12))
    form = form_of(agent, code)
    clock(code, timedelta(hours=12) - timedelta(seconds=1))
    answer = agent.post(address(code), data=form)
    assert answer.status_code == 409
    assert "agora são R$ 32,96" in words(answer)
    with database.reading() as session:
        assert session.scalar(select(Ticket.status)) == "sold"
    assert agent.post(address(code), data={**form, "shown": "32.96"}).status_code == 303


def test_another_means_is_refused(agent, database, sell):
    code = sell()
    form = form_of(agent, code) | {"method": "card", "reference": "R-1"}
    answer = agent.post(address(code), data=form)
    assert answer.status_code == 422
    assert "O valor volta do jeito que foi pago." in words(answer)
    with database.reading() as session:
        assert session.scalars(select(Refund)).all() == []


def test_a_card_needs_its_reversal_slip_and_what_was_typed_stays(agent, database, sell):
    code = sell(means=Means("card", "S-1"))
    form = form_of(agent, code)
    wrong = agent.post(address(code), data=form | {"reference": "não sei"})
    assert wrong.status_code == 422
    assert 'value="não sei"' in wrong.text
    assert agent.post(address(code), data=form | {"reference": "r-77"}).status_code == 303
    with database.reading() as session:
        row = session.scalars(select(Refund)).one()
        assert (row.method, row.reference, row.refunded) == ("card", "R-77", FARE)
        assert session.scalars(select(Shift.cash)).one() == Money(10_000)


def test_a_closed_till_is_refused_and_nothing_changed(agent, database, sell):
    code = sell()
    form = form_of(agent, code)
    with database.transaction() as session:
        close_shift(session, counted=Money(13_470), now=NOW, actor=agent.login)
    answer = agent.post(address(code), data=form)
    assert answer.status_code == 409
    assert "Abra o caixa antes de vender ou devolver." in words(answer)
    with database.reading() as session:
        assert session.scalar(select(Ticket.status)) == "sold"
        assert session.scalars(select(Refund)).all() == []


def test_a_refunded_seat_is_sold_again_at_once(agent, sell):
    code = sell(seat=7)
    agent.post(address(code), data=form_of(agent, code))
    assert sell(seat=7, means=CASH) != code


@pytest.mark.parametrize(("role", "status"), [("driver", 403), ("office", 403), ("inspector", 403)])
def test_others_may_not_refund(signed_in, sell, role, status):
    code = sell()
    client = signed_in(role)
    assert client.get(address(code)).status_code == status
    assert client.post(address(code), data={"method": "cash"}).status_code == status


def test_an_unknown_ticket_is_not_found(agent):
    assert agent.get(address("ZZZZZZZZ")).status_code == 404
    assert agent.post(address("ZZZZZZZZ"), data={"method": "cash", "idempotency_key": "k" * 16}).status_code == 404


def test_a_refund_over_http_takes_twelve_statements(agent, database, sell):
    code, seen = sell(), []
    form = form_of(agent, code)
    event.listen(database.engine, "before_cursor_execute", lambda *given: seen.append(given[2]))
    agent.post(address(code), data=form)
    asked = [text for text in seen if not text.startswith("BEGIN")]
    assert len(asked) == 12, "\n".join(asked)  # the session, the repeat key, and the ten of the refund
