"""An auditor of the raw tables: says what is wrong with seats, money, refunds and doors. Shares no code with the product.

`faults(url)` is empty for sound books. Amounts are whole cents, a leg n is the stretch from call n to call n + 1.
"""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
from psycopg.rows import dict_row

LIVE = ("sold", "boarded")
ACCEPTED = ("OK", "OK_OTHER_STOP")
TABLES = ("booking", "ticket", "fare_line", "identity", "seat_hold", "seat_leg", "shift", "ledger_entry", "refund",
          "repeat_key", "scan", "document_check", "device_record", "audit_entry")
Rows = list[dict[str, Any]]


def rows(url: str, query: str, *values: Any) -> Rows:
    """The rows of a query, by column name; placeholders are written `?`."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values)]
    with psycopg.connect(url.replace("+psycopg", ""), row_factory=dict_row) as connection:
        return connection.execute(query.replace("?", "%s"), values).fetchall()


def change(url: str, *statements: str) -> None:
    """Write to the tables behind the product's back."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as connection, connection:
            for statement in statements:
                connection.execute(statement)
        return
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        for statement in statements:
            connection.execute(statement)


def faults(url: str) -> list[str]:
    """Every fault found, as a sentence each."""
    tables = {name: rows(url, f"SELECT * FROM {name}") for name in TABLES}
    return [*_seats(tables), *_holds(tables), *_fares(tables), *_drawers(tables), *_paid_back(tables),
            *_papers(tables), *_doors(tables)]


def _legs(ticket: dict[str, Any]) -> list[tuple[int, int, int]]:
    if not ticket["seat"]:
        return []  # a child on a lap
    return [(ticket["trip_id"], leg, ticket["seat"]) for leg in range(ticket["board_seq"], ticket["alight_seq"])]


def _seats(tables: dict[str, Rows]) -> Iterator[str]:
    live = [ticket for ticket in tables["ticket"] if ticket["status"] in LIVE]
    sold = Counter(leg for ticket in live for leg in _legs(ticket))
    yield from (f"trip, leg, seat {leg} is sold {times} times" for leg, times in sold.items() if times > 1)
    rows_of = Counter((row["trip_id"], row["leg"], row["seat"]) for row in tables["seat_leg"])
    yield from (f"trip, leg, seat {leg} has {times} rows" for leg, times in rows_of.items() if times > 1)
    taken: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for row in tables["seat_leg"]:
        if row["hold_until"] is None:
            taken[row["hold_id"]].append((row["trip_id"], row["leg"], row["seat"]))
    wanted = {ticket["hold_id"]: _legs(ticket) for ticket in live}
    for hold in wanted.keys() | taken.keys():
        if sorted(wanted.get(hold, ())) != sorted(taken.get(hold, ())):
            yield f"hold {hold}: its live ticket needs {wanted.get(hold)}, the inventory has {taken.get(hold)}"


def _holds(tables: dict[str, Rows]) -> Iterator[str]:
    holds = {hold["id"]: hold for hold in tables["seat_hold"]}
    of_live = {ticket["hold_id"] for ticket in tables["ticket"] if ticket["status"] in LIVE}
    for ticket in tables["ticket"]:
        hold = holds[ticket["hold_id"]]
        same = [hold[name] for name in ("trip_id", "seat", "leg_from", "leg_to")] == [
            ticket[name] for name in ("trip_id", "seat", "board_seq", "alight_seq")]
        if not same or (hold["status"] == "sold") != (ticket["status"] in LIVE):
            yield f"ticket {ticket['code']} is {ticket['status']} on a hold that is {hold['status']} or elsewhere"
    for hold in holds.values():
        if hold["status"] == "sold" and hold["id"] not in of_live:
            yield f"hold {hold['id']} is sold without a live ticket"


def _fares(tables: dict[str, Rows]) -> Iterator[str]:
    items, of_booking = Counter(), defaultdict(list)
    for line in tables["fare_line"]:
        items[line["ticket_id"]] += line["amount"]
    for ticket in tables["ticket"]:
        of_booking[ticket["booking_id"]].append(ticket["fare"])
        if items[ticket["id"]] != ticket["fare"]:
            yield f"ticket {ticket['code']} costs {ticket['fare']}, its items {items[ticket['id']]}"
    sales = _entries(tables, "sale")
    for booking in tables["booking"]:
        fares = of_booking.get(booking["id"], [])
        paid = [entry["amount"] for entry in sales.pop(booking["code"], [])]
        if not fares or paid != [booking["total"]] or sum(fares) != booking["total"]:
            yield f"booking {booking['code']} of {booking['total']} has tickets of {fares} and sale entries {paid}"
    yield from (f"a sale entry names {code}, which is no booking" for code in sales)


