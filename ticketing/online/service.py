"""A purchase on the web: seats held, passengers sealed, money asked for; then tickets or the money back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from kernel import audit
from kernel.db import rows_changed
from kernel.decisions import Decision
from kernel.errors import Conflict, DomainError, InvalidInput, NotFound, RuleViolation
from kernel.money import Money
from kernel.vault import Erased, Vault
from ticketing.network.service import Journey, check_open_for_sale, load_journey
from ticketing.online.models import PendingBooking
from ticketing.online.policy import (
    LATE_GRACE,
    charge_ends,
    field_of,
    form_of,
    hold_ends,
    link_matches,
    purchase_state,
)
from ticketing.payments import charges
from ticketing.payments.models import Charge, Receipt
from ticketing.payments.port import Bank
from ticketing.payments.service import Means
from ticketing.sales import service as sales
from ticketing.sales.identities import FIELDS, read_passenger
from ticketing.sales.service import Order, Place
from ticketing.seats import service as seats
from ticketing.tariffs.policy import Fare
from ticketing.tariffs.service import price

ACTOR = "online"  # who holds and sells in the books; hold codes never leave the house


@dataclass(frozen=True, slots=True)
class Purchase:
    """A purchase as its pages show it. `state` is "open", "paid" or "over"; `named` says that its passengers are known
    or not asked for. Rows are of the loading session."""

    row: PendingBooking
    journey: Journey
    asks: Decision
    state: str
    charge: Charge | None

    @property
    def seats(self) -> list[int]:
        return [seat for seat, _ in self.row.seats]

    @property
    def named(self) -> bool:
        return not self.row.identity_required or self.row.sealed is not None


@dataclass(frozen=True, slots=True)
class Quoted:
    """A stretch that can be bought now: its fare for one, and whether names are asked."""

    journey: Journey
    fare: Fare
    asks: Decision


def quote(session: Session, trip_id: int, board_seq: int, alight_seq: int, *, now: datetime) -> Quoted:
    """The stretch's price and identity rule. Raises what a sale would: NotFound, Conflict, RuleViolation (T2, T3)."""
    journey = load_journey(session, trip_id, board_seq, alight_seq)
    check_open_for_sale(journey, now)
    return Quoted(journey, price(session, journey, now=now).fare, sales.requirement(journey))


def start_booking(session: Session, code: str, stretch: tuple[int, int, int], numbers: Sequence[int], *,
                  now: datetime) -> PendingBooking:
    """Hold the seats for the carrier's minutes, all or none. `stretch` is trip, boarding call and alighting call.

    Raises what `quote` and `seats.claim` raise; the caller rolls back.
    """
    quoted = quote(session, *stretch, now=now)
    minutes = quoted.journey.carrier.hold_minutes
    until = hold_ends(now, minutes)
    holds = [(seat, seats.claim(session, quoted.journey, seat, until=until, now=now, actor=ACTOR).code)
             for seat in sorted(numbers)]
    row = PendingBooking(
        code=code, trip_id=stretch[0], board_seq=stretch[1], alight_seq=stretch[2], seats=holds,
        identity_required=quoted.asks.outcome == "required", total=Money(quoted.fare.total.cents * len(holds)),
        status="pending", extended=False, created_at=now, expires_at=until, sealed=None, txid=None,
        ends_at=charge_ends(until, minutes, extended=False) + LATE_GRACE,
        keep_until=sales.keep_until(quoted.journey.trip.last_day))
    session.add(row)
    session.flush()
    audit.record(session, "booking_started", subject=code, details={"trip": stretch[0], "seats": len(holds)}, now=now,
                 actor=ACTOR)
    return row


def find_purchase(session: Session, code: str, link: str, secret_key: str) -> PendingBooking:
    """The purchase at an address. Raises NotFound; unknown, malformed and somebody else's are answered alike."""
    plain = sales.read_code(code)
    row = session.get(PendingBooking, plain)
    if not link_matches(plain, link, secret_key) or row is None:
        raise NotFound("no_such_purchase", "Não há compra neste endereço. Confira o código e o link, letra por letra.")
    return row


