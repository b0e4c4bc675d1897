"""Half a million tickets, each a copy of all rows of a sale that the product made, on seats and legs of their own."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.bulk import Bulk, plain
from benchmarks.country import CALLS, Run
from tests.races.books import rows

SEATS = 46
Row = dict[str, Any]
Change = Callable[[int], dict[str, Any]]


def sample_sale(url: str) -> dict[str, list[Row]]:
    """The rows of the last sale, by table."""
    [booking] = rows(url, "SELECT * FROM booking ORDER BY id DESC LIMIT 1")
    [ticket] = rows(url, "SELECT * FROM ticket WHERE booking_id = ?", booking["id"])
    wanted = {"repeat_key": ("subject", booking["code"]), "seat_hold": ("id", ticket["hold_id"]),
              "seat_leg": ("hold_id", ticket["hold_id"]), "fare_line": ("ticket_id", ticket["id"]),
              "identity": ("ticket_id", ticket["id"]), "audit_entry": ("subject", ticket["code"]),
              "ledger_entry": ("subject", booking["code"])}
    found = {table: rows(url, f"SELECT * FROM {table} WHERE {column} = ?", value)
             for table, (column, value) in wanted.items()}
    return {"booking": [booking], "ticket": [ticket], **found}


def scattered(n: int) -> int:
    """A number for each n below 2**32, none twice, in no visible order."""
    return n * 2654435761 & 0xFFFFFFFF


def stretch(n: int) -> tuple[int, int]:
    """The calls between which ticket n travels: one to eight legs."""
    mixed = scattered(n)
    length = 1 + (mixed >> 16) % 8
    board = (mixed >> 4) % (CALLS - length)
    return board, board + length


def crowd(writer: Bulk, sample: dict[str, list[Row]], runs: Sequence[Run], tickets: int) -> None:
    """Write the tickets trip by trip, one to a seat. `sample` are the rows of a sale by table."""
    assert tickets <= SEATS * len(runs), "more tickets than seats"
    first = {table: writer.next_id(table) for table in ("booking", "seat_hold", "ticket")}

    def place(n: int) -> tuple[Run, int]:
        k = n * len(runs) // tickets
        return runs[k], n + (k * tickets) // -len(runs) + 1

    def booked(n: int) -> Row:
        return {"id": first["booking"] + n, "code": booking(n)}

    def held(n: int) -> Row:
        run, seat = place(n)
        board, alight = stretch(n)
        return {"id": first["seat_hold"] + n, "code": f"{scattered(n):032x}", "trip_id": run.trip, "seat": seat,
                "leg_from": board, "leg_to": alight}

    def ticket(n: int) -> Row:
        run, seat = place(n)
        board, alight = stretch(n)
        return {"id": first["ticket"] + n, "code": code(n), "booking_id": first["booking"] + n, "trip_id": run.trip,
                "board_seq": board, "alight_seq": alight, "seat": seat, "hold_id": first["seat_hold"] + n,
                "tariff_id": run.tariff}

    def legs() -> Iterator[tuple[Any, ...]]:
        for n in range(tickets):
            run, seat = place(n)
            for leg in range(*stretch(n)):
                yield run.trip, leg, seat, first["seat_hold"] + n, None

    _copies(writer, "booking", sample, tickets, booked)
    _copies(writer, "seat_hold", sample, tickets, held)
    _copies(writer, "ticket", sample, tickets, ticket)
    writer.put("seat_leg", ("trip_id", "leg", "seat", "hold_id", "hold_until"), legs())
    _copies(writer, "fare_line", sample, tickets, lambda n: {"ticket_id": first["ticket"] + n})
    _copies(writer, "identity", sample, tickets, lambda n: {
        "ticket_id": first["ticket"] + n, "tag": scattered(n).to_bytes(4) * 8})
    _copies(writer, "audit_entry", sample, tickets, lambda n: {"subject": code(n)})
    _copies(writer, "ledger_entry", sample, tickets, lambda n: {"subject": booking(n)})
    writer.count_on(*first)
    entry = sample["ledger_entry"][0]
    writer.change(f"UPDATE shift SET cash = cash + {entry['amount'] * tickets} WHERE id = {entry['shift_id']}")


def code(n: int) -> str:
    """Ticket n's code: a letter longer than the product's own."""
    return f"T{scattered(n):08X}"


def booking(n: int) -> str:
    """The code of ticket n's booking."""
    return f"B{scattered(n):08X}"


def _copies(writer: Bulk, table: str, sample: dict[str, list[Row]], number: int, change: Change) -> None:
    """So many times the sample's rows of a table, with what `change` says of each."""
    lines = [{name: plain(value) for name, value in row.items()} for row in sample[table]]
    names = [name for name in lines[0] if name != "id" or "id" in change(0)]
    writer.put(table, names, ([line[name] for name in names] for n in range(number)
                              for told in [change(n)] for line in [{**row, **told} for row in lines]))
