"""A ticket as its passenger holds it: the pass made when first shown, its token, its facts as text, the link to it."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import select
from sqlalchemy.orm import Session

from boarding.passes.models import Pass
from boarding.passes.policy import (
    LocalTime,
    TicketFacts,
    document_code,
    last_digits,
    minutes_of,
    pass_flags,
    pass_window,
)
from boarding.passes.signing import KeyRing, PassBody, encode
from kernel.clock import WEEKDAYS, zone_name
from kernel.db import InsertNew
from kernel.errors import Conflict, NotFound
from kernel.money import Money
from kernel.vault import Vault
from ticketing.network.models import Call
from ticketing.network.policy import seat_words
from ticketing.network.service import Journey, load_journey
from ticketing.payments.policy import METHODS
from ticketing.sales.identities import Passenger, opened_or_none
from ticketing.sales.models import FareLine, Identity, Ticket
from ticketing.sales.service import Found, fare_lines, find_ticket, tickets_of_booking
from ticketing.tariffs.policy import LABELS

SHOWN_AFTER_ARRIVAL = timedelta(hours=24)  # a late bus's pass stays scannable: the door alone says what is over
LINK_BYTES = 16

_insert = InsertNew(Pass, "ticket_id", "revision")


@dataclass(frozen=True, slots=True)
class Issuer:
    """What it takes to show a ticket: the keys that sign passes, the secret behind links, the identity vault."""

    keys: KeyRing
    link_secret: bytes
    vault: Vault


@dataclass(frozen=True, slots=True)
class Shown:
    """A ticket ready to be drawn. `token` is None when nobody boards with it any more.

    `state` is "valid", "boarded", "refunded", "voided", "cancelled" or "over"; `erased` says that identity was taken
    and its last day has passed.
    """

    code: str
    link: str
    facts: TicketFacts
    token: str | None
    state: str
    erased: bool
    delay_minutes: int
    boarded: LocalTime | None
    boarded_stop: str


def derive_link_secret(secret_key: str) -> bytes:
    """The 32 bytes behind every link token, from the installation's secret."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"embarque pass link").derive(secret_key.encode())


