"""Selling, holding, voiding and correcting on both databases."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from kernel.errors import Conflict, Forbidden, InvalidInput, RuleViolation
from kernel.money import Money
from tests.instants import NOW
from tests.world import CASH, PERSON, build, open_till, order
from ticketing.payments.models import LedgerEntry, Shift
from ticketing.payments.service import Means, close_shift, move_money, open_shift, shift_report
from ticketing.sales import identities, service
from ticketing.sales.corrections import correct_name, void_ticket
from ticketing.sales.models import FareLine, Identity, Ticket
from ticketing.seats import service as seats


@pytest.fixture
def world(session):
    world = build(session)
    open_till(session, world)
    return world


@pytest.fixture
def sell(session, world, vault):
    def sell(**changes):
        now = changes.pop("now", NOW)
        changes.setdefault("booking", service.new_code())
        return service.sell(session, order(world, **changes), vault=vault, now=now, actor="agent")
    return sell


def test_a_seat_is_sold_again_on_the_legs_that_are_left(session, sell):
    first = sell(board=0, alight=1, seat=5)
    second = sell(board=1, alight=3, seat=5)
    assert first.tickets != second.tickets


def test_a_seat_is_not_sold_twice_on_one_leg(sell):
    sell(board=0, alight=2, seat=5)
    with pytest.raises(Conflict) as refusal:
        sell(board=1, alight=3, seat=5)
    assert refusal.value.code == "seat_taken"


def test_the_course_of_204_km_demands_identity_even_on_a_short_stretch(sell):
    with pytest.raises(RuleViolation) as refusal:
        sell(board=0, alight=1, identity={})
    assert refusal.value.code == "identity_required"
    assert "11-A" in refusal.value.citation.article
    assert {"name", "document_number"} <= set(refusal.value.fields)


def test_the_course_of_80_km_does_not_ask_and_takes_what_is_given(session, sell, world, vault):
    silent = sell(trip=world.short_trip, identity={}, seat=5)
    told = sell(trip=world.short_trip, identity=PERSON, seat=6)
    rows = [service.find_ticket(session, sold.tickets[0]).ticket for sold in (silent, told)]
    assert [ticket.identity_required for ticket in rows] == [False, False]
    assert identities.of_ticket(session, rows[0], vault) is None
    assert identities.of_ticket(session, rows[1], vault).document == "RG 4.321.098 SSP/SC"


def test_the_fare_is_itemised_and_its_sum_is_what_was_paid(session, sell):
    sold = sell(board=0, alight=3)
    ticket = service.find_ticket(session, sold.tickets[0]).ticket
    lines = session.scalars(select(FareLine).where(FareLine.ticket_id == ticket.id)).all()
    assert [(line.kind, line.amount) for line in lines] == [("tariff", Money(5710)), ("boarding_fee", Money(390))]
    assert ticket.fare == sold.total == Money(6100)
    entry = session.scalars(select(LedgerEntry)).one()
    assert (entry.amount, entry.subject, entry.method) == (Money(6100), sold.booking, "cash")
    assert session.scalars(select(Shift)).one().cash == Money(16100)


def test_identity_is_kept_365_days_after_the_last_arrival(session, sell, world, vault):
    ticket = service.find_ticket(session, sell().tickets[0]).ticket
    row = session.get(Identity, ticket.id)
    assert row.keep_until == world.day + timedelta(days=365)
    assert b"Passageira" not in row.sealed
    assert b"4321098" not in row.sealed
    assert row.tag == vault.tag(row.keep_until, "RG|SSPSC|4321098")


def test_the_last_instant_of_the_full_refund_is_printed_from_the_own_boarding_call(session, sell):
    found = service.find_ticket(session, sell(board=1, alight=3).tickets[0])
    assert found.ticket.refund_until == found.journey.calls[1].departs_at - timedelta(hours=12)


def test_without_a_seat_number_the_best_free_seat_is_given(session, sell):
    sell(board=0, alight=1, seat=7)
    found = service.find_ticket(session, sell(board=1, alight=3, seat=None).tickets[0])
    assert found.ticket.seat == 7


def test_a_full_stretch_is_refused_with_a_way_on(sell):
    for _ in range(11):
        sell(board=0, alight=3, seat=None)
    with pytest.raises(Conflict) as refusal:
        sell(board=1, alight=2, seat=None)
    assert refusal.value.code == "full"


def test_a_crew_seat_is_never_sold(sell):
    with pytest.raises(RuleViolation) as refusal:
        sell(seat=1)
    assert refusal.value.code == "seat_not_for_sale"


def test_standing_places_are_sold_where_the_line_allows_them_up_to_the_number(session, vault):
    world = build(session, standing=True)
    open_till(session, world)
    for seat in (201, 202):
        service.sell(session, order(world, booking=service.new_code(), seat=seat), vault=vault, now=NOW, actor="agent")
    with pytest.raises(RuleViolation) as refusal:
        service.sell(session, order(world, booking=service.new_code(), seat=203), vault=vault, now=NOW, actor="agent")
    assert refusal.value.code == "standing_over_limit"


def test_a_hold_keeps_the_seat_and_is_turned_into_the_sale(session, sell, world):
    hold = service.hold_seat(session, world.long_trip, 0, 1, 5, now=NOW, actor="agent")
    with pytest.raises(Conflict):
        service.hold_seat(session, world.long_trip, 0, 2, 5, now=NOW, actor="other")
    sold = sell(seat=5, hold=hold.code)
    ticket = service.find_ticket(session, sold.tickets[0]).ticket
    assert (ticket.seat, ticket.hold_id) == (5, hold.id)
    assert not seats.release_hold(session, hold.code, actor="agent")


def test_a_hold_is_never_sold_as_another_seat_than_the_chosen_one(session, sell, world):
    hold = service.hold_seat(session, world.long_trip, 0, 1, 5, now=NOW, actor="agent")
    with pytest.raises(Conflict) as refusal, session.begin_nested():
        sell(seat=6, hold=hold.code)
    assert refusal.value.code == "other_seat_held" and refusal.value.fields["seat"]
    assert service.find_ticket(session, sell(seat=None, hold=hold.code).tickets[0]).ticket.seat == 5


def test_a_hold_that_ran_out_is_free_at_once_and_its_owner_is_told(session, world, vault):
    hold = service.hold_seat(session, world.long_trip, 0, 1, 5, now=NOW, actor="agent")
    later = NOW + timedelta(minutes=10)
    assert 5 in seats.free_numbers(session, service.load_journey(session, world.long_trip, 0, 1), now=later)
    service.sell(session, order(world, booking="OTHER001"), vault=vault, now=later, actor="agent")
    with pytest.raises(Conflict) as refusal:
        service.sell(session, order(world, booking="FIRST001", hold=hold.code), vault=vault, now=later, actor="agent")
    assert refusal.value.code == "hold_over"


def test_somebody_elses_hold_is_not_mine_to_sell_or_release(session, sell, world):
    hold = service.hold_seat(session, world.long_trip, 0, 1, 5, now=NOW, actor="other")
    assert not seats.release_hold(session, hold.code, actor="agent")
    with pytest.raises(Conflict) as refusal:
        sell(hold=hold.code)
    assert refusal.value.code == "hold_over"


def test_sweeping_clears_only_expired_holds(session, world):
    service.hold_seat(session, world.long_trip, 0, 1, 5, now=NOW, actor="agent")
    service.hold_seat(session, world.long_trip, 0, 1, 6, now=NOW + timedelta(minutes=5), actor="agent")
    assert seats.sweep(session, now=NOW + timedelta(minutes=11)) == 1
    taken = seats.taken_seats(session, world.long_trip, now=NOW)
    assert set(taken.held) == {6}


def test_nothing_is_sold_without_an_open_till(session, world, vault):
    with pytest.raises(Conflict) as refusal:
        service.sell(session, order(world), vault=vault, now=NOW, actor="nobody")
    assert refusal.value.code == "no_shift"


def test_one_card_slip_pays_for_one_sale(session, sell):
    sell(means=Means("card", "123456"), seat=5)
    assert session.scalars(select(Shift)).one().cash == Money(10000)
    with pytest.raises(Conflict) as refusal:
        sell(means=Means("card", "123456"), seat=6)
    assert refusal.value.code == "slip_used"


def test_one_reversal_slip_gives_one_price_back(session, sell):
    first, second = (sell(means=Means("card", number), seat=seat).tickets[0] for number, seat in (("1", 5), ("2", 6)))
    void_ticket(session, first, Means("card", "REV-1"), "engano", supervisor=False, now=NOW, actor="agent")
    with pytest.raises(Conflict) as refusal:
        move_money(session, "refund", Means("card", "REV-1"), Money(-100), subject=second, now=NOW, actor="agent")
    assert refusal.value.code == "slip_used"
    move_money(session, "refund", Means("card", "2"), Money(-100), subject=second, now=NOW, actor="agent")  # the sale's own


def test_a_departed_stop_sells_no_more(session, sell, world, vault):
    journey = service.load_journey(session, world.long_trip, 0, 1)
    late = journey.board.departs_at + timedelta(seconds=1)
    with pytest.raises(Conflict) as refusal:
        service.sell(session, order(world), vault=vault, now=late, actor="agent")
    assert refusal.value.code == "already_left"
    service.sell(session, order(world, board=1, alight=2), vault=vault, now=late, actor="agent")


def test_a_sale_is_voided_within_the_minutes_and_the_seat_is_free(session, sell):
    code = sell(seat=5).tickets[0]
    paid_back = void_ticket(session, code, CASH, "poltrona errada", supervisor=False,
                                    now=NOW + timedelta(minutes=15), actor="agent")
    assert paid_back == Money(2125)  # 62 km x 0.28 to the nearest 5 centavos, and the boarding fee
    sell(seat=5)


def test_a_sale_is_not_voided_after_the_minutes_nor_by_another_agent(session, sell, world):
    code = sell(seat=5).tickets[0]
    with pytest.raises(RuleViolation):
        void_ticket(session, code, CASH, "poltrona errada", supervisor=False,
                            now=NOW + timedelta(minutes=15, seconds=1), actor="agent")
    with pytest.raises(Forbidden):
        void_ticket(session, code, CASH, "poltrona errada", supervisor=False, now=NOW, actor="other")
    open_shift(session, stop_id=world.stops[0], opening_float=Money(5000), now=NOW, actor="boss")
    void_ticket(session, code, CASH, "poltrona errada", supervisor=True, now=NOW, actor="boss")
    with pytest.raises(Conflict):
        void_ticket(session, code, CASH, "poltrona errada", supervisor=True, now=NOW, actor="boss")


def test_a_card_sale_is_not_paid_back_in_cash(session, sell):
    code = sell(means=Means("card", "777")).tickets[0]
    with pytest.raises(InvalidInput) as refusal:
        void_ticket(session, code, CASH, "poltrona errada", supervisor=False, now=NOW, actor="agent")
    assert refusal.value.code == "other_means"


def test_a_name_is_corrected_and_the_document_stays(session, sell, vault):
    code = sell().tickets[0]
    correct_name(session, code, "  Passageira   do Teste ", vault=vault, now=NOW, actor="agent")
    passenger = identities.of_ticket(session, service.find_ticket(session, code).ticket, vault)
    assert (passenger.name, passenger.number) == ("Passageira do Teste", "4.321.098")


def test_a_name_whose_day_has_passed_is_not_corrected(session, sell, vault):
    code = sell().tickets[0]
    last_day = session.scalars(select(Identity)).one().keep_until
    vault.advance(last_day + timedelta(days=1), days_limit=1000)
    with pytest.raises(Conflict) as refusal:
        correct_name(session, code, "Passageira do Teste", vault=vault, now=NOW, actor="agent")
    assert refusal.value.code == "nothing_to_correct"


def test_a_typed_code_is_found_whatever_its_case_and_hyphen(session, sell):
    code = sell().tickets[0]
    assert service.find_ticket(session, f" {code[:4].lower()}-{code[4:].lower()} ").ticket.code == code


def test_closing_the_till_keeps_the_difference(session, sell):
    sell(seat=5)
    report = close_shift(session, counted=Money(12000), now=NOW, actor="agent")
    assert report.difference == Money(12000) - Money(10000) - report.cash
    assert shift_report(session, report.shift).difference == report.difference
    with pytest.raises(Conflict):
        close_shift(session, counted=Money(0), now=NOW, actor="agent")


def test_several_passengers_are_sold_together_or_not_at_all(session, world, vault):
    one = order(world).places[0]
    family = replace(order(world), places=[one, replace(one, seat=6), replace(one, seat=None)])
    sold = service.sell(session, family, vault=vault, now=NOW, actor="agent")
    assert len(set(sold.tickets)) == 3
    assert len(session.scalars(select(Ticket)).all()) == 3


def test_who_may_sit_anywhere_never_takes_the_seat_that_another_of_the_order_asked_for(session, world, vault):
    one = order(world).places[0]
    family = replace(order(world), places=[*[replace(one, seat=None)] * 9, replace(one, seat=5)])  # ten of eleven seats
    sold = service.sell(session, family, vault=vault, now=NOW, actor="agent")
    assert len(set(sold.tickets)) == 10


def test_every_refusal_of_a_sale_names_its_rule(session, sell, world):
    sell(seat=5)
    trips = {"seat_taken": {"seat": 5}, "seat_not_for_sale": {"seat": 1}, "identity_required": {"identity": {}},
             "hold_over": {"hold": "0" * 32}, "already_left": {"now": NOW + timedelta(days=3)}}
    for code, changes in trips.items():
        with pytest.raises((Conflict, RuleViolation)) as refusal:
            sell(**changes)
        assert refusal.value.code == code
        assert refusal.value.citation.rule.startswith("T")
