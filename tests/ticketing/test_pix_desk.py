"""Database and bank together, when money is asked for and comes in: whatever the bank does, each payment is found."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from kernel.errors import Conflict, NotFound
from tests.instants import NOW
from tests.ticketing.pix import (
    END,
    MINUTE,
    asked,
    books,
    e2e,
    letters,
    look,
    money,
    no_sale,
    opened_charge,
    payouts,
    sale,
    status,
    take,
)
from ticketing.payments import bankapi, charges
from ticketing.payments.desk import Desk
from ticketing.payments.models import Charge


def test_a_charge_is_asked_for_once_and_shown_again_and_again(desk, bank):
    txid = opened_charge(desk)
    assert status(desk, txid) == "intent"
    assert desk.activate(txid, now=NOW) == desk.activate(txid, now=NOW)
    assert bank.calls["PUT cob"] == 1
    assert bank.charges[txid]["calendario"]["expiracao"] == 600
    assert status(desk, txid) == "active"


@pytest.mark.parametrize("fault", ["lost", "silent", 503, "garbage"])
def test_a_bank_that_does_not_answer_loses_nothing_and_the_second_try_is_the_same_charge(desk, bank, fault):
    txid = opened_charge(desk)
    bank.faults["PUT cob"] = [fault]
    with pytest.raises(Conflict) as refused:
        desk.activate(txid, now=NOW)
    assert (refused.value.code, status(desk, txid)) == ("bank_unavailable", "intent")
    desk.activate(txid, now=NOW)
    assert (status(desk, txid), list(bank.charges)) == ("active", [txid])


def test_a_bank_that_refuses_says_so(desk, bank):
    txid = opened_charge(desk)
    bank.faults["PUT cob"] = [403]
    with pytest.raises(Conflict) as refused:
        desk.activate(txid, now=NOW)
    assert (refused.value.code, status(desk, txid)) == ("bank_refused", "intent")


def test_a_charge_past_its_time_is_not_asked_for(desk, bank):
    txid = opened_charge(desk)
    with pytest.raises(Conflict, match="charge_over"):
        desk.activate(txid, now=END)
    assert bank.calls["PUT cob"] == 0
    with pytest.raises(NotFound):
        desk.activate("0" * 32, now=NOW)


# --- being paid ----------------------------------------------------------------------------------------------------

def test_a_notice_is_not_believed_but_makes_the_bank_tell(desk, bank):
    txid = asked(desk)
    assert desk.collect([txid], now=NOW) == {}
    assert look(desk, books) == {}
    paid = bank.pay(txid, 8559)
    assert desk.collect([txid], now=NOW) == {"settled": 1}
    assert look(desk, books) == {paid: 0}


def test_the_same_notice_again_and_again_sells_once(desk, bank):
    txid = asked(desk)
    bank.pay(txid, 8559)
    assert [desk.collect([txid], now=NOW) for _n in range(3)] == [{"settled": 1}, {}, {}]
    assert look(desk, payouts) == []


def test_notices_at_once_sell_once(desk, bank):
    txid = asked(desk)
    bank.pay(txid, 8559)
    together = threading.Barrier(5)

    def one(_n: int) -> dict:
        together.wait()
        return desk.collect([txid], now=NOW)

    with ThreadPoolExecutor(5) as pool:
        told = list(pool.map(one, range(5)))
    assert sum(counts.get("settled", 0) for counts in told) == 1
    assert look(desk, payouts) == []


def test_a_notice_about_what_is_not_ours_asks_the_bank_nothing(desk, bank):
    assert desk.collect(["f" * 32, "x"], now=NOW) == {}
    assert bank.calls == {}


@pytest.mark.parametrize("fault", ["silent", 500, "garbage", 403])
def test_a_bank_that_does_not_answer_a_notice_is_asked_again_by_the_worker(desk, bank, fault):
    txid = asked(desk)
    paid = bank.pay(txid, 8559)
    bank.faults["GET cob"] = [fault, fault]
    assert desk.collect([txid], now=NOW) == {"unanswered": 1}
    bank.faults.clear()
    assert desk.reconcile(now=NOW + MINUTE) == {"settled": 1}
    assert look(desk, books) == {paid: 0}


def test_a_payment_that_nobody_told_of_is_found(desk, bank):
    txid = asked(desk)
    bank.pay(txid, 8559)
    assert desk.reconcile(now=NOW + MINUTE) == {"settled": 1}
    assert status(desk, txid) == "paid"


def test_a_sale_that_breaks_is_tried_again_and_keeps_no_other_back(desk, bank, caplog):
    broken, whole = asked(desk, "BROKEN"), asked(desk, "WHOLE")
    first, second = bank.pay(broken, 8559), bank.pay(whole, 8559)

    def breaks(session, subject, receipt, now):
        if subject == "BROKEN":
            raise ZeroDivisionError("Zzmarcador Teste")
        return sale(session, subject, receipt, now)

    told = Desk(desk.database, desk.bank, breaks).reconcile(now=NOW + MINUTE)
    assert told == {"settled": 1, "failed": 2}  # by its charge and in the list
    assert look(desk, books) == {second: 0}
    with desk.database.transaction() as session:
        session.get_one(Charge, broken).status = "expired"  # so that only the list tells of it, however late
    assert desk.reconcile(now=NOW + 600 * MINUTE) == {"settled": 1}
    assert look(desk, books) == {first: 0, second: 0}


def test_a_late_payment_is_found_after_its_charge_was_given_up(desk, bank):
    txid = asked(desk)
    desk.reconcile(now=END + charges.GRACE)
    assert (status(desk, txid), bank.charges[txid]["status"]) == ("expired", "REMOVIDA_PELO_USUARIO_RECEBEDOR")
    bank.now = END + charges.GRACE + MINUTE
    paid = bank.pay(txid, 8559)
    late = Desk(desk.database, desk.bank, no_sale)
    assert late.reconcile(now=bank.now + MINUTE) == {"late": 1}
    late.work_off(now=bank.now + MINUTE)
    assert look(desk, payouts) == [("late", 8559, "done")]
    assert bank.returned(paid) == 8559


def test_a_charge_is_not_given_up_before_its_time_nor_while_the_bank_is_silent(desk, bank):
    txid = asked(desk)
    desk.reconcile(now=END + charges.GRACE - timedelta(seconds=1))
    assert status(desk, txid) == "active"
    bank.faults["GET cob"] = [503, 503]
    assert desk.reconcile(now=END + charges.GRACE + MINUTE) == {"unanswered": 1}
    assert status(desk, txid) == "active"
    desk.reconcile(now=END + charges.GRACE + MINUTE)
    assert status(desk, txid) == "expired"


def test_a_charge_that_is_paid_while_it_is_given_up_is_sold(desk, bank):
    txid, real = asked(desk), desk.bank.cancel

    def paid_first(given_up: str) -> None:
        bank.pay(given_up, 8559, at=END + charges.GRACE)
        real(given_up)

    desk.bank.cancel = paid_first
    assert desk.reconcile(now=END + charges.GRACE) == {"settled": 1}
    assert status(desk, txid) == "paid"


def test_an_intent_that_never_reached_the_bank_ends_and_one_that_did_is_sold(desk, bank):
    never, arrived = opened_charge(desk, "NEVER"), opened_charge(desk, "ARRIVED")
    bank.faults["PUT cob"] = ["lost"]
    with pytest.raises(Conflict):
        desk.activate(arrived, now=NOW)
    bank.pay(arrived, 8559)
    assert desk.reconcile(now=NOW + MINUTE) == {"settled": 1}
    desk.reconcile(now=END + charges.GRACE)
    assert (status(desk, never), status(desk, arrived)) == ("expired", "paid")


def test_a_charge_that_the_buyer_gave_up_is_cancelled_at_the_bank(desk, bank):
    txid = asked(desk)
    with desk.database.transaction() as session:
        charges.cancel_charge(session, txid, now=NOW)
    bank.faults["PATCH cob"] = [503]
    assert desk.work_off(now=NOW)["later"] == 1
    assert desk.work_off(now=NOW + MINUTE)["sent"] == 1
    assert bank.charges[txid]["status"] == "REMOVIDA_PELO_USUARIO_RECEBEDOR"
    assert look(desk, letters) == []


def test_each_open_charge_has_its_turn_once_a_minute(desk, bank):
    for n in range(3):
        asked(desk, f"B{n}")
    desk.reconcile(now=NOW + timedelta(seconds=59))
    assert bank.calls["GET cob"] == 0
    desk.reconcile(now=NOW + MINUTE)
    desk.reconcile(now=NOW + MINUTE)
    assert bank.calls["GET cob"] == 3


def test_what_came_in_while_the_worker_was_away_is_found(desk, bank):
    desk.reconcile(now=NOW)
    known = asked(desk)
    with desk.database.transaction() as session:
        session.get_one(Charge, known).status = "expired"
    ids = {bank.pay(known, 8559, at=NOW + 5 * MINUTE), bank.pay(None, 700, at=NOW + timedelta(days=2)),
           bank.pay("9" * 32, 900, at=NOW + timedelta(days=3))}
    assert desk.reconcile(now=NOW + timedelta(days=4)) == {"settled": 1, "unknown": 2}
    assert look(desk, books) == dict.fromkeys(ids, 0)


def test_what_came_in_before_the_product_did_is_left_alone(desk, bank):
    bank.pay(None, 700, at=NOW - timedelta(hours=1))
    assert desk.reconcile(now=NOW) == {}


def test_a_list_that_breaks_off_is_read_again_from_the_same_instant(desk, bank):
    desk.reconcile(now=NOW)
    ids = [bank.pay(None, 100 + n, at=NOW + n * MINUTE) for n in range(1, 6)]
    bank.faults["GET list"] = []
    real, seen = desk.bank._once, []

    def breaks_off(method, path, **body):
        seen.append(body)
        if path == "/pix" and body["params"]["paginacao.paginaAtual"] == 1:
            raise bankapi.BankUnavailable("http_503")
        return real(method, path, **body)

    desk.bank._once = breaks_off
    assert desk.reconcile(now=NOW + 60 * MINUTE) == {"unanswered": 1}
    desk.bank._once = real
    assert desk.reconcile(now=NOW + 90 * MINUTE)["unknown"] >= 3
    assert sorted(look(desk, books)) == sorted(ids)


def test_a_receipt_taken_twice_by_two_ways_is_one(desk, bank, database):
    txid = asked(desk)
    with database.transaction() as session:
        assert take(session, money(txid, 8559)) == "settled"
    bank.pay(txid, 8559, e2e_id=e2e(1))
    assert desk.reconcile(now=NOW + MINUTE) == {}
