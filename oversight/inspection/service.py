"""What an inspector may see (SC 13, MS 24-25): a trip with its manifest, and the tickets of a document. Read-only, and
every look is audited by trip and counts; names and documents stay on the page."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session, aliased, joinedload, selectinload

from kernel import audit
from kernel.clock import local_date
from kernel.decisions import Decision
from kernel.vault import Erased, Vault
from oversight.inspection.policy import check_period
from oversight.retention.models import LegalHold
from oversight.retention.policy import erased_on
from ticketing.network.models import Call, Line, Stop, Trip
from ticketing.network.policy import standing_numbers
from ticketing.network.service import Journey, load_journey
from ticketing.sales.documents import read_document
from ticketing.sales.identities import Passenger, opened_or_none
from ticketing.sales.models import Identity, Ticket
from ticketing.sales.service import keep_until, requirement
from ticketing.tariffs.models import Tariff

LIVE = ("sold", "boarded")


@dataclass(frozen=True, slots=True)
class TripLine:
    """One trip of a day's list, with the tickets that are still good."""

    trip: Trip
    first: Call
    last: Call
    tickets: int


@dataclass(frozen=True, slots=True)
class Listed:
    """One ticket of a manifest. `identity` is "kept", "erased" (since `erased`), "missing" or "not_asked"."""

    ticket: Ticket
    board: Call
    alight: Call
    boarded: Call | None
    identity: str
    passenger: Passenger | None
    erased: date | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """A trip as the inspector sees it; rows are of the loading session. `fullest` counts passengers on one leg."""

    journey: Journey
    requirement: Decision
    tariff: Tariff | None
    hold: LegalHold | None
    manifest: Sequence[Listed]
    seats: int
    standing: int
    fullest: int

    def count(self, *identities: str) -> int:
        """How many good tickets that must carry identity have it in one of these states."""
        return sum(row.identity in identities for row in self.manifest
                   if row.ticket.identity_required and row.ticket.status in LIVE)

    def with_status(self, *statuses: str) -> int:
        return sum(row.ticket.status in statuses for row in self.manifest)


@dataclass(frozen=True, slots=True)
class Found:
    """A ticket that a document was shown for."""

    ticket: Ticket
    line: Line
    board: Call
    alight: Call
    passenger: Passenger | None


def lines(session: Session) -> Sequence[Line]:
    """Every line, by code."""
    return session.scalars(select(Line).order_by(Line.code)).all()


def trips_on(session: Session, day: date, line_code: str) -> list[TripLine]:
    """The trips of a service day, of one line or of all ("")."""
    wanted = select(Trip).join(Line, Trip.line_id == Line.id).where(Trip.service_date == day)
    if line_code:
        wanted = wanted.where(Line.code == line_code)
    trips = list(session.scalars(wanted.options(joinedload(Trip.line), selectinload(Trip.calls))
                                 .order_by(Trip.departs_at, Trip.id)))
    counted: dict[int, int] = dict(session.execute(select(Ticket.trip_id, func.count()).where(
        Ticket.trip_id.in_([trip.id for trip in trips]), Ticket.status.in_(LIVE)).group_by(Ticket.trip_id)).all())
    return [TripLine(trip, trip.calls[0], trip.calls[-1], counted.get(trip.id, 0)) for trip in trips]


def look_at_trip(session: Session, trip_id: int, *, vault: Vault, taken_as: str = "", now: datetime,
                 actor: str) -> Sheet:
    """The trip with its manifest, title, tariff, capacity and identity record (B7). Raises NotFound.

    `taken_as` is the form in which the list leaves the system ("csv", "pdf"), and then stands in the audit log.
    """
    journey = load_journey(session, trip_id)
    holds = list(session.scalars(select(LegalHold).where(LegalHold.trip_id == trip_id)))
    ended = max((local_date(hold.released_at, journey.calls[-1].stop.zone) for hold in holds if hold.released_at),
                default=None)
    rows = session.execute(select(Ticket, Identity).outerjoin(Identity, Identity.ticket_id == Ticket.id).where(
        Ticket.trip_id == trip_id).order_by(Ticket.seat, Ticket.board_seq, Ticket.id))
    manifest = [_listed(journey, ticket, row, ended, vault) for ticket, row in rows]
    tariff = session.scalars(select(Tariff).where(
        Tariff.line_id == journey.line.id, Tariff.starts_on <= journey.trip.service_date).order_by(
        Tariff.starts_on.desc(), Tariff.id.desc()).limit(1)).first()
    standing = len(standing_numbers(journey.vehicle.standing_places)) if journey.line.standing_allowed else 0
    audit.record(session, "inspector_looked", subject=f"trip {trip_id}", now=now, actor=actor,
                 details={"tickets": len(manifest), **({"taken_as": taken_as} if taken_as else {})})
    return Sheet(journey, requirement(journey), tariff, next((hold for hold in holds if not hold.released_at), None),
                 manifest, len(journey.layout.seats_for_sale), standing, _fullest(journey, manifest))


@dataclass(frozen=True, slots=True)
class Record:
    """How many good tickets had to carry identity, and in which state it is."""

    required: int = 0
    kept: int = 0
    erased: int = 0

    @property
    def missing(self) -> int:
        return self.required - self.kept - self.erased

    def __add__(self, other: "Record") -> "Record":
        return Record(self.required + other.required, self.kept + other.kept, self.erased + other.erased)


@dataclass(frozen=True, slots=True)
class TripRecord:
    """The identity record of one trip."""

    trip_id: int
    line_code: str
    line_name: str
    day: date
    departs_at: datetime
    zone: str
    record: Record


