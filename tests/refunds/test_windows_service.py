"""Paying back on both databases: amounts and their rule, what is refused, the ledger, and the races."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import event, func, select

from kernel.audit import AuditEntry
from kernel.db import Database
from kernel.errors import Conflict, DomainError, InvalidInput, NotFound, RuleViolation
from kernel.money import ZERO, Money
from refunds.windows.models import Refund
from refunds.windows.service import preview, refund
from tests.instants import NOW
from tests.world import CASH, build, open_till, order
from ticketing.network.models import Carrier, Line
from ticketing.network.service import cancel_trip, report_delay
from ticketing.payments.models import LedgerEntry, Shift
from ticketing.payments.service import Means, close_shift, shift_report
from ticketing.sales import service as sales
from ticketing.sales.corrections import void_ticket
from ticketing.sales.models import Ticket
from ticketing.seats.models import SeatLeg

FARE, KEPT = Money(3470), Money(174)  # 5 % is 1.735: half a cent goes up
CARD = Means("card", "S-100")


@pytest.fixture
def world(session):
    world = build(session)
    open_till(session, world)
    return world


@pytest.fixture
def sell(session, world, vault):
    def sell(**changes) -> str:
        wanted = order(world, **{"booking": sales.new_code(), "board": 0, "alight": 2, **changes})
        return sales.sell(session, wanted, vault=vault, now=NOW, actor="agent").tickets[0]
    return sell


@pytest.fixture
def pay(session):
    def pay(code, means=CASH, *, now=NOW, shown=None, actor="agent"):
        return refund(session, code, means, shown=shown, now=now, actor=actor)
    return pay


def departs(session, code):
    return sales.find_ticket(session, code).journey.board.departs_at


def tallies(session) -> tuple[Money, Money, Money]:
    """The drawer over its float, the ledger's cash, and what sales took less what refund rows paid: all one sum."""
    drawer = session.scalars(select(Shift).execution_options(populate_existing=True)).one()
    ledger = session.scalars(select(LedgerEntry.amount).where(LedgerEntry.method == "cash")).all()
    sold = session.scalars(select(LedgerEntry.amount).where(LedgerEntry.kind == "sale", LedgerEntry.method == "cash"))
    paid = session.scalars(select(Refund.refunded).where(Refund.method == "cash"))
    return (drawer.cash - drawer.opening_float, Money(sum(amount.cents for amount in ledger)),
            Money(sum(amount.cents for amount in sold) - sum(amount.cents for amount in paid)))


def state(session, code) -> str:
    return session.scalar(select(Ticket.status).where(Ticket.code == code))


@pytest.mark.parametrize(("before", "refunded", "kept"), [
    (timedelta(hours=12), FARE, ZERO),
    (timedelta(hours=11, minutes=59, seconds=59), FARE - KEPT, KEPT),
    (timedelta(0), FARE - KEPT, KEPT),
])
def test_each_side_of_the_window_is_paid_to_the_cent(session, sell, pay, before, refunded, kept):
    code = sell()
    paid = pay(code, now=departs(session, code) - before)
    row = session.scalars(select(Refund)).one()
    assert (paid.refunded, paid.kept) == (row.refunded, row.kept) == (refunded, kept)
    assert row.decision["rule"] == "R2"
    assert state(session, code) == "refunded"
    assert tallies(session) == (kept, kept, kept)


def test_the_window_is_counted_from_the_passengers_own_boarding_call(session, sell, pay):
    early, late = sell(board=0, alight=1), sell(board=1, alight=2)
    asked = departs(session, early) - timedelta(hours=11)
    assert pay(early, now=asked).kept != ZERO
    assert pay(late, now=asked).kept == ZERO


def test_after_departure_nothing_comes_back_and_nothing_changes(session, sell, pay):
    code = sell()
    with pytest.raises(RuleViolation) as refusal:
        pay(code, now=departs(session, code) + timedelta(microseconds=1))
    assert (refusal.value.code, refusal.value.citation.rule) == ("nothing_back", "R2")
    assert state(session, code) == "sold"
    assert tallies(session) == (FARE, FARE, FARE)


@pytest.mark.parametrize("late", [61, 0])
def test_a_trip_over_an_hour_late_or_cancelled_gives_all_back_after_departure_too(session, world, sell, pay, late):
    code = sell()
    if late:
        report_delay(session, world.long_trip, late, now=NOW, actor="office")
    else:
        cancel_trip(session, world.long_trip, "vehicle", now=NOW, actor="office")
    assert pay(code, now=departs(session, code) + timedelta(hours=3)).refunded == FARE


