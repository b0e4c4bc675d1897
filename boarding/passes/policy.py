"""What a pass says and what a ticket shows: the signed fields, and the one layout that every form of ticket renders."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum, IntFlag, StrEnum
from types import MappingProxyType

from kernel.money import Money

EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
NO_DIGITS = 0xFFFF
OPENS_BEFORE = timedelta(hours=2)
CLOSES_AFTER = timedelta(hours=2)  # a late bus does not close its own passes: the door leaves the window aside then
_QUARTER = timedelta(minutes=15)
_LONGEST_WINDOW = 255


class PassFlag(IntFlag):
    """What the driver must look at, and what sort of passenger this is."""

    CHECK_DOCUMENT = 1
    CHECK_DISCOUNT = 2
    MINOR_ALONE = 4
    LAP_CHILD = 8
    SOLD_ON_BOARD = 16


class DocumentCode(IntEnum):
    """The document kinds a pass can name, in four bits."""

    NONE = 0
    RG = 1
    CIN = 2
    CNH = 3
    PASSPORT = 4
    RNM = 5
    BIRTH_CERTIFICATE = 6
    CPF = 7
    OTHER = 15


def document_code(kind: str | None) -> DocumentCode:
    """The code of a document kind by its name (`"rg"`, `"birth_certificate"`); OTHER for a kind not listed."""
    if kind is None:
        return DocumentCode.NONE
    return DocumentCode.__members__.get(kind.upper(), DocumentCode.OTHER)


def last_digits(number: str | None) -> int:
    """The last four digits of a document number, letters and signs left out; `NO_DIGITS` when it has fewer.

    Four digits let a driver compare the card; they leave too many numbers possible to tell whose it is.
    """
    digits = "".join(char for char in number or "" if char in "0123456789")
    return int(digits[-4:]) if len(digits) >= 4 else NO_DIGITS


def pass_flags(*, check_document: bool, check_discount: bool = False, minor_alone: bool = False,
               lap_child: bool = False, sold_on_board: bool = False) -> PassFlag:
    """The flag byte. A child on a lap is never a minor alone."""
    chosen = (check_document and PassFlag.CHECK_DOCUMENT, check_discount and PassFlag.CHECK_DISCOUNT,
              minor_alone and not lap_child and PassFlag.MINOR_ALONE, lap_child and PassFlag.LAP_CHILD,
              sold_on_board and PassFlag.SOLD_ON_BOARD)
    flags = PassFlag(0)
    for flag in chosen:
        flags |= flag or PassFlag(0)
    return flags


def minutes_of(instant: datetime) -> int:
    """Whole minutes since 2025-01-01 00:00 UTC, rounded down. Raises ValueError outside the 24 bits (to 2056)."""
    minutes = (instant - EPOCH) // timedelta(minutes=1)
    if not 0 <= minutes < 1 << 24:
        raise ValueError("a pass can only name instants from 2025 to 2056")
    return minutes


def instant_of(minutes: int) -> datetime:
    """The inverse of `minutes_of`, aware, UTC."""
    return EPOCH + timedelta(minutes=minutes)


def pass_window(departs_at: datetime, arrives_at: datetime) -> tuple[int, int]:
    """From when (minutes) and how long (15-minute units, rounded up, at most 255) a pass opens the door.

    `departs_at` is the passenger's own boarding call, `arrives_at` the alighting call.
    """
    opens = minutes_of(departs_at - OPENS_BEFORE)
    length = arrives_at + CLOSES_AFTER - instant_of(opens)
    return opens, min(_LONGEST_WINDOW, math.ceil(length / _QUARTER))


class Kind(StrEnum):
    """How a block of the ticket looks."""

    HEADING = "heading"  # label: carrier; value: the journey; detail: line and class
    QR = "qr"  # value: the ticket code beneath it
    SEAT = "seat"  # rows: label and value, very large, side by side
    CALL = "call"  # label; value: the hour, large; rows: its day and time zone; detail: the stop, then where in it
    NOTE = "note"  # label in bold, value a sentence
    RULE_LINE = "rule_line"  # the tear line
    PAIR = "pair"  # label and value
    FARE = "fare"  # rows: item and amount; value: the total
    SMALL = "small"  # value: a sentence in small print


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of the ticket. `key` names it for tests and style sheets; what else it holds its kind says."""

    kind: Kind
    key: str
    label: str = ""
    value: str = ""
    detail: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LocalTime:
    """An instant as the passenger reads it at that stop: `12/03/2026`, `08:00`, `horário de Brasília`."""

    day: str
    hour: str
    zone_name: str


