"""A partner with a token, on a small network."""

from uuid import uuid4

import pytest

from kernel import partners
from tests import world as network
from tests.instants import NOW

PERSON = network.PERSON


class Caller:
    """A client with a partner's token; answers are (status, body)."""

    def __init__(self, app, code: str, scopes) -> None:
        self.app, self.client, self.actor = app, app.test_client(), partners.ACTOR_PREFIX + code
        with app.extensions["database"].transaction() as session:
            if (code,) not in session.query(partners.Partner.code).all():
                partners.add_partner(session, code=code, name="Empresa de teste", now=NOW, actor="tests")
            self.token = partners.issue_token(session, code, scopes, days=30, now=NOW, actor="tests")

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def get(self, path: str, **query):
        return self._told(self.client.get("/api/v1" + path, query_string=query, headers=self.headers))

    def post(self, path: str, body, key: str | None = None):
        headers = {**self.headers, "Idempotency-Key": key or uuid4().hex}
        return self._told(self.client.post("/api/v1" + path, json=body, headers=headers))

    def delete(self, path: str):
        return self._told(self.client.delete("/api/v1" + path, headers=self.headers))

    def _told(self, answer):
        expected = "application/json" if answer.status_code < 400 else "application/problem+json"
        assert answer.content_type == expected
        return answer.status_code, answer.get_json()

    def sell(self, world, **changes) -> tuple[int, dict]:
        key = changes.pop("key", None)
        return self.post("/sales", sale(world, **changes), key)


def sale(world, *, seats=(5,), **changes) -> dict:
    """A sale of the first stretch of the long trip to one passenger for each seat."""
    people = [{"seat": seat, **PERSON} for seat in seats]
    return {"trip_id": world.long_trip, "board_seq": 0, "alight_seq": 1, "method": "account", "passengers": people,
            **changes}


@pytest.fixture
def world(app):
    """The network, committed."""
    with app.extensions["database"].transaction() as session:
        return network.build(session)


@pytest.fixture
def caller(app):
    """`caller()` is a partner who may do everything; scopes and code may be given."""
    return lambda *scopes, code="acme": Caller(app, code, scopes or partners.SCOPES)


@pytest.fixture
def partner(caller):
    """The partner who may do everything."""
    return caller()
