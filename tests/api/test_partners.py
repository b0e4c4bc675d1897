"""Who gets in: tokens of partners, their scopes, their end, and what the operator does with them."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from kernel import partners
from kernel.audit import AuditEntry
from kernel.errors import Conflict, InvalidInput, NotFound
from kernel.login import limiter
from kernel.partners import SCOPES, Partner, PartnerToken
from kernel.web import csrf
from tests.instants import NOW

TERM = timedelta(days=30)


@pytest.fixture
def acme(session):
    return partners.add_partner(session, code="Acme", name="Empresa de teste", now=NOW, actor="tests")


def issue(session, *scopes, days=30):
    return partners.issue_token(session, "acme", scopes or SCOPES, days=days, now=NOW, actor="tests")


def test_a_token_finds_its_partner_and_what_it_may_do(session, acme):
    assert partners.find_caller(session, issue(session, "search", "sell"), NOW) == partners.Caller(
        "partner:acme", frozenset({"search", "sell"}))


def test_only_the_hash_and_the_first_letters_of_a_token_are_stored(session, acme):
    token = issue(session)
    row = session.scalars(select(PartnerToken)).one()
    assert row.prefix == token[:10] and token.startswith("ptn_") and len(token) > 40
    assert token.encode() not in row.token_hash
    assert all(token not in str(entry.details) for entry in session.scalars(select(AuditEntry)))


@pytest.mark.parametrize(("after", "known"), [(TERM - timedelta(seconds=1), True), (TERM, False)])
def test_a_token_ends_with_its_term(session, acme, after, known):
    assert (partners.find_caller(session, issue(session), NOW + after) is not None) == known


def test_a_revoked_token_opens_nothing_and_is_revoked_once(session, acme):
    token = issue(session)
    partners.revoke_token(session, token, now=NOW, actor="tests")
    assert partners.find_caller(session, token, NOW) is None
    with pytest.raises(NotFound):
        partners.revoke_token(session, token[:10], now=NOW, actor="tests")


@pytest.mark.parametrize("token", ["", "ptn_", "ptn_" + "x" * 43, "çã", "\ud800"])
def test_what_is_no_token_finds_nobody(session, acme, token):
    assert partners.find_caller(session, token, NOW) is None


@pytest.mark.parametrize("code", ["a", "a" * 31, "partner:acme", "ação", "a b"])
def test_a_code_that_could_be_taken_for_another_is_refused(session, code):
    with pytest.raises(InvalidInput):
        partners.add_partner(session, code=code, name="Empresa", now=NOW, actor="tests")


def test_a_code_is_given_once(session, acme):
    with pytest.raises(Conflict):
        partners.add_partner(session, code="ACME", name="Outra", now=NOW, actor="tests")


@pytest.mark.parametrize(("scopes", "days"), [((), 30), (("everything",), 30), (("sell",), 0), (("sell",), 731)])
def test_a_token_needs_known_scopes_and_a_term(session, acme, scopes, days):
    with pytest.raises(InvalidInput):
        partners.issue_token(session, "acme", scopes, days=days, now=NOW, actor="tests")


def routes(app):
    """Address, method and scope of every route of the interface."""
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        if rule.rule.startswith("/api/v1/") and hasattr(view, "guard_scope"):
            address = rule.build({name: 1 for name in rule.arguments})[1]
            yield from ((address, method, view.guard_scope) for method in rule.methods - {"HEAD", "OPTIONS"})


def test_no_route_answers_without_a_token_or_with_a_token_of_every_other_scope(app, caller):
    client, seen = app.test_client(), set()
    for address, method, scope in routes(app):
        assert client.open(address, method=method, json={}).status_code == 401
        other = caller(*(name for name in SCOPES if name != scope), code=f"no-{scope}")
        refused = client.open(address, method=method, json={}, headers=other.headers)
        assert (refused.status_code, refused.get_json()["code"]) == (403, "scope_missing")
        seen.add(scope)
    assert seen <= set(SCOPES) and len(seen) > 3


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer x", "Basic {token}", "{token}", "Bearer " + "x" * 5000])
def test_a_wrong_authorization_is_told_how_it_should_be(app, partner, sent):
    answer = app.test_client().get("/api/v1/places", headers={"Authorization": sent.format(token=partner.token)})
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.get_json()["code"] == "token_invalid"


def test_a_signed_in_agent_has_no_way_into_the_interface(app, signed_in):
    assert signed_in("agent").get("/api/v1/places").status_code == 401


def test_a_token_opens_no_page(app, partner):
    assert app.test_client().get("/counter", headers=partner.headers).status_code in (302, 303)


def test_only_the_interface_and_the_banks_call_back_go_without_a_form_token(app):
    assert {app.blueprints[name].url_prefix for name in csrf._exempt_blueprints if name in app.blueprints} <= {
        "/api/v1", "/hooks"}
    assert csrf._exempt_views == set()


def test_a_token_has_its_own_allowance(app, caller, monkeypatch):
    monkeypatch.setattr(limiter, "enabled", True)
    limiter.reset()
    busy, calm = caller(code="busy"), caller(code="calm")
    statuses = [busy.get("/places")[0] for _ in range(301)]
    assert statuses == [200] * 300 + [429]
    assert calm.get("/places")[0] == 200
    limiter.reset()


def run(app, *arguments):
    return app.test_cli_runner().invoke(app.cli, ["partner", *arguments])


def test_the_operator_adds_a_partner_gives_a_token_and_ends_it(app):
    assert "acme cadastrado" in run(app, "add", "acme", "--name", "Empresa de teste").output
    token = run(app, "token", "acme", "--scope", "search", "--scope", "sell", "--days", "10").output.strip()
    listed = run(app, "list").output
    assert token[:10] in listed and token not in listed and "em vigor" in listed and "search sell" in listed
    assert run(app, "revoke", token[:10]).exit_code == 0
    assert "encerrado" in run(app, "list").output
    assert run(app, "revoke", token[:10]).exit_code == 1
    assert "sem token" not in listed


def test_a_partner_without_a_token_is_listed_too(app):
    with app.extensions["database"].transaction() as session:
        session.add(Partner(code="new", name="Nova", created_at=NOW))
    assert "new  sem token" in run(app, "list").output
