"""The measured network: lines of twelve legs over ninety towns, four departures a day for thirty days."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import gcd
from zoneinfo import ZoneInfo

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from benchmarks.bulk import Bulk
from kernel.clock import LEGAL_ZONE, local_date, utc_now
from kernel.db import Database
from kernel.money import Money
from ticketing.network.models import Carrier, Line, Pattern, PatternCall, Place, Slot, Stop, Title, Vehicle
from ticketing.tariffs.models import Tariff

TOWNS, CALLS, DAYS, HOURS = 90, 13, 30, (5, 9, 14, 19)
LEG_MINUTES, LEG_KM = 40, 31
STEPS = [step for step in range(1, TOWNS) if gcd(step, TOWNS) == 1]


@dataclass(frozen=True)
class Run:
    """A trip and the tariff that its tickets are sold by."""

    trip: int
    tariff: int


def town(number: int) -> str:
    """A town's name, as one types it."""
    return f"Vila de Ensaio {number:02}"


def towns_of(line: int) -> list[int]:
    """The towns where the line with that number calls, in order; no town twice."""
    return [(line * 37 + STEPS[line % len(STEPS)] * seq) % TOWNS for seq in range(CALLS)]


def build_country(database: Database, writer: Bulk, lines: int) -> list[Run]:
    """Write network, tariffs, trips and calls; the trips in the order of lines, days and hours."""
    today = local_date(utc_now(), LEGAL_ZONE)
    with database.transaction() as session:
        stops, vehicle = _towns(session), _vehicle(session)
        carrier = session.scalars(select(Carrier.id)).first()
        made = [_line(session, n, carrier, stops, vehicle, today) for n in range(lines)]
    return _trips(writer, made, stops, vehicle, today)


def _towns(session: Session) -> list[int]:
    places = [Place(name=town(n), state="SC") for n in range(TOWNS)]
    session.add_all(places)
    session.flush()
    stops = [Stop(code=f"bench-{n}", place_id=place.id, name=f"Rodoviária de {place.name}", zone=LEGAL_ZONE)
             for n, place in enumerate(places)]
    session.add_all(stops)
    session.flush()
    return [stop.id for stop in stops]


def _vehicle(session: Session) -> int:
    """Forty-six seats, as the contested trip wants."""
    rows = [[n, n + 1, None, n + 3, n + 2] for n in range(1, 44, 4)] + [[45, 46, None, None, None]]
    vehicle = Vehicle(code="bench", description="46 poltronas", layout=rows)
    session.add(vehicle)
    session.flush()
    return vehicle.id


def _line(session: Session, n: int, carrier: int, stops: list[int], vehicle: int, today: date) -> tuple[int, ...]:
    """Line n's id, its tariff's and its slots'."""
    line = Line(carrier_id=carrier, code=f"bench-{n}", name=f"Linha de ensaio {n}", state="SC")
    session.add(line)
    session.flush()
    pattern = Pattern(line_id=line.id, code="ida")
    tariff = Tariff(line_id=line.id, act="Ato de ensaio", starts_on=today - timedelta(days=30), method="coefficient",
                    rounding="cent", coefficient_asphalt=Decimal("0.25"), coefficient_earth=Decimal("0.3"),
                    minimum=Money(300), components=[])
    session.add_all([pattern, tariff, Title(line_id=line.id, kind="authorisation", act="Ato de ensaio",
                                            valid_from=today - timedelta(days=30),
                                            valid_until=today + timedelta(days=1000))])
    session.flush()
    session.execute(insert(PatternCall), [
        {"pattern_id": pattern.id, "seq": seq, "stop_id": stops[number], "km": Decimal(seq * LEG_KM)}
        for seq, number in enumerate(towns_of(n))])
    # a timetable that has ended: the product opens no further trips beside the measured ones
    slots = [Slot(pattern_id=pattern.id, vehicle_id=vehicle, code=str(hour), zone=LEGAL_ZONE, weekdays=127,
                  valid_from=today - timedelta(days=9), valid_until=today - timedelta(days=8), exceptions={},
                  times=[[hour * 3600 + seq * LEG_MINUTES * 60] * 2 for seq in range(CALLS)]) for hour in HOURS]
    session.add_all(slots)
    session.flush()
    return line.id, tariff.id, *(slot.id for slot in slots)


def _trips(writer: Bulk, lines: list[tuple[int, ...]], stops: list[int], vehicle: int, today: date) -> list[Run]:
    first = writer.next_id("trip")
    heads = [(line, slot, tariff, n, datetime.combine(today + timedelta(days=day), time(hour), ZoneInfo(LEGAL_ZONE)))
             for n, (line, tariff, *slots) in enumerate(lines) for day in range(1, DAYS + 1)
             for slot, hour in zip(slots, HOURS, strict=True)]
    lasts = timedelta(minutes=LEG_MINUTES * (CALLS - 1))
    writer.put("trip", ("id", "line_id", "slot_id", "vehicle_id", "service_date", "status", "departs_at", "arrives_at",
                        "last_day", "course_km", "km_estimated", "delay_minutes"), (
        (first + k, line, slot, vehicle, leaves.date().isoformat(), "open", _stored(leaves), _stored(leaves + lasts),
         (leaves + lasts).date().isoformat(), LEG_KM * (CALLS - 1) * 1000, 0, 0)
        for k, (line, slot, _tariff, _n, leaves) in enumerate(heads)))
    writer.put("trip_call", ("trip_id", "seq", "stop_id", "km", "km_estimated", "road", "arrives_at", "departs_at"), (
        (first + k, *call) for k, (_line, _slot, _tariff, n, leaves) in enumerate(heads)
        for call in _calls(n, leaves, stops)))
    writer.count_on("trip")
    return [Run(first + k, head[2]) for k, head in enumerate(heads)]


def _calls(n: int, leaves: datetime, stops: list[int]) -> Iterator[tuple[object, ...]]:
    for seq, number in enumerate(towns_of(n)):
        at = _stored(leaves + timedelta(minutes=LEG_MINUTES * seq))
        yield seq, stops[number], seq * LEG_KM * 1000, 0, "asphalt", at, at


def _stored(instant: datetime) -> str:
    """UTC as SQLite keeps it and as PostgreSQL reads it, whose session is in UTC."""
    return instant.astimezone(ZoneInfo("UTC")).strftime("%Y-%m-%d %H:%M:%S.%f")