def _drawers(tables: dict[str, Rows]) -> Iterator[str]:
    moved = Counter()
    for entry in tables["ledger_entry"]:
        if entry["method"] == "cash":
            moved[entry["shift_id"]] += entry["amount"]
    for shift in tables["shift"]:
        should = shift["opening_float"] + moved[shift["id"]]
        if shift["cash"] != should:
            yield f"the drawer of shift {shift['code']} says {shift['cash']}, float and ledger say {should}"


def _paid_back(tables: dict[str, Rows]) -> Iterator[str]:
    refunds = {row["ticket_id"]: row for row in tables["refund"]}
    entries, voids = _entries(tables, "refund"), _entries(tables, "void")
    for ticket in tables["ticket"]:
        row, code = refunds.pop(ticket["id"], None), ticket["code"]
        if (ticket["status"] == "refunded") != (row is not None):
            yield f"ticket {code} is {ticket['status']} and has {'a' if row else 'no'} refund"
        paid = [(entry["amount"], entry["shift_id"]) for entry in entries.pop(code, [])]
        if paid != ([(-row["refunded"], row["shift_id"])] if row else []):
            yield f"refund entries of {code}: {paid}"
        if row and row["refunded"] + row["kept"] != ticket["fare"]:
            yield f"refund of {code}: {row['refunded']} and {row['kept']} do not make {ticket['fare']}"
        undone = [entry["amount"] for entry in voids.pop(code, [])]
        if undone != ([-ticket["fare"]] if ticket["status"] == "voided" else []):
            yield f"void entries of {code}, which is {ticket['status']}: {undone}"
    yield from (f"money went back for {code}, which is no ticket" for code in (*entries, *voids))


def _papers(tables: dict[str, Rows]) -> Iterator[str]:
    """Identity where it is demanded, one audit entry a sale, and no repeat key of a sale that is not there."""
    named = {row["ticket_id"] for row in tables["identity"]}
    told = Counter(row["subject"] for row in tables["audit_entry"] if row["action"] == "ticket_sold")
    for ticket in tables["ticket"]:
        if ticket["identity_required"] and ticket["id"] not in named:
            yield f"ticket {ticket['code']} has no identity"
        if told[ticket["code"]] != 1:
            yield f"the audit log tells the sale of {ticket['code']} {told[ticket['code']]} times"
    bookings = {booking["code"] for booking in tables["booking"]}
    for key in tables["repeat_key"]:
        if key["route"] == "counter.sales" and key["subject"] not in bookings:
            yield f"a repeat key stands for {key['subject']}, which is no booking"


def _doors(tables: dict[str, Rows]) -> Iterator[str]:
    confirmed = {row["scan_id"] for row in tables["document_check"] if row["result"] in ACCEPTED}
    boardings = Counter()
    for scan in tables["scan"]:
        facts = json.loads(scan["facts"]) if isinstance(scan["facts"], str) else scan["facts"]
        at_once = scan["result"] in ACCEPTED and not facts["asks"]
        boardings[scan["ticket_id"]] += at_once or scan["id"] in confirmed
    by_phone = {(row["ticket_id"], f"device:{row['device_id']}") for row in tables["device_record"] if row["accepted"]}
    for ticket in tables["ticket"]:
        if (ticket["id"], ticket["boarded_by"]) in by_phone and not boardings[ticket["id"]]:
            continue
        if boardings[ticket["id"]] != (ticket["status"] == "boarded"):
            yield f"ticket {ticket['code']} is {ticket['status']}, the doors let it in {boardings[ticket['id']]} times"


def _entries(tables: dict[str, Rows], kind: str) -> dict[str, Rows]:
    found: dict[str, Rows] = defaultdict(list)
    for entry in tables["ledger_entry"]:
        if entry["kind"] == kind:
            found[entry["subject"]].append(entry)
    return found
