"""Puts the demonstration into a database: network, titles, tariffs, timetable, staff, trips. See README.md.

Everything keys on a code, so a second run keeps what is there and opens the days that have come since.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import exists, insert, literal, select
from sqlalchemy.orm import Session

from boarding.doors.models import Roster
from kernel import auth
from kernel.clock import day_everywhere
from kernel.db import rows_changed
from kernel.money import Money
from ticketing.imports.policy import Feed, FeedSlot, FeedStop
from ticketing.imports.rows import Naming
from ticketing.imports.sections import read_sections
from ticketing.imports.service import add_title, add_vehicle, find_by_code, has_tariff, load_feed
from ticketing.network.models import Carrier, Line, Stop, Title, Trip, Vehicle
from ticketing.network.policy import last_day_allowed
from ticketing.network.service import open_trips
from ticketing.tariffs.policy import Component, TariffVersion
from ticketing.tariffs.service import add_tariff

FOLDER = Path(__file__).parent
ACTOR = "demo"
OPEN_DAYS = 30
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Person:
    """One of the demonstration's staff; the password is plain because the whole world may know it."""

    login: str
    role: str
    name: str
    stop: str | None
    drives: tuple[str, ...]

    @property
    def password(self) -> str:
        return f"embarque-demo-{self.login}"


def staff() -> list[Person]:
    """The demonstration's staff, as staff.json lists them."""
    return [Person(row["login"], row["role"], row["name"], row["stop"], tuple(row.get("drives", ())))
            for row in json.loads((FOLDER / "staff.json").read_text(encoding="utf-8"))]


def open_doors(session: Session) -> list[str]:
    """The demonstration's logins that still open with their published password: none may, outside a demonstration."""
    published = {person.login: person.password for person in staff()}
    found = session.scalars(select(auth.Staff).where(auth.Staff.login.in_(published)))
    return [person.login for person in found if auth.password_matches(person, published[person.login])]


def hashes_wanted(session: Session) -> list[Person]:
    """Who is not there yet and needs a password hash, which takes too long for a transaction."""
    there = set(session.scalars(select(auth.Staff.login)))
    return [person for person in staff() if person.login not in there]


def seed(session: Session, hashes: Mapping[str, str], *, now: datetime) -> int:
    """The number of trips opened. `hashes` has a password hash for each login of `hashes_wanted`."""
    data: Data = json.loads((FOLDER / "timetable.json").read_text(encoding="utf-8"))
    start = day_everywhere(now).replace(month=1, day=1)
    carrier = session.scalar(select(Carrier).where(Carrier.cnpj == data["carrier"]["cnpj"]))
    if carrier is None:
        carrier = Carrier(**data["carrier"], open_days=OPEN_DAYS, late_refund=[])
        session.add(carrier)
        session.flush()
    vehicles = _vehicles(session, data)
    vehicle_of = {slot["code"]: vehicles[slot["vehicle"]] for _, _, slot in _slots(data)}
    for feed in _feeds(data, start):
        load_feed(session, feed, carrier_id=carrier.id, naming=Naming(),
                  vehicle_of=lambda slot: vehicle_of[slot.code], now=now, actor=ACTOR)
    for told in data["lines"]:
        _line(session, told, start, now)
    opened = open_trips(session, days=OPEN_DAYS, now=now, actor=ACTOR)
    _staff(session, hashes, now)
    return opened


def _vehicles(session: Session, data: Data) -> dict[str, int]:
    ids = {vehicle.code: vehicle.id for vehicle in session.scalars(select(Vehicle))}
    for told in data["vehicles"]:
        if told["code"] not in ids:
            ids[told["code"]] = add_vehicle(session, **told)
    return ids


def _slots(data: Data) -> Iterator[tuple[Data, Data, Data]]:
    return ((line, pattern, slot) for line in data["lines"] for pattern in line["patterns"]
            for slot in pattern["slots"])


