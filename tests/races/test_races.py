"""Many people press at once, over HTTP, on four workers and on both databases: one wins, the others are told why."""

import json
from collections import Counter
from functools import partial
from itertools import cycle
from uuid import uuid4

import httpx
import pytest

from tests.races.books import change, faults, rows
from tests.races.counters import (
    Person,
    at_once,
    bring_forward,
    passes_of,
    sale_form,
    sold,
)
from tests.server import serving


@pytest.fixture(autouse=True)
def sound_books(request):
    """After every race the auditor finds nothing."""
    yield
    url = request.getfixturevalue("prepared")["DATABASE_URL"]
    assert faults(url) == []


@pytest.mark.parametrize(("buyers", "rounds"), [(64, 2), (10, 20)])  # the second are the numbers of case K01
def test_of_many_buyers_of_one_seat_one_gets_it_and_the_others_are_told(stage, buyers, rounds):
    trip = stage.trips[1 if buyers == 64 else 2]
    for seat in range(1, rounds + 1):
        agents = [agent for agent, _ in zip(cycle(stage.agents), range(buyers), strict=False)]
        answers = at_once([partial(agent.sell, trip, seat) for agent in agents])
        assert Counter(answer.status_code for answer in answers) == {303: 1, 409: buyers - 1}
        refusals = [answer.text for answer in answers if answer.status_code == 409]
        assert all(f"A poltrona {seat} acabou de ser vendida" in page and "4.321.098" in page for page in refusals)
        live = rows(stage.url, "SELECT code FROM ticket WHERE trip_id = ? AND seat = ? AND status = 'sold'", trip, seat)
        assert len(live) == 1


def test_stretches_that_overlap_are_never_sold_on_one_seat_at_once(stage):
    trip, stretches = stage.trips[3], [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for seat in range(1, 6):
        buyers = zip(cycle(stage.agents), stretches * 6, strict=False)
        answers = at_once([partial(agent.sell, trip, seat, board=board, alight=alight)
                           for agent, (board, alight) in buyers])
        statuses = Counter(answer.status_code for answer in answers)
        assert set(statuses) == {303, 409}
        legs = rows(stage.url, "SELECT leg FROM seat_leg WHERE trip_id = ? AND seat = ?", trip, seat)
        assert 1 <= statuses[303] <= len(legs) <= 3


def test_the_last_seats_go_to_as_many_buyers_who_let_the_system_choose(stage):
    trip = stage.trips[4]
    [vehicle] = rows(stage.url, "SELECT layout FROM vehicle JOIN trip ON vehicle.id = vehicle_id WHERE trip.id = ?", trip)
    layout = json.loads(vehicle["layout"]) if isinstance(vehicle["layout"], str) else vehicle["layout"]
    for n in range(sum(isinstance(cell, int) for row in layout for cell in row) - 2):
        assert stage.agents[n % 16].sell(trip, "", alight=3).status_code == 303
    answers = at_once([partial(agent.sell, trip, "", alight=3) for agent in stage.agents])
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) == {303, 409}
    while statuses[303] < 2:  # two were given the same seat and one was refused it: it asks again
        statuses.update([stage.agents[0].sell(trip, "", alight=3).status_code])
    assert statuses[303] == 2
    assert stage.agents[0].sell(trip, "", alight=3).status_code == 409


def test_a_form_sent_ten_times_at_once_sells_once_and_every_answer_is_the_same(stage):
    for seat in range(1, 6):
        agent, form = stage.agents[seat], sale_form(stage.trips[5], seat)
        answers = at_once([partial(agent.post, "/counter/sales", form)] * 10)
        assert {(answer.status_code, answer.headers["location"]) for answer in answers} == {
            (303, answers[0].headers["location"])}
        code = sold(stage.url, form["idempotency_key"])
        pages = [httpx.get(answer.url.join(answer.headers["location"]), cookies=answer.cookies).text
                 for answer in answers]
        assert all(f"/counter/tickets/{code}" in page for page in pages)
        assert len(rows(stage.url, "SELECT id FROM ticket WHERE trip_id = ? AND seat = ?", stage.trips[5], seat)) == 1


@pytest.mark.parametrize("keys", ["of its own", "the same"])
def test_a_refund_pressed_twenty_times_at_once_pays_once(stage, keys):
    agents, trip, one_key = stage.agents[:2], stage.trips[6], uuid4().hex
    before = _cash(stage.url, *agents)
    key = uuid4().hex
    seat = 1 if keys == "the same" else 2
    assert agents[0].sell(trip, seat, alight=3, idempotency_key=key).status_code == 303
    code = sold(stage.url, key)
    fare = rows(stage.url, "SELECT fare FROM ticket WHERE code = ?", code)[0]["fare"]
    assert _cash(stage.url, *agents) == before + fare
    clerks = agents[:1] if keys == "the same" else agents
    answers = at_once([partial(clerks[n % len(clerks)].refund, code, one_key if keys == "the same" else uuid4().hex)
                       for n in range(20)])
    expected = {303: 20} if keys == "the same" else {303: 1, 409: 19}
    assert Counter(answer.status_code for answer in answers) == expected
    assert all("já foi devolvida" in answer.text for answer in answers if answer.status_code == 409)
    paid = rows(stage.url, "SELECT refunded FROM refund JOIN ticket ON ticket.id = ticket_id WHERE code = ?", code)
    entries = rows(stage.url, "SELECT amount FROM ledger_entry WHERE subject = ? AND kind = 'refund'", code)
    assert ([row["refunded"] for row in paid], [row["amount"] for row in entries]) == ([fare], [-fare])
    assert _cash(stage.url, *agents) == before
    assert agents[1].sell(trip, seat, alight=3).status_code == 303  # the legs are free at once


