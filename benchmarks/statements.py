"""How many statements a sale, a scan, a refund and a search take, counted as they leave SQLAlchemy; sign-in too."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from sqlalchemy import event

from app import create_app
from benchmarks.house import House
from benchmarks.search import questions
from kernel import auth
from kernel.clock import utc_now
from kernel.config import read_settings
from tests.races.counters import passes_of, sale_form, sold


def count_statements(house: House) -> dict[str, int]:
    """Statements of a sale, of a scan that asks for the document, of the answer to it, of a refund and of a search."""
    app = create_app(read_settings(house.env))
    app.config["WTF_CSRF_ENABLED"] = False  # the token is the cookie's: it takes no statement
    seen: list[str] = []
    engine = app.extensions["database"].engine
    event.listen(engine, "before_cursor_execute", lambda *told: seen.append(told[2]))
    agent, driver = (_client(app, person.login) for person in (house.agents[0], house.drivers[0]))
    trip, seat = next(house.places)
    form, scan_id = sale_form(trip, seat, alight=3), str(uuid4())

    def statements(act: Callable[[], Any], status: int) -> int:
        seen.clear()
        assert act().status_code == status
        return sum(not text.startswith("BEGIN") for text in seen)

    counted = {"sale": statements(lambda: agent.post("/counter/sales", data=form), 303)}
    [text] = passes_of(house.env, [str(sold(house.url, form["idempotency_key"]))])
    body = {"id": scan_id, "kind": "scan", "text": text, "stop_seq": 0, "at": utc_now().isoformat()}
    path = f"/driver/trips/{trip}/scans"
    counted["scan"] = statements(lambda: driver.post(path, json=body), 200)
    seen_by_driver = {"outcome": "confirmed"}
    counted["document"] = statements(lambda: driver.post(f"{path}/{scan_id}/answer", json=seen_by_driver), 200)
    trip, seat = next(house.places)
    form = sale_form(trip, seat, alight=3)
    agent.post("/counter/sales", data=form)
    back = {"method": "cash", "reference": "", "idempotency_key": uuid4().hex}
    code = sold(house.url, form["idempotency_key"])
    counted["refund"] = statements(lambda: agent.post(f"/counter/tickets/{code}/refund", data=back), 303)
    [(start, end, day)] = questions(house, 1, seed=7)
    asked = {"from": start, "to": end, "day": day}
    counted["search"] = statements(lambda: app.test_client().get("/departures", query_string=asked), 200)
    engine.dispose()
    return counted


def _client(app: Any, login: str) -> Any:
    client = app.test_client()
    with app.extensions["database"].transaction() as session:
        staff = auth.find_staff(session, login)
        token = auth.start_session(session, staff, now=utc_now()).token
    with client.session_transaction() as cookie:
        cookie.update(_user_id=token, _fresh=True)
    return client
