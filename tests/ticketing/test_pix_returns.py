"""Money that goes back through the bank, and a bank that fails in every way: no payment is left without sale or return."""

import pytest
from sqlalchemy import select

from kernel.errors import Conflict
from kernel.money import Money
from tests.instants import NOW
from tests.ticketing.pix import MINUTE, asked, books, letters, look, opened_charge, payouts, sale, status
from ticketing.payments import payouts as returns
from ticketing.payments.desk import Desk
from ticketing.payments.models import Payout


@pytest.fixture
def paid(desk, bank):
    """The end-to-end id of R$ 85,59 that bought BOOKING1."""
    txid = asked(desk)
    paid = bank.pay(txid, 8559)
    desk.collect([txid], now=NOW)
    return paid


def refund(desk, e2e_id: str, ticket: str = "TICKET01", cents: int = 2853) -> int:
    with desk.database.transaction() as session:
        return returns.payout_due(session, reason="refund", e2e_id=e2e_id, subject=ticket, amount=Money(cents), now=NOW,
                                  actor="tests").id


def test_a_refund_goes_back_to_the_cent_and_once(desk, bank, paid):
    refund(desk, paid)
    for n in range(3):
        desk.work_off(now=NOW + n * MINUTE)
    assert (bank.returned(paid), bank.calls["PUT return"]) == (2853, 1)
    assert look(desk, payouts) == [("refund", 2853, "done")]


@pytest.mark.parametrize("fault", ["lost", "silent", 500, 503, "garbage"])
def test_a_return_whose_answer_was_lost_is_looked_for_before_it_is_asked_again(desk, bank, paid, fault):
    refund(desk, paid)
    bank.faults["PUT return"] = [fault]
    assert desk.work_off(now=NOW)["later"] == 1
    assert look(desk, payouts) == [("refund", 2853, "due")]
    desk.work_off(now=NOW + MINUTE)
    assert look(desk, payouts) == [("refund", 2853, "done")]
    assert bank.returned(paid) == 2853
    assert len(bank.returns) == 1


def test_a_return_that_the_bank_ponders_is_asked_after_until_it_is_done(desk, bank, paid):
    refund(desk, paid)
    bank.next_return = "EM_PROCESSAMENTO"
    assert desk.work_off(now=NOW)["later"] == 1
    assert look(desk, payouts) == [("refund", 2853, "sent")]
    next(iter(bank.returns.values()))["status"] = "DEVOLVIDO"
    assert desk.work_off(now=NOW + MINUTE)["sent"] == 1
    assert look(desk, payouts) == [("refund", 2853, "done")]
    assert bank.calls["PUT return"] == 1


def test_a_return_that_the_bank_pondered_and_refused_waits_for_a_person_who_sends_it_again(desk, bank, paid):
    payout = refund(desk, paid)
    bank.next_return = "EM_PROCESSAMENTO"
    desk.work_off(now=NOW)
    next(iter(bank.returns.values()))["status"] = "NAO_REALIZADO"
    desk.work_off(now=NOW + MINUTE)
    assert look(desk, payouts) == [("refund", 2853, "refused")]
    assert look(desk, letters) == []
    bank.next_return = "DEVOLVIDO"
    with desk.database.transaction() as session:
        returns.send_back(session, payout, now=NOW, actor="office")
    desk.work_off(now=NOW + 2 * MINUTE)
    assert (look(desk, payouts), bank.returned(paid)) == ([("refund", 2853, "done")], 2853)


def test_a_return_that_the_bank_refuses_outright_waits_for_a_person(desk, bank, paid):
    bank.returns[paid, "somebody else's"] = {"valor": "85.59", "status": "DEVOLVIDO"}
    refund(desk, paid)
    desk.work_off(now=NOW)
    row, = look(desk, lambda session: [(row.status, row.outcome) for row in session.scalars(select(Payout))])
    assert row == ("refused", "PixDevolucaoInvalida")


