"""Reads a GTFS folder or zip row by row into a neutral feed. A trip stands or falls whole, with its times and calendar.

Not read: fares, shapes, transfers, and whether a call only sets down or only picks up. `shape_dist_traveled` comes in
no stated unit (metres, km, miles, feet), so it is not trusted: every km is estimated from the coordinates.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from zoneinfo import available_timezones

from ticketing.imports.archives import MOST_BYTES, opened
from ticketing.imports.cells import day_of, degrees, name, new, seconds_of, text, whole
from ticketing.imports.policy import (
    Feed,
    FeedLine,
    FeedPattern,
    FeedSlot,
    FeedStop,
    ReadResult,
    estimated_calls,
    fill_times,
    pattern,
)
from ticketing.imports.tables import BadRow, Cells, Progress, Refusals, Source, Unreadable, refuse

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
COLUMNS = {  # in the order of reading; the columns without which a file means nothing
    "agency.txt": (),
    "stops.txt": ("stop_id", "stop_name", "stop_lat", "stop_lon"),
    "routes.txt": ("route_id",),
    "calendar.txt": ("service_id", *WEEKDAYS, "start_date", "end_date"),
    "calendar_dates.txt": ("service_id", "date", "exception_type"),
    "trips.txt": ("trip_id", "route_id", "service_id"),
    "frequencies.txt": ("trip_id", "start_time", "end_time", "headway_secs"),
    "stop_times.txt": ("trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence"),
}
CALENDARS = ("calendar.txt", "calendar_dates.txt")
OPTIONAL = ("agency.txt", *CALENDARS, "frequencies.txt")
# a refused row of these takes its calendar or its trip with it
OWNERS = {"calendar.txt": "service_id", "calendar_dates.txt": "service_id",
          "frequencies.txt": "trip_id", "stop_times.txt": "trip_id", "trips.txt": "own trip_id"}
LEAST_HEADWAY_S = 60
MOST_CALLS = 3_000_000  # of all departures together: what one import holds in memory
LONGEST_PLATFORM = 12


@dataclass(slots=True)
class _Service:
    weekdays: int = 0
    period: tuple[date, date] | None = None
    dates: dict[date, bool] = field(default_factory=dict)


@dataclass(slots=True)
class _Trip:
    line: int
    route: str
    service: str
    calls: list[tuple[int, int, str, tuple[int, int] | None]] = field(default_factory=list)  # sequence, row, stop, time
    departures: set[int] = field(default_factory=set)  # out of frequencies


def read_gtfs(path: Path, *, zone: str | None = None, progress: Progress, most_bytes: int = MOST_BYTES) -> ReadResult:
    """The feed of a folder or zip and every row refused; an empty feed when one of its files cannot be taken at all.

    `zone` stands in where no agency names one. `progress` is told the bytes read so far and the bytes in all.
    """
    reading = _Reading(zone)
    try:
        with opened(path, COLUMNS, progress=progress, most_bytes=most_bytes) as source:
            reading.read(source)
        return ReadResult(reading.feed(), tuple(reading.refused))
    except Unreadable as stop:
        return ReadResult(Feed(reading.zone), (*reading.refused, stop.refused))


class _Reading:
    """What has been read so far; one method takes a row of each file, and is named for it."""

    def __init__(self, zone: str | None) -> None:
        self.zone = ""
        self.told_zone = zone or ""
        self.zones = available_timezones()
        self.refused = Refusals()
        self.broken: dict[str, set[str]] = defaultdict(set)  # ids that a refused row takes along, by owner
        self.stops: dict[str, FeedStop] = {}
        self.stations: set[str] = set()
        self.lines: dict[str, FeedLine] = {}
        self.services: dict[str, _Service] = defaultdict(_Service)
        self.trips: dict[str, _Trip] = {}
        self.patterns: dict[tuple[str, ...], FeedPattern] = {}
        self.calls = 0

    def read(self, source: Source) -> None:
        missing = [file for file in COLUMNS if file not in source.sizes and file not in OPTIONAL]
        if not any(file in source.sizes for file in CALENDARS):
            missing.append("calendar.txt")
        for file in missing[:-1]:
            self.refuse(file, 0, "missing_file")
        if missing:
            raise Unreadable(refuse(missing[-1], 0, "missing_file"))
        for file in COLUMNS:
            if file in source.sizes:
                self.table(source, file)
            self.zone = self.zone or self.told_zone  # agency.txt comes first, and goes before what was told
            if not self.zone:
                raise Unreadable(refuse(file, int(file in source.sizes), "missing_agency"))

    def table(self, source: Source, file: str) -> None:
        take = getattr(self, f"take_{file.removesuffix('.txt')}")
        for row in source.rows(file, needs=COLUMNS[file]):
            try:
                if row.fault:
                    raise BadRow(row.fault)
                take(row.cells, row.line)
            except BadRow as bad:
                self.refuse(file, row.line, bad.code, **bad.values)
                owner = OWNERS.get(file, "")
                self.broken[owner].add(row.cells.get(owner.removeprefix("own "), ""))

    def refuse(self, file: str, line: int, code: str, **values: object) -> None:
        self.refused.add(file, line, code, **values)

    def take_agency(self, cells: Cells, line: int) -> None:
        zone = cells.get("agency_timezone") or self.told_zone
        if not zone:
            return
        if zone not in self.zones:
            raise Unreadable(refuse("agency.txt", line, "unknown_zone", value=zone))
        if self.zone not in ("", zone):
            raise Unreadable(refuse("agency.txt", line, "mixed_zones"))
        self.zone = zone

    def take_stops(self, cells: Cells, line: int) -> None:
        code = new("stop_id", cells, self.stops, self.stations)
        if cells.get("location_type", "") not in ("", "0"):
            self.stations.add(code)
            return
        zone = cells.get("stop_timezone") or self.zone
        if zone not in self.zones:
            raise BadRow("unknown_zone", value=zone)
        lat, lon = degrees(cells["stop_lat"], 90), degrees(cells["stop_lon"], 180)
        if lat == lon == 0:
            raise BadRow("bad_coordinates")
        self.stops[code] = FeedStop(code, name("stop_name", cells["stop_name"]), lat, lon, zone,
                                    platform=cells.get("platform_code", "")[:LONGEST_PLATFORM] or None)

    def take_routes(self, cells: Cells, line: int) -> None:
        code = new("route_id", cells, self.lines)
        both = f"{cells.get('route_short_name', '')} {cells.get('route_long_name', '')}"
        self.lines[code] = FeedLine(code, name("route_long_name", both))

    def take_calendar(self, cells: Cells, line: int) -> None:
        service = new("service_id", cells, self.services)
        flags = [cells[day] for day in WEEKDAYS]
        if not set(flags) <= {"0", "1"}:
            raise BadRow("bad_weekday")
        start, end = day_of(cells["start_date"]), day_of(cells["end_date"])
        if end < start:
            raise BadRow("end_before_start")
        mask = sum(1 << day for day, flag in enumerate(flags) if flag == "1")
        self.services[service] = _Service(mask, (start, end))

    def take_calendar_dates(self, cells: Cells, line: int) -> None:
        dates = self.services[text("service_id", cells)].dates
        day = day_of(cells["date"])
        if cells["exception_type"] not in ("1", "2"):
            raise BadRow("bad_exception")
        if day in dates:
            raise BadRow("duplicate_id", column="date", value=cells["date"])
        dates[day] = cells["exception_type"] == "1"

    def take_trips(self, cells: Cells, line: int) -> None:
        code = new("trip_id", cells, self.trips)
        route, service = cells["route_id"], cells["service_id"]
        if route not in self.lines:
            raise BadRow("unknown_line", value=route)
        if service in self.broken["service_id"]:
            raise BadRow("service_refused", value=service)
        if service not in self.services:
            raise BadRow("unknown_service", value=service)
        if not self.services[service].weekdays and not any(self.services[service].dates.values()):
            raise BadRow("service_never_runs", value=service)
        self.trips[code] = _Trip(line, route, service)

    def take_frequencies(self, cells: Cells, line: int) -> None:
        trip = self.trip_of(cells)
        start, end = seconds_of(cells["start_time"]), seconds_of(cells["end_time"])
        headway = whole("headway_secs", cells)
        if headway < LEAST_HEADWAY_S:
            raise BadRow("headway_too_short", value=headway)
        if start is None or end is None or end <= start:
            raise BadRow("end_before_start")
        if trip:
            trip.departures.update(range(start, end, headway))

    def take_stop_times(self, cells: Cells, line: int) -> None:
        trip = self.trip_of(cells)
        stop = self.stops.get(cells["stop_id"])
        if stop is None:
            code = "not_a_boarding_stop" if cells["stop_id"] in self.stations else "unknown_stop"
            raise BadRow(code, value=cells["stop_id"])
        sequence = whole("stop_sequence", cells)
        arrival, departure = seconds_of(cells["arrival_time"]), seconds_of(cells["departure_time"])
        arrival = departure if arrival is None else arrival
        time = None if arrival is None else (arrival, arrival if departure is None else departure)
        self.count(1)
        if trip:
            trip.calls.append((sequence, line, stop.code, time))

    def trip_of(self, cells: Cells) -> _Trip | None:
        """The row's trip; None when the trip's own row was refused, which already says what becomes of this one."""
        code = text("trip_id", cells)
        if code not in self.trips and code not in self.broken["own trip_id"]:
            raise BadRow("unknown_trip", value=code)
        return self.trips.get(code)

    def count(self, calls: int) -> None:
        self.calls += calls
        if self.calls > MOST_CALLS:
            raise Unreadable(refuse("stop_times.txt", 0, "feed_too_large"))

    def feed(self) -> Feed:
        slots = [slot for code, trip in self.trips.items() for slot in self.slots(code, trip)]
        return Feed(self.zone, tuple(self.stops.values()), tuple(self.lines.values()), tuple(self.patterns.values()),
                    tuple(slots), frozenset(self.broken["trip_id"] | self.broken["own trip_id"]))

    def slots(self, code: str, trip: _Trip) -> Iterator[FeedSlot]:
        trip.calls.sort()
        fault = None if code in self.broken["trip_id"] else next(_faults(trip), None)
        if fault:
            self.refuse("stop_times.txt", *fault)
            self.broken["trip_id"].add(code)
        if code in self.broken["trip_id"]:
            self.refuse("trips.txt", trip.line, "trip_has_refused_row", value=code)
            return
        if len(trip.calls) < 2:
            self.refuse("trips.txt", trip.line, "too_few_calls")
            self.broken["trip_id"].add(code)
            return
        self.count(len(trip.calls) * len(trip.departures))
        course = (trip.route, *(stop for _, _, stop, _ in trip.calls))
        if course not in self.patterns:
            self.patterns[course] = pattern(trip.route, estimated_calls(self.stops[stop] for stop in course[1:]))
        found = self.patterns[course]
        times = fill_times([time for *_, time in trip.calls], [call.km or Decimal(0) for call in found.calls])
        service = self.services[trip.service]
        start, end = service.period or (min(service.dates), max(service.dates))
        for departure in sorted(trip.departures) or (times[0][1],):
            shift = departure - times[0][1]
            at = f"{code}@{departure // 3600:02}:{departure // 60 % 60:02}:{departure % 60:02}"
            yield FeedSlot(found.key, at if trip.departures else code,
                           tuple((arrives + shift, leaves + shift) for arrives, leaves in times),
                           service.weekdays, start, end, service.dates)


def _faults(trip: _Trip) -> Iterator[tuple[int, str]]:
    """The rows that do not go with the trip's others, in order of the calls."""
    clock, before = 0, -1
    for place, (sequence, line, _, time) in enumerate(trip.calls):
        arrives, leaves = time or (clock, clock)
        if sequence == before:
            yield line, "duplicate_sequence"
        elif time is None and place in (0, len(trip.calls) - 1):
            yield line, "untimed_ends"
        elif not clock <= arrives <= leaves:
            yield line, "decreasing_times"
        clock, before = leaves, sequence
