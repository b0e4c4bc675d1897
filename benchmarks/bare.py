"""The rows of a sale written by the bare driver, in one process: what the database alone can do on this machine.

The rows are copies of a sale that the product made, so they are as many and as wide; the auditor finds them sound.
"""

import secrets
from contextlib import closing
from time import perf_counter, process_time
from typing import Any

from benchmarks.bulk import plain
from benchmarks.house import House
from benchmarks.meters import Cost, percentile, spent
from kernel.db import Database

Row = dict[str, Any]


def sell_bare(house: House, sample: dict[str, list[Row]], number: int) -> Cost:
    """Write so many copies of the sample's rows, a transaction each; `server_ms` is the writing process's own time."""
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
                    number / seconds, *(percentile(times, share) for share in (0.5, 0.95, 0.99)))
    engine.dispose()
    return cost


def _write(cursor: Any, mark: str, sample: dict[str, list[Row]], trip: int, seat: int) -> None:
    booking, ticket = secrets.token_hex(4).upper(), secrets.token_hex(4).upper()

    def insert(table: str, changes: Row, returning: str = "") -> int:
        lines = [{**row, **changes} for row in sample[table]]
        names = [name for name in lines[0] if name != "id"]
        values = [[plain(line[name]) for name in names] for line in lines]
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
