"""What the logs of several phones come to: a pure function of the set of their records, in whatever order they came."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from types import MappingProxyType

CLOCK_AHEAD = timedelta(minutes=2)
CLOCK_BEHIND = timedelta(hours=48)
ACCEPTED_RESULTS = frozenset({"OK", "OK_OTHER_STOP", "OK_LATE_SALE", "OK_NO_MANIFEST"})
RESULTS = ACCEPTED_RESULTS | {
    "FISCAL_QR", "NOT_A_PASS", "UNKNOWN_KEY", "BAD_SIGNATURE", "UNKNOWN_CODE", "NOT_ON_MANIFEST", "WRONG_TRIP",
    "TRIP_CANCELLED", "REFUNDED", "VOIDED", "EXCHANGED", "SUPERSEDED", "ALREADY_BOARDED", "TOO_EARLY", "EXPIRED",
    "WRONG_STOP", "FULL", "DOCUMENT_REFUSED", "NONE"}
SIGNED_CONTEXT = b"BL1\0"


class Note(StrEnum):
    """What somebody should look at; nothing is rolled back for it."""

    DOUBLE_USE_OTHER_DEVICE = "DOUBLE_USE_OTHER_DEVICE"
    DOUBLE_USE_SAME_DEVICE = "DOUBLE_USE_SAME_DEVICE"
    UNKNOWN_PASS = "UNKNOWN_PASS"  # noqa: S105 - no password
    WRONG_TRIP = "WRONG_TRIP"
    CLOCK_DOUBTFUL = "CLOCK_DOUBTFUL"
    DEVICE_FORK = "DEVICE_FORK"
    GAP = "GAP"
    BOARDED_BEFORE_REFUND = "BOARDED_BEFORE_REFUND"
    BOARDED_ON_OLD_LIST = "BOARDED_ON_OLD_LIST"
    BOARDED_AGAINST_LIST = "BOARDED_AGAINST_LIST"


WORDS: Mapping[Note, str] = MappingProxyType({
    Note.DOUBLE_USE_OTHER_DEVICE: "segundo uso, em outro aparelho", Note.DOUBLE_USE_SAME_DEVICE: "segundo uso",
    Note.UNKNOWN_PASS: "bilhete desconhecido", Note.WRONG_TRIP: "bilhete de outra viagem",
    Note.CLOCK_DOUBTFUL: "relógio duvidoso", Note.DEVICE_FORK: "aparelho copiado", Note.GAP: "falta parte do registro",
    Note.BOARDED_BEFORE_REFUND: "embarcou antes da devolução: conteste",
    Note.BOARDED_ON_OLD_LIST: "devolvida depois da lista do aparelho",
    Note.BOARDED_AGAINST_LIST: "embarcou contra a lista"})


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a phone's log on one trip. `ticket` is None for a pass that is not known here."""

    id: str
    device: str
    seq: int
    kind: str
    ticket: int | None
    stop_seq: int
    accepted: bool
    undoes: str | None
    at: datetime
    asof: datetime | None
    received_at: datetime


@dataclass(frozen=True, slots=True)
class Known:
    """What the house knows of a ticket: its own trip, when it was paid back or voided, if it was, and whether a driver
    boarded it on the server itself."""

    trip_id: int
    released_at: datetime | None = None
    boarded_online: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """For each ticket the record that boarded it, with its instant; for each record its notes. `complete` says that
    every phone of the trip has sent its closing line and none is missing."""

    boardings: Mapping[int, tuple[Record, datetime]]
    notes: Mapping[str, tuple[Note, ...]]
    complete: bool


