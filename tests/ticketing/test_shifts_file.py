"""The office's tills as a file for a spreadsheet."""

import csv
import io

import pytest

from kernel.money import Money
from tests.instants import NOW
from tests.world import build, open_till, order
from ticketing.payments.service import close_shift
from ticketing.sales.service import sell


@pytest.fixture
def database(app):
    """The application's own."""
    return app.extensions["database"]


def rows(answer) -> list[list[str]]:
    assert answer.data.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(answer.data.decode("utf-8-sig"), newline=""), delimiter=";"))


def test_each_till_is_a_row_and_a_shortage_stays_a_number(app, database, signed_in):
    with database.transaction() as session:
        world = build(session)
        open_till(session, world)
        ticket = sell(session, order(world, seat=5), vault=app.extensions["vault"], now=NOW, actor="agent")
        assert ticket.tickets
    office = signed_in("office")
    head, opened = rows(office.get("/office/shifts.csv"))
    assert (opened[head.index("Fechado")], opened[head.index("Diferença")]) == ("", "")
    with database.transaction() as session:
        report = close_shift(session, counted=Money(100), now=NOW, actor="agent")
        code = report.shift.code
    answer = office.get("/office/shifts.csv")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="caixas.csv"'
    assert answer.content_type == "text/csv; charset=utf-8"
    head, closed = rows(answer)
    told = dict(zip(head, closed, strict=True))
    assert (told["Caixa"], told["Agente"], told["Vendas"], told["Troco inicial"]) == (code, "agent", "1", "100,00")
    assert told["Dinheiro"] == str(report.cash).replace(".", ",")
    assert told["Diferença"] == str(report.difference).replace(".", ",")
    assert told["Diferença"].startswith("-")
    assert "/office/shifts.csv" in office.get("/office/shifts").text


def test_a_login_that_would_run_is_kept_from_it(database, signed_in):
    with database.transaction() as session:
        open_till(session, build(session), agent="=1+1")
    assert rows(signed_in("office").get("/office/shifts.csv"))[1][1] == "'=1+1"


@pytest.mark.parametrize("role", ["agent", "supervisor", "driver", "inspector"])
def test_the_file_is_the_offices(signed_in, role):
    assert signed_in(role).get("/office/shifts.csv").status_code == 403
