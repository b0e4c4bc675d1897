"""Partners search, hold, sell on account, pay back and fetch passes; a repeat answers the same and sells nothing."""

from datetime import timedelta

import pytest
from sqlalchemy import event, select

from kernel.money import Money
from refunds.windows.models import Refund
from tests.instants import NOW
from tests.races.books import faults
from ticketing.payments.models import LedgerEntry
from ticketing.sales.models import Booking, Ticket


def count(app, model) -> int:
    with app.extensions["database"].reading() as session:
        return session.query(model).count()


def towns(partner) -> dict[str, int]:
    return {town["name"]: town["id"] for town in partner.get("/places")[1]["places"]}


def test_a_search_tells_price_parts_and_free_seats(partner, world):
    known = towns(partner)
    status, told = partner.get("/departures", **{"from": known["Criciúma"], "to": known["Tubarão"], "day": str(world.day)})
    assert status == 200
    first = told["departures"][0]
    assert (first["trip_id"], first["free"], first["seats"], first["for_sale"]) == (world.long_trip, 11, 11, True)
    assert first["fare"]["total"] == "21.25"
    assert [(item["kind"], item["amount"]) for item in first["fare"]["items"]] == [
        ("tariff", "17.35"), ("boarding_fee", "3.90")]
    assert (first["board"]["place"], first["board"]["zone"]) == ("Criciúma", "America/Sao_Paulo")


def test_a_search_from_a_town_that_is_not_served_finds_nothing(partner, world):
    assert partner.get("/departures", **{"from": 999, "to": 1, "day": str(world.day)})[0] == 404


@pytest.mark.parametrize(("field", "value"), [("from", "0"), ("from", "1.0"), ("to", "x"), ("day", "2026-02-30"),
                                              ("day", "9999-12-31"), ("day", "20260303"), ("other", "1")])
def test_a_search_that_cannot_be_read_names_its_field(partner, world, field, value):
    status, told = partner.get("/departures", **{"from": 1, "to": 2, "day": str(world.day), field: value})
    assert (status, told["code"], list(told["fields"])) == (422, "invalid_input", [field])


def test_a_held_seat_is_sold_to_who_holds_it_and_to_nobody_else(app, partner, caller, world):
    status, held = partner.post("/holds", {"trip_id": world.long_trip, "board_seq": 0, "alight_seq": 1, "seat": 5})
    assert (status, held["seat"]) == (201, 5)
    other = caller(code="other")
    assert other.sell(world)[1]["code"] == "seat_taken"
    stolen = other.post("/sales", {**_with_hold(world, held["hold"])})
    assert (stolen[0], stolen[1]["code"]) == (409, "hold_over")
    assert partner.post("/sales", _with_hold(world, held["hold"]))[0] == 201


def _with_hold(world, hold):
    from tests.api.conftest import sale

    asked = sale(world)
    asked["passengers"][0]["hold"] = hold
    return asked


def test_a_hold_is_given_back_by_its_owner_alone(partner, caller, world):
    held = partner.post("/holds", {"trip_id": world.long_trip, "board_seq": 0, "alight_seq": 1, "seat": 5})[1]["hold"]
    assert caller(code="other").delete(f"/holds/{held}")[1] == {"released": False}
    assert partner.delete(f"/holds/{held}")[1] == {"released": True}
    free = partner.get(f"/trips/{world.long_trip}/seats", board_seq=0, alight_seq=1)[1]["free"]
    assert 5 in free


def test_a_sale_on_account_is_a_ledger_entry_without_a_shift(app, partner, world, database_url):
    status, sold = partner.sell(world, seats=(5, 6), total="42.50")
    assert (status, sold["total"], len(sold["tickets"])) == (201, "42.50", 2)
    with app.extensions["database"].reading() as session:
        entry = session.scalars(select(LedgerEntry)).one()
        booking = session.scalars(select(Booking)).one()
        assert (entry.method, entry.amount, entry.subject, entry.shift_id, entry.actor) == (
            "account", Money(4250), sold["booking"], None, "partner:acme")
        assert (booking.channel, booking.method, booking.sold_by) == ("partner", "account", "partner:acme")
    assert faults(database_url) == []


