"""Reads a table of sections (line, origin, destination, km), as a road authority prints it, into a neutral feed.

A section table knows distances and nothing else: no times, no coordinates. A line enters whole or not at all.
"""

import re
import unicodedata
from decimal import Decimal
from pathlib import Path

from ticketing.imports.cells import LONGEST_NAME, text
from ticketing.imports.policy import (
    Feed,
    FeedLine,
    FeedPattern,
    FeedStop,
    ReadResult,
    Section,
    arrange,
    pattern,
)
from ticketing.imports.tables import BadRow, Cells, Progress, Refusals, Unreadable, refuse, table_file, tidy

NEEDS = ("origem", "destino", "km")
ALSO_CALLED = {
    "code": "prefixo", "line_code": "prefixo", "codigo": "prefixo", "código": "prefixo",
    "line": "linha", "line_name": "linha", "origin": "origem", "destination": "destino",
    "distance_km": "km", "direction": "sentido", "state": "uf", "estado": "uf",
}
ZONES = {"SC": "America/Sao_Paulo", "MS": "America/Campo_Grande"}
KM = re.compile(r"\d{1,5}(?:[.,]\d{1,20})?", re.ASCII)
STATE = re.compile(r"[A-Z]{2}", re.ASCII)
MOST_DECIMALS = 3


def read_sections(path: Path, *, zone: str = ZONES["SC"], progress: Progress) -> ReadResult:
    """The lines, stops and patterns of a CSV file and every row refused; the feed has no slots.

    Columns by name: prefixo (without it linha is the code), origem, destino, km; sentido and uf if there. `zone` is
    for stops whose state the file does not say.
    """
    reading = _Reading(zone)
    try:
        reading.read(path, progress)
        return ReadResult(reading.feed(), tuple(reading.refused))
    except Unreadable as stop:
        return ReadResult(Feed(zone), (*reading.refused, stop.refused))


def stop_code(name: str, state: str | None) -> str:
    """A code that follows from the name, whatever its accents and case: `SC-IMBITUBA-PONTO-1`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().upper()
    return "-".join(filter(None, [state, *re.split(r"[^A-Z0-9]+", plain)]))


class _Reading:
    def __init__(self, zone: str) -> None:
        self.zone = zone
        self.file = ""
        self.refused = Refusals()
        self.broken: set[str] = set()
        self.stops: dict[str, FeedStop] = {}
        self.lines: dict[str, FeedLine] = {}
        self.first_rows: dict[str, int] = {}
        self.sections: dict[tuple[str, str], list[Section]] = {}  # by line and direction

    def read(self, path: Path, progress: Progress) -> None:
        self.file = path.name
        for row in table_file(path, needs=NEEDS, rename=ALSO_CALLED, progress=progress):
            try:
                if row.fault:
                    raise BadRow(row.fault)
                self.take(row.cells, row.line)
            except BadRow as bad:
                self.refuse(row.line, bad.code, **bad.values)
                self.broken.add(_line_code(row.cells))

    def take(self, cells: Cells, row: int) -> None:
        if not {"prefixo", "linha"} & cells.keys():
            raise Unreadable(refuse(self.file, 1, "missing_columns", columns="prefixo"))
        code = text("prefixo" if "prefixo" in cells else "linha", cells)
        state = _state(cells.get("uf", ""))
        self.first_rows.setdefault(code, row)
        self.lines.setdefault(code, FeedLine(code, _name(cells) or code, state))
        km = _km(text("km", cells))
        ends = [stop_code(tidy(text(column, cells)), state) for column in ("origem", "destino")]
        if ends[0] == ends[1]:
            raise BadRow("same_ends")
        for end, column in zip(ends, ("origem", "destino"), strict=True):
            self.stops.setdefault(end, FeedStop(end, tidy(cells[column]), None, None,
                                                ZONES.get(state or "", self.zone), state=state))
        way = self.sections.setdefault((code, tidy(cells.get("sentido", "")).lower()), [])
        way.append(Section(row, ends[0], ends[1], km))

    def refuse(self, row: int, code: str, **values: object) -> None:
        self.refused.add(self.file, row, code, **values)

    def feed(self) -> Feed:
        patterns: list[FeedPattern] = []
        for (code, _), sections in self.sections.items():
            if code in self.broken:
                continue
            calls, faults = arrange(sections)
            for fault in faults:
                self.refuse(fault.row, fault.code, km=fault.km)
                self.broken.add(code)
            patterns.append(pattern(code, calls))
        for code in filter(self.broken.__contains__, self.lines):
            self.refuse(self.first_rows[code], "line_has_refused_row", value=code)
        patterns = [one for one in patterns if one.line not in self.broken]
        called = {call.stop for one in patterns for call in one.calls}
        return Feed(self.zone, tuple(stop for code, stop in self.stops.items() if code in called),
                    tuple(line for code, line in self.lines.items() if code not in self.broken), tuple(patterns))


def _line_code(cells: Cells) -> str:
    return cells.get("prefixo", cells.get("linha", ""))


def _name(cells: Cells) -> str:
    return tidy(cells.get("linha", ""))[:LONGEST_NAME]


def _state(value: str) -> str | None:
    if value and not STATE.fullmatch(value.upper()):
        raise BadRow("bad_state", value=value)
    return value.upper() or None


def _km(value: str) -> Decimal:
    if not KM.fullmatch(value):
        raise BadRow("bad_km", value=value)
    km = Decimal(value.replace(",", "."))
    if km <= 0:
        raise BadRow("km_not_positive")
    if -int(km.normalize().as_tuple().exponent) > MOST_DECIMALS:
        raise BadRow("km_too_precise", value=value)
    return km
