"""What the door answers to a pass, a code or a name, in which words, and which clock it believes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kernel.decisions import Citation
from ticketing.network.laws import cite
from ticketing.sales.policy import SC_11A_FROM

TOO_EARLY_BY = timedelta(minutes=10)
CLOCK_AHEAD = timedelta(minutes=2)
CLOCK_BEHIND = timedelta(hours=48)
REFUSAL_REASONS: Mapping[str, str] = MappingProxyType({
    "no_document": "sem documento", "other_person": "outra pessoa", "unreadable": "documento ilegível",
    "other": "outro motivo"})


class Result(StrEnum):
    """What a presentation at the door came to."""

    OK = "OK"
    OK_OTHER_STOP = "OK_OTHER_STOP"
    FISCAL_QR = "FISCAL_QR"
    NOT_A_PASS = "NOT_A_PASS"  # noqa: S105 - no password
    UNKNOWN_KEY = "UNKNOWN_KEY"
    BAD_SIGNATURE = "BAD_SIGNATURE"
    UNKNOWN_CODE = "UNKNOWN_CODE"
    NOT_ON_MANIFEST = "NOT_ON_MANIFEST"
    WRONG_TRIP = "WRONG_TRIP"
    TRIP_CANCELLED = "TRIP_CANCELLED"
    REFUNDED = "REFUNDED"
    VOIDED = "VOIDED"
    SUPERSEDED = "SUPERSEDED"
    ALREADY_BOARDED = "ALREADY_BOARDED"
    TOO_EARLY = "TOO_EARLY"
    EXPIRED = "EXPIRED"
    WRONG_STOP = "WRONG_STOP"
    FULL = "FULL"
    DOCUMENT_REFUSED = "DOCUMENT_REFUSED"


class Words(NamedTuple):
    """How a result is told: its tone ("ok", "attention", "stop", "info"), its word, and what to do now."""

    tone: str
    word: str
    do: str = ""


WORDS: Mapping[Result, Words] = MappingProxyType({
    Result.OK: Words("ok", "pode embarcar"),
    Result.OK_OTHER_STOP: Words("attention", "embarca depois"),
    Result.FISCAL_QR: Words("info", "QR fiscal", "peça o outro código do bilhete"),
    Result.NOT_A_PASS: Words("info", "não é bilhete", "peça o código do bilhete"),
    Result.UNKNOWN_KEY: Words("stop", "chave desconhecida", "embarque por nome ou ligue ao escritório"),
    Result.BAD_SIGNATURE: Words("stop", "falso ou danificado", "não aceite este código; procure pelo nome"),
    Result.UNKNOWN_CODE: Words("stop", "código desconhecido", "confira as letras ou embarque por nome"),
    Result.NOT_ON_MANIFEST: Words("stop", "não está na lista", "ligue ao escritório"),
    Result.WRONG_TRIP: Words("stop", "outra viagem", "oriente o passageiro"),
    Result.TRIP_CANCELLED: Words("stop", "viagem cancelada", "encaminhe ao guichê: devolução integral"),
    Result.REFUNDED: Words("stop", "devolvido", "o valor já voltou; precisa de outro bilhete"),
    Result.VOIDED: Words("stop", "anulado", "a venda foi anulada; precisa de outro bilhete"),
    Result.SUPERSEDED: Words("stop", "bilhete trocado", "peça o bilhete novo"),
    Result.ALREADY_BOARDED: Words("stop", "já embarcou"),
    Result.TOO_EARLY: Words("stop", "cedo demais", "aguarde a hora do embarque"),
    Result.EXPIRED: Words("stop", "vencido", "a viagem está encerrada; encaminhe ao guichê"),
    Result.WRONG_STOP: Words("stop", "outro trecho", "confira a parada escolhida na tela"),
    Result.FULL: Words("stop", "lotado", "ninguém mais embarca nesta parada"),
    Result.DOCUMENT_REFUSED: Words("stop", "não embarca", "encaminhe ao guichê"),
})
ACCEPTED = frozenset({Result.OK, Result.OK_OTHER_STOP})
SHOWS_PASSENGER = ACCEPTED | {Result.ALREADY_BOARDED}  # nobody's name is shown where it decides nothing
_BY_STATUS = {"refunded": Result.REFUNDED, "voided": Result.VOIDED}
_UNREAD = {"fiscal_qr": Result.FISCAL_QR, "not_a_pass": Result.NOT_A_PASS, "unknown_key": Result.UNKNOWN_KEY,
           "bad_signature": Result.BAD_SIGNATURE}
_CARDS = {"RG": "o RG", "CIN": "a CIN", "CNH": "a CNH", "PASSPORT": "o passaporte", "RNM": "o RNM",
          "BIRTH_CERTIFICATE": "a certidão de nascimento"}


@dataclass(frozen=True, slots=True)
class Door:
    """Where and when it is shown: the open trip's state, the stop the bus is at, who is aboard on leaving it."""

    trip_id: int
    trip_status: str
    stop_seq: int
    aboard: int
    capacity: int
    now: datetime