def look(session: Session, row: PendingBooking, *, now: datetime) -> Purchase:
    """The purchase with its journey, rule, charge and state at `now`."""
    journey = load_journey(session, row.trip_id, row.board_seq, row.alight_seq)
    charge = charges.find_charge(session, row.txid) if row.txid else None
    return Purchase(row, journey, sales.requirement(journey), purchase_state(row.status, row.expires_at, now), charge)


def name_passengers(session: Session, row: PendingBooking, typed: Mapping[str, str], *, vault: Vault,
                    now: datetime) -> None:
    """Keep who travels, sealed. Fields are `name-1`, `document_kind-1` … in the order of the seats (T5, T6).

    Raises Conflict `hold_over`, InvalidInput or RuleViolation with a sentence for every field of every passenger.
    """
    purchase = look(session, row, now=now)
    _check_open(purchase)
    journey, forms = purchase.journey, [form_of(typed, FIELDS, n) for n in range(1, len(row.seats) + 1)]
    refusals: dict[str, str] = {}
    last: DomainError | None = None
    for number, form in enumerate(forms, 1):
        try:
            read_passenger(purchase.asks, form, travel_day=journey.day, state=journey.line.state)
        except (InvalidInput, RuleViolation) as refusal:
            refusals.update({field_of(field, number): told for field, told in refusal.fields.items()})
            last = refusal if last is None or refusal.citation else last
    if last is not None:
        last.fields = refusals
        raise last
    sealed = vault.seal(row.keep_until, json.dumps(forms).encode(), row.code.encode())
    _move(session, row.code, now, sealed=sealed)


def extend_hold(session: Session, row: PendingBooking, *, now: datetime) -> datetime:
    """Lengthen the hold once by the carrier's minutes; until when. Raises Conflict `hold_over`, `extended_before`."""
    if row.extended:
        raise Conflict("extended_before", "O prazo desta compra já foi aumentado uma vez.")
    journey = load_journey(session, row.trip_id, row.board_seq, row.alight_seq)
    until = charge_ends(row.expires_at, journey.carrier.hold_minutes, extended=False)
    _move(session, row.code, now, extended=True, expires_at=until)
    for _, hold in row.seats:
        if not seats.lengthen(session, hold, until=until, now=now, actor=ACTOR):
            raise _over()
    return until


def give_up(session: Session, row: PendingBooking, *, now: datetime) -> None:
    """The buyer lets go: the seats are on sale again at once, what was typed is erased, the bank is told to stop.

    Raises Conflict `paid_before` where the money came first.
    """
    if not _end(session, row.code):
        session.refresh(row)
        if row.status == "paid":
            raise Conflict("paid_before", "Esta compra já foi paga. Para desistir, peça a devolução de cada bilhete.")
    if row.txid is not None:
        charges.cancel_charge(session, row.txid, now=now)
    for _, hold in row.seats:
        seats.release_hold(session, hold, actor=ACTOR)
    audit.record(session, "booking_given_up", subject=row.code, now=now, actor=ACTOR)


def open_charge(session: Session, row: PendingBooking, bank: Bank, *, now: datetime) -> str:
    """The txid of the purchase's one charge, an intent until the bank knows it.

    Raises Conflict `hold_over`, `passengers_missing`.
    """
    purchase = look(session, row, now=now)
    _check_open(purchase)
    if not purchase.named:
        raise Conflict("passengers_missing", "Preencha os passageiros antes de pagar.")
    if row.txid is not None:
        return row.txid
    until = charge_ends(row.expires_at, purchase.journey.carrier.hold_minutes, extended=row.extended)
    txid = charges.open_charge(session, bank, subject=row.code, amount=row.total, expires_at=until, now=now).txid
    _move(session, row.code, now, txid=txid)
    return txid