def _feeds(data: Data, start: date) -> Iterator[Feed]:
    """The section table with the timetable's departures, a feed for each zone that the times are read in."""
    sections = read_sections(FOLDER / "sections.csv", progress=lambda done, total: None).feed
    stops = {told["code"]: FeedStop(
        told["code"], told["name"], Decimal(told["lat"]), Decimal(told["lon"]), told["zone"], told["place"],
        told["state"], told["ibge_code"], told["platform"]) for told in data["stops"]}
    course = {(one.line, *(call.stop for call in one.calls)): one.key for one in sections.patterns}
    slots = [_slot(course[line["code"], *pattern["stops"]], told, start) for line, pattern, told in _slots(data)]
    for zone in sorted({stop.zone for stop in stops.values()}):
        patterns = tuple(one for one in sections.patterns if stops[one.calls[0].stop].zone == zone)
        keys, lines = {one.key for one in patterns}, {one.line for one in patterns}
        yield replace(sections, zone=zone, stops=tuple(stop for stop in stops.values() if stop.zone == zone),
                      lines=tuple(line for line in sections.lines if line.code in lines), patterns=patterns,
                      slots=tuple(slot for slot in slots if slot.pattern in keys))


def _slot(pattern: str, told: Data, start: date) -> FeedSlot:
    mask = sum(1 << WEEKDAYS.index(day) for day in told["weekdays"])
    times = tuple((_seconds(arrives), _seconds(leaves)) for arrives, leaves in told["times"])
    return FeedSlot(pattern, told["code"], times, mask, start, start.replace(year=start.year + 10))


def _seconds(text: str) -> int:
    hours, minutes = text.split(":")
    return int(hours) * 3600 + int(minutes) * 60


def _line(session: Session, told: Data, start: date, now: datetime) -> None:
    line = find_by_code(session, Line, told["code"])
    line.service_class, line.standing_allowed = told["service_class"], told["standing_allowed"]
    titles = list(session.scalars(select(Title).where(Title.line_id == line.id)))
    if not any(title.valid_from <= start <= title.valid_until for title in titles):
        kind, act = told["title"]["kind"], told["title"]["act"]
        until = last_day_allowed(kind, line.state, start, renewal=False) or date.fromisoformat(
            told["title"]["valid_until"])
        add_title(session, line, Title(kind=kind, act=act, valid_from=start, valid_until=until), renewal=False,
                  now=now, actor=ACTOR)
    if not has_tariff(session, line.id):
        add_tariff(session, line.id, _tariff(session, told["tariff"]), state=line.state, first=True, today=start,
                   now=now, actor=ACTOR)


def _tariff(session: Session, told: Data) -> TariffVersion:
    components = tuple(Component(part["kind"], Money(part["cents"]),
                                 find_by_code(session, Stop, part["stop"]).id if part["stop"] else None)
                       for part in told["components"])
    return TariffVersion(0, told["act"], date.fromisoformat(told["starts_on"]), told["method"],
                         Decimal(told["coefficient_asphalt"]), Decimal(told["coefficient_earth"]),
                         Money(told["minimum_cents"]), told["rounding"], components)


def _staff(session: Session, hashes: Mapping[str, str], now: datetime) -> None:
    for person in staff():
        if person.login in hashes:
            stop_id = find_by_code(session, Stop, person.stop).id if person.stop else None
            auth.add_staff(session, login=person.login, display_name=person.name, role=person.role,
                           password_hash=hashes[person.login], stop_id=stop_id, now=now, actor=ACTOR)
    roster(session)


def roster(session: Session) -> int:
    """Put the demonstration's drivers on every trip of their lines that they are not on yet; the number of places."""
    return sum(_roster(session, person) for person in staff() if person.drives)


def _roster(session: Session, person: Person) -> int:
    staff_id = session.scalar(select(auth.Staff.id).where(auth.Staff.login == person.login))
    theirs = exists().where(Roster.trip_id == Trip.id, Roster.staff_id == staff_id)
    put = insert(Roster).from_select(["trip_id", "staff_id"], select(Trip.id, literal(staff_id)).join(
        Line, Trip.line_id == Line.id).where(Line.code.in_(person.drives), ~theirs))
    return rows_changed(session.execute(put, execution_options={"preserve_rowcount": True}))
