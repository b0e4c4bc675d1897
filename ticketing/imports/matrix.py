"""Reads a fare matrix (line, place and its order, price from place to place, sold or not) as an authority prints it.

A fare matrix knows prices and nothing else. A line's table enters whole or not at all: an act fixes all of it at once.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from kernel.money import Money, from_decimal
from ticketing.imports.cells import name, text, whole
from ticketing.imports.courses import folded
from ticketing.imports.policy import Feed, FeedCall, FeedLine, FeedPattern, FeedStop, Refused, pattern
from ticketing.imports.tables import BadRow, Cells, Progress, Refusals, Unreadable, table_file, tidy

NEEDS = ("linha", "ordem_origem", "origem", "ordem_destino", "destino", "tarifa_brl", "vendavel")
ALSO_CALLED = {"prefixo": "linha", "line": "linha", "tarifa": "tarifa_brl", "vendável": "vendavel"}
FARE = re.compile(r"\d{1,5}(?:[.,]\d{1,2})?", re.ASCII)
SOLD = {"1": True, "0": False}
MASKED = re.compile(r"\*+")  # how a printed table marks a pair that is not sold
METRE = Decimal("0.1")

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FareTable:
    """A line's prices: its places in order, and by pair of positions an amount, or None where it is not sold."""

    line: str
    places: tuple[str, ...]
    fares: Mapping[Pair, Money | None]

    @property
    def missing(self) -> int:
        """How many pairs of the line the table does not name at all."""
        return len(self.places) * (len(self.places) - 1) // 2 - len(self.fares)


@dataclass(frozen=True, slots=True)
class FaresRead:
    """What a file gave and what it did not."""

    tables: tuple[FareTable, ...]
    refused: tuple[Refused, ...]


def read_fares(path: Path, *, progress: Progress) -> FaresRead:
    """The tables of a CSV file by line, and every row refused. Columns by name, comma or semicolon."""
    reading = _Reading(path.name)
    try:
        for row in table_file(path, needs=NEEDS, rename=ALSO_CALLED, progress=progress):
            try:
                if row.fault:
                    raise BadRow(row.fault)
                reading.take(row.cells, row.line)
            except BadRow as bad:
                reading.refused.add(path.name, row.line, bad.code, **bad.values)
                reading.broken.add(row.cells.get("linha", ""))
        return FaresRead(reading.tables(), tuple(reading.refused))
    except Unreadable as stop:
        return FaresRead((), (*reading.refused, stop.refused))


def as_feed(table: FareTable, *, zone: str, reais_per_km: Decimal) -> Feed:
    """The line that a table implies, to be tried out: its places in order, with km guessed back out of the prices."""
    stops = tuple(FeedStop(folded(place), place, None, None, zone) for place in table.places)
    km = guessed_km(table, reais_per_km)
    calls = [FeedCall(stop.code, here, estimated=True) for stop, here in zip(stops, km, strict=True)]
    course: FeedPattern = pattern(table.line, calls)
    return Feed(zone, stops, (FeedLine(table.line, f"{table.places[0]} - {table.places[-1]}"),), (course,))


def guessed_km(table: FareTable, reais_per_km: Decimal) -> tuple[Decimal, ...]:
    """Where each place may lie: as far as its price from the earliest place that sells to it, past the one before.

    A place to which nothing is sold is put a tenth of a km after the one before it.
    """
    km = [Decimal(0)]
    for there in range(1, len(table.places)):
        priced = next(((here, fare) for here in range(there) if (fare := table.fares.get((here, there)))), None)
        guess = km[-1]
        if priced:
            guess = km[priced[0]] + (Decimal(priced[1].cents) / 100 / reais_per_km).quantize(METRE)
        km.append(max(guess, km[-1] + METRE))
    return tuple(km)


class _Reading:
    def __init__(self, file: str) -> None:
        self.file = file
        self.refused = Refusals()
        self.broken: set[str] = set()
        self.first_rows: dict[str, int] = {}
        self.places: dict[str, dict[int, str]] = {}  # by line and order
        self.fares: dict[str, dict[Pair, Money | None]] = {}  # by line and pair of orders

    def take(self, cells: Cells, row: int) -> None:
        line = text("linha", cells)
        self.first_rows.setdefault(line, row)
        pair = whole("ordem_origem", cells), whole("ordem_destino", cells)
        if pair[0] >= pair[1]:
            raise BadRow("unordered_fare")
        for order, column in zip(pair, ("origem", "destino"), strict=True):
            self.place(line, order, name(column, cells[column]))
        fare = _fare(tidy(cells["tarifa_brl"]), cells["vendavel"])
        if self.fares.setdefault(line, {}).setdefault(pair, fare) != fare:
            raise BadRow("duplicate_fare")

    def place(self, line: str, order: int, called: str) -> None:
        places = self.places.setdefault(line, {})
        if folded(places.setdefault(order, called)) != folded(called):
            raise BadRow("order_of_another", value=order)
        if any(other != order and folded(place) == folded(called) for other, place in places.items()):
            raise BadRow("repeated_place", value=called)

    def tables(self) -> tuple[FareTable, ...]:
        for line, fares in self.fares.items():
            if line not in self.broken and not any(fares.values()):
                self.refused.add(self.file, self.first_rows[line], "nothing_sold", value=line)
                self.broken.add(line)
        for line in filter(self.broken.__contains__, self.first_rows):
            self.refused.add(self.file, self.first_rows[line], "line_has_refused_row", value=line)
        return tuple(self.table(line) for line in self.fares if line not in self.broken)

    def table(self, line: str) -> FareTable:
        orders = sorted(self.places[line])
        position = {order: place for place, order in enumerate(orders)}
        return FareTable(line, tuple(self.places[line][order] for order in orders),
                         {(position[here], position[there]): fare for (here, there), fare in self.fares[line].items()})


def _fare(value: str, sold: str) -> Money | None:
    if sold not in SOLD:
        raise BadRow("bad_sold")
    if not SOLD[sold]:
        if value and not MASKED.fullmatch(value):
            raise BadRow("fare_of_unsold")
        return None
    if not FARE.fullmatch(value) or not Decimal(value.replace(",", ".")):
        raise BadRow("bad_fare", value=value)
    return from_decimal(Decimal(value.replace(",", ".")))
