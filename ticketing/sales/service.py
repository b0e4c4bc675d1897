"""Selling, for every channel, and finding a ticket; the only writer of a ticket's status."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from kernel import audit, webhooks
from kernel.db import InsertNew, rows_changed
from kernel.decisions import Decision
from kernel.errors import Conflict, InvalidInput, NotFound
from kernel.money import Money
from kernel.vault import Vault
from ticketing.concessions.policy import apply, decide_concession
from ticketing.network.service import Journey, check_open_for_sale, load_journey
from ticketing.payments.service import Means, move_money
from ticketing.sales.identities import Passenger, read_passenger, seal_row
from ticketing.sales.models import Booking, FareLine, Identity, Ticket
from ticketing.sales.policy import full_refund_until, identity_requirement
from ticketing.seats import service as seats
from ticketing.seats.models import SeatHold
from ticketing.tariffs.service import Price, price

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford: no I, L, O, U to misread at the window
MOST_PLACES = 10


@dataclass(frozen=True, slots=True)
class Place:
    """One passenger of an order: a seat number or None for "any", a live hold's code or "", and the identity form."""

    seat: int | None
    hold: str
    identity: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Order:
    """What a channel asks for: one stretch of one trip for one or more passengers, and how it is paid.

    `priced_at` is when a buyer who pays later was told the price, and fixes the day of it.
    """

    booking: str
    channel: str
    trip_id: int
    board_seq: int
    alight_seq: int
    places: Sequence[Place]
    means: Means
    priced_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Sold:
    """The codes of what was sold and the total paid."""

    booking: str
    tickets: tuple[str, ...]
    total: Money


_BOOKING = insert(Booking).returning(Booking.id)
_insert_ticket = InsertNew(Ticket, "code", returning=Ticket.id)
_FARE_LINES = insert(FareLine)
_IDENTITY = insert(Identity)


def new_code() -> str:
    """Eight letters and digits that are hard to misread; 40 random bits."""
    return "".join(secrets.choice(LETTERS) for _ in range(8))


def read_code(text: str) -> str:
    """A typed code in its stored form: case, blanks, hyphens and look-alike letters forgiven. May match nothing."""
    plain = "".join(text.split()).replace("-", "").upper()[:12]
    return plain.translate(str.maketrans("OILU", "011V"))


def requirement(journey: Journey) -> Decision:
    """Whether this journey's tickets carry identity (T5), by the carrier's measure."""
    return identity_requirement(
        course_km=journey.trip.course_km, stretch_km=journey.stretch_km, estimated=journey.trip.km_estimated,
        basis=journey.carrier.identity_basis, state=journey.line.state)


def hold_seat(session: Session, trip_id: int, board_seq: int, alight_seq: int, seat: int, *, now: datetime,
              actor: str) -> SeatHold:
    """Hold a seat for the carrier's minutes while the form is filled in. Raises what `seats.claim` raises."""
    journey = load_journey(session, trip_id, board_seq, alight_seq)
    check_open_for_sale(journey, now)
    until = now + timedelta(minutes=journey.carrier.hold_minutes)
    return seats.claim(session, journey, seat, until=until, now=now, actor=actor)