def test_a_late_bus_has_not_left_before_it_leaves(session, world, sell, pay):
    report_delay(session, world.long_trip, 60, now=NOW, actor="office")
    in_time, too_late = sell(seat=5), sell(seat=6)
    leaves = departs(session, in_time) + timedelta(minutes=60)
    assert pay(in_time, now=leaves).kept == KEPT
    with pytest.raises(RuleViolation):
        pay(too_late, now=leaves + timedelta(seconds=1))


def test_a_boarded_passenger_is_paid_only_when_the_carrier_cancelled(session, world, sell, pay):
    code = sell()
    sales.board_ticket(session, sales.find_ticket(session, code).ticket.id, 0, now=NOW, actor="driver")
    session.expire_all()
    with pytest.raises(Conflict) as refusal:
        pay(code)
    assert refusal.value.code == "already_boarded"
    cancel_trip(session, world.long_trip, "vehicle", now=NOW, actor="office")
    session.expire_all()
    assert pay(code).refunded == FARE


def test_the_table_is_the_one_that_the_ticket_was_sold_under(session, sell, pay):
    before = sell(seat=5)
    session.scalars(select(Carrier)).one().late_refund = [{"from_hours": 2, "kept_percent": 0}]
    after = sell(seat=6)
    asked = departs(session, before) - timedelta(hours=3)
    assert preview(session, after, now=asked).full_until == departs(session, after) - timedelta(hours=2)
    assert (pay(before, now=asked).kept, pay(after, now=asked).kept) == (KEPT, ZERO)


def test_a_line_of_mato_grosso_do_sul_cites_its_own_law(session, sell):
    session.scalars(select(Line).where(Line.code == "T-204")).one().state = "MS"
    citation = preview(session, sell(), now=NOW).quote.decision.citation
    assert citation.rule == "R1"
    assert "Lei MS 36/1979, art. 40, III, c" in citation.article


def test_a_second_refund_says_when_and_how_much(session, sell, pay):
    code = sell()
    pay(code)
    session.expire_all()
    with pytest.raises(Conflict) as refusal:
        pay(code, now=NOW + timedelta(hours=1))
    assert refusal.value.code == "already_refunded"
    assert "02/03/2026 às 09:00 (horário de Brasília)" in refusal.value.sentence
    assert "R$\u00a034,70" in refusal.value.sentence
    assert tallies(session) == (ZERO, ZERO, ZERO)


def test_a_voided_sale_is_not_refunded_too(session, sell, pay):
    code = sell()
    void_ticket(session, code, CASH, "poltrona errada", supervisor=False, now=NOW, actor="agent")
    session.expire_all()
    with pytest.raises(Conflict) as refusal:
        pay(code)
    assert refusal.value.code == "already_voided"


def test_a_refunded_seat_is_sold_again_at_once(session, sell, pay):
    pay(sell(seat=7))
    assert session.scalar(select(func.count()).select_from(SeatLeg)) == 0
    assert state(session, sell(seat=7)) == "sold"


def test_money_goes_back_only_the_way_it_came(sell, pay):
    for paid_by, other in ((CASH, CARD), (Means("card", "S-1"), CASH)):
        code = sell(seat=None, means=paid_by)
        with pytest.raises(InvalidInput) as refusal:
            pay(code, other)
        assert refusal.value.code == "other_means"


def test_a_card_is_refunded_under_a_reversal_slip_used_once(session, sell, pay):
    codes = [sell(seat=None, means=Means("card", f"S-{n}")) for n in range(2)]
    pay(codes[0], Means("card", "R-9"))
    assert session.scalars(select(Refund)).one().reference == "R-9"
    with pytest.raises(Conflict) as refusal:
        pay(codes[1], Means("card", "R-9"))
    assert refusal.value.code == "slip_used"


def test_a_drawer_without_the_money_pays_nothing(session, world, sell, pay):
    code = sell()
    open_till(session, world, "other")
    session.scalars(select(Shift).where(Shift.agent == "other")).one().cash = Money(3469)
    session.flush()
    with pytest.raises(Conflict) as refusal:
        pay(code, actor="other")
    assert refusal.value.code == "drawer_short"


def test_an_amount_that_changed_since_it_was_told_is_not_paid(session, sell, pay):
    code = sell()
    with pytest.raises(Conflict) as refusal:
        pay(code, shown=FARE, now=departs(session, code) - timedelta(hours=1))
    assert refusal.value.code == "quote_changed"
    assert state(session, code) == "sold"


def test_an_unknown_code_is_not_found(pay):
    with pytest.raises(NotFound):
        pay("ZZZZZZZZ")


def test_the_audit_log_tells_the_amounts_by_ticket_code(session, sell, pay):
    code = sell()
    pay(code, now=departs(session, code))
    entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "ticket_refunded")).one()
    assert (entry.subject, entry.actor) == (code, "agent")
    assert (entry.details["refunded"], entry.details["kept"]) == (3296, 174)