def settler(vault: Vault) -> charges.Settle:
    """What a received PIX is handed to once its charge is known and its amount is enough; see `settle`."""
    def settle_with_vault(session: Session, subject: str, receipt: Receipt, now: datetime) -> bool:
        return settle(session, subject, receipt, vault=vault, now=now)
    return settle_with_vault


def settle(session: Session, code: str, receipt: Receipt, *, vault: Vault, now: datetime) -> bool:
    """Issue the tickets of a purchase that was paid: when its seats are still held, or are still free.

    False, with nothing sold and the purchase ended, where that cannot be; the money is then to be paid back.
    """
    row = session.scalar(select(PendingBooking).where(PendingBooking.code == code).with_for_update()
                         .execution_options(populate_existing=True))
    if row is None or row.status == "paid":
        return False
    sold = _sell(session, row, receipt, vault=vault, now=now)
    if not sold:
        _end(session, row.code)
        for _, hold in row.seats:
            seats.release_hold(session, hold, actor=ACTOR)
    return sold


def expire_unpaid(session: Session, *, now: datetime) -> int:
    """End the purchases that no payment can reach any more and erase who was to travel; the number ended."""
    return rows_changed(session.execute(update(PendingBooking).where(
        PendingBooking.status == "pending", PendingBooking.ends_at <= now).values(status="expired", sealed=None)
        .execution_options(synchronize_session=False)))


def _sell(session: Session, row: PendingBooking, receipt: Receipt, *, vault: Vault, now: datetime) -> bool:
    forms = _forms(row, vault)
    alive = all(seats.held_seat(session, hold, actor=ACTOR, now=now) == seat for seat, hold in row.seats)
    places = [Place(seat, hold if alive else "", form)
              for (seat, hold), form in zip(row.seats, forms, strict=True)]
    order = Order(row.code, "online", row.trip_id, row.board_seq, row.alight_seq, places,
                  Means("pix", receipt.e2e_id), priced_at=row.created_at)
    try:
        with session.begin_nested():
            sold = sales.sell(session, order, vault=vault, now=now, actor=ACTOR)
            if sold.total != row.total:
                raise Conflict("price_changed", "O preço mudou.")
            moved = session.execute(update(PendingBooking).where(
                PendingBooking.code == row.code, PendingBooking.status != "paid").values(status="paid", sealed=None))
            if rows_changed(moved) != 1:
                raise Conflict("paid_before", "Esta compra já foi paga.")
    except DomainError:
        return False
    return True


def _forms(row: PendingBooking, vault: Vault) -> list[dict[str, str]]:
    """What was typed for each seat; empty forms where nothing was asked or it is erased (a sale that asks refuses)."""
    nothing: list[dict[str, str]] = [{} for _ in row.seats]
    if row.sealed is None:
        return nothing
    try:
        forms: list[dict[str, str]] = json.loads(vault.open(row.keep_until, row.sealed, row.code.encode()))
    except Erased:
        return nothing
    return forms


def _check_open(purchase: Purchase) -> None:
    if purchase.state != "open":
        raise _over()


def _move(session: Session, code: str, now: datetime, **values: object) -> None:
    moved = session.execute(update(PendingBooking).where(
        PendingBooking.code == code, PendingBooking.status == "pending", PendingBooking.expires_at > now,
        *([PendingBooking.extended.is_(False)] if "extended" in values else [])).values(**values))
    if rows_changed(moved) != 1:
        raise _over()


def _end(session: Session, code: str) -> bool:
    ended = session.execute(update(PendingBooking).where(
        PendingBooking.code == code, PendingBooking.status == "pending").values(status="expired", sealed=None))
    return rows_changed(ended) == 1


def _over() -> Conflict:
    return Conflict("hold_over", "O tempo da reserva acabou e nada foi cobrado. Escolha as poltronas de novo.")
