"""What the other tests stand on: every test has a database of its own, and leaves nothing behind."""

import pytest
from sqlalchemy import select

from kernel import audit
from kernel.audit import AuditEntry
from kernel.auth import ROLES
from tests.instants import NOW


@pytest.mark.parametrize("time", ["first", "second"])
def test_what_one_test_commits_no_other_test_finds(database, time):
    with database.transaction() as session:
        assert session.scalars(select(AuditEntry)).all() == []
        audit.record(session, "tested", subject=time, now=NOW, actor="tests")


def test_what_the_session_fixture_writes_is_discarded(session):
    audit.record(session, "tested", subject="once", now=NOW, actor="tests")
    assert [entry.at for entry in session.scalars(select(AuditEntry))] == [NOW]


def test_a_visitor_gets_the_page_to_sign_in(client):
    answer = client.get("/login")
    assert answer.status_code == 200
    assert 'name="password"' in answer.text


@pytest.mark.parametrize("role", ROLES)
def test_a_person_signed_in_gets_a_page_of_their_own(signed_in, role):
    assert signed_in(role).get("/password").status_code == 200


def test_nobody_gets_that_page_without_signing_in(client):
    answer = client.get("/password")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/login?next=/password")
