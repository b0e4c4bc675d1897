"""Taking in the phones' logs: every line is kept, whatever it says, and what they come to moves the tickets."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import select
from sqlalchemy.orm import Session

from boarding.devices.enrolment import ACTOR_PREFIX
from boarding.devices.models import Device, DeviceRecord, QuarantinedRecord
from boarding.devices.policy import (
    ACCEPTED_RESULTS,
    SIGNED_CONTEXT,
    Known,
    Merged,
    Note,
    Record,
    digest,
    merge,
    shown_at,
)
from boarding.passes.models import Pass
from kernel.db import InsertNew
from kernel.errors import InvalidInput
from ticketing.network.models import Trip
from ticketing.payments.models import LedgerEntry
from ticketing.sales.models import Ticket
from ticketing.sales.service import board_ticket, move_boarding, read_code

RECENT = timedelta(days=7)
ReadBody = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_insert, _quarantine = InsertNew(DeviceRecord, "id"), InsertNew(QuarantinedRecord)


@dataclass(frozen=True, slots=True)
class Signed:
    """A line as it came: its id and phone as told, the text that was signed, and the signature in base64."""

    id: str
    device: str
    body: str
    signature: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a batch: every id is acknowledged, some of them in quarantine; notes of the batch's lines."""

    acknowledged: tuple[str, ...]
    quarantined: tuple[str, ...]
    notes: tuple[tuple[str, Note], ...]


class _Unbelieved(Exception):
    """Why a line goes into quarantine: a short code."""


def take_in(session: Session, batch: Sequence[Signed], *, read: ReadBody, now: datetime, actor: str) -> Taken:
    """Keep every line of a batch and board by what all lines together say. Sending again changes nothing.

    A line whose signature, phone or shape cannot be believed is kept apart and acknowledged too. `read` checks the
    shape of a body and raises InvalidInput.
    """
    phones = {phone.id: phone for phone in session.scalars(select(Device).where(
        Device.id.in_({line.device for line in batch})))}
    quarantined, trips = [], set()
    for line in sorted(batch, key=lambda one: one.id):  # in one order, so that two batches do not wait for each other
        try:
            trips.add(_keep(session, line, phones.get(line.device), read, now))
        except _Unbelieved as reason:
            quarantined.append(line.id)
            _quarantine(session, {
                "digest": digest(*(part.encode() for part in (line.id, line.device, line.body, line.signature))),
                "record_id": line.id, "device_id": line.device, "reason": str(reason), "uploaded_by": actor,
                "received_at": now, "body": line.body})
    sent = {line.id for line in batch}
    notes = [(record_id, note) for trip_id in sorted(trips)
             for record_id, found in sorted(settle(session, trip_id).notes.items()) if record_id in sent
             for note in found]
    return Taken(tuple(line.id for line in batch), tuple(quarantined), tuple(notes))


def settle(session: Session, trip_id: int) -> Merged:
    """What a trip's lines come to, and its tickets boarded accordingly. Batches of one trip take turns."""
    session.execute(select(Trip.id).where(Trip.id == trip_id).with_for_update(key_share=True))
    merged, tickets = _merged(session, trip_id)
    for ticket in (one for one in tickets if one.trip_id == trip_id):
        _board(session, ticket, merged.boardings.get(ticket.id))
    return merged


def open_notes(session: Session, *, now: datetime) -> list[tuple[DeviceRecord, Ticket | None, tuple[Note, ...]]]:
    """The lines of the last seven days that somebody should look at, newest first."""
    trips = session.scalars(select(DeviceRecord.trip_id).where(DeviceRecord.received_at > now - RECENT).distinct())
    noted = {record_id: notes for trip_id in list(trips)
             for record_id, notes in _merged(session, trip_id)[0].notes.items()}
    rows = session.execute(select(DeviceRecord, Ticket).outerjoin(Ticket, DeviceRecord.ticket_id == Ticket.id).where(
        DeviceRecord.id.in_(noted)).order_by(DeviceRecord.received_at.desc(), DeviceRecord.id))
    return [(record, ticket, noted[record.id]) for record, ticket in rows]


def quarantine(session: Session, *, now: datetime) -> list[QuarantinedRecord]:
    """The lines of the last seven days that nobody believes, newest first."""
    return list(session.scalars(select(QuarantinedRecord).where(QuarantinedRecord.received_at > now - RECENT).order_by(
        QuarantinedRecord.received_at.desc()).limit(100)))


