"""Tables as files for the spreadsheet programs of this country: semicolons, CRLF, UTF-8 with its mark, and no cell
that runs as a formula, whoever typed it."""

import csv
import io
from collections.abc import Iterable, Sequence
from decimal import Decimal

from kernel.money import Money

Cell = str | int | Decimal | Money | None
CONTENT_TYPE = "text/csv; charset=utf-8"
_STARTS_A_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # some programs take the wide ones too
_CUT_BEFORE = ("\t", "\r", "\n")


def table(rows: Iterable[Sequence[Cell]]) -> bytes:
    """The rows as a CSV file. Numbers and amounts stay numbers with a decimal comma (`-1234,50`); a text that a program
    could take for a formula gets an apostrophe before it, and loses nothing: `'+55 48 90000-0000`."""
    target = io.StringIO(newline="")
    writer = csv.writer(target, delimiter=";", lineterminator="\r\n")
    writer.writerows([_written(cell) for cell in row] for row in rows)
    return b"\xef\xbb\xbf" + target.getvalue().encode("utf-8", "replace")


def _written(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return guarded(cell)
    return str(cell).replace(".", ",")


def guarded(text: str) -> str:
    """The text, with an apostrophe before it when it would be taken for a formula."""
    if text.startswith(_CUT_BEFORE) or text.lstrip().startswith(_STARTS_A_FORMULA):
        return "'" + text
    return text
