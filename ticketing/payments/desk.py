"""Where database and bank meet: read, let go of the transaction, ask the bank, keep the answer in another one."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from kernel import outbox
from kernel.db import Database
from kernel.errors import Conflict, InvalidInput
from kernel.money import ZERO, Money
from ticketing.payments import charges, payouts
from ticketing.payments.models import Charge, Receipt, ReceivedMark
from ticketing.payments.port import (
    NO_BANK,
    NOT_FOUND,
    Bank,
    BankError,
    BankReceipt,
    BankRefused,
    BankReturn,
    BankUnavailable,
    read_typed_e2e,
)

log = logging.getLogger("embarque.pix")
BANK, WORKER = "bank", "worker"
BATCH = 50  # charges asked about in one turn
RECHECK = timedelta(minutes=1)
OVERLAP = timedelta(minutes=15)  # a bank's list may be late by some minutes
CLOCK_SKEW = timedelta(minutes=10)
MOST_BY_HAND = 2  # times the price: what is more is a slip of the finger, and would be owed back in full
Counts = dict[str, int]
Send = Callable[[outbox.Letter, datetime], None]


class StillProcessing(Exception):
    """The bank has not decided on a return yet: its letter stays."""


@dataclass(frozen=True, slots=True)
class Desk:
    """One database, one bank, and what turns a paid charge into tickets. No method may be called in a transaction."""

    database: Database
    bank: Bank
    settle: charges.Settle

    def activate(self, txid: str, *, now: datetime) -> str:
        """The BR Code of a charge, asked of the bank the first time. Repeatable.

        Raises NotFound, Conflict `charge_over` when it ended, `bank_unavailable` (try again: nothing is lost) and
        `bank_refused`.
        """
        with self.database.reading() as session:
            charge = charges.find_charge(session, txid)
            session.expunge(charge)
        if charge.br_code is not None:
            return charge.br_code
        seconds = int((charge.expires_at - now).total_seconds())
        if charge.status != "intent" or seconds <= 0:
            raise Conflict("charge_over", "O prazo deste pagamento acabou. Comece a compra de novo.")
        try:
            br_code = self.bank.create(txid, charge.amount, seconds)
        except BankUnavailable as error:
            log.warning("charge not made", extra={"txid": txid, "outcome": error.code})
            raise Conflict("bank_unavailable", "O banco não respondeu. Tente de novo em alguns segundos.") from error
        except BankRefused as error:
            log.error("charge refused", extra={"txid": txid, "outcome": error.code})
            raise Conflict("bank_refused", "O banco não aceitou esta cobrança. Compre no guichê.") from error
        with self.database.transaction() as session:
            charges.activate(session, txid, br_code)
        return br_code

    def collect(self, txids: Sequence[str], *, now: datetime) -> Counts:
        """Read those charges of ours back from the bank and take what was paid to them; counts by outcome.

        What a call-back or a waiting page triggers. A bank that does not answer is counted (`unanswered`) and left to
        `reconcile`.
        """
        counts: Counts = {}
        if not self.bank.listens:
            return counts
        with self.database.reading() as session:
            known = charges.known_charges(session, txids)
        for txid in known:
            try:
                received = self.bank.read(txid).receipts
            except BankError as error:
                log.warning("charge not read", extra={"txid": txid, "outcome": error.code})
                _add(counts, "unanswered")
                continue
            self._take(received, counts, now)
        return counts

    def reconcile(self, *, now: datetime) -> Counts:
        """Ask the bank about open charges and about everything received since the last turn; counts by outcome.

        Finds what no call-back told, what came to a charge that had ended, and what belongs to no charge.
        """
        counts: Counts = {}
        with self.database.reading() as session:
            waiting = charges.charges_to_check(session, self.bank.name, older_than=now - RECHECK, limit=BATCH)
        try:
            for charge in waiting:
                self._check(charge, counts, now)
            if self.bank.listens:
                self._sweep(counts, now)
        except BankUnavailable as error:
            log.warning("bank did not answer", extra={"outcome": error.code})
            _add(counts, "unanswered")
        return counts

    def work_off(self, *, now: datetime) -> Counts:
        """Send what is due: returns of money, and charges to give up."""
        sent: Counts = {}
        for topic, send in ((payouts.RETURN, self._return), (charges.CANCEL, self._cancel)):
            def to_bank(letter: outbox.Letter, send: Send = send) -> None:
                send(letter, now)
            for what, count in outbox.deliver(self.database, topic, to_bank, now=now).items():
                _add(sent, what, count)
        return sent

    def confirm_by_hand(self, code: str, e2e_id: str, amount: Money, *, now: datetime, actor: str) -> str:
        """Take a PIX that an agent saw on the account, for a booking's static code; the outcome of `charges.take`,
        or `known` when this very confirmation was sent before.

        Raises NotFound, InvalidInput for an id that is malformed or not of this charge's time and for an amount that is
        nothing or over twice the price, Conflict `bank_confirms` and `pix_used` for an id that was taken before.
        """
        try:
            plain, paid_at = read_typed_e2e(e2e_id)
        except ValueError as error:
            raise _bad_e2e("O identificador começa com E e tem 32 letras e números. Copie do extrato.") from error
        with self.database.transaction() as session:
            charge = charges.charge_for_hand(session, code)
            if not charge.created_at - CLOCK_SKEW <= paid_at <= now + CLOCK_SKEW:
                raise _bad_e2e("A data deste PIX não combina com a compra. Confira o identificador.")
            if not ZERO < amount <= Money(charge.amount.cents * MOST_BY_HAND):
                raise _bad_amount()
            money = BankReceipt(plain, charge.txid, amount, paid_at)
            outcome = charges.take(session, money, self.settle, source="agent", now=now, actor=actor)
            if outcome is None and session.get_one(Receipt, plain).txid == charge.txid:
                return "known"
            if outcome is None:
                raise Conflict("pix_used", "Este PIX já foi usado em outra compra. Confira o identificador.",
                               fields={"e2e_id": "Este PIX já foi usado."})
        return outcome

    def _check(self, charge: Charge, counts: Counts, now: datetime) -> None:
        """One open charge: take what was paid, and give it up once it is past its time."""
        gone = True
        if self.bank.listens:
            try:
                told = self.bank.read(charge.txid)
            except BankRefused as error:  # an intent that never reached the bank
                log.info("charge unknown to the bank", extra={"txid": charge.txid, "outcome": error.code})
            else:
                gone = self._take(told.receipts, counts, now) and self._given_up(charge, told.status, now)
        with self.database.transaction() as session:
            charges.checked(session, charge, gone=gone, now=now)

    def _given_up(self, charge: Charge, status: str, now: datetime) -> bool:
        if now < charge.expires_at + charges.GRACE:
            return False
        if status == "active":
            try:
                self.bank.cancel(charge.txid)
            except BankRefused:  # it was paid or removed between the two calls: the next turn sees which
                return False
        return True

    def _sweep(self, counts: Counts, now: datetime) -> None:
        with self.database.reading() as session:
            mark = session.get(ReceivedMark, self.bank.name)
            since = (mark.until if mark else now) - OVERLAP
        received, whole = iter(self.bank.list_received(since, now)), True
        while batch := tuple(islice(received, 100)):
            whole = self._take(batch, counts, now) and whole
        read_until = now if whole else since + OVERLAP  # what failed is met again in the next turn
        with self.database.transaction() as session:
            session.merge(ReceivedMark(provider=self.bank.name, until=read_until))

    def _take(self, received: Iterable[BankReceipt], counts: Counts, now: datetime) -> bool:
        """Each new receipt in a transaction of its own: one that fails keeps no other back. False if one did."""
        batch, whole = list(received), True
        if not batch:
            return True
        with self.database.reading() as session:
            known = charges.known_receipts(session, [money.e2e_id for money in batch])
        for money in batch:
            if money.e2e_id in known:
                continue
            try:
                with self.database.transaction() as session:
                    outcome = charges.take(session, money, self.settle, source="bank", now=now, actor=BANK)
            except Exception:  # whatever it was, nothing is written and the next turn finds the payment again
                log.exception("receipt not taken", extra={"e2e_id": money.e2e_id})
                outcome, whole = "failed", False
            _add(counts, outcome or "known")
        return whole

    def _return(self, letter: outbox.Letter, now: datetime) -> None:
        with self.database.reading() as session:
            asked = payouts.order(session, int(str(letter.payload["payout"])))
        if not asked.open:
            return
        try:
            told = self._ask_return(asked, first=letter.attempt == 1)
        except BankRefused as error:
            status, outcome = "refused", error.code
        else:
            status = {"processing": "sent", "done": "done", "refused": "refused"}[told.status]
            outcome = told.status
        with self.database.transaction() as session:
            payouts.returned(session, asked, status, outcome, now=now, actor=WORKER)
        if status == "sent":
            raise StillProcessing

    def _ask_return(self, asked: payouts.Order, *, first: bool) -> BankReturn:
        """Ask once; where an earlier asking may have arrived, look before asking again."""
        if not first:
            found = self._return_stands(asked)
            if found is not None:
                return found
        try:
            return self.bank.refund(asked.e2e_id, asked.return_id, asked.amount)
        except BankRefused:
            found = self._return_stands(asked)
            if found is not None:
                return found
            raise

    def _return_stands(self, asked: payouts.Order) -> BankReturn | None:
        try:
            return self.bank.refund_status(asked.e2e_id, asked.return_id)
        except BankRefused as error:
            if error.code in (NOT_FOUND, NO_BANK):
                return None
            raise BankUnavailable(error.code) from error  # it may stand there: nobody is to pay it by hand too

    def _cancel(self, letter: outbox.Letter, now: datetime) -> None:
        try:
            self.bank.cancel(letter.subject)
        except BankRefused as error:  # unknown there, paid or removed already: what was paid is found by `reconcile`
            log.info("charge not cancelled", extra={"txid": letter.subject, "outcome": error.code})


def _bad_e2e(sentence: str) -> InvalidInput:
    return InvalidInput("bad_e2e_id", sentence, fields={"e2e_id": sentence})


def _bad_amount() -> InvalidInput:
    sentence = "Confira o valor no extrato: vai de um centavo ao dobro da compra. Se veio mais, fale com o escritório."
    return InvalidInput("amount_unlikely", sentence, fields={"amount": sentence})


def _add(counts: Counts, what: str, number: int = 1) -> None:
    counts[what] = counts.get(what, 0) + number
