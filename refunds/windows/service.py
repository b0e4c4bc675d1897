"""Paying a ticket back: what the counter may offer now, and the payment itself, once whoever presses how often."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from sqlalchemy import insert
from sqlalchemy.orm import Session

from kernel import audit, webhooks
from kernel.clock import on_the_clock, zone_name
from kernel.errors import Conflict, DomainError, RuleViolation
from kernel.money import Money
from refunds.windows.models import Refund
from refunds.windows.policy import Quote, quote, read_table, refund_until
from ticketing.network.models import Call
from ticketing.network.service import Journey
from ticketing.payments.charges import paid_with
from ticketing.payments.payouts import payout_due
from ticketing.payments.service import Means, move_money
from ticketing.sales.service import Found, check_same_means, find_ticket, release_ticket

BACK = {"cash": "em dinheiro", "card": "no cartão", "pix": "por PIX, na conta que pagou",
        "account": "na conta do parceiro"}
_REFUND = insert(Refund)


@dataclass(frozen=True, slots=True)
class Paid:
    """A refund as it was paid; `refunded` + `kept` is the ticket's fare."""

    code: str
    refunded: Money
    kept: Money
    method: str
    reference: str | None
    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class Offer:
    """What the counter may do for a ticket now: pay the quote, or nothing for the reason in `refusal`.

    `full_until` is the last instant of the whole price by the table the ticket was sold under; `paid` says what was
    paid back already. Rows are of the loading session.
    """

    found: Found
    quote: Quote
    full_until: datetime
    paid: Paid | None
    refusal: DomainError | None

    @property
    def legs(self) -> list[tuple[Call, Call]]:
        """The legs that a refund frees, each by the call it leaves and the call it reaches."""
        journey = self.found.journey
        return list(pairwise(journey.calls[journey.board_seq:journey.alight_seq + 1]))


def preview(session: Session, code: str, *, now: datetime) -> Offer:
    """The offer for a ticket asked for at `now` (R1, R2); a refusal is a value here. Raises NotFound."""
    found = find_ticket(session, code)
    return _offer(session, found, now)


def refund(session: Session, code: str, means: Means, *, shown: Money | None, now: datetime, actor: str) -> Paid:
    """Pay a ticket back the way it was paid, free its legs, and write what was kept by which rule. A PIX goes back by
    the bank, through no till: it is owed here and sent by the worker.

    `shown` is the amount that the person was told, None where nobody was told one. Raises NotFound, Conflict
    (`already_refunded`, `already_voided`, `already_boarded`, `quote_changed`, `no_shift`, `drawer_short`, `slip_used`),
    RuleViolation `nothing_back` (R2), InvalidInput `other_means`. The caller rolls back on any of them.
    """
    offer = preview(session, code, now=now)
    if offer.refusal is not None:
        raise offer.refusal
    ticket, owed = offer.found.ticket, offer.quote
    check_same_means(offer.found.booking.method, means)
    if shown is not None and shown != owed.refund:
        raise Conflict("quote_changed", f"O valor mudou desde que a página abriu: agora são {owed.refund.in_reais()}. "
                       "Confira o valor e devolva de novo.")
    try:
        release_ticket(session, ticket, _refundable(offer.found.journey), "refunded")
    except Conflict as lost:  # somebody else settled it since it was read: say what they did
        session.refresh(ticket)
        raise _offer(session, offer.found, now).refusal or lost from lost
    if means.method == "pix":
        means = _owe_back(session, offer, now=now, actor=actor)
    shift_id = move_money(session, "refund", means, -owed.refund, subject=ticket.code, now=now, actor=actor)
    paid = Paid(ticket.code, owed.refund, owed.kept, means.method, means.reference, now, actor)
    session.connection().execute(_REFUND, {
        "ticket_id": ticket.id, "refunded": paid.refunded, "kept": paid.kept, "method": paid.method,
        "reference": paid.reference, "shift_id": shift_id, "paid_at": now, "paid_by": actor,
        "decision": owed.decision.stored()})
    audit.record(session, "ticket_refunded", subject=ticket.code, now=now, actor=actor, details={
        "trip": ticket.trip_id, "outcome": owed.decision.outcome, "rule": owed.decision.citation.rule,
        "refunded": paid.refunded.cents, "kept": paid.kept.cents, "method": paid.method})
    webhooks.announce(session, "ticket.refunded", [{"ticket": ticket.code, "booking": offer.found.booking.code,
                      "trip": ticket.trip_id, "refunded": str(paid.refunded)}], to=offer.found.booking.sold_by, now=now)
    return paid


