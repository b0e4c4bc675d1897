"""A network as any file describes it, before a database knows it, and the arithmetic that turns rows into lines.

Kilometres are cumulative from the first call: `Decimal`, at most three decimals. Times are seconds from the start of
the service day, so 26:25 is 95100 and belongs to the day on which the trip began. Nothing here reads a file.
"""

import hashlib
import math
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

EARTH_RADIUS_KM = 6371.0088
ROAD_FACTOR = 1.25  # roads are longer than the arc between two stops
TENTH = Decimal("0.1")


@dataclass(frozen=True, slots=True)
class FeedStop:
    """A boarding point. `zone` is an IANA name; place, state and IBGE code are None where the file has none."""

    code: str
    name: str
    lat: Decimal | None
    lon: Decimal | None
    zone: str
    place: str | None = None
    state: str | None = None
    ibge: str | None = None
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class FeedLine:
    """A line by the code that its authority or its feed gives it."""

    code: str
    name: str
    state: str | None = None


@dataclass(frozen=True, slots=True)
class FeedCall:
    """One call of a pattern; `estimated` says that `km` was measured on the globe and not on the road."""

    stop: str
    km: Decimal | None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class FeedPattern:
    """An ordered course of one line. The key follows from line, stops and km: the same course keeps its key."""

    key: str
    line: str
    calls: tuple[FeedCall, ...]


@dataclass(frozen=True, slots=True)
class FeedSlot:
    """A departure of the timetable; `times` holds (arrival, departure) in seconds of the service day for each call.

    `weekdays` has bit 0 for Monday. `exceptions` says whether a date runs, and may reach outside the period.
    """

    pattern: str
    code: str
    times: tuple[tuple[int, int], ...]
    weekdays: int
    valid_from: date
    valid_until: date
    exceptions: Mapping[date, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Feed:
    """A whole network; `zone` is the one in which `times` are read.

    `withheld` names departures that the file has and that were refused: an import must not take them for removed.
    An empty name among them says that a refused row could not tell whose it was.
    """

    zone: str
    stops: tuple[FeedStop, ...] = ()
    lines: tuple[FeedLine, ...] = ()
    patterns: tuple[FeedPattern, ...] = ()
    slots: tuple[FeedSlot, ...] = ()
    withheld: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that was not taken: where it stands, a machine code, and a sentence for who mends the file."""

    file: str
    line: int
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a file gave and what it did not. A file that cannot be read at all gives an empty feed."""

    feed: Feed
    refused: tuple[Refused, ...]


def estimated_km(here: FeedStop, there: FeedStop) -> Decimal:
    """Great-circle kilometres × 1.25 to one decimal, half up, and never below 0.1: two calls are never one place.

    Both stops must have coordinates.
    """
    lat, lon, other_lat, other_lon = (math.radians(float(degrees or 0))
                                      for degrees in (here.lat, here.lon, there.lat, there.lon))
    half = (math.sin((other_lat - lat) / 2) ** 2
            + math.cos(lat) * math.cos(other_lat) * math.sin((other_lon - lon) / 2) ** 2)
    arc = 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(half)))
    return max(TENTH, Decimal(repr(arc * ROAD_FACTOR)).quantize(TENTH, ROUND_HALF_UP))


def estimated_calls(stops: Iterable[FeedStop]) -> tuple[FeedCall, ...]:
    """The stops in order with their estimated cumulative km; each leg is rounded, so that sections add up exactly."""
    calls: list[FeedCall] = []
    km = Decimal(0)
    before: FeedStop | None = None
    for stop in stops:
        km += estimated_km(before, stop) if before else 0
        calls.append(FeedCall(stop.code, km, estimated=True))
        before = stop
    return tuple(calls)


def pattern(line: str, calls: Iterable[FeedCall]) -> FeedPattern:
    """The pattern of these calls; trips with the same line, stop sequence and distances get an equal one."""
    calls = tuple(calls)
    course = "\n".join(f"{call.stop}\t{_plain(call.km)}" for call in calls)
    return FeedPattern(f"{line}:{hashlib.sha256(course.encode()).hexdigest()[:12]}", line, calls)


def _plain(km: Decimal | None) -> str:
    return "" if km is None else f"{km.normalize():f}"