@dataclass(frozen=True, slots=True)
class TicketFacts:
    """Everything a ticket shows (MS 40 III a; SC 11-A), as text ready to read; empty text leaves its block out."""

    carrier: str
    carrier_cnpj: str
    code: str
    line_code: str
    line_name: str
    service_class: str
    origin: str  # the town, as a traveller says it
    destination: str
    departs: LocalTime
    arrives: LocalTime
    boarding_stop: str
    alighting_stop: str
    fare_items: tuple[tuple[str, Money], ...]
    total: Money
    payment: str
    sold_at: str
    channel: str
    agent: str = ""  # staff code, never a name
    terminal: str = ""
    platform: str = ""
    seat: str | None = None  # "15", "em pé 3"; None: no seat of one's own
    passenger: str | None = None
    document: str = ""
    refund_until: str = ""  # a whole sentence: "Devolução integral até dd/mm/aaaa HH:MM, horário de …"
    bring: str = ""
    luggage: str = ""
    identity_rule: str = ""
    link: str = ""


NOT_IDENTIFIED = "não identificado"
NO_SEAT = "sem poltrona"
CHANNELS: Mapping[str, str] = MappingProxyType(
    {"counter": "guichê", "online": "internet", "on_board": "a bordo"})


def ticket_layout(facts: TicketFacts) -> tuple[Block, ...]:
    """The ticket from top to bottom: page, picture and both prints render exactly these blocks (T14)."""
    blocks = (*_what_the_door_needs(facts), Block(Kind.RULE_LINE, "tear"), *_the_rest(facts))
    return tuple(block for block in blocks if block.kind is Kind.RULE_LINE or block.value or block.rows)


def _what_the_door_needs(facts: TicketFacts) -> tuple[Block, ...]:
    seat = NO_SEAT if facts.seat is None else facts.seat
    places = [("Poltrona" if seat.isdigit() else "Lugar", seat)]
    if facts.platform:
        places.append(("Plataforma", facts.platform))
    return (
        Block(Kind.HEADING, "journey", facts.carrier, f"{facts.origin} – {facts.destination}",
              (f"Linha {facts.line_code} {facts.line_name}, {facts.service_class}",)),
        Block(Kind.QR, "qr", "Bilhete", facts.code),
        Block(Kind.SEAT, "seat", rows=tuple(places)),
        _call("boarding", "Embarque", facts.departs, facts.boarding_stop, facts.terminal),
        Block(Kind.NOTE, "refund", "", facts.refund_until),
        Block(Kind.NOTE, "bring", "Leve", facts.bring),
    )


def _the_rest(facts: TicketFacts) -> tuple[Block, ...]:
    sale = ", ".join(part for part in (facts.sold_at, CHANNELS.get(facts.channel, facts.channel),
                                       facts.agent and f"agente {facts.agent}") if part)
    return (
        Block(Kind.PAIR, "passenger", "Passageiro", facts.passenger or NOT_IDENTIFIED),
        Block(Kind.PAIR, "document", "Documento", facts.document),
        _call("alighting", "Desembarque", facts.arrives, facts.alighting_stop),
        Block(Kind.FARE, "fare", "Passagem", facts.total.in_reais(),
              rows=tuple((label, amount.in_reais()) for label, amount in facts.fare_items)),
        Block(Kind.PAIR, "payment", "Pagamento", facts.payment),
        Block(Kind.PAIR, "sale", "Venda", sale),
        Block(Kind.PAIR, "luggage", "Bagagem", facts.luggage),
        Block(Kind.SMALL, "identity_rule", "Identificação", facts.identity_rule),
        Block(Kind.SMALL, "carrier", "Transportadora", f"{facts.carrier}, CNPJ {facts.carrier_cnpj}"),
        Block(Kind.SMALL, "link", "Este bilhete", facts.link),
    )


def _call(key: str, label: str, time: LocalTime, *where: str) -> Block:
    return Block(Kind.CALL, key, label, time.hour, tuple(line for line in where if line), ((time.day, time.zone_name),))