def test_a_return_that_may_stand_at_the_bank_is_not_given_to_a_person(desk, bank, paid):
    refund(desk, paid)
    bank.faults.update({"PUT return": ["lost"], "GET return": [403]})
    desk.work_off(now=NOW)
    assert desk.work_off(now=NOW + MINUTE)["later"] == 1
    assert look(desk, payouts) == [("refund", 2853, "due")]
    desk.work_off(now=NOW + 5 * MINUTE)
    assert (look(desk, payouts), bank.returned(paid)) == ([("refund", 2853, "done")], 2853)


def test_an_unknown_payment_goes_back_only_when_a_person_says_so(desk, bank):
    desk.reconcile(now=NOW)
    paid = bank.pay(None, 700)
    desk.reconcile(now=NOW + MINUTE)
    desk.work_off(now=NOW + MINUTE)
    assert bank.returned(paid) == 0
    payout, = look(desk, lambda session: [row.id for row in session.scalars(select(Payout))])
    with desk.database.transaction() as session:
        returns.send_back(session, payout, now=NOW, actor="office")
    desk.work_off(now=NOW + MINUTE)
    assert (bank.returned(paid), look(desk, payouts)) == (700, [("unknown", 700, "done")])


FAULTS = {"GET cob": ["silent", 500, None, "garbage", 503], "GET list": [503, None, 500, "garbage"],
          "PUT cob": ["lost", None, 503], "PUT return": ["lost", 503, None, "silent"], "GET return": [500, None],
          "PATCH cob": [503, "lost"], "POST token": [None, 503]}


def test_a_bank_that_fails_in_every_way_leaves_no_payment_without_sale_or_return(desk, bank):
    """Paid in time, twice, short, over, late, to nothing, told never, once and thrice, over a bank at its worst."""
    sold_out = {"LATE", "GONE"}

    def settle(session, subject, receipt, now):
        return subject not in sold_out and sale(session, subject, receipt, now)

    desk = Desk(desk.database, desk.bank, settle)
    desk.reconcile(now=NOW)
    bank.faults.update({name: list(faults) for name, faults in FAULTS.items()})
    plan = {"TWICE": (8559, 8559), "SHORT": (8558,), "OVER": (9000,), "LATE": (8559,), "GONE": (8559, 1), "GOOD": (8559,),
            "NEVER": ()}
    txids = {}
    for subject, amounts in plan.items():
        txids[subject] = opened_charge(desk, subject)
        for _n in range(4):
            try:
                desk.activate(txids[subject], now=NOW)
                break
            except Conflict:
                continue
        for cents in amounts:
            bank.pay(txids[subject], cents)
    bank.pay(None, 4200)
    bank.next_return = "EM_PROCESSAMENTO"
    for n in range(1, 60):
        moment = NOW + n * MINUTE
        desk.collect([txids["GOOD"]] * 3 + [txids["TWICE"]], now=moment)
        desk.reconcile(now=moment)
        desk.work_off(now=moment)
        for number, told in enumerate(bank.returns.values()):
            told["status"] = "NAO_REALIZADO" if number == 0 else "DEVOLVIDO"
    left = look(desk, books)
    assert len(left) == len(bank.received) == 9
    assert set(left.values()) == {0}
    states = sorted(look(desk, payouts))
    assert [(reason, cents) for reason, cents, _status in states] == [
        ("late", 8559), ("late", 8559), ("over", 441), ("repeated", 8559), ("short", 1), ("short", 8558), ("unknown", 4200)]
    assert sorted(status for _reason, _cents, status in states) == ["done"] * 5 + ["due", "refused"]
    waiting = look(desk, lambda session: [row.reason for row in returns.open_payouts(session) if returns.waits_for_person(row)])
    assert len(waiting) == 2 and "unknown" in waiting
    assert sum(bank.returned(pix["endToEndId"]) for pix in bank.received) == sum(
        cents for _reason, cents, status in states if status == "done")
    assert {subject: status(desk, txid) for subject, txid in txids.items()} == {
        "TWICE": "paid", "SHORT": "expired", "OVER": "paid", "LATE": "paid", "GONE": "paid", "GOOD": "paid", "NEVER": "expired"}
    assert look(desk, letters) == []