def test_a_repeat_answers_the_same_and_sells_nothing_more(app, partner, world):
    first = partner.sell(world, key="a-key-of-mine")
    assert partner.sell(world, key="a-key-of-mine") == first
    assert count(app, Ticket) == 1


def test_a_key_of_another_sale_is_refused(partner, world):
    partner.sell(world, key="a-key-of-mine")
    status, told = partner.sell(world, seats=(6,), key="a-key-of-mine")
    assert (status, told["code"]) == (409, "key_reused")


def test_two_partners_may_use_the_same_key(app, partner, caller, world):
    assert partner.sell(world, key="a-key-of-mine")[0] == 201
    assert caller(code="other").sell(world, seats=(6,), key="a-key-of-mine")[0] == 201


@pytest.mark.parametrize("key", [None, "", "short", "x" * 65, "with space", "çççççççç"])
def test_a_sale_needs_a_key(app, partner, world, key):
    from tests.api.conftest import sale

    headers = {**partner.headers, **({} if key is None else {"Idempotency-Key": key.encode().decode("latin-1")})}
    answer = partner.client.post("/api/v1/sales", json=sale(world), headers=headers)
    assert (answer.status_code, answer.get_json()["code"]) == (422, "bad_repeat_key")
    assert count(app, Ticket) == 0


def test_a_sale_at_another_price_than_was_shown_sells_nothing(app, partner, world):
    status, told = partner.sell(world, total="20.00")
    assert (status, told["code"]) == (409, "price_changed")
    assert count(app, Ticket) == count(app, LedgerEntry) == 0


def test_a_sale_without_the_identity_that_the_law_asks_cites_it(partner, world):
    status, told = partner.sell(world, passengers=[{"seat": 5}])
    assert (status, "11-A" in told["article"], "name" in told["fields"]) == (422, True, True)


@pytest.mark.parametrize("changes", [
    {"trip_id": "1"}, {"trip_id": True}, {"trip_id": 1.0}, {"trip_id": 10**30}, {"board_seq": -1}, {"method": "cash"},
    {"method": None}, {"passengers": []}, {"passengers": [{}] * 11}, {"passengers": [{"seat": 0}]}, {"passengers": {}},
    {"total": 21.3}, {"total": "21,30"}, {"total": "21.3"}, {"total": "-1.00"}, {"more": 1},
    {"passengers": [{"seat": 5, "cpf": "1"}]}])
def test_a_sale_of_another_shape_is_refused(app, partner, world, changes):
    status, told = partner.sell(world, **changes)
    assert (status, told["code"]) == (422, "invalid_input")
    assert count(app, Ticket) == 0


BODIES = [b"", b"{", b"[]", b"1", b"null", b'{"trip_id": NaN}', b'{"trip_id": Infinity}', b'{"method": "\\ud800"}',
          b'{"\\udfff": 1}', b"[" * 100_000, b'{"a":' * 40_000, b"\xff", b'{"trip_id": 1' + b"0" * 5000 + b"}",
          "{}".encode("utf-16"), b'{"method": "\\u0000"}']


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_that_is_no_json_object_is_refused(partner, world, body):
    answer = partner.client.post("/api/v1/sales", data=body, content_type="application/json",
                                 headers={**partner.headers, "Idempotency-Key": "a-key-of-mine"})
    assert answer.status_code == 400
    assert answer.content_type == "application/problem+json"


@pytest.mark.parametrize(("kind", "body", "status"), [
    ("text/plain", b"{}", 415), ("application/x-www-form-urlencoded", b"trip_id=1", 415), (None, b"{}", 415),
    ("application/json", b" " * 300_000, 413)])
def test_another_kind_of_body_or_one_too_large_is_refused(partner, kind, body, status):
    answer = partner.client.post("/api/v1/sales", data=body, content_type=kind, headers=partner.headers)
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")


