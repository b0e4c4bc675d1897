"""Scans: the answer to what is shown at the door, recorded whatever it is, and the driver's look at the document."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import and_, bindparam, case, func, select
from sqlalchemy.orm import Session, aliased

from boarding.doors.manifest import DoorTrip, aboard_query, driver_trip
from boarding.doors.models import DocumentCheck, Scan
from boarding.doors.policy import (
    ACCEPTED,
    REFUSAL_REASONS,
    SHOWS_PASSENGER,
    WORDS,
    Door,
    Presented,
    Result,
    Verdict,
    believed,
    document_rule,
    look_at,
    verdict,
)
from boarding.passes.models import Pass
from boarding.passes.policy import OPENS_BEFORE
from boarding.passes.signing import PassBody, verify
from kernel.clock import local_date, on_the_clock, zone_name
from kernel.db import InsertNew
from kernel.errors import Conflict, InvalidInput, NotFound
from kernel.vault import Vault
from ticketing.network.models import Call, Line, Stop, Trip
from ticketing.network.policy import seat_words
from ticketing.sales.identities import Passenger, opened_or_none
from ticketing.sales.models import Identity, Ticket
from ticketing.sales.service import board_ticket, read_code

_insert_scan, _insert_check = InsertNew(Scan), InsertNew(DocumentCheck)

_BOARD = aliased(Call)
_SHOWN = func.coalesce(select(Pass.ticket_id).where(Pass.id == bindparam("pass_id")).scalar_subquery(),
                       select(Ticket.id).where(Ticket.code == bindparam("code")).correlate(None).scalar_subquery())
_THEIRS = aliased(Trip)
# built once: putting this together costs more than running it
_KNOWN = (
    select(Scan, DocumentCheck, Ticket, Identity, Line.code, Line.name, _BOARD.departs_at, Stop.zone,
           aboard_query(bindparam("trip_id"), func.coalesce(Scan.stop_seq, bindparam("stop_seq"))).label("aboard"))
    .select_from(Trip).outerjoin(Scan, Scan.id == bindparam("scan_id"))
    .outerjoin(DocumentCheck, DocumentCheck.scan_id == Scan.id)
    .outerjoin(Ticket, Ticket.id == case((Scan.id.is_not(None), Scan.ticket_id), else_=_SHOWN))
    .outerjoin(Identity, Identity.ticket_id == Ticket.id).outerjoin(_THEIRS, _THEIRS.id == Ticket.trip_id)
    .outerjoin(Line, Line.id == _THEIRS.line_id)
    .outerjoin(_BOARD, and_(_BOARD.trip_id == Ticket.trip_id, _BOARD.seq == Ticket.board_seq))
    .outerjoin(Stop, Stop.id == _BOARD.stop_id).where(Trip.id == bindparam("trip_id")))


@dataclass(frozen=True, slots=True)
class Presentation:
    """What the phone sends: its own id, what was read ("scan", "code", "name"), where and when by its clock."""

    id: str
    kind: str
    text: str
    stop_seq: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Answer:
    """What the driver is told. `checks` names what must be looked at before the passenger boards."""

    id: str
    result: str
    tone: str
    word: str
    seat: str | None
    do: tuple[str, ...]
    passenger: Passenger | None
    checks: tuple[str, ...]
    detail: str | None
    aboard: int
    capacity: int


@dataclass(frozen=True, slots=True)
class _Seen:
    """All that the database knows of a presentation, read in one statement."""

    scan: Scan | None
    check: DocumentCheck | None
    ticket: Ticket | None
    identity: Identity | None
    aboard: int
    line_code: str | None
    line_name: str | None
    departs_at: datetime | None
    zone: str | None


def record_scan(session: Session, trip_id: int, shown: Presentation, *, keys: Mapping[int, Ed25519PublicKey],
                vault: Vault, staff_id: int, now: datetime, actor: str) -> Answer:
    """The answer to a pass, a code or a name, recorded under the phone's id; boards at once where no document is asked.

    The same id again gets the first answer again, whatever has become of the ticket since and whatever the new body
    says. Neither what was typed nor what was read is kept. Raises NotFound for a trip that is not the driver's,
    InvalidInput for a stop that it lacks, Conflict for an id that belongs to another trip.
    """
    trip = driver_trip(session, trip_id, staff_id=staff_id, lock=True)
    trip.check_stop(shown.stop_seq)
    reading, body = "code", None
    if shown.kind == "scan":
        read = verify(shown.text, keys)
        reading, body = read.outcome.value, read.body
    seen = _look_up(session, trip.id, shown.id, stop_seq=shown.stop_seq, body=body,
                    code=_code(shown.text) if shown.kind != "scan" else None)
    if seen.scan is not None:
        return _first_answer(seen.scan, seen, vault)
    moment = believed(shown.at, now)
    revision = body.revision if body else None
    told, seen, moved = _decide(session, trip, seen, reading, revision, stop_seq=shown.stop_seq, now=now,
                                at=moment.at, actor=actor, confirmed=False)
    facts = _facts(trip, told, seen, aboard=seen.aboard + moved, revision=revision, actor=actor)
    if moment.doubtful:
        facts |= {"clock_doubtful": True, "told_at": shown.at.isoformat()}
    scan = {"id": shown.id, "trip_id": trip.id, "ticket_id": seen.ticket.id if seen.ticket else None,
            "driver": actor, "kind": shown.kind, "stop_seq": shown.stop_seq, "at": moment.at, "received_at": now,
            "result": told.result.value, "facts": facts}
    if not _insert_scan(session, scan):
        raise _other_trips_id()
    return _first_answer(Scan(**scan), seen, vault)


def answer_document(session: Session, trip_id: int, scan_id: str, outcome: str, reason: str | None, *, staff_id: int,
                    now: datetime, actor: str) -> Answer:
    """Board the passenger whose document was confirmed, or keep out who showed none; the first answer stands.

    A confirmed one may still be told that another phone boarded the ticket, or that it was paid back meanwhile.
    Raises NotFound, InvalidInput for a refusal without its reason, Conflict when nothing was asked.
    """
    if outcome not in ("confirmed", "refused") or (outcome == "refused") != (reason in REFUSAL_REASONS):
        raise InvalidInput("reason_missing", "Diga por que o documento não confere.",
                           fields={"reason": "Escolha o motivo."})
    trip = driver_trip(session, trip_id, staff_id=staff_id, lock=True)
    seen = _look_up(session, trip.id, scan_id)
    scan = _asked(trip, seen)
    if seen.check is not None:
        return _settled(trip, scan, seen.check, seen, actor=actor)
    told, moved = Verdict(Result.DOCUMENT_REFUSED, WORDS[Result.DOCUMENT_REFUSED].tone), 0
    if outcome == "confirmed":
        told, seen, moved = _decide(session, trip, seen, "code", scan.facts["revision"], stop_seq=scan.stop_seq,
                                    now=now, at=now, actor=actor, confirmed=True)
    check = {"scan_id": scan.id, "outcome": outcome, "reason": reason, "result": told.result.value, "driver": actor,
             "at": now}
    _insert_check(session, check)
    return _settled(trip, scan, DocumentCheck(**check), replace(seen, aboard=seen.aboard + moved), actor=actor)


def answer_of(session: Session, trip_id: int, scan_id: str, *, vault: Vault, staff_id: int, actor: str) -> Answer:
    """The answer to a recorded scan as it stands: the scan's own, or that of its document. Raises NotFound."""
    trip = driver_trip(session, trip_id, staff_id=staff_id)
    seen = _look_up(session, trip.id, scan_id)
    if seen.scan is None:
        raise _no_such_scan()
    if seen.check is not None:
        return _settled(trip, seen.scan, seen.check, seen, actor=actor)
    return _first_answer(seen.scan, seen, vault)