def sell(session: Session, order: Order, *, vault: Vault, now: datetime, actor: str) -> Sold:
    """Sell an order whole or not at all; the caller's transaction is rolled back by whatever this raises.

    Raises InvalidInput and RuleViolation for identity (T5, T6), T2 and T3 refusals, Conflict for a seat that is gone,
    a trip that left, a closed till. Every refusal names its rule (MS 40 II b).
    """
    if not 1 <= len(order.places) <= MOST_PLACES:
        raise InvalidInput("places_out_of_range", f"Venda de 1 a {MOST_PLACES} passagens de cada vez.")
    journey = load_journey(session, order.trip_id, order.board_seq, order.alight_seq)
    check_open_for_sale(journey, now)
    asks = requirement(journey)
    passengers = [read_passenger(asks, place.identity, travel_day=journey.day, state=journey.line.state)
                  for place in order.places]
    concession = decide_concession(None)
    priced = price(session, journey, now=order.priced_at or now)
    priced = Price(priced.tariff_id, priced.act, apply(concession, priced.fare))
    total = Money(priced.fare.total.cents * len(order.places))
    booking_id = session.connection().execute(_BOOKING, {
        "code": order.booking, "channel": order.channel, "method": order.means.method, "total": total,
        "sold_by": actor, "sold_at": now}).scalar_one()
    decisions = {"identity": asks.stored(), "concession": concession.stored(), "tariff_act": priced.act,
                 "refund_table": journey.carrier.late_refund}
    codes = []
    # who may sit anywhere comes last, or chance could take the seat that another of the family asked for
    for place, passenger in sorted(zip(order.places, passengers, strict=True),
                                   key=lambda pair: (pair[0].seat is None and not pair[0].hold, pair[0].seat or 0)):
        hold = _take(session, journey, place, now=now, actor=actor)
        code = _issue(session, journey, hold, priced, booking_id, decisions, asks.outcome == "required", now)
        if passenger is not None:
            _keep(session, journey, code, passenger, vault)
        audit.record(session, "ticket_sold", subject=code[1], now=now, actor=actor, details={
            "trip": journey.trip.id, "booking": order.booking, "identity": asks.outcome, "channel": order.channel})
        codes.append(code[1])
    move_money(session, "sale", order.means, total, subject=order.booking, now=now, actor=actor)
    webhooks.announce(session, "ticket.sold", [{"ticket": code, "booking": order.booking, "trip": journey.trip.id}
                                               for code in codes], to=actor, now=now)
    return Sold(order.booking, tuple(codes), total)


def sold_before(session: Session, booking: str) -> Sold:
    """What a repeated request's first sending sold."""
    row = session.scalars(select(Booking).where(Booking.code == booking)).one()
    return Sold(booking, tuple(ticket.code for ticket in tickets_of_booking(session, booking)), row.total)


@dataclass(frozen=True, slots=True)
class Found:
    """A ticket with its booking and its journey. Rows are of the loading session."""

    ticket: Ticket
    booking: Booking
    journey: Journey


def find_ticket(session: Session, code: str) -> Found:
    """The ticket of a typed code. Raises NotFound; unknown and malformed are answered alike."""
    row = session.execute(select(Ticket, Booking).join(Booking, Ticket.booking_id == Booking.id)
                          .where(Ticket.code == read_code(code))).first()
    if row is None:
        raise NotFound("no_such_ticket", "Não há passagem com esse código. Confira as letras e os números.")
    ticket, booking = row
    return Found(ticket, booking, load_journey(session, ticket.trip_id, ticket.board_seq, ticket.alight_seq))


def find_sold_by(session: Session, code: str, seller: str) -> Found:
    """The ticket, for who sold it; anybody else's is answered like an unknown one. Raises NotFound."""
    found = find_ticket(session, code)
    if found.booking.sold_by != seller:
        raise NotFound("no_such_ticket", "Não há passagem com esse código. Confira as letras e os números.")
    return found


def tickets_of_booking(session: Session, code: str) -> list[Ticket]:
    """The tickets of a booking in seat order. Raises NotFound."""
    tickets = list(session.scalars(select(Ticket).join(Booking, Ticket.booking_id == Booking.id)
                                   .where(Booking.code == read_code(code)).order_by(Ticket.seat)))
    if not tickets:
        raise NotFound("no_such_booking", "Não há venda com esse código.")
    return tickets


def fare_lines(session: Session, ticket_id: int) -> list[FareLine]:
    """The fare as sold, item by item."""
    return list(session.scalars(select(FareLine).where(FareLine.ticket_id == ticket_id)
                                .order_by(FareLine.position)))


def board_ticket(session: Session, ticket_id: int, seq: int, *, now: datetime, actor: str) -> bool:
    """Move a sold ticket to boarded; False when somebody was first (or it is no longer sold)."""
    moved = session.execute(update(Ticket).where(Ticket.id == ticket_id, Ticket.status == "sold")
                            .values(status="boarded", boarded_at=now, boarded_seq=seq, boarded_by=actor)
                            .execution_options(synchronize_session=False))
    return rows_changed(moved) == 1