def paid_before(session: Session, found: Found) -> Paid:
    """What a repeated request's first sending paid back."""
    return _paid(session, found)


def _owe_back(session: Session, offer: Offer, *, now: datetime, actor: str) -> Means:
    """Have the bank return the amount out of what the buyer paid; the worker sends it. The means name the return."""
    e2e_id = paid_with(session, offer.found.booking.code)
    payout = payout_due(session, reason="refund", e2e_id=e2e_id, subject=offer.found.ticket.code,
                        amount=offer.quote.refund, now=now, actor=actor)
    return Means("pix", payout.return_id)


def _offer(session: Session, found: Found, now: datetime) -> Offer:
    ticket, journey = found.ticket, found.journey
    table = read_table(ticket.decisions["refund_table"])
    owed = quote(
        price=ticket.fare, departs_at=journey.board.departs_at, now=_asked_at(journey, now),
        line_state=journey.line.state, zone=journey.board.stop.zone, delay_minutes=journey.trip.delay_minutes,
        trip_cancelled=journey.trip.status == "cancelled", table=table)
    paid = _paid(session, found) if ticket.status == "refunded" else None
    return Offer(found, owed, refund_until(journey.board.departs_at, table), paid, _refusal(found, owed, paid))


def _asked_at(journey: Journey, now: datetime) -> datetime:
    # until a late bus leaves, its passenger asks "before departure"; the 12 hours stay those printed on the ticket
    scheduled = journey.board.departs_at
    leaves = scheduled + timedelta(minutes=journey.trip.delay_minutes)
    return scheduled if scheduled < now <= leaves else now


def _refundable(journey: Journey) -> tuple[str, ...]:
    # who had boarded a trip that the carrier then cancelled was not carried either
    return ("sold", "boarded") if journey.trip.status == "cancelled" else ("sold",)


def _refusal(found: Found, owed: Quote, paid: Paid | None) -> DomainError | None:
    ticket, zone = found.ticket, found.journey.board.stop.zone
    if paid is not None:
        return Conflict("already_refunded", f"Esta passagem já foi devolvida em {_when(paid.at, zone)}: "
                        f"{paid.refunded.in_reais()} {BACK[paid.method]}.")
    if ticket.status == "voided":
        return Conflict("already_voided", "Esta venda foi cancelada e o valor já voltou inteiro ao passageiro.")
    if ticket.status not in _refundable(found.journey):
        when = f" em {_when(ticket.boarded_at, zone)}" if ticket.boarded_at else ""
        return Conflict("already_boarded", f"O passageiro embarcou{when}: a passagem foi usada. Só volta o valor de "
                        "uma viagem que a transportadora cancelou.")
    if owed.decision.outcome == "nothing":
        return RuleViolation("nothing_back", owed.decision.reasons[0] + " Se a transportadora cancelou a viagem, ou se "
                             "ela saiu com mais de 1 hora de atraso, peça ao escritório que registre: aí volta tudo.",
                             citation=owed.decision.citation)
    return None


def _paid(session: Session, found: Found) -> Paid:
    row = session.get_one(Refund, found.ticket.id)
    return Paid(found.ticket.code, row.refunded, row.kept, row.method, row.reference, row.paid_at, row.paid_by)


def _when(instant: datetime, zone: str) -> str:
    return f"{on_the_clock(instant, zone)} ({zone_name(zone)})"
