"""Money that goes back: written in the transaction that decided it, sent by the worker, worked off by a person when
the bank will not."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from kernel import audit, outbox
from kernel.db import InsertNew, rows_changed
from kernel.errors import Conflict, InvalidInput, NotFound
from kernel.money import ZERO, Money
from ticketing.payments.models import Payout, Receipt

RETURN = "pix_return"
_insert_payout = InsertNew(Payout, returning=Payout.id)


@dataclass(frozen=True, slots=True)
class Order:
    """What the bank is asked to return; `return_id` is new for each attempt that follows a refusal."""

    payout_id: int
    e2e_id: str
    return_id: str
    amount: Money
    open: bool


def payout_due(session: Session, *, reason: str, e2e_id: str, subject: str, amount: Money, now: datetime,
               actor: str) -> Payout:
    """Owe money back out of a receipt, once: a ticket's code can be refunded once, a receipt sent back once, and never
    more than came in. The worker sends it; an `unknown` waits for a person first.

    Raises NotFound for an unknown receipt, Conflict `payout_stands` and `payout_over_receipt`.
    """
    received = session.scalar(select(Receipt.amount).where(Receipt.e2e_id == e2e_id).with_for_update())
    if received is None:
        raise NotFound("no_such_receipt", "Não há PIX recebido com esse identificador.")
    owed = session.scalar(select(func.sum(Payout.amount)).where(Payout.e2e_id == e2e_id))
    if not ZERO < amount <= received - _money(owed):
        raise Conflict("payout_over_receipt", "O valor a devolver passa do que foi recebido neste PIX.")
    payout_id = _insert_payout.new_value(session, {
        "reason": reason, "e2e_id": e2e_id, "subject": subject, "amount": amount, "status": "due",
        "return_id": f"R{secrets.token_hex(9)}", "attempt": 1, "outcome": None, "reference": None, "created_at": now,
        "settled_at": None, "settled_by": None})
    if payout_id is None:
        raise Conflict("payout_stands", "Esta devolução já foi registrada.")
    payout = session.get_one(Payout, payout_id)
    audit.record(session, "payout_due", subject=subject, now=now, actor=actor, details={
        "payout": payout.id, "reason": reason, "amount": amount.cents})
    if reason != "unknown":
        _ask(session, payout.id, now)
    return payout


def open_payouts(session: Session) -> list[Payout]:
    """What is still on its way or waits for a person, oldest first."""
    return list(session.scalars(select(Payout).where(Payout.status.in_(("due", "sent", "refused")))
                                .order_by(Payout.created_at, Payout.id)))


def payouts_of(session: Session, subject: str) -> list[Payout]:
    """The payouts of a booking or ticket code, oldest first."""
    return list(session.scalars(select(Payout).where(Payout.subject == subject).order_by(Payout.id)))


def waits_for_person(payout: Payout) -> bool:
    """Whether nothing happens to it until somebody decides."""
    return payout.status == "refused" or (payout.status == "due" and payout.reason == "unknown"
                                          and payout.outcome is None)


def send_back(session: Session, payout_id: int, *, now: datetime, actor: str) -> None:
    """Have the bank asked (again). Raises NotFound, Conflict `payout_moves` when nobody needs to decide."""
    payout = _waiting(session, payout_id)
    again = 1 if payout.status == "refused" else 0
    _move(session, payout, now=now, actor=actor, act="payout_sent_again", status="due",
          attempt=payout.attempt + again, outcome="asked")
    _ask(session, payout_id, now)


def pay_by_hand(session: Session, payout_id: int, reference: str, *, now: datetime, actor: str) -> None:
    """Note what a person paid outside the bank's return. Raises NotFound, Conflict, InvalidInput without reference."""
    plain = reference.strip().upper()
    if not 4 <= len(plain) <= 40 or not plain.isascii() or not plain.replace("-", "").isalnum():
        sentence = "Digite o identificador do comprovante da transferência."
        raise InvalidInput("reference_missing", sentence, fields={"reference": sentence})
    _move(session, _waiting(session, payout_id), now=now, actor=actor, act="payout_paid_by_hand", status="done",
          reference=plain, settled_at=now, settled_by=actor)


def keep(session: Session, payout_id: int, *, now: datetime, actor: str) -> None:
    """Note that an unknown PIX was meant for the carrier. Raises NotFound, Conflict for any other reason."""
    payout = _waiting(session, payout_id)
    if payout.reason != "unknown":
        raise Conflict("not_ours_to_keep", "Este valor é de um passageiro e precisa voltar.")
    _move(session, payout, now=now, actor=actor, act="payout_kept", status="kept", settled_at=now, settled_by=actor)


def order(session: Session, payout_id: int) -> Order:
    """What to ask the bank for; `open` is False once it is settled or waits for a person."""
    payout = session.get_one(Payout, payout_id)
    suffix = "" if payout.attempt == 1 else f"A{payout.attempt}"
    return Order(payout.id, payout.e2e_id, payout.return_id + suffix, payout.amount,
                 payout.status in ("due", "sent") and not waits_for_person(payout))


def returned(session: Session, asked: Order, status: str, outcome: str, *, now: datetime, actor: str) -> None:
    """Keep the bank's word on an order: `sent`, `done` or `refused`. A payout that is settled stays as it is."""
    settled = {"settled_at": now, "settled_by": actor} if status == "done" else {}
    moved = session.execute(update(Payout).where(Payout.id == asked.payout_id, Payout.status.in_(("due", "sent")))
                            .values(status=status, outcome=outcome, **settled)
                            .returning(Payout.subject).execution_options(synchronize_session=False)).scalar()
    if moved is not None and status != "sent":
        audit.record(session, f"payout_{status}", subject=moved, now=now, actor=actor,
                     details={"payout": asked.payout_id, "outcome": outcome})


def _waiting(session: Session, payout_id: int) -> Payout:
    payout = session.get(Payout, payout_id)
    if payout is None:
        raise NotFound("no_such_payout", "Não há essa devolução.")
    if not waits_for_person(payout):
        raise _moves()
    return payout


def _move(session: Session, payout: Payout, *, now: datetime, actor: str, act: str, **values: Any) -> None:
    moved = session.execute(update(Payout).where(
        Payout.id == payout.id, Payout.status == payout.status, Payout.attempt == payout.attempt,
        Payout.outcome.is_(None) if payout.outcome is None else Payout.outcome == payout.outcome)
        .values(**values).execution_options(synchronize_session=False))
    if rows_changed(moved) != 1:
        raise _moves()
    audit.record(session, act, subject=payout.subject, now=now, actor=actor, details={"payout": payout.id})


def _ask(session: Session, payout_id: int, now: datetime) -> None:
    outbox.put(session, RETURN, subject=str(payout_id), payload={"payout": payout_id}, due_at=now)


def _moves() -> Conflict:
    return Conflict("payout_moves", "Esta devolução já está a caminho ou terminou. Atualize a página.")


def _money(owed: Any) -> Money:
    return owed if isinstance(owed, Money) else Money(int(owed or 0))
