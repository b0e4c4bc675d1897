"""Every PIX that comes in ends as a sale or as money that goes back, once, whatever its order and amount."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import permutations

import pytest
from sqlalchemy import event, func, select, update
from sqlalchemy.exc import IntegrityError

from kernel.audit import AuditEntry
from kernel.errors import Conflict, InvalidInput, NotFound
from kernel.money import Money
from tests.instants import NOW
from tests.ticketing.pix import STATIC, books, e2e, letters, money, no_sale, payouts, sale, take
from ticketing.payments import charges
from ticketing.payments import payouts as returns
from ticketing.payments.models import Charge, LedgerEntry, Payout, Receipt
from ticketing.payments.service import Means, move_money

LATER = NOW + timedelta(minutes=10)


@pytest.fixture
def charge(database):
    """The txid of a charge of R$ 85,59 for BOOKING1, which the bank knows."""
    with database.transaction() as session:
        txid = charges.open_charge(session, STATIC, subject="BOOKING1", amount=Money(8559), expires_at=LATER, now=NOW).txid
        charges.activate(session, txid, "a code")
    return txid


def run(database, act):
    with database.transaction() as session:
        return act(session)


def status(database, txid: str) -> str:
    with database.reading() as session:
        return session.get_one(Charge, txid).status


def test_the_asked_amount_sells_and_owes_nothing(database, charge):
    assert run(database, lambda session: take(session, money(charge, 8559))) == "settled"
    assert status(database, charge) == "paid"
    with database.reading() as session:
        assert books(session) == {e2e(1): 0}
        assert (payouts(session), letters(session)) == ([], [])
        assert charges.paid_with(session, "BOOKING1") == e2e(1)
        entry = session.scalars(select(LedgerEntry)).one()
        assert (entry.amount, entry.reference, entry.shift_id) == (Money(8559), e2e(1), None)


@pytest.mark.parametrize(("cents", "settle", "outcome", "owed"), [
    (8558, sale, "short", [("short", 8558, "due")]), (1, sale, "short", [("short", 1, "due")]),
    (8559, no_sale, "late", [("late", 8559, "due")]), (8560, sale, "settled", [("over", 1, "due")]),
    (8560, no_sale, "late", [("late", 8560, "due")])])
def test_what_sells_nothing_goes_back_whole_and_what_is_over_goes_back_too(database, charge, cents, settle, outcome, owed):
    assert run(database, lambda session: take(session, money(charge, cents), settle)) == outcome
    with database.reading() as session:
        assert books(session) == {e2e(1): 0}
        assert payouts(session) == owed
        assert [topic for topic, _subject in letters(session)] == ["pix_return"]


def test_a_sale_that_is_refused_halfway_leaves_nothing_of_itself_and_the_money_goes_back(database, charge):
    def refused(session, subject, receipt, now):
        sale(session, subject, receipt, now)
        raise Conflict("seat_taken", "A poltrona acabou de ser vendida.")

    assert run(database, lambda session: take(session, money(charge, 8559), refused)) == "late"
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(LedgerEntry)) == 0
        assert payouts(session) == [("late", 8559, "due")]


def test_a_sale_that_breaks_leaves_no_receipt_so_that_it_is_found_again(database, charge):
    def breaks(session, subject, receipt, now):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(database, lambda session: take(session, money(charge, 8559), breaks))
    assert status(database, charge) == "active"
    assert run(database, lambda session: take(session, money(charge, 8559))) == "settled"


def test_the_same_notice_twice_sells_once_and_owes_nothing(database, charge):
    assert [run(database, lambda session: take(session, money(charge, 8559))) for _n in range(3)] == ["settled", None, None]
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(LedgerEntry)) == 1
        assert payouts(session) == []


def test_a_second_payment_goes_back(database, charge):
    assert [run(database, lambda session, n=n: take(session, money(charge, 8559, n))) for n in (1, 2)] == ["settled", "repeated"]
    with database.reading() as session:
        assert books(session) == {e2e(1): 0, e2e(2): 0}
        assert payouts(session) == [("repeated", 8559, "due")]


def test_in_any_order_one_payment_sells_and_the_rest_goes_back(session):
    for first, order in enumerate(permutations([8559, 5000, 8559, 9000])):
        txid = charges.open_charge(session, STATIC, subject=f"B{first}", amount=Money(8559), expires_at=LATER, now=NOW).txid
        outcomes = [take(session, money(txid, cents, first * 4 + n)) for n, cents in enumerate(order)]
        assert sorted(outcomes) == ["repeated", "repeated", "settled", "short"], order
    assert set(books(session).values()) == {0}


@pytest.mark.parametrize("txid", [None, "A" * 32])
def test_a_payment_that_belongs_to_nothing_waits_for_a_person(database, txid):
    assert run(database, lambda session: take(session, money(txid, 700))) == "unknown"
    with database.reading() as session:
        payout = session.scalars(select(Payout)).one()
        assert (payout.reason, payout.subject, returns.waits_for_person(payout)) == ("unknown", "-", True)
        assert letters(session) == []
        assert books(session) == {e2e(1): 0}


@pytest.mark.parametrize("before", ["intent", "active", "cancelled", "expired"])
def test_a_payment_after_the_charge_ended_still_asks_for_the_seats(database, charge, before):
    run(database, lambda session: session.execute(update(Charge).values(status=before)))
    assert run(database, lambda session: take(session, money(charge, 8559))) == "settled"
    assert status(database, charge) == "paid"


def test_two_payments_at_once_sell_once(database, charge):
    together = threading.Barrier(6)

    def one(n: int):
        together.wait()
        return run(database, lambda session: take(session, money(charge, 8559, n % 3)))

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(one, range(6)))
    assert sorted(str(outcome) for outcome in outcomes) == ["None"] * 3 + ["repeated"] * 2 + ["settled"]
    with database.reading() as session:
        assert set(books(session).values()) == {0}


def test_a_receipt_says_in_the_audit_log_what_became_of_it(database, charge):
    run(database, lambda session: take(session, money(charge, 9000)))
    with database.reading() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "pix_received")).one()
        assert entry.subject == "BOOKING1"
        assert entry.details == {"e2e_id": e2e(1), "amount": 9000, "outcome": "settled", "back": 441}


def test_taking_a_receipt_costs_few_statements(database, charge):
    seen: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *told: seen.append(told[2]))
    run(database, lambda session: take(session, money(charge, 8559)))
    # BEGIN is one on SQLite: receipt in and out, charge, its claim, a savepoint around the sale's own one, the audit
    assert len([text for text in seen if not text.startswith(("BEGIN", "SAVEPOINT", "RELEASE"))]) == 6
    seen.clear()
    run(database, lambda session: take(session, money(charge, 8559)))
    assert len([text for text in seen if not text.startswith("BEGIN")]) == 1


def test_a_pix_moves_through_no_till_and_is_used_once(database):
    def book(session):
        assert move_money(session, "sale", Means("pix", e2e(1)), Money(100), subject="B", now=NOW, actor="bank") is None

    run(database, book)
    with pytest.raises(Conflict) as refused:
        run(database, book)
    assert refused.value.code == "pix_used"


@pytest.mark.parametrize("row", [
    {"method": "pix", "reference": None, "shift_id": None}, {"method": "cash", "reference": "E", "shift_id": None},
    {"method": "card", "reference": "1", "shift_id": None}, {"method": "card", "reference": None, "shift_id": None}])
def test_the_database_keeps_the_ledgers_shape(database, row):
    entry = {"at": NOW, "kind": "sale", "amount": Money(1), "subject": "B", "actor": "tests"}
    with pytest.raises(IntegrityError):
        run(database, lambda session: session.execute(LedgerEntry.__table__.insert(), {**entry, **row}))


@pytest.mark.parametrize(("cents", "end"), [(0, LATER), (-1, LATER), (1, NOW), (1, NOW - timedelta(seconds=1))])
def test_a_charge_of_nothing_or_of_the_past_is_not_opened(session, cents, end):
    with pytest.raises(ValueError, match="over zero"):
        charges.open_charge(session, STATIC, subject="B", amount=Money(cents), expires_at=end, now=NOW)


def test_a_charge_given_up_is_told_to_the_bank_once(database, charge):
    assert run(database, lambda session: charges.cancel_charge(session, charge, now=NOW))
    assert not run(database, lambda session: charges.cancel_charge(session, charge, now=NOW))
    with database.reading() as session:
        assert letters(session) == [("pix_cancel", charge)]


def test_a_charge_that_was_paid_is_not_given_up(database, charge):
    run(database, lambda session: take(session, money(charge, 8559)))
    assert not run(database, lambda session: charges.cancel_charge(session, charge, now=NOW))


def test_a_late_code_from_the_bank_does_not_wake_a_charge_that_ended(database, charge):
    run(database, lambda session: charges.cancel_charge(session, charge, now=NOW))
    run(database, lambda session: charges.activate(session, charge, "another"))
    assert status(database, charge) == "cancelled"


# --- payouts -------------------------------------------------------------------------------------------------------

@pytest.fixture
def paid(database, charge):
    """The end-to-end id that paid BOOKING1 with R$ 85,59."""
    run(database, lambda session: take(session, money(charge, 8559)))
    return e2e(1)


def refund(database, e2e_id: str, ticket: str, cents: int):
    return run(database, lambda session: returns.payout_due(
        session, reason="refund", e2e_id=e2e_id, subject=ticket, amount=Money(cents), now=NOW, actor="tests").return_id)


def test_three_half_fares_are_refunded_to_the_cent_and_not_one_cent_more(database, paid):
    assert len({refund(database, paid, ticket, 2853) for ticket in ("T1", "T2", "T3")}) == 3
    with pytest.raises(Conflict) as refused:
        refund(database, paid, "T4", 1)
    assert refused.value.code == "payout_over_receipt"
    with database.reading() as session:
        assert payouts(session) == [("refund", 2853, "due")] * 3
        assert [row.subject for row in returns.payouts_of(session, "T2")] == ["T2"]


def test_a_ticket_is_paid_back_once(database, paid):
    refund(database, paid, "T1", 2853)
    with pytest.raises(Conflict) as refused:
        refund(database, paid, "T1", 2853)
    assert refused.value.code == "payout_stands"


def test_twenty_refunds_at_once_pay_no_more_than_came_in(database, paid):
    together = threading.Barrier(8)

    def one(n: int) -> bool:
        together.wait()
        try:
            refund(database, paid, f"T{n}", 2853)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(8))) == 3


@pytest.mark.parametrize("cents", [0, -1, 8560])
def test_nothing_less_than_a_cent_and_nothing_over_the_receipt_goes_back(database, paid, cents):
    with pytest.raises(Conflict, match="payout_over_receipt"):
        refund(database, paid, "T1", cents)


def test_money_that_never_came_does_not_go_back(database):
    with pytest.raises(NotFound):
        refund(database, e2e(9), "T1", 1)


def test_a_booking_that_was_not_paid_by_pix_has_no_pix_to_go_back(session):
    with pytest.raises(NotFound, match="not_paid_by_pix"):
        charges.paid_with(session, "BOOKING1")


def put(database, reason: str, **values) -> int:
    """A payout in a state; its id."""
    def act(session):
        session.add(Receipt(e2e_id=e2e(7), txid=None, amount=Money(700), paid_at=NOW, received_at=NOW, source="bank", actor="t"))
        session.flush()
        payout = Payout(**{"reason": reason, "e2e_id": e2e(7), "subject": "S", "amount": Money(700), "status": "due",
                           "return_id": "R1", "attempt": 1, "created_at": NOW, **values})
        session.add(payout)
        session.flush()
        return payout.id
    return run(database, act)


ACTS = {"send": lambda session, payout: returns.send_back(session, payout, now=NOW, actor="office"),
        "pay": lambda session, payout: returns.pay_by_hand(session, payout, "ABC-123", now=NOW, actor="office"),
        "keep": lambda session, payout: returns.keep(session, payout, now=NOW, actor="office")}
MOVES = [  # reason, its state, the act, the state after (None: refused)
    ("unknown", {}, "send", "due"), ("unknown", {}, "pay", "done"), ("unknown", {}, "keep", "kept"),
    ("unknown", {"outcome": "asked"}, "send", None), ("unknown", {"outcome": "asked"}, "pay", None),
    ("unknown", {"status": "refused", "outcome": "no"}, "keep", "kept"),
    ("late", {}, "send", None), ("late", {}, "pay", None), ("late", {}, "keep", None),
    ("late", {"status": "sent", "outcome": "processing"}, "pay", None),
    ("late", {"status": "refused", "outcome": "no"}, "send", "due"),
    ("late", {"status": "refused", "outcome": "no"}, "pay", "done"),
    ("late", {"status": "refused", "outcome": "no"}, "keep", None),
    ("refund", {"status": "done", "settled_at": NOW}, "send", None),
    ("refund", {"status": "done", "settled_at": NOW}, "pay", None)]


@pytest.mark.parametrize(("reason", "state", "act", "after"), MOVES)
def test_a_person_decides_where_nothing_is_on_its_way_and_nowhere_else(database, reason, state, act, after):
    payout = put(database, reason, **state)
    if after is None:
        with pytest.raises(Conflict):
            run(database, lambda session: ACTS[act](session, payout))
        return
    run(database, lambda session: ACTS[act](session, payout))
    with database.reading() as session:
        row = session.get_one(Payout, payout)
        assert row.status == after
        assert (row.settled_by is None) == (after == "due")
        assert len(letters(session)) == (act == "send")
        assert not returns.waits_for_person(row)
    with pytest.raises(Conflict):
        run(database, lambda session: ACTS[act](session, payout))


def test_a_return_asked_for_again_after_a_refusal_has_an_id_of_its_own(database):
    payout = put(database, "late", status="refused", outcome="no")
    run(database, lambda session: ACTS["send"](session, payout))
    with database.reading() as session:
        assert returns.order(session, payout).return_id == "R1A2"


@pytest.mark.parametrize("reference", ["", "abc", "x" * 41, "çççç", "a b c"])
def test_what_was_paid_by_hand_names_its_slip(database, reference):
    payout = put(database, "unknown")
    with pytest.raises(InvalidInput) as refused:
        run(database, lambda session: returns.pay_by_hand(session, payout, reference, now=NOW, actor="office"))
    assert refused.value.fields.keys() == {"reference"}
