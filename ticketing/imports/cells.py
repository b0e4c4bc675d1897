"""Single cells read: codes, names, numbers, coordinates, dates and hours. Each raises BadRow with what to mend."""

import re
from collections.abc import Container
from datetime import date
from decimal import Decimal

from ticketing.imports.tables import BadRow, Cells, tidy

LONGEST_CODE = 64  # with what patterns and departures append, a code still fits the 80 of the database
LONGEST_NAME = 160
MOST_HOURS = 7 * 24
NUMBER = re.compile(r"\d{1,9}", re.ASCII)
TIME = re.compile(r"(\d{1,3}):([0-5]\d):([0-5]\d)", re.ASCII)
DATE = re.compile(r"\d{8}", re.ASCII)
DEGREES = re.compile(r"[+-]?\d{1,3}(\.\d{1,20})?", re.ASCII)
MICRODEGREE = Decimal("0.000001")


def text(column: str, cells: Cells, most: int = LONGEST_CODE) -> str:
    """The cell, which must not be blank nor longer than the network's tables can keep."""
    value = cells[column]
    if not value:
        raise BadRow("missing_value", column=column)
    if len(value) > most:
        raise BadRow("too_long", column=column, most=most)
    return value


def name(column: str, value: str) -> str:
    """The value as a name, neither blank nor longer than a name may be."""
    return text(column, {column: tidy(value)}, LONGEST_NAME)


def new(column: str, cells: Cells, *known: Container[str]) -> str:
    code = text(column, cells)
    if any(code in ids for ids in known):
        raise BadRow("duplicate_id", column=column, value=code)
    return code


def whole(column: str, cells: Cells) -> int:
    if not NUMBER.fullmatch(cells[column]):
        raise BadRow("bad_number", column=column, value=cells[column])
    return int(cells[column])


def degrees(value: str, most: int) -> Decimal:
    """A latitude (`most` 90) or longitude (180) in decimal degrees."""
    if not DEGREES.fullmatch(value) or abs(Decimal(value)) > most:
        raise BadRow("bad_coordinates")
    return Decimal(value).quantize(MICRODEGREE)


def day_of(value: str) -> date:
    """A date as GTFS writes it: 20260306."""
    try:
        return date.fromisoformat(value if DATE.fullmatch(value) else "")
    except ValueError:
        raise BadRow("bad_date", value=value) from None


def seconds_of(value: str) -> int | None:
    """Seconds of the service day, None for a blank time."""
    if not value:
        return None
    if not (match := TIME.fullmatch(value)):
        raise BadRow("bad_time", value=value)
    hours, minutes, seconds = map(int, match.groups())
    if hours > MOST_HOURS:
        raise BadRow("bad_time", value=value)
    return hours * 3600 + minutes * 60 + seconds
