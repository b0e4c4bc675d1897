"""PIX without a bank's contract: an agent confirms, once, by an end-to-end id; and the demonstration's bank."""

import pytest
from sqlalchemy import select

from kernel.errors import Conflict, InvalidInput, NotFound
from kernel.money import Money
from tests.instants import NOW
from tests.ticketing.pix import END, MINUTE, STATIC, asked, books, e2e, look, payouts, sale, status
from ticketing.payments import charges
from ticketing.payments import payouts as returns
from ticketing.payments.desk import Desk
from ticketing.payments.models import Charge, Payout, Receipt
from ticketing.payments.providers import DemoBank


@pytest.fixture
def static(database):
    return Desk(database, STATIC, sale)


def confirm(desk, e2e_id: str, *, code: str = "booking-1", cents: int = 8559, now=NOW) -> str:
    return desk.confirm_by_hand(code, e2e_id, Money(cents), now=now, actor="agent")


def test_an_agent_confirms_what_came_to_a_static_code_once(static):
    txid = asked(static)
    assert confirm(static, f" {e2e(1).lower()} ") == "settled"
    assert confirm(static, e2e(1)) == "known"
    assert status(static, txid) == "paid"
    receipt, = look(static, lambda session: [(row.source, row.actor, row.txid) for row in session.scalars(select(Receipt))])
    assert receipt == ("agent", "agent", txid)


def test_one_pix_pays_one_purchase(static):
    asked(static)
    asked(static, "BOOKING2")
    confirm(static, e2e(1))
    with pytest.raises(Conflict) as refused:
        confirm(static, e2e(1), code="BOOKING2")
    assert refused.value.code == "pix_used"
    assert look(static, payouts) == []


@pytest.mark.parametrize(("cents", "outcome"), [(8558, "short"), (8560, "settled")])
def test_the_amount_that_the_agent_saw_decides(static, cents, outcome):
    asked(static)
    assert confirm(static, e2e(1), cents=cents) == outcome
    assert look(static, books) == {e2e(1): 0}


@pytest.mark.parametrize("text", ["", "E1", e2e(1)[1:], "D" + e2e(1)[1:], e2e(1) + "0", e2e(1, NOW).replace("20260302", "20261302"),
                                  e2e(1, NOW - 11 * MINUTE), e2e(1, NOW + 11 * MINUTE), "E" * 32])
def test_an_id_that_is_none_or_of_another_time_is_refused(static, text):
    asked(static)
    with pytest.raises(InvalidInput) as refused:
        confirm(static, text)
    assert refused.value.fields.keys() == {"e2e_id"}


@pytest.mark.parametrize("moment", [NOW - 10 * MINUTE, NOW + 10 * MINUTE])
def test_clocks_may_differ_by_ten_minutes(static, moment):
    asked(static)
    assert confirm(static, e2e(1, moment)) == "settled"


def test_an_unknown_purchase_and_one_that_a_bank_confirms_are_refused(desk, static, bank):
    with pytest.raises(NotFound):
        confirm(static, e2e(1), code="NOTHING")
    asked(desk)
    with pytest.raises(Conflict, match="bank_confirms"):
        confirm(static, e2e(1))


def test_without_a_bank_nothing_is_asked_and_money_goes_back_by_hand(static):
    txid = asked(static)
    assert static.collect([txid], now=NOW) == {}
    confirm(static, e2e(1), cents=1)
    assert static.reconcile(now=END + charges.GRACE) == {}
    assert status(static, txid) == "expired"
    static.work_off(now=NOW)
    payout, = look(static, lambda session: list(session.scalars(select(Payout.id).where(Payout.outcome == "no_bank"))))
    with static.database.transaction() as session:
        returns.pay_by_hand(session, payout, "TED-1234", now=NOW, actor="office")
    assert look(static, payouts) == [("short", 1, "done")]


def test_the_demonstrations_bank_is_paid_read_and_pays_back(database):
    demo = Desk(database, DemoBank(database), sale)
    txid = asked(demo)
    assert "invalid" in look(demo, lambda session: session.get_one(Charge, txid).br_code)
    assert demo.reconcile(now=NOW + MINUTE) == {}
    paid = demo.bank.pay(txid, Money(8559), now=NOW + MINUTE)
    again = demo.bank.pay(txid, Money(8559), now=NOW + MINUTE)
    assert demo.reconcile(now=NOW + 2 * MINUTE) == {"settled": 1, "repeated": 1}
    demo.work_off(now=NOW + 2 * MINUTE)
    assert look(demo, payouts) == [("repeated", 8559, "done")]
    assert look(demo, books) == {paid: 0, again: 0}