def _keep(session: Session, line: Signed, phone: Device | None, read: ReadBody, now: datetime) -> int:
    """Write a line that its phone signed; the trip it belongs to. A line that is there already stays as it is."""
    signature = _verified(line, phone)
    try:
        told = read(json.loads(line.body))
    except (ValueError, TypeError, RecursionError, InvalidInput) as error:
        raise _Unbelieved("unreadable") from error
    if (told["id"], told["device"]) != (line.id, line.device):
        raise _Unbelieved("other_envelope")
    row = {
        "id": line.id, "device_id": line.device, "trip_id": told["trip_id"], "seq": told["seq"], "kind": told["kind"],
        "ticket_id": _ticket_id(session, told), "stop_seq": told["stop_seq"], "result": told["result"],
        "accepted": _accepted(told), "undoes": told["undoes"], "at": told["at"], "asof": told["asof"],
        "received_at": now, "body": line.body, "signature": signature}
    if not _insert(session, row):
        there = session.execute(select(DeviceRecord.device_id, DeviceRecord.body).where(
            DeviceRecord.id == line.id)).one()
        if tuple(there) != (line.device, line.body):
            raise _Unbelieved("id_used")
    return int(told["trip_id"])


def _verified(line: Signed, phone: Device | None) -> bytes:
    if phone is None:
        raise _Unbelieved("unknown_device")
    if phone.revoked_at is not None:
        raise _Unbelieved("revoked_device")
    try:
        signature = base64.b64decode(line.signature, validate=True)
        Ed25519PublicKey.from_public_bytes(phone.public_key).verify(signature, SIGNED_CONTEXT + line.body.encode())
    except (ValueError, InvalidSignature) as error:
        raise _Unbelieved("bad_signature") from error
    return signature


def _accepted(told: Mapping[str, Any]) -> bool:
    if told["kind"] not in ("scan", "manual", "override") or told["document"] == "refused":
        return False
    return told["kind"] == "override" or told["result"] in ACCEPTED_RESULTS


def _ticket_id(session: Session, told: Mapping[str, Any]) -> int | None:
    if told["pass_id"] is not None:
        return session.scalar(select(Pass.ticket_id).where(Pass.id == bytes.fromhex(told["pass_id"])))
    if told["code"] is not None:
        return session.scalar(select(Ticket.id).where(Ticket.code == read_code(told["code"])))
    return None


def _merged(session: Session, trip_id: int) -> tuple[Merged, list[Ticket]]:
    rows = list(session.scalars(select(DeviceRecord).where(DeviceRecord.trip_id == trip_id)))
    tickets = list(session.scalars(select(Ticket).where(Ticket.id.in_({row.ticket_id for row in rows}))
                                   .execution_options(populate_existing=True)))
    return merge(trip_id, [_record(row) for row in rows], _known(session, tickets)), tickets


def _known(session: Session, tickets: Iterable[Ticket]) -> dict[int, Known]:
    by_code = {ticket.code: ticket for ticket in tickets}
    released = {row.subject: row.at for row in session.execute(select(LedgerEntry.subject, LedgerEntry.at).where(
        LedgerEntry.subject.in_(by_code), LedgerEntry.kind.in_(("refund", "void"))))}
    return {ticket.id: Known(ticket.trip_id, released.get(code), _boarded_online(ticket))
            for code, ticket in by_code.items()}


def _boarded_online(ticket: Ticket) -> bool:
    return ticket.boarded_by is not None and not ticket.boarded_by.startswith(ACTOR_PREFIX)


def _record(row: DeviceRecord) -> Record:
    return Record(row.id, row.device_id, row.seq, row.kind, row.ticket_id, row.stop_seq, row.accepted, row.undoes,
                  row.at, row.asof, row.received_at)


def _board(session: Session, ticket: Ticket, boarding: tuple[Record, datetime] | None) -> None:
    """Bring a ticket's boarding in line with the phones'; what was paid back, or boarded on the server, stays so."""
    if _boarded_online(ticket) or ticket.status not in ("sold", "boarded"):
        return
    if boarding is None:
        if ticket.status == "boarded":  # its only boarding was undone
            move_boarding(session, ticket.id, None, now=ticket.sold_at, actor="")
        return
    record, moment = boarding
    at, seq, actor = shown_at(record, moment), record.stop_seq, ACTOR_PREFIX + record.device
    if ticket.status == "sold":
        board_ticket(session, ticket.id, seq, now=at, actor=actor)
    elif (ticket.boarded_at, ticket.boarded_seq, ticket.boarded_by) != (at, seq, actor):
        move_boarding(session, ticket.id, seq, now=at, actor=actor)
