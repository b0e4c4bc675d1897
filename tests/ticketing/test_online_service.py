"""A purchase on the web from its seats to its tickets, on both databases: the time that runs out, money late or twice."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import func, select, text, update

from kernel.errors import Conflict, InvalidInput, NotFound, RuleViolation
from kernel.money import Money
from tests.instants import NOW
from tests.ticketing.pix import STATIC, books, money, payouts, take
from tests.world import PERSON, build, open_till, order
from ticketing.network.models import Carrier
from ticketing.network.service import load_journey
from ticketing.online import policy, service
from ticketing.online.models import PendingBooking
from ticketing.payments.models import Charge, LedgerEntry
from ticketing.sales.identities import of_ticket
from ticketing.sales.models import Booking, Ticket
from ticketing.sales.service import sell
from ticketing.seats.service import free_numbers, sweep
from ticketing.tariffs.policy import TariffVersion
from ticketing.tariffs.service import add_tariff

SECRET = "a secret for the tests alone, 32+"
PRICE = Money(1735 + 390)  # 62 km at R$ 0.28, rounded to five centavos, and the boarding fee
SECOND = {**PERSON, "name": "Passageiro Segundo de Teste", "document_number": "5.432.109"}
AFTER_HOLD = NOW + timedelta(minutes=11)


def typed(*people):
    return {policy.field_of(field, n): value for n, person in enumerate(people, 1) for field, value in person.items()}


@pytest.fixture
def world(database):
    with database.transaction() as session:
        return build(session)


@pytest.fixture
def start(database, world, vault):
    """`start([5, 6])` is the code of a purchase with its passengers named and its charge opened."""

    def begin(seats, people=(PERSON, SECOND), *, code="WEBAAAAA", trip=None, now=NOW, alight=1):
        with database.transaction() as session:
            row = service.start_booking(session, code, (trip or world.long_trip, 0, alight), seats, now=now)
            if row.identity_required:
                service.name_passengers(session, row, typed(*people[:len(seats)]), vault=vault, now=now)
            service.open_charge(session, row, STATIC, now=now)
        return code

    return begin


@pytest.fixture
def pay(database, vault):
    """`pay(code)` is what became of a PIX for the purchase, by default of its whole price."""

    def take_money(code, *, cents=None, n=1, now=NOW):
        with database.transaction() as session:
            charge = session.scalars(select(Charge).where(Charge.subject == code)).one()
            told = money(charge.txid, cents or charge.amount.cents, n)

            def settle(session, subject, receipt, _now):
                return service.settle(session, subject, receipt, vault=vault, now=now)
            return take(session, told, settle)

    return take_money


def tickets(database, code):
    with database.reading() as session:
        found = list(session.scalars(select(Ticket).join(Booking, Ticket.booking_id == Booking.id)
                                     .where(Booking.code == code).order_by(Ticket.seat)))
        session.expunge_all()
        return found


def row_of(database, code):
    with database.reading() as session:
        row = session.get_one(PendingBooking, code)
        session.expunge(row)
        return row


def free(database, world, now):
    with database.reading() as session:
        return set(free_numbers(session, load_journey(session, world.long_trip, 0, 1), now=now))


def test_two_passengers_pay_once_and_each_has_a_ticket_in_their_own_name(database, start, pay, vault):
    code = start([6, 5])
    assert pay(code) == "settled"
    sold = tickets(database, code)
    assert [ticket.seat for ticket in sold] == [5, 6]
    with database.reading() as session:
        names = [of_ticket(session, ticket, vault).name for ticket in sold]
        booking = session.scalars(select(Booking).where(Booking.code == code)).one()
        entry = session.scalars(select(LedgerEntry)).one()
        assert books(session) == {entry.reference: 0}
        assert payouts(session) == []
        assert (booking.channel, booking.method, booking.sold_by) == ("online", "pix", "online")
        assert entry.amount == booking.total == Money(2 * PRICE.cents)
    assert names == [PERSON["name"], SECOND["name"]]
    paid = row_of(database, code)
    assert (paid.status, paid.sealed) == ("paid", None)


def test_who_is_to_travel_lies_sealed_until_it_is_paid_and_nowhere_else(database, start):
    code = start([5, 6])
    sealed = row_of(database, code).sealed
    assert sealed and PERSON["name"].encode() not in sealed
    with database.reading() as session:
        for table in ("pending_booking", "seat_hold", "audit_entry", "charge", "outbox", "repeat_key"):
            for row in session.execute(text(f"SELECT * FROM {table}")):
                assert "Teste" not in str(row) and "4.321.098" not in str(row)


def test_an_abandoned_seat_is_free_again_the_moment_its_time_is_over_swept_or_not(database, world, start):
    code = start([5, 6])
    until = row_of(database, code).expires_at
    assert until == NOW + timedelta(minutes=10)
    assert {5, 6}.isdisjoint(free(database, world, until - timedelta(seconds=1)))
    assert {5, 6} <= free(database, world, until)
    start([5, 6], code="WEBBBBBB", now=until)


def test_the_hold_is_lengthened_once_and_seats_and_charge_with_it(database, world, start):
    code = start([5, 6])
    with database.transaction() as session:
        until = service.extend_hold(session, session.get_one(PendingBooking, code), now=NOW + timedelta(minutes=9))
    assert until == NOW + timedelta(minutes=20)
    assert {5, 6}.isdisjoint(free(database, world, until - timedelta(seconds=1)))
    with database.reading() as session:
        assert session.scalars(select(Charge.expires_at)).one() == until
    with pytest.raises(Conflict) as refusal, database.transaction() as session:
        service.extend_hold(session, session.get_one(PendingBooking, code), now=NOW + timedelta(minutes=12))
    assert refusal.value.code == "extended_before"


def test_a_hold_that_ended_is_not_lengthened(database, start):
    code = start([5])
    with pytest.raises(Conflict) as refusal, database.transaction() as session:
        service.extend_hold(session, session.get_one(PendingBooking, code), now=NOW + timedelta(minutes=10))
    assert refusal.value.code == "hold_over"


def test_the_same_notice_twice_sells_once(database, start, pay):
    code = start([5])
    assert pay(code) == "settled"
    assert pay(code) is None
    assert len(tickets(database, code)) == 1


def test_a_second_payment_goes_back_whole(database, start, pay):
    code = start([5])
    assert [pay(code, n=1), pay(code, n=2)] == ["settled", "repeated"]
    assert len(tickets(database, code)) == 1
    with database.reading() as session:
        assert payouts(session) == [("repeated", PRICE.cents, "due")]
        assert set(books(session).values()) == {0}


@pytest.mark.parametrize(("cents", "outcome", "owed"), [
    (PRICE.cents - 1, "short", [("short", PRICE.cents - 1, "due")]),
    (PRICE.cents + 1, "settled", [("over", 1, "due")])])
def test_too_little_goes_back_and_what_is_too_much_too(database, start, pay, cents, outcome, owed):
    code = start([5])
    assert pay(code, cents=cents) == outcome
    assert len(tickets(database, code)) == (outcome == "settled")
    with database.reading() as session:
        assert payouts(session) == owed
        assert set(books(session).values()) == {0}


@pytest.mark.parametrize("swept", [False, True])
def test_money_that_comes_late_gets_its_seats_where_they_are_still_free(database, start, pay, swept):
    code = start([5, 6])
    if swept:
        with database.transaction() as session:
            assert sweep(session, now=AFTER_HOLD) == 2
    assert pay(code, now=AFTER_HOLD) == "settled"
    assert [ticket.seat for ticket in tickets(database, code)] == [5, 6]


def test_money_that_comes_late_goes_back_where_one_seat_was_sold_meanwhile(database, world, start, pay, vault):
    code = start([5, 6])
    with database.transaction() as session:
        open_till(session, world)
        sell(session, order(world, seat=6), vault=vault, now=AFTER_HOLD, actor="agent")
    assert pay(code, now=AFTER_HOLD) == "late"
    assert tickets(database, code) == []
    with database.reading() as session:
        assert payouts(session) == [("late", 2 * PRICE.cents, "due")]
        assert session.scalar(select(func.count()).select_from(LedgerEntry).where(LedgerEntry.method == "pix")) == 0
    ended = row_of(database, code)
    assert (ended.status, ended.sealed) == ("expired", None)
    assert 5 in free(database, world, AFTER_HOLD)


def test_money_after_the_passengers_were_erased_goes_back_where_the_law_asks_names(database, start, pay):
    code = start([5])
    later = row_of(database, code).ends_at
    with database.transaction() as session:
        assert service.expire_unpaid(session, now=later - timedelta(seconds=1)) == 0
        assert service.expire_unpaid(session, now=later) == 1
    assert row_of(database, code).sealed is None
    assert pay(code, now=later) == "late"
    assert tickets(database, code) == []


def test_where_no_name_is_asked_late_money_still_finds_a_free_seat(database, world, start, pay):
    code = start([5], trip=world.short_trip)
    with database.transaction() as session:
        assert service.expire_unpaid(session, now=NOW + timedelta(hours=2)) == 1
    assert pay(code, now=NOW + timedelta(hours=2)) == "settled"
    assert len(tickets(database, code)) == 1


def test_money_for_a_bus_that_has_left_goes_back(database, start, pay):
    assert pay(start([5]), now=NOW + timedelta(days=2)) == "late"


def test_who_gives_up_frees_the_seats_erases_the_names_and_is_paid_back(database, world, start, pay):
    code = start([5, 6])
    with database.transaction() as session:
        service.give_up(session, session.get_one(PendingBooking, code), now=NOW)
    assert {5, 6} <= free(database, world, NOW)
    assert row_of(database, code).sealed is None
    assert pay(code) == "late"


def test_the_price_is_of_the_day_of_the_purchase_even_when_it_is_paid_after_midnight(database, world, start, pay):
    before_midnight = NOW + timedelta(hours=14, minutes=55)  # 23:55 in Santa Catarina
    with database.transaction() as session:
        line = session.execute(text("SELECT line_id FROM trip WHERE id = :id"), {"id": world.long_trip}).scalar_one()
        add_tariff(session, line, TariffVersion(0, "Ato 11", NOW.date() + timedelta(days=1), "coefficient", Decimal("0.90")),
                   state="SC", today=NOW.date(), now=NOW, actor="tests")
    code = start([5], now=before_midnight)
    assert pay(code, now=before_midnight + timedelta(minutes=8)) == "settled"
    assert tickets(database, code)[0].fare == PRICE


def test_all_seats_are_held_or_none(database, world, start):
    start([5])
    with pytest.raises(Conflict) as refusal:
        start([4, 5], code="WEBBBBBB")
    assert refusal.value.code == "seat_taken"
    assert 4 in free(database, world, NOW)


def test_each_wrong_field_of_each_passenger_is_told_and_nothing_is_kept(database, world, vault):
    with database.transaction() as session:
        row = service.start_booking(session, "WEBAAAAA", (world.long_trip, 0, 1), [5, 6], now=NOW)
        wrong = {**typed(PERSON, SECOND), "name-1": "", "document_number-2": "1"}
        with pytest.raises((InvalidInput, RuleViolation)) as refusal:
            service.name_passengers(session, row, wrong, vault=vault, now=NOW)
    assert set(refusal.value.fields) == {"name-1", "document_number-2"}
    assert refusal.value.citation is not None
    assert row_of(database, "WEBAAAAA").sealed is None


def test_nobody_pays_before_the_passengers_are_named_nor_after_the_time(database, world):
    with database.transaction() as session:
        row = service.start_booking(session, "WEBAAAAA", (world.long_trip, 0, 1), [5], now=NOW)
        with pytest.raises(Conflict, match="passengers_missing"):
            service.open_charge(session, row, STATIC, now=NOW)
        with pytest.raises(Conflict, match="hold_over"):
            service.open_charge(session, row, STATIC, now=NOW + timedelta(minutes=10))


def test_a_purchase_has_one_charge_however_often_it_is_asked_for(database, start):
    code = start([5])
    with database.transaction() as session:
        row = session.get_one(PendingBooking, code)
        assert service.open_charge(session, row, STATIC, now=NOW) == row.txid
        assert session.scalar(select(func.count()).select_from(Charge)) == 1


def test_a_purchase_opens_with_its_own_link_and_no_other(database, start):
    code = start([5])
    link = policy.booking_link(code, SECRET)
    with database.reading() as session:
        assert service.find_purchase(session, code.lower(), link, SECRET).code == code
        for wrong_code, wrong_link in ((code, ""), (code, policy.booking_link("WEBBBBBB", SECRET)), ("WEBBBBBB", link),
                                       ("WEBBBBBB", policy.booking_link("WEBBBBBB", SECRET))):
            with pytest.raises(NotFound) as refusal:
                service.find_purchase(session, wrong_code, wrong_link, SECRET)
            assert refusal.value.code == "no_such_purchase"


def test_the_carriers_own_minutes_count(database, start):
    with database.transaction() as session:
        session.execute(update(Carrier).values(hold_minutes=5))
    code = start([5])
    assert row_of(database, code).expires_at == NOW + timedelta(minutes=5)
    assert row_of(database, code).keep_until >= date(2027, 3, 3)