def completeness(session: Session, first: date, last: date, line_code: str, *, vault: Vault, taken_as: str = "",
                 now: datetime, actor: str) -> list[TripRecord]:
    """Each trip of the period with a ticket that had to carry identity, by departure (B7, T5), in one statement.

    What the trip's page finds by opening each row is counted here by whose key the vault still has. Raises
    InvalidInput (`until`).
    """
    check_period(first, last)
    owed_from = vault.owed_from()
    readable = or_(and_(Identity.legal_hold.is_(None), Identity.keep_until >= owed_from),
                   Identity.legal_hold.in_(vault.hold_ids()))
    wanted = select(
        Trip.id, Line.code, Line.name, Trip.service_date, Trip.departs_at, Stop.zone, Trip.last_day, func.count(),
        func.count(Identity.ticket_id), func.count(Identity.ticket_id).filter(readable)).join(
        Line, Trip.line_id == Line.id).join(Ticket, Ticket.trip_id == Trip.id).outerjoin(
        Identity, Identity.ticket_id == Ticket.id).join(Call, and_(Call.trip_id == Trip.id, Call.seq == 0)).join(
        Stop, Call.stop_id == Stop.id).where(
        Trip.service_date.between(first, last), Ticket.identity_required, Ticket.status.in_(LIVE)).group_by(
        Trip.id, Line.code, Line.name, Trip.service_date, Trip.departs_at, Stop.zone, Trip.last_day).order_by(
        Trip.departs_at, Trip.id)
    rows = session.execute(wanted.where(Line.code == line_code) if line_code else wanted).all()
    found = [TripRecord(trip_id, code, name, day, departs_at, zone, Record(
        required, kept, (required if keep_until(last_day) < owed_from else there) - kept))
        for trip_id, code, name, day, departs_at, zone, last_day, required, there, kept in rows]
    audit.record(session, "inspector_looked", subject="completeness", now=now, actor=actor, details={
        "from": first.isoformat(), "until": last.isoformat(), "trips": len(found),
        **({"taken_as": taken_as} if taken_as else {})})
    return found


def by_line(found: Sequence[TripRecord]) -> list[tuple[str, str, int, Record]]:
    """Code, name, number of trips and record of each line, by code."""
    lines: dict[str, list[TripRecord]] = {}
    for row in found:
        lines.setdefault(row.line_code, []).append(row)
    return [(code, rows[0].line_name, len(rows), total(rows)) for code, rows in sorted(lines.items())]


def total(found: Sequence[TripRecord]) -> Record:
    """The record of all the trips together."""
    return sum((row.record for row in found), Record())


def look_for_document(session: Session, kind: str, number: str, issuer: str, *, vault: Vault, now: datetime,
                      actor: str) -> list[Found]:
    """The tickets sold on a document whose identity is still kept, the latest journey first.

    Found by the vault's keyed tags, one for each day still owed and each legal hold, in one statement. Raises
    InvalidInput as `read_document` does.
    """
    text = read_document(kind, number, issuer or None).lookup
    board, alight = aliased(Call), aliased(Call)
    rows = session.execute(
        select(Ticket, Identity, Line, board, alight).join(Identity, Identity.ticket_id == Ticket.id)
        .join(Trip, Ticket.trip_id == Trip.id).join(Line, Trip.line_id == Line.id)
        .join(board, and_(board.trip_id == Ticket.trip_id, board.seq == Ticket.board_seq))
        .join(alight, and_(alight.trip_id == Ticket.trip_id, alight.seq == Ticket.alight_seq))
        .where(Identity.tag.in_(_tags(session, vault, text))).order_by(board.departs_at.desc(), Ticket.id))
    found = [Found(ticket, line, on, off, opened_or_none(row, ticket.code, vault))
             for ticket, row, line, on, off in rows]
    audit.record(session, "inspector_looked", subject="document", now=now, actor=actor, details={"tickets": len(found)})
    return found


def _tags(session: Session, vault: Vault, text: str) -> list[bytes]:
    last = session.scalar(select(func.max(Identity.keep_until)))
    first, tags = vault.owed_from(), []
    for n in range((last - first).days + 1 if last else 0):
        with suppress(Erased):  # the vault may advance meanwhile
            tags.append(vault.tag(first + timedelta(days=n), text))
    for hold in vault.hold_ids():
        with suppress(Erased):
            tags.append(vault.tag_held(hold, text))
    return tags


def _listed(journey: Journey, ticket: Ticket, row: Identity | None, hold_ended: date | None, vault: Vault) -> Listed:
    passenger = opened_or_none(row, ticket.code, vault)
    last_day = row.keep_until if row else keep_until(journey.trip.last_day)
    over = row is not None or last_day < vault.owed_from()
    state, erased = "not_asked", None
    if passenger is not None:
        state = "kept"
    elif over and (row is not None or ticket.identity_required):
        state, erased = "erased", erased_on(last_day, hold_ended)
    elif ticket.identity_required:
        state = "missing"
    calls = journey.calls
    return Listed(ticket, calls[ticket.board_seq], calls[ticket.alight_seq],
                  None if ticket.boarded_seq is None else calls[ticket.boarded_seq], state, passenger, erased)


def _fullest(journey: Journey, manifest: Sequence[Listed]) -> int:
    return max(sum(row.ticket.board_seq <= leg < row.ticket.alight_seq for row in manifest
                   if row.ticket.status in LIVE) for leg in range(journey.legs))