def _decide(session: Session, trip: DoorTrip, seen: _Seen, reading: str, revision: int | None, *, stop_seq: int,
            now: datetime, at: datetime, actor: str, confirmed: bool) -> tuple[Verdict, _Seen, int]:
    """The verdict, what it rests on, and 1 when it moved the ticket to boarded. The row count decides between two."""
    door = Door(trip.id, trip.status, stop_seq, seen.aboard, trip.capacity, now)
    told = verdict(reading, _presented(seen, revision), door)
    if told.result not in ACCEPTED or seen.ticket is None or (told.needs_document and not confirmed):
        return told, seen, 0
    if board_ticket(session, seen.ticket.id, stop_seq, now=at, actor=actor):
        return told, seen, 1 if seen.ticket.seat else 0
    session.refresh(seen.ticket)
    return verdict(reading, _presented(seen, revision), door), seen, 0


def _presented(seen: _Seen, revision: int | None) -> Presented | None:
    ticket = seen.ticket
    if ticket is None or seen.departs_at is None:
        return None
    return Presented(ticket.trip_id, ticket.status, ticket.revision, revision, ticket.board_seq, ticket.alight_seq,
                     ticket.seat, seen.departs_at - OPENS_BEFORE, ticket.identity_required)


def _look_up(session: Session, trip_id: int, scan_id: str, *, stop_seq: int = 0, body: PassBody | None = None,
             code: str | None = None) -> _Seen:
    """The scan of that id and its ticket; for a new one the ticket of the pass or of the code. One statement."""
    row = session.execute(_KNOWN, {"trip_id": trip_id, "scan_id": scan_id, "stop_seq": stop_seq, "code": code,
                                   "pass_id": body.pass_id if body else None}).one()
    if row.Scan is not None and row.Scan.trip_id != trip_id:
        raise _other_trips_id()
    return _Seen(row.Scan, row.DocumentCheck, row.Ticket, row.Identity, row.aboard, row.code, row.name,
                 row.departs_at, row.zone)


