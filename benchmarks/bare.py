"""The rows of a sale written by the bare driver, in one process: what the database alone can do on this machine.

The rows are copies of a sale that the product made, so they are as many and as wide; the auditor finds them sound.
"""

import json
import secrets
from contextlib import closing
from time import perf_counter, process_time
from typing import Any

from benchmarks.house import House
from benchmarks.meters import Cost, percentile, spent
from kernel.db import Database
from tests.races.books import rows

Row = dict[str, Any]


def sell_bare(house: House, number: int) -> Cost:
    """Write so many sales, a transaction each; `server_ms` is the writing process's own time."""
    sample = _sample(house.url)
    engine = Database(house.url).engine  # for its connection's settings only: no statement passes through SQLAlchemy
    mark = "?" if engine.dialect.name == "sqlite" else "%s"
    with closing(engine.raw_connection()) as connection:
        cursor = connection.cursor()
        times = []
        database, before = house.database, (process_time(), spent(house.database))
        began = perf_counter()
        for _ in range(number):
            trip, seat = next(house.places)
            start = perf_counter()
            cursor.execute("BEGIN IMMEDIATE" if mark == "?" else "SELECT 1")  # psycopg begins by itself
            _write(cursor, mark, sample, trip, seat)
            connection.commit()
            times.append((perf_counter() - start) * 1000)
        seconds = perf_counter() - began
        cost = Cost((process_time() - before[0]) * 1000 / number, (spent(database) - before[1]) / number,
                    number / seconds, percentile(times, 0.5), percentile(times, 0.95))
    engine.dispose()
    return cost


def _sample(url: str) -> dict[str, list[Row]]:
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


def _write(cursor: Any, mark: str, sample: dict[str, list[Row]], trip: int, seat: int) -> None:
    booking, ticket = secrets.token_hex(4).upper(), secrets.token_hex(4).upper()

    def insert(table: str, changes: Row, returning: str = "") -> int:
        lines = [{**row, **changes} for row in sample[table]]
        names = [name for name in lines[0] if name != "id"]
        values = [[_plain(line[name]) for name in names] for line in lines]
        cursor.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES "
                       + ", ".join(f"({', '.join([mark] * len(names))})" for _ in values)
                       + (" RETURNING id" if returning else ""), [one for line in values for one in line])
        return cursor.fetchone()[0] if returning else 0

    insert("repeat_key", {"key": secrets.token_hex(16), "subject": booking})
    booking_id = insert("booking", {"code": booking}, "id")
    hold_id = insert("seat_hold", {"code": secrets.token_hex(16), "trip_id": trip, "seat": seat}, "id")
    insert("seat_leg", {"trip_id": trip, "seat": seat, "hold_id": hold_id})
    ticket_id = insert("ticket", {"code": ticket, "booking_id": booking_id, "trip_id": trip, "seat": seat,
                                  "hold_id": hold_id, "status": "sold", "boarded_at": None, "boarded_seq": None,
                                  "boarded_by": None}, "id")
    insert("fare_line", {"ticket_id": ticket_id})
    insert("identity", {"ticket_id": ticket_id})
    insert("audit_entry", {"subject": ticket})
    entry = sample["ledger_entry"][0]
    cursor.execute(f"UPDATE shift SET cash = cash + {mark} WHERE id = {mark}", (entry["amount"], entry["shift_id"]))
    insert("ledger_entry", {"subject": booking})


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (dict, list)) else value
