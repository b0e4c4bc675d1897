"""What the other tests stand on: every test has a database of its own, and leaves nothing behind."""

import pytest
from sqlalchemy import select

from kernel import audit
from kernel.audit import AuditEntry
from tests.instants import NOW


@pytest.mark.parametrize("time", ["first", "second"])
def test_what_one_test_commits_no_other_test_finds(database, time):
    with database.transaction() as session:
        assert session.scalars(select(AuditEntry)).all() == []
        audit.record(session, "tested", subject=time, now=NOW, actor="tests")


def test_what_the_session_fixture_writes_is_discarded(session):
    audit.record(session, "tested", subject="once", now=NOW, actor="tests")
    assert [entry.at for entry in session.scalars(select(AuditEntry))] == [NOW]
