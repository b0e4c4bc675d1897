"""The auditor of tests/races/books.py sees each kind of fault when it is planted, and nothing in sound books."""

from datetime import timedelta

import pytest

from tests.instants import NOW
from tests.races.books import change, faults
from tests.world import PERSON, build, open_till, order
from ticketing.sales import service
from ticketing.sales.corrections import void_ticket

APPEND_ONLY = {
    "sqlite": [f"DROP TRIGGER {table}_no_{verb}" for table in ("ledger_entry", "fare_line") for verb in ("update", "delete")],
    "postgresql": [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in ("ledger_entry", "fare_line")]}
# tickets 1 and 2 are live on seats 5 and 6, on the same three legs; ticket 3 is voided
PLANTED = {
    "a seat sold twice": "UPDATE ticket SET seat = 5 WHERE id = 2",
    "a leg that is missing": "DELETE FROM seat_leg WHERE seat = 6 AND leg = 1",
    "a leg on another seat": "UPDATE seat_leg SET seat = 9 WHERE seat = 6 AND leg = 2",
    "a leg too much": "INSERT INTO seat_leg (trip_id, leg, seat, hold_id) SELECT trip_id, leg, 12, hold_id "
                      "FROM seat_leg WHERE seat = 6 AND leg = 0",
    "a paid seat that is only held": "UPDATE seat_leg SET hold_until = '2026-03-02 13:00:00' WHERE seat = 6",
    "legs that a voided ticket keeps": "UPDATE ticket SET status = 'voided' WHERE id = 2",
    "a hold released under its ticket": "UPDATE seat_hold SET status = 'released' WHERE seat = 6",
    "a cent in the drawer": "UPDATE shift SET cash = cash + 1",
    "a cent in a fare": "UPDATE ticket SET fare = fare + 1 WHERE id = 2",
    "a cent in an item": "UPDATE fare_line SET amount = amount - 1 WHERE ticket_id = 2 AND position = 0",
    "a cent in a booking": "UPDATE booking SET total = total + 1 WHERE id = 2",
    "a cent in the ledger": "UPDATE ledger_entry SET amount = amount + 1 WHERE id = 2",
    "a sale without money": "DELETE FROM ledger_entry WHERE id = 2",
    "money without a sale": "UPDATE ledger_entry SET subject = 'NOBODY00' WHERE id = 2",
    "a refund without money": "UPDATE ticket SET status = 'refunded' WHERE id = 2",
    "money paid back for nothing": "INSERT INTO ledger_entry (at, kind, method, amount, subject, shift_id, actor) "
                                   "SELECT at, 'refund', 'cash', -100, (SELECT code FROM ticket WHERE id = 2), shift_id, "
                                   "actor FROM ledger_entry WHERE id = 2",
    "a ticket without identity": "DELETE FROM identity WHERE ticket_id = 2",
    "a boarding that no door saw": "UPDATE ticket SET status = 'boarded', boarded_at = sold_at WHERE id = 2",
    "a repeat key of a lost sale": "INSERT INTO repeat_key (actor, route, key, body_hash, subject, created_at) "
                                   "SELECT 'agent', 'counter.sales', 'key-0001', sealed, 'NOBODY00', '2026-03-02 12:00:00' "
                                   "FROM identity WHERE ticket_id = 2",
}


@pytest.fixture
def books(database, vault):
    """Two sales and one sale undone, in a database whose money tables no longer refuse a forger."""
    with database.transaction() as session:
        world = build(session)
        open_till(session, world)
        for seat in (5, 6, 7):
            wanted = order(world, booking=f"BOOKING{seat}", seat=seat, alight=3, identity=PERSON)
            undone = service.sell(session, wanted, vault=vault, now=NOW, actor="agent").tickets[0]
        void_ticket(session, undone, wanted.means, "engano", supervisor=False, now=NOW + timedelta(minutes=1),
                            actor="agent")
        dialect = session.get_bind().dialect.name
    url = database.engine.url.render_as_string(hide_password=False)
    change(url, *APPEND_ONLY[dialect])
    return url


def test_sound_books_have_no_fault(books):
    assert faults(books) == []


@pytest.mark.parametrize("planted", PLANTED)
def test_the_auditor_sees(books, planted):
    change(books, PLANTED[planted])
    assert faults(books) != []
