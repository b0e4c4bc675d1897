"""The audit log is written with the act and can be changed by nobody, on both databases."""

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DatabaseError

from kernel import audit
from kernel.audit import AuditEntry
from tests.instants import NOW


def entries(database) -> list[tuple[str, str, str, dict]]:
    with database.reading() as session:
        return [(e.actor, e.action, e.subject, e.details) for e in session.scalars(select(AuditEntry))]


def write(session) -> None:
    audit.record(session, "ticket_sold", subject="7KQ3WZ8M", details={"trip": 1}, now=NOW, actor="agente")


def test_an_entry_is_kept_with_its_act(database):
    with database.transaction() as session:
        write(session)
    assert entries(database) == [("agente", "ticket_sold", "7KQ3WZ8M", {"trip": 1})]


def test_an_act_that_is_taken_back_leaves_no_entry(database):
    with pytest.raises(ZeroDivisionError), database.transaction() as session:
        write(session)
        raise ZeroDivisionError
    assert entries(database) == []


@pytest.mark.parametrize("statement", [
    "UPDATE audit_entry SET actor = 'outro'", "DELETE FROM audit_entry", "DELETE FROM audit_entry WHERE id = 1"])
def test_nobody_changes_an_entry(database, statement):
    with database.transaction() as session:
        write(session)
    with pytest.raises(DatabaseError, match="append-only"), database.transaction() as session:
        session.execute(text(statement))
    assert len(entries(database)) == 1


def test_nobody_empties_the_log(database):
    with database.transaction() as session:
        write(session)
    statement = "DELETE FROM audit_entry" if database.engine.dialect.name == "sqlite" else "TRUNCATE audit_entry"
    with pytest.raises(DatabaseError, match="append-only"), database.transaction() as session:
        session.execute(text(statement))
    assert len(entries(database)) == 1
