"""What leaves when, for how much, with how many free seats: the statements do not grow with the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy.orm import Session

from kernel.clock import LEGAL_ZONE, local_date
from kernel.errors import InvalidInput, RuleViolation
from ticketing.network.service import ServedPlace, courses, places_served
from ticketing.online.policy import FURTHEST_SEARCH_DAYS, match_places
from ticketing.seats.service import Departure, departures_between
from ticketing.tariffs.service import Price, Stretch, prices


@dataclass(frozen=True, slots=True)
class Option:
    """A departure on the board. `price` is None where the stretch is not sold; `left` says that the bus has gone."""

    departure: Departure
    price: Price | None
    left: bool

    @property
    def for_sale(self) -> bool:
        return (self.price is not None and not self.left and self.departure.free > 0
                and self.departure.trip.status == "open")

    @property
    def duration(self) -> timedelta:
        return self.departure.alight.arrives_at - self.departure.board.departs_at


@dataclass(frozen=True, slots=True)
class Wanted:
    """The two ends that a search means, and the day."""

    origin: ServedPlace
    destination: ServedPlace
    day: date


@dataclass(frozen=True, slots=True)
class Question:
    """A name that several towns answer to, or none: `field` is "from" or "to"."""

    field: str
    places: tuple[ServedPlace, ...]


def read_search(places: Sequence[ServedPlace], origin: str, destination: str, day: str, *,
                now: datetime) -> Wanted | list[Question]:
    """What was asked for, or which names are still open. Raises InvalidInput for fields that cannot be read."""
    found = {"from": match_places(places, origin), "to": match_places(places, destination)}
    faults = {field: sentence for field, typed, sentence in (
        ("from", origin, "Diga de onde você sai."), ("to", destination, "Diga para onde você vai."))
        if not typed.strip()}
    for field, typed in (("from", origin), ("to", destination)):
        if typed.strip() and not found[field]:
            faults[field] = "Nenhuma linha passa por esse lugar. Escolha um da lista."
    wanted_day = _day(day)
    today = local_date(now, min(found["from"][0].zones)) if found["from"] else local_date(now, LEGAL_ZONE)
    if wanted_day is None or not today <= wanted_day <= today + timedelta(days=FURTHEST_SEARCH_DAYS):
        faults["day"] = "Escolha hoje ou um dia à frente."
    if not faults and len(found["from"]) == 1 and found["from"] == found["to"]:
        faults["to"] = "Escolha um destino diferente da origem."
    if faults or wanted_day is None:
        raise InvalidInput("search_incomplete", "Confira a busca nos campos marcados.", fields=faults)
    questions = [Question(field, towns) for field, towns in found.items() if len(towns) > 1]
    return questions or Wanted(found["from"][0], found["to"][0], wanted_day)


def options(session: Session, wanted: Wanted, *, now: datetime) -> list[Option]:
    """The day's departures by hour, with price and free seats. Four statements, however many rows."""
    rows = departures_between(session, from_place_id=wanted.origin.id, to_place_id=wanted.destination.id,
                              day=wanted.day, zones=wanted.origin.zones, now=now)
    if not rows:
        return []
    calls = courses(session, [row.trip.id for row in rows])
    stretches = [Stretch(row.line, calls[row.trip.id], row.board.seq, row.alight.seq,
                         local_date(now, row.board.stop.zone)) for row in rows]
    return [Option(row, None if isinstance(priced, RuleViolation) else priced, _has_left(row, now))
            for row, priced in zip(rows, prices(session, stretches), strict=True)]


def towns(session: Session) -> list[ServedPlace]:
    """Every town that can be searched for."""
    return places_served(session)


def _has_left(row: Departure, now: datetime) -> bool:
    return now > row.board.departs_at + timedelta(minutes=row.trip.delay_minutes)


def _day(text: str) -> date | None:
    """A date as a browser sends it, or as a person types it where the browser has no calendar."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    parts = text.strip().split("/")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) <= 4 for part in parts):
        return None
    try:
        return date(int(parts[2]), int(parts[1]), int(parts[0]))
    except ValueError:
        return None
