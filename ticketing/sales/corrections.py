"""Mending what went wrong at the counter: a sale undone within its minutes, a name with a typing error."""

from datetime import datetime

from sqlalchemy.orm import Session

from kernel import audit
from kernel.errors import Conflict, Forbidden, InvalidInput
from kernel.money import Money
from kernel.vault import Vault
from ticketing.payments.service import Means, move_money
from ticketing.sales.identities import opened_or_none, seal_row
from ticketing.sales.models import Identity
from ticketing.sales.policy import check_void, void_deadline
from ticketing.sales.service import Found, check_same_means, find_ticket, release_ticket


def void_until(found: Found) -> datetime:
    """The last instant at which the sale can be voided; the carrier's minutes."""
    return void_deadline(found.ticket.sold_at, found.journey.carrier.void_minutes)


def void_ticket(session: Session, code: str, means: Means, reason: str, *, supervisor: bool, now: datetime,
                actor: str) -> Money:
    """Undo a mistaken sale within the carrier's minutes; the money paid back in full, the way it came.

    Only who sold it or a supervisor. Raises NotFound, Forbidden, InvalidInput without a reason, Conflict for a ticket
    already used or paid back, RuleViolation after the minutes.
    """
    if not 3 <= len(reason.strip()) <= 200:
        raise InvalidInput("reason_missing", "Diga o motivo do cancelamento.", fields={"reason": "Diga o motivo."})
    found = find_ticket(session, code)
    if found.booking.sold_by != actor and not supervisor:
        raise Forbidden("not_your_sale", "Só quem vendeu ou um supervisor cancela esta venda.")
    check_void(found.ticket.sold_at, now, found.journey.carrier.void_minutes, found.ticket.status)
    check_same_means(found.booking.method, means)
    release_ticket(session, found.ticket, ("sold",), "voided")
    move_money(session, "void", means, -found.ticket.fare, subject=found.ticket.code, now=now, actor=actor)
    audit.record(session, "ticket_voided", subject=found.ticket.code, details={"trip": found.ticket.trip_id,
                 "reason_given": True}, now=now, actor=actor)
    return found.ticket.fare


def correct_name(session: Session, code: str, name: str, *, vault: Vault, now: datetime, actor: str) -> None:
    """Mend a typing error in a name; the document stays. Logged by ticket code, without either name.

    Raises NotFound, Conflict when the ticket has no identity or may no longer be changed, InvalidInput for the name.
    """
    found = find_ticket(session, code)
    row = session.get(Identity, found.ticket.id, with_for_update=True)
    passenger = opened_or_none(row, found.ticket.code, vault)
    if row is None or passenger is None or found.ticket.status != "sold":
        raise Conflict("nothing_to_correct", "Esta passagem não tem nome que ainda possa ser corrigido.")
    seal_row(row, found.ticket.code, passenger.renamed(name), vault)
    audit.record(session, "name_corrected", subject=found.ticket.code, now=now, actor=actor)