def merge(trip_id: int, records: Collection[Record], known: Mapping[int, Known]) -> Merged:
    """What a trip's records come to. The order in which they are given, or came, changes nothing."""
    moments = _moments(records)
    notes: dict[str, list[Note]] = {record.id: [] for record in records}
    for record in records:
        if record.ticket is None and record.kind in ("scan", "manual", "override"):
            notes[record.id].append(Note.UNKNOWN_PASS)
        elif record.ticket is not None and known[record.ticket].trip_id != trip_id:
            notes[record.id].append(Note.WRONG_TRIP)
        if clock_doubtful(record):
            notes[record.id].append(Note.CLOCK_DOUBTFUL)
    sound = _chains(records, notes)
    boardings = _boardings(trip_id, records, known, moments, notes)
    closed = {record.device for record in records if record.kind == "close"}
    return Merged(boardings, {key: tuple(found) for key, found in notes.items() if found},
                  sound and bool(records) and closed == {record.device for record in records})


def clock_doubtful(record: Record) -> bool:
    """Whether the phone told a time from more than 48 h before to 2 min after the arrival of the record."""
    return not record.received_at - CLOCK_BEHIND <= record.at <= record.received_at + CLOCK_AHEAD


def shown_at(record: Record, moment: datetime) -> datetime:
    """The instant to show for a boarding: the record's own, or its arrival where the clock was beyond belief."""
    return record.received_at if clock_doubtful(record) else min(moment, record.received_at)


def digest(*parts: bytes) -> bytes:
    """A name for exactly these parts."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(4, "big") + part)
    return whole.digest()


def _order(record: Record) -> tuple[int, str]:
    return record.seq, record.id


def _moments(records: Iterable[Record]) -> dict[str, datetime]:
    """When each record counts: never before the phone's list, nor before what the same phone recorded earlier."""
    moments: dict[str, datetime] = {}
    for _, group in groupby(sorted(records, key=lambda record: (record.device, *_order(record))),
                            key=lambda record: record.device):
        latest: datetime | None = None
        for record in group:
            told = [moment for moment in (record.at, record.asof, latest) if moment is not None]
            moments[record.id] = latest = max(told)
    return moments


def _chains(records: Iterable[Record], notes: dict[str, list[Note]]) -> bool:
    """Whether each phone's numbers are whole; two records of one number, and the one after a gap, are noted."""
    sound = True
    for _, group in groupby(sorted(records, key=lambda record: (record.device, *_order(record))),
                            key=lambda record: record.device):
        last = 0
        for record in group:
            if record.seq == last:
                notes[record.id].append(Note.DEVICE_FORK)
            elif record.seq != last + 1:
                notes[record.id].append(Note.GAP)
                sound = False
            last = record.seq
    return sound


def _boardings(trip_id: int, records: Collection[Record], known: Mapping[int, Known],
               moments: Mapping[str, datetime], notes: dict[str, list[Note]]) -> dict[int, tuple[Record, datetime]]:
    undone = {(record.device, record.undoes) for record in records if record.kind == "undo"}
    counted = [record for record in records if record.accepted and record.ticket is not None
               and known[record.ticket].trip_id == trip_id and (record.device, record.id) not in undone]
    boardings: dict[int, tuple[Record, datetime]] = {}
    for record in sorted(counted, key=lambda one: (moments[one.id], one.device, one.seq, one.id)):
        assert record.ticket is not None
        first = boardings.setdefault(record.ticket, (record, moments[record.id]))[0]
        if first is not record:
            notes[record.id].append(Note.DOUBLE_USE_SAME_DEVICE if first.device == record.device
                                    else Note.DOUBLE_USE_OTHER_DEVICE)
    for ticket, (record, moment) in boardings.items():
        if known[ticket].boarded_online:
            notes[record.id].append(Note.DOUBLE_USE_OTHER_DEVICE)
        released = known[ticket].released_at
        if released is not None:
            notes[record.id].append(_against(record, moment, released))
    return boardings


def _against(record: Record, moment: datetime, released: datetime) -> Note:
    if moment <= released:
        return Note.BOARDED_BEFORE_REFUND
    if record.asof is None or record.asof <= released:
        return Note.BOARDED_ON_OLD_LIST
    return Note.BOARDED_AGAINST_LIST