def _code(text: str) -> str | None:
    code = read_code(text[:40])
    return code if code.isascii() and code.isalnum() else None


def _facts(trip: DoorTrip, told: Verdict, seen: _Seen, *, aboard: int, revision: int | None,
           actor: str) -> dict[str, Any]:
    """What the answer tells beside the passenger: kept with the scan, so that it can be told again. No names."""
    ticket = seen.ticket
    ours = ticket is not None and ticket.trip_id == trip.id
    return {"seat": seat_words(ticket.seat) if ticket and ours else None, "asks": told.needs_document,
            "lands": trip.calls[ticket.alight_seq].place if ticket and told.result in ACCEPTED else None,
            "detail": _detail(trip, told.result, seen, aboard, actor), "aboard": aboard, "capacity": trip.capacity,
            "revision": revision}


def _detail(trip: DoorTrip, result: Result, seen: _Seen, aboard: int, actor: str) -> str | None:
    ticket = seen.ticket
    if result is Result.FULL:
        return f"{aboard} de {trip.capacity} lugares ocupados."
    if ticket is None or seen.departs_at is None or seen.zone is None:
        return None
    hour = f"{on_the_clock(seen.departs_at, seen.zone)}, {zone_name(seen.zone)}"
    if result is Result.WRONG_TRIP:
        return f"O bilhete é da linha {seen.line_code} {seen.line_name}, {hour}."
    board, alight = trip.calls[ticket.board_seq], trip.calls[ticket.alight_seq]
    if result is Result.ALREADY_BOARDED and ticket.boarded_at is not None and ticket.boarded_seq is not None:
        where = trip.calls[ticket.boarded_seq]
        who = "com você" if ticket.boarded_by == actor else f"com {ticket.boarded_by}"
        return f"Embarcou em {where.place}, {on_the_clock(ticket.boarded_at, where.zone)}, {who}."
    return {Result.OK_OTHER_STOP: f"Pagou desde {board.place}.", Result.TOO_EARLY: f"Sai de {board.place} {hour}.",
            Result.WRONG_STOP: f"O bilhete vale de {board.place} a {alight.place}."}.get(result)


def _first_answer(scan: Scan, seen: _Seen, vault: Vault) -> Answer:
    """The scan's own answer, from what was stored with it; the passenger comes out of the vault each time."""
    result, facts = Result(scan.result), scan.facts
    words = WORDS[result]
    passenger = opened_or_none(seen.identity, seen.ticket.code, vault) \
        if seen.ticket and result in SHOWS_PASSENGER else None
    looks = facts["asks"] or (passenger is not None and result is Result.ALREADY_BOARDED)
    steps = [look_at(passenger.kind if passenger else "", passenger.last4 if passenger else "")] if looks else []
    return Answer(scan.id, result.value, words.tone, words.word, facts["seat"], (*steps, *_steps(words.do, facts)),
                  passenger, ("document",) if facts["asks"] else (), facts["detail"], facts["aboard"],
                  facts["capacity"])


def _settled(trip: DoorTrip, scan: Scan, check: DocumentCheck, seen: _Seen, *, actor: str) -> Answer:
    """The answer after the document was looked at."""
    result = Result(check.result)
    words = WORDS[result]
    detail = _detail(trip, result, seen, seen.aboard, actor)
    if result is Result.DOCUMENT_REFUSED and check.reason:
        origin = trip.calls[seen.ticket.board_seq] if seen.ticket else trip.origin
        article = document_rule(trip.state, local_date(origin.departs_at, origin.zone)).article
        detail = f"{REFUSAL_REASONS[check.reason].capitalize()}. Sem o documento ninguém embarca ({article})."
    lands = scan.facts if result in ACCEPTED else {"lands": None}
    return Answer(scan.id, result.value, words.tone, words.word, scan.facts["seat"], _steps(words.do, lands), None, (),
                  detail, seen.aboard, trip.capacity)


def _steps(do: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    lands = f"desce em {facts['lands']}" if facts["lands"] else ""
    return tuple(step for step in (do, lands) if step)


def _asked(trip: DoorTrip, seen: _Seen) -> Scan:
    if seen.scan is None:
        raise _no_such_scan()
    if not seen.scan.facts["asks"]:
        raise Conflict("nothing_asked", "Este bilhete não espera conferência. Leia o código de novo.")
    return seen.scan


def _no_such_scan() -> NotFound:
    return NotFound("no_such_scan", "Esta leitura não existe nesta viagem. Leia o código de novo.")


def _other_trips_id() -> Conflict:
    return Conflict("scan_id_used", "Esta leitura já foi registrada em outra viagem. Leia o código de novo.")