def fill_times(times: Sequence[tuple[int, int] | None], km: Sequence[Decimal]) -> tuple[tuple[int, int], ...]:
    """Times with the blank ones put between their timed neighbours by distance, to the whole minute.

    The first and the last must be timed; a filled call arrives and departs in the same minute.
    """
    timed = [place for place, time in enumerate(times) if time is not None]
    filled: list[tuple[int, int]] = []
    for start, end in zip(timed, timed[1:], strict=False):
        filled.append(_known(times[start]))
        leaves, arrives = _known(times[start])[1], _known(times[end])[0]
        for place in range(start + 1, end):
            share = (km[place] - km[start]) / (km[end] - km[start])
            minute = int((share * (arrives - leaves) + leaves) / 60 + Decimal("0.5")) * 60
            filled.append((min(max(minute, leaves), arrives),) * 2)
    return (*filled, _known(times[timed[-1]]))


def _known(time: tuple[int, int] | None) -> tuple[int, int]:
    if time is None:
        raise ValueError("a timed call has a time")
    return time


def period(feed: Feed) -> tuple[date, date] | None:
    """The first and last day on which anything may run, exceptions included; None for a feed without slots."""
    days = [day for slot in feed.slots for day in (slot.valid_from, slot.valid_until, *slot.exceptions)]
    return (min(days), max(days)) if days else None


def rehearse(feed: Feed, today: date) -> Feed:
    """The feed moved by whole weeks, so that its period began in the seven days up to `today`.

    Weekdays stay what they are. A feed whose period holds today is left alone; one so short that it would have ended
    begins in the seven days after.
    """
    bounds = period(feed)
    if bounds is None or bounds[0] <= today <= bounds[1]:
        return feed
    shift = timedelta(weeks=(today - bounds[0]).days // 7)
    if bounds[1] + shift < today:
        shift += timedelta(weeks=1)
    return replace(feed, slots=tuple(replace(
        slot, valid_from=slot.valid_from + shift, valid_until=slot.valid_until + shift,
        exceptions={day + shift: runs for day, runs in slot.exceptions.items()}) for slot in feed.slots))


@dataclass(frozen=True, slots=True)
class Section:
    """One row of a section table: how far `destination` lies after `origin` on the line."""

    row: int
    origin: str
    destination: str
    km: Decimal


@dataclass(frozen=True, slots=True)
class SectionFault:
    """A section that contradicts the others; `km` is what they say, where they say anything."""

    row: int
    code: str
    km: Decimal | None = None


def arrange(sections: Sequence[Section]) -> tuple[tuple[FeedCall, ...], tuple[SectionFault, ...]]:
    """The line's calls in order with cumulative km, and the sections that do not fit. Only the listed way is built.

    A pair that is not listed is filled by arithmetic; k(a, c) = k(a, b) + k(b, c) must hold for those that are.
    """
    faults = list(_repeated(sections))
    repeated = {fault.row for fault in faults}
    places = _places(sections)
    for section in sections:
        if section.origin not in places:
            faults.append(SectionFault(section.row, "disconnected_pair"))
            continue
        km = places[section.destination] - places[section.origin]
        if km != section.km and section.row not in repeated:
            faults.append(SectionFault(section.row, "unordered_pair" if km < 0 else "inconsistent_km", km))
    first = min(places.values(), default=Decimal(0))
    calls = sorted((km - first, stop) for stop, km in places.items())
    if not faults and len({km for km, _ in calls}) < len(calls):
        faults.append(SectionFault(sections[0].row, "same_place"))
    return tuple(FeedCall(stop, km) for km, stop in calls), tuple(faults)


def _repeated(sections: Iterable[Section]) -> Iterator[SectionFault]:
    """Pairs listed again with another distance; the same distance again is no contradiction."""
    known: dict[tuple[str, str], Decimal] = {}
    for section in sections:
        km = known.setdefault((section.origin, section.destination), section.km)
        if km != section.km:
            yield SectionFault(section.row, "duplicate_pair", km)


def _places(sections: Sequence[Section]) -> dict[str, Decimal]:
    """Where each stop lies, from the first origin outwards, by the shortest chain of sections in the file's order."""
    beside: dict[str, list[tuple[str, Decimal]]] = defaultdict(list)
    for section in sections:
        beside[section.origin].append((section.destination, section.km))
        beside[section.destination].append((section.origin, -section.km))
    places = {sections[0].origin: Decimal(0)} if sections else {}
    waiting = deque(places)
    while waiting:
        here = waiting.popleft()
        for there, km in beside[here]:
            if there not in places:
                places[there] = places[here] + km
                waiting.append(there)
    return places