def test_a_refund_takes_ten_statements(session, sell, pay):
    code, seen = sell(), []
    session.expunge_all()
    event.listen(session.get_bind(), "before_cursor_execute", lambda *given: seen.append(given[2]))
    pay(code)
    assert len(seen) == 10, "\n".join(seen)


# Races: each runner has connections of its own, and all start together.

@pytest.fixture
def sold(database, vault) -> str:
    """The code of a ticket sold for FARE by `agent`, committed; `agent` and `other` have open tills."""
    with database.transaction() as session:
        world = build(session)
        open_till(session, world)
        open_till(session, world, "other")
        wanted = order(world, board=0, alight=2)
        return sales.sell(session, wanted, vault=vault, now=NOW, actor="agent").tickets[0]


def run_together(url, *runners):
    """What each runner answered, a refusal as its code."""
    start = Barrier(len(runners))

    def run(runner):
        database = Database(url)
        try:
            start.wait()
            with database.transaction() as session:
                return runner(session)
        except DomainError as refusal:
            return refusal.code
        finally:
            database.engine.dispose()

    with ThreadPoolExecutor(len(runners)) as pool:
        return list(pool.map(run, runners))


def refunding(code, actor="agent"):
    return lambda session: refund(session, code, CASH, shown=None, now=NOW, actor=actor) and "refunded"


def boarding(code):
    def board(session):
        ticket = sales.find_ticket(session, code).ticket
        return "boarded" if sales.board_ticket(session, ticket.id, 0, now=NOW, actor="driver") else "too late"
    return board


def voiding(code):
    return lambda session: void_ticket(session, code, CASH, "poltrona errada", supervisor=False, now=NOW,
                                             actor="agent") and "voided"


def test_twenty_refunds_at_once_by_two_tills_pay_once(database, database_url, sold):
    answers = run_together(database_url, *(refunding(sold, actor) for actor in ("agent", "other") for _ in range(10)))
    assert sorted(answers) == ["already_refunded"] * 19 + ["refunded"]
    with database.reading() as session:
        row = session.scalars(select(Refund)).one()
        drawers = {shift.agent: shift.cash for shift in session.scalars(select(Shift))}
        assert row.refunded == FARE
        assert drawers["agent"] + drawers["other"] == Money(20_000)
        assert drawers[row.paid_by] == Money(10_000) - (ZERO if row.paid_by == "agent" else FARE)
        entries = session.scalars(select(LedgerEntry).order_by(LedgerEntry.id)).all()
        assert [(entry.kind, entry.amount) for entry in entries] == [("sale", FARE), ("refund", -FARE)]


@pytest.mark.parametrize("turn", range(4))
def test_a_refund_and_a_boarding_at_once_do_not_both_win(database, database_url, sold, turn):
    runners = [refunding(sold), boarding(sold)]
    answers = run_together(database_url, *(runners if turn % 2 else reversed(runners)))
    assert set(answers) in ({"refunded", "too late"}, {"already_boarded", "boarded"})
    with database.reading() as session:
        assert state(session, sold) == ("refunded" if "refunded" in answers else "boarded")
        paid = session.scalars(select(Refund)).all()
        assert len(paid) == answers.count("refunded")


@pytest.mark.parametrize("turn", range(4))
def test_a_refund_and_a_void_at_once_pay_back_once(database, database_url, sold, turn):
    runners = [refunding(sold, "other"), voiding(sold)]
    answers = run_together(database_url, *(runners if turn % 2 else reversed(runners)))
    assert set(answers) in ({"refunded", "ticket_not_sold"}, {"refunded", "already_settled"}, {"already_voided", "voided"})
    with database.reading() as session:
        kinds = session.scalars(select(LedgerEntry.kind).where(LedgerEntry.amount < ZERO)).all()
        assert len(kinds) == 1
        drawers = sum(shift.cash.cents for shift in session.scalars(select(Shift)))
        assert drawers == 20_000


def test_a_closed_till_pays_nothing_and_changes_nothing(database, sold):
    with database.transaction() as session:
        close_shift(session, counted=Money(13_470), now=NOW, actor="agent")
    with pytest.raises(Conflict) as refusal, database.transaction() as session:
        refund(session, sold, CASH, shown=None, now=NOW, actor="agent")
    assert refusal.value.code == "no_shift"
    with database.reading() as session:
        assert state(session, sold) == "sold"
        assert session.scalar(select(func.count()).select_from(SeatLeg)) == 2
        assert session.scalars(select(Refund)).all() == []
        shift = session.scalars(select(Shift).where(Shift.agent == "agent")).one()
        assert (shift.cash, shift_report(session, shift).difference) == (Money(13_470), ZERO)