def test_a_refund_and_a_boarding_at_once_end_in_one_of_the_two(stage):
    trip = stage.trips[0]
    bring_forward(stage.server.env, trip, minutes=90)
    agent, driver = stage.agents[0], stage.drivers[0]
    # so late that everyone may have the money back until it leaves, while boarding has begun
    change(stage.url, f"UPDATE trip SET delay_minutes = 61 WHERE id = {trip}")
    codes = [_sell(stage, agent, trip, seat) for seat in range(1, 9)]
    for code, text in zip(codes, passes_of(stage.server.env, codes), strict=True):
        scan = driver.scan(trip, text)
        paid, boarded = at_once([partial(agent.refund, code, uuid4().hex), partial(driver.confirm, trip, scan["id"])])
        status = rows(stage.url, "SELECT status FROM ticket WHERE code = ?", code)[0]["status"]
        told = (getattr(paid, "status_code", None), boarded["result"])
        assert (status, *told) in (("refunded", 303, "REFUNDED"), ("boarded", 409, "OK"))


def test_two_phones_that_confirm_one_pass_at_once_board_it_once(stage):
    trip = stage.trips[0]
    bring_forward(stage.server.env, trip)
    codes = [_sell(stage, stage.agents[0], trip, seat, alight=3) for seat in range(20, 30)]
    for text in passes_of(stage.server.env, codes):
        scans = at_once([partial(driver.scan, trip, text) for driver in stage.drivers])
        assert [scan["checks"] for scan in scans] == [["document"], ["document"]]
        told = at_once([partial(driver.confirm, trip, scan["id"])
                        for driver, scan in zip(stage.drivers, scans, strict=True)])
        assert sorted(answer["result"] for answer in told) == ["ALREADY_BOARDED", "OK"]


def test_a_pass_that_asks_for_no_document_is_boarded_by_one_of_two_phones(stage):
    trip = stage.short_trips[0]
    bring_forward(stage.server.env, trip)
    codes = [_sell(stage, stage.agents[0], trip, seat) for seat in range(1, 11)]
    for text in passes_of(stage.server.env, codes):
        told = at_once([partial(driver.scan, trip, text) for driver in stage.drivers])
        assert sorted(answer["result"] for answer in told) == ["ALREADY_BOARDED", "OK"]


def test_a_scan_sent_ten_times_at_once_is_one_scan_with_one_answer(stage):
    trip = stage.short_trips[0]
    bring_forward(stage.server.env, trip)
    [text] = passes_of(stage.server.env, [_sell(stage, stage.agents[0], trip, 20)])
    scan_id = str(uuid4())
    told = at_once([partial(stage.drivers[0].scan, trip, text, scan_id=scan_id)] * 10)
    assert told == [told[0]] * 10
    assert told[0]["result"] == "OK"
    assert len(rows(stage.url, "SELECT id FROM scan WHERE id = ?", scan_id)) == 1


def test_a_seat_of_an_abandoned_purchase_is_back_after_its_minutes_and_a_restart(stage, prepared):
    trip, seat = stage.trips[7], 9
    first, second = stage.agents[:2]
    drawer = _cash(stage.url, first)
    held = first.post("/counter/holds", {"trip": trip, "board": 0, "alight": 3, "seat": seat}).json()
    assert second.sell(trip, seat).status_code == 409
    page = _page_of(second, trip)
    past = f"'{'2020-01-01 00:00:00.000000' if stage.url.startswith('sqlite') else '2020-01-01 00:00:00+00'}'"
    change(stage.url, f"UPDATE seat_hold SET expires_at = {past} WHERE code = '{held['hold']}'",
           f"UPDATE seat_leg SET hold_until = {past} WHERE trip_id = {trip} AND seat = {seat}")
    with serving(prepared, workers=4) as restarted:  # sessions live in the database: nobody signs in again
        for person in (first, second):
            person.web.base_url = restarted.url
        assert _free(_page_of(second, trip)) == _free(page) + 1
        assert second.sell(trip, seat).status_code == 303
        late = first.sell(trip, seat, alight=3, hold=held["hold"])
        assert late.status_code == 409
        assert "A reserva da poltrona venceu e nada foi cobrado" in late.text
    for person in (first, second):
        person.web.base_url = stage.server.url
    assert _cash(stage.url, first) == drawer


def _sell(stage, agent: Person, trip: int, seat: int, **changes) -> str:
    key = uuid4().hex
    answer = agent.sell(trip, seat, idempotency_key=key, **changes)
    assert answer.status_code == 303, answer.text
    return sold(stage.url, key)


def _cash(url: str, *agents: Person) -> int:
    """What the drawers of these agents hold together, in cents."""
    return sum(rows(url, "SELECT cash FROM shift WHERE agent = ?", agent.login)[0]["cash"] for agent in agents)


def _page_of(agent: Person, trip: int) -> str:
    return agent.web.get("/counter", params={"trip": trip, "board": 0, "alight": 3}).text


def _free(page: str) -> int:
    """The seats that the map offers."""
    return page.count('name="seat"') - page.count("disabled")