def test_a_partner_sees_its_own_tickets_alone(partner, caller, world):
    code = partner.sell(world)[1]["tickets"][0]
    assert partner.get(f"/tickets/{code}")[1]["status"] == "sold"
    other = caller(code="other")
    for path in (f"/tickets/{code}", f"/tickets/{code}/refund", f"/tickets/{code}/pass", "/tickets/NONE0000"):
        assert other.get(path)[1]["code"] == "no_such_ticket"
    assert other.post(f"/tickets/{code}/refund", {"refund": "21.25"})[0] == 404


def test_a_refund_pays_what_was_previewed_once(app, partner, world, database_url):
    code = partner.sell(world)[1]["tickets"][0]
    offer = partner.get(f"/tickets/{code}/refund")[1]
    assert (offer["refund"], offer["kept"], offer["outcome"], offer["refusal"]) == ("21.25", "0.00", "full", None)
    first = partner.post(f"/tickets/{code}/refund", {"refund": "21.25"}, "key-of-refund")
    assert (first[0], first[1]["refunded"], first[1]["method"]) == (201, "21.25", "account")
    assert partner.post(f"/tickets/{code}/refund", {"refund": "21.25"}, "key-of-refund") == first
    again = partner.post(f"/tickets/{code}/refund", {"refund": "21.25"})
    assert (again[0], again[1]["code"]) == (409, "already_refunded")
    assert count(app, Refund) == 1
    assert partner.get(f"/tickets/{code}/refund")[1]["refusal"]["code"] == "already_refunded"
    assert faults(database_url) == []


def test_a_refund_of_another_amount_than_was_shown_pays_nothing(app, partner, world):
    code = partner.sell(world)[1]["tickets"][0]
    status, told = partner.post(f"/tickets/{code}/refund", {"refund": "20.00"})
    assert (status, told["code"]) == (409, "quote_changed")
    assert count(app, Refund) == 0


def test_late_a_refund_keeps_five_percent_and_after_departure_all(app, partner, world):
    code = partner.sell(world)[1]["tickets"][0]
    departs = NOW + timedelta(days=3)
    app.extensions["clock"] = lambda: departs
    late = partner.get(f"/tickets/{code}/refund")[1]
    assert (late["outcome"], late["refund"], late["refusal"]["code"]) == ("nothing", "0.00", "nothing_back")


def test_the_counter_sees_a_partners_ticket_and_leaves_the_money_to_the_partner(app, partner, world, signed_in):
    code = partner.sell(world)[1]["tickets"][0]
    agent = signed_in("agent", stop_id=world.stops[0])
    assert "conta do parceiro" in agent.get(f"/counter/tickets/{code}").get_data(as_text=True)
    page = agent.get(f"/counter/tickets/{code}/refund").get_data(as_text=True)
    assert "quem vendeu devolve" in page and 'name="shown"' not in page
    assert signed_in("office").get(f"/office/trips/{world.long_trip}").status_code == 200
    assert agent.post(f"/counter/tickets/{code}/refund", data={"method": "cash", "idempotency_key": "x" * 16}).status_code == 422


def test_a_pass_has_its_token_and_links_that_open(app, partner, world):
    code = partner.sell(world)[1]["tickets"][0]
    status, told = partner.get(f"/tickets/{code}/pass")
    assert (status, told["state"], told["seat"], len(told["token"])) == (200, "valid", "5", 154)
    page = app.test_client().get(told["page"].partition("localhost")[2])
    assert page.status_code == 200 and code[:4] in page.get_data(as_text=True)
    assert partner.get(f"/tickets/{code}/pass")[1] == told


def test_a_pass_of_a_ticket_that_was_paid_back_has_no_token(partner, world):
    code = partner.sell(world)[1]["tickets"][0]
    partner.post(f"/tickets/{code}/refund", {"refund": "21.25"})
    told = partner.get(f"/tickets/{code}/pass")[1]
    assert (told["state"], told["token"]) == ("refunded", None)


def test_a_sale_costs_a_fixed_number_of_statements(app, partner, world):
    statements = []
    event.listen(app.extensions["database"].engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    assert partner.sell(world)[0] == 201
    assert len(statements) <= 19, "\n".join(statements)