@dataclass(frozen=True, slots=True)
class Presented:
    """The ticket that was found. `revision` is the pass's own, None for a code or a name."""

    trip_id: int
    status: str
    ticket_revision: int
    revision: int | None
    board_seq: int
    alight_seq: int
    seat: int
    opens_at: datetime
    identity_required: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer. `needs_document`: who presents it boards only after the document was looked at (SC 11-A par. 2)."""

    result: Result
    tone: str
    needs_document: bool = False


def verdict(reading: str, presented: Presented | None, door: Door) -> Verdict:
    """The first rule that holds: readable, known, this trip, not cancelled, not paid back, newest, not yet aboard,
    in time, at a stop that was paid for, a place left.

    `reading` is what the text was: "ok" and the failures of `passes.signing.Outcome`, or "code" for a typed code or a
    name. A late bus never expires its own passes: only a trip that was closed does.
    """
    if reading in _UNREAD or presented is None:
        result = _UNREAD.get(reading) or (Result.UNKNOWN_CODE if reading == "code" else Result.NOT_ON_MANIFEST)
        return Verdict(result, WORDS[result].tone)
    result = _refused(presented, door) or _at_the_stop(presented, door)
    return Verdict(result, WORDS[result].tone, result in ACCEPTED and presented.identity_required)


def _refused(presented: Presented, door: Door) -> Result | None:
    if presented.trip_id != door.trip_id:
        return Result.WRONG_TRIP
    if door.trip_status == "cancelled":
        return Result.TRIP_CANCELLED
    if presented.status in _BY_STATUS:
        return _BY_STATUS[presented.status]
    if presented.revision is not None and presented.revision < presented.ticket_revision:
        return Result.SUPERSEDED
    return Result.ALREADY_BOARDED if presented.status == "boarded" else None


def _at_the_stop(presented: Presented, door: Door) -> Result:
    if door.trip_status == "closed":
        return Result.EXPIRED
    if door.now < presented.opens_at - TOO_EARLY_BY:
        return Result.TOO_EARLY
    if not presented.board_seq <= door.stop_seq < presented.alight_seq:
        return Result.WRONG_STOP
    if presented.seat and door.aboard >= door.capacity:
        return Result.FULL
    return Result.OK if door.stop_seq == presented.board_seq else Result.OK_OTHER_STOP


@dataclass(frozen=True, slots=True)
class Moment:
    """The instant a scan counts for, and whether the phone's own was beyond belief."""

    at: datetime
    doubtful: bool


def believed(told: datetime, received_at: datetime) -> Moment:
    """The phone's instant when it lies from 48 h before to 2 min after the arrival of its scan, else the arrival."""
    if received_at - CLOCK_BEHIND <= told <= received_at + CLOCK_AHEAD:
        return Moment(told, doubtful=False)
    return Moment(received_at, doubtful=True)


def look_at(kind: str, last4: str) -> str:
    """What to compare: `confira o RG: final 4821`."""
    card = _CARDS.get(kind, "o documento")
    return f"confira {card}: final {last4}" if last4 else f"confira {card}"


def document_rule(state: str, day: date) -> Citation:
    """Why nobody boards without the document (B1): SC 11-A par. 2, MS 40 II a, or the carrier's policy."""
    if state == "SC":
        return cite("B1", state=state, day=day, sc="art. 11-A, § 2º", sc_from=SC_11A_FROM)
    return cite("B1", state=state, day=day, ms="art. 40, II, a")