def move_boarding(session: Session, ticket_id: int, seq: int | None, *, now: datetime, actor: str) -> None:
    """Tell another first boarding of a boarded ticket, from a phone's log that came later; none (it was undone) where
    `seq` is None."""
    told = {"status": "sold", "boarded_at": None, "boarded_seq": None, "boarded_by": None} if seq is None else {
        "boarded_at": now, "boarded_seq": seq, "boarded_by": actor}
    session.execute(update(Ticket).where(Ticket.id == ticket_id, Ticket.status == "boarded").values(told)
                    .execution_options(synchronize_session=False))


def release_ticket(session: Session, ticket: Ticket, old: Sequence[str], new: str) -> None:
    """Move a ticket to `refunded` or `voided` and free its legs. Raises Conflict when it is in no `old` status."""
    moved = session.execute(update(Ticket).where(Ticket.id == ticket.id, Ticket.status.in_(old)).values(status=new)
                            .execution_options(synchronize_session=False))
    if rows_changed(moved) != 1:
        raise Conflict("already_settled", "Esta passagem já foi devolvida, cancelada ou usada.")
    seats.free(session, ticket.hold_id)


def check_same_means(paid_by: str, means: Means) -> None:
    """Lets money go back only the way it came. Raises InvalidInput."""
    if means.method != paid_by:
        raise InvalidInput("other_means", "O valor volta do jeito que foi pago.",
                           fields={"method": "Use a mesma forma de pagamento da venda."})


def keep_until(last_day: date) -> date:
    """The last day an identity may be read: 365 days after the trip's last arrival (SC 11-A par. 4)."""
    return last_day + timedelta(days=365)


def _take(session: Session, journey: Journey, place: Place, *, now: datetime, actor: str) -> SeatHold:
    if place.hold:
        hold = seats.confirm(session, place.hold, journey, now=now, actor=actor)
        if place.seat is not None and place.seat != hold.seat:  # chosen anew while the hold of the first was on its way
            sentence = f"Está reservada a poltrona {hold.seat}, não a {place.seat}. Escolha a poltrona de novo."
            raise Conflict("other_seat_held", sentence, fields={"seat": sentence})
        return hold
    seat = place.seat if place.seat is not None else seats.pick_seat(session, journey, now=now)
    return seats.claim(session, journey, seat, until=None, now=now, actor=actor)


def _issue(session: Session, journey: Journey, hold: SeatHold, priced: Price, booking_id: int,
           decisions: Mapping[str, object], identity_required: bool, now: datetime) -> tuple[int, str]:
    ticket_id = None
    while ticket_id is None:  # a code that exists already costs one more try
        code = new_code()
        ticket_id = _insert_ticket.new_value(session, {
            "code": code, "booking_id": booking_id, "trip_id": journey.trip.id, "board_seq": journey.board_seq,
            "alight_seq": journey.alight_seq, "seat": hold.seat, "hold_id": hold.id, "status": "sold", "revision": 1,
            "sold_at": now, "tariff_id": priced.tariff_id, "fare": priced.fare.total,
            "identity_required": identity_required, "decisions": dict(decisions),
            "refund_until": full_refund_until(journey.board.departs_at)})
    session.connection().execute(_FARE_LINES, [
        {"ticket_id": ticket_id, "position": n, "kind": item.kind, "amount": item.amount}
        for n, item in enumerate(priced.fare.items)])
    return int(ticket_id), code


def _keep(session: Session, journey: Journey, code: tuple[int, str], passenger: Passenger, vault: Vault) -> None:
    row = Identity(ticket_id=code[0], keep_until=keep_until(journey.trip.last_day), legal_hold=None)
    seal_row(row, code[1], passenger, vault)
    session.connection().execute(_IDENTITY, {
        "ticket_id": row.ticket_id, "keep_until": row.keep_until, "legal_hold": None, "tag": row.tag,
        "sealed": row.sealed})