def link_token(code: str, revision: int, secret: bytes) -> str:
    """The part of a ticket's address that nobody can guess: 22 letters of base64url, 128 bits."""
    mac = hmac.digest(secret, f"{code} {revision}".encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(mac[:LINK_BYTES]).rstrip(b"=").decode()


def check_link(code: str, revision: int, token: str, secret: bytes) -> bool:
    """Whether the token belongs to the ticket; takes the same time whatever differs."""
    return hmac.compare_digest(link_token(code, revision, secret).encode(), token.encode("utf-8", "replace"))


def ensure_pass(session: Session, ticket_id: int, revision: int, sold_at: datetime) -> Pass:
    """The pass of a ticket's revision, made now if there is none. Two at once get the same one: its key decides."""
    _insert(session, {"id": secrets.token_bytes(16), "ticket_id": ticket_id, "revision": revision,
                      "issued_at": sold_at})
    return session.scalars(select(Pass).where(Pass.ticket_id == ticket_id, Pass.revision == revision)).one()


def token_for(found: Found, passenger: Passenger | None, boarding_pass: Pass, keys: KeyRing) -> str:
    """The signed text of the ticket's QR: numbers and times, the last four digits of a document, never a name."""
    ticket, journey = found.ticket, found.journey
    valid_from, window = pass_window(journey.board.departs_at, journey.alight.arrives_at)
    flags = pass_flags(check_document=ticket.identity_required, lap_child=ticket.seat == 0,
                       sold_on_board=found.booking.channel == "on_board")
    body = PassBody(
        kid=keys.signing_kid, pass_id=boarding_pass.id, trip_id=ticket.trip_id, revision=ticket.revision,
        seat=ticket.seat, board=ticket.board_seq, alight=ticket.alight_seq, valid_from=valid_from, window=window,
        issued=minutes_of(boarding_pass.issued_at), flags=int(flags),
        document=int(document_code(passenger.kind if passenger else None)), discount=0,
        last_digits=last_digits(passenger.last4 if passenger else None))
    return encode(body, keys.signing_key)


def show_ticket(session: Session, code: str, issuer: Issuer, *, link: str | None, make_pass: bool,
                now: datetime) -> Shown | None:
    """The ticket of a code, for who has its link (None: for staff, whose guard has been passed).

    None when its pass was never made and `make_pass` does not allow it: call again in a writing transaction. Raises
    NotFound, the same for a code that does not exist and for a link that is not its own.
    """
    found = _found(session, code, link, issuer.link_secret)
    ticket, journey = found.ticket, found.journey
    row = session.get(Identity, ticket.id)
    passenger = opened_or_none(row, ticket.code, issuer.vault)
    erased = passenger is None and (row is not None or ticket.identity_required)
    state = _state(ticket, journey, now)
    token = None
    if state in ("valid", "boarded"):
        made = session.scalars(select(Pass).where(Pass.ticket_id == ticket.id,
                                                  Pass.revision == ticket.revision)).first()
        if made is None and not make_pass:
            return None
        token = token_for(found, passenger, made or ensure_pass(session, ticket.id, ticket.revision, ticket.sold_at),
                          issuer.keys)
    stop = journey.calls[ticket.boarded_seq].stop if ticket.boarded_seq is not None else None
    return Shown(
        code=ticket.code, link=link_token(ticket.code, ticket.revision, issuer.link_secret),
        facts=ticket_facts(found, passenger, fare_lines(session, ticket.id), erased=erased), token=token, state=state,
        erased=erased, delay_minutes=journey.trip.delay_minutes,
        boarded=_local(ticket.boarded_at, stop.zone) if ticket.boarded_at and stop else None,
        boarded_stop=stop.name if stop else "")


@dataclass(frozen=True, slots=True)
class TripTicket:
    """One ticket of a purchase, for its buyer. `state` is as in `Shown`; `link` opens its pass."""

    code: str
    link: str
    seat: str | None
    passenger: str | None
    state: str
    fare: Money


def trip_tickets(session: Session, booking: str, issuer: Issuer, *, now: datetime) -> tuple[Journey, list[TripTicket]]:
    """The journey of a purchase and its tickets in seat order. Raises NotFound."""
    tickets = tickets_of_booking(session, booking)
    journey = load_journey(session, tickets[0].trip_id, tickets[0].board_seq, tickets[0].alight_seq)
    identities = {row.ticket_id: row for row in session.scalars(
        select(Identity).where(Identity.ticket_id.in_([ticket.id for ticket in tickets])))}
    shown = []
    for ticket in tickets:
        passenger = opened_or_none(identities.get(ticket.id), ticket.code, issuer.vault)
        shown.append(TripTicket(
            ticket.code, link_token(ticket.code, ticket.revision, issuer.link_secret), seat_words(ticket.seat),
            passenger.name if passenger else None, _state(ticket, journey, now), ticket.fare))
    return journey, shown


def travelling_token(shown: Shown) -> str:
    """The token of a ticket that can still be boarded with. Raises Conflict: no picture of one that cannot."""
    if shown.token is None:
        raise Conflict("pass_over", "Este bilhete não serve mais para embarcar. Veja a situação na página dele.")
    return shown.token


def ticket_facts(found: Found, passenger: Passenger | None, items: Sequence[FareLine], *, erased: bool) -> TicketFacts:
    """Everything the ticket shows, as text; hours on the clock of each stop. The link is the page's to add."""
    ticket, booking, journey = found.ticket, found.booking, found.journey
    line, board, alight = journey.line, journey.board, journey.alight
    zone = board.stop.zone
    until, sold = _local(ticket.refund_until, zone), _local(ticket.sold_at, zone)
    return TicketFacts(
        carrier=journey.carrier.name, carrier_cnpj=_cnpj(journey.carrier.cnpj), code=ticket.code, line_code=line.code,
        line_name=line.name, service_class=line.service_class, origin=board.stop.place.name,
        destination=alight.stop.place.name, departs=_with_weekday(board.departs_at, zone),
        arrives=_with_weekday(alight.arrives_at, alight.stop.zone), boarding_stop=board.stop.name,
        alighting_stop=alight.stop.name, fare_items=tuple((LABELS[item.kind], item.amount) for item in items),
        total=ticket.fare, payment=METHODS[booking.method], sold_at=f"{sold.day} {sold.hour}",
        channel=booking.channel, agent="" if booking.channel == "online" else booking.sold_by, terminal=_town(board),
        platform=board.stop.platform or "",
        seat=seat_words(ticket.seat), passenger=_who(passenger, erased),
        document=passenger.document if passenger else "",
        refund_until=_refund_words(ticket, until), bring=_bring(passenger),
        identity_rule=str(ticket.decisions["identity"]["article"]))


def _refund_words(ticket: Ticket, until: LocalTime) -> str:
    if ticket.sold_at > ticket.refund_until:
        return "Comprada a menos de 12 h da partida: devolução com a retenção da transportadora"
    return f"Devolução integral até {until.day} {until.hour}, {until.zone_name}"


def _found(session: Session, code: str, link: str | None, secret: bytes) -> Found:
    try:
        found = find_ticket(session, code)
    except NotFound:
        found = None
    matches = check_link(found.ticket.code if found else "", found.ticket.revision if found else 0, link or "", secret)
    if found is None or (link is not None and not matches):
        raise NotFound("no_such_pass", "Não há bilhete neste endereço. Confira o código e o link, letra por letra.")
    return found


def _state(ticket: Ticket, journey: Journey, now: datetime) -> str:
    trip = journey.trip
    if ticket.status in ("refunded", "voided", "boarded"):
        return ticket.status
    if trip.status == "cancelled":
        return "cancelled"
    late = timedelta(minutes=trip.delay_minutes)
    return "over" if now > journey.alight.arrives_at + late + SHOWN_AFTER_ARRIVAL else "valid"


def _local(instant: datetime, zone: str) -> LocalTime:
    there = instant.astimezone(ZoneInfo(zone))
    return LocalTime(f"{there:%d/%m/%Y}", f"{there:%H:%M}", zone_name(zone))


def _with_weekday(instant: datetime, zone: str) -> LocalTime:
    there = _local(instant, zone)
    weekday = WEEKDAYS[instant.astimezone(ZoneInfo(zone)).weekday()][:3]
    return LocalTime(f"{weekday} {there.day}", there.hour, there.zone_name)


def _cnpj(digits: str) -> str:
    return f"{digits[:2]}.{digits[2:5]}.{digits[5:8]}/{digits[8:12]}-{digits[12:]}"


def _town(call: Call) -> str:
    place = call.stop.place
    return "" if place.name in call.stop.name else f"{place.name}, {place.state}"


def _who(passenger: Passenger | None, erased: bool) -> str | None:
    if erased:
        return "nome apagado 365 dias após a viagem"
    return passenger.name if passenger else None


def _bring(passenger: Passenger | None) -> str:
    if passenger is None:
        return ""
    if passenger.kind == "BIRTH_CERTIFICATE":
        return "a certidão de nascimento original"
    return "o documento original com foto"
