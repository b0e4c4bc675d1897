"""The web glue: one table of errors, problem documents, headers on every answer, CSRF, and who may do what."""

import json
import logging
from io import BytesIO
from uuid import UUID

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from app import LARGEST_BODY
from kernel import web
from kernel.audit import AuditEntry
from kernel.auth import ROLE_ACTIONS, ROLES
from kernel.decisions import Citation
from kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, RuleViolation
from kernel.jobs import JobTurn
from tests.instants import NOW
from tests.world import build

CITED = Citation("R1", "Lei de teste, art. 1º")
KINDS = [(InvalidInput("bad", "Corrija.", fields={"seat": "Escolha."}), 422), (NotFound("gone", "Não há."), 404),
         (Conflict("taken", "Alguém foi mais rápido."), 409), (Forbidden("no", "Sem acesso."), 403),
         (RuleViolation("rule", "A regra não deixa.", citation=CITED), 422)]
JSON = {"Accept": "application/json"}
SENTINEL = "Zzmarcador Teste 000.000.012-44"
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin"}


def serve(app, view, path="/probe", method="GET"):
    """Put one more public page into the application."""
    app.add_url_rule(path, endpoint=path, view_func=web.public(view), methods=[method])


def raising(error):
    def view():
        raise error
    return view


@pytest.mark.parametrize(("error", "status"), KINDS, ids=lambda value: getattr(value, "code", None))
def test_each_kind_of_refusal_has_its_status_as_a_problem_document(app, client, error, status):
    serve(app, raising(error))
    answer = client.get("/probe", headers=JSON)
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
    body = answer.get_json()
    assert (body["status"], body["code"], body["title"], body["fields"]) == (status, error.code, error.sentence, error.fields)
    assert body.get("article") == (error.citation.article if error.citation else None)
    assert body["request_id"] == answer.headers["X-Request-Id"]


@pytest.mark.parametrize(("error", "status"), KINDS, ids=lambda value: getattr(value, "code", None))
def test_each_kind_of_refusal_has_a_page_for_people(app, client, error, status):
    serve(app, raising(error))
    answer = client.get("/probe", headers={"Accept": "text/html,*/*"})
    assert (answer.status_code, answer.mimetype) == (status, "text/html")
    assert error.sentence in answer.text
    assert answer.headers["X-Request-Id"] in answer.text


@pytest.mark.parametrize("accept", ["text/html,*/*", "application/json"])
def test_a_fault_of_ours_says_nothing_of_its_cause(app, client, accept, caplog):
    app.config["PROPAGATE_EXCEPTIONS"] = False
    serve(app, raising(ValueError(SENTINEL)))
    answer = client.get("/probe", headers={"Accept": accept})
    assert answer.status_code == 500
    assert SENTINEL not in answer.text
    assert answer.headers["X-Request-Id"] in answer.text
    assert SENTINEL not in caplog.messages


def test_a_busy_database_is_told_as_busy(app, client):
    serve(app, raising(OperationalError("UPDATE x", {"name": SENTINEL}, Exception("database is locked"))))
    answer = client.get("/probe", headers=JSON)
    assert (answer.status_code, answer.get_json()["code"]) == (503, "busy")
    assert SENTINEL not in answer.text


def test_what_a_refused_view_wrote_is_taken_back(app, client, database):
    def view():
        with web.transaction() as session:
            session.add(JobTurn(name="x", due_at=web.now(), ended_at=None, outcome=None))
            session.flush()
            raise Conflict("taken", "Alguém foi mais rápido.")
    serve(app, view)
    assert client.get("/probe").status_code == 409
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(JobTurn)) == 0


def test_a_request_has_one_present(app, client):
    serve(app, lambda: {"same": web.now() is web.now(), "now": web.now().isoformat()})
    assert client.get("/probe").get_json() == {"same": True, "now": NOW.isoformat()}


@pytest.mark.parametrize("path", ["/nothing", "/counter/nothing", "/driver", "/inspector/trips/x", "/api/v1/nothing", "/.env", "/nothing//evil", "/%2e%2e/x", "/login/%ff"])
def test_an_unknown_address_is_not_found_in_both_forms(client, path):
    assert client.get(path, headers={"Accept": "text/html"}).status_code in (404, 308)
    answer = client.get(path, headers=JSON, follow_redirects=True)
    assert (answer.status_code, answer.content_type) == (404, "application/problem+json")


def test_a_wrong_method_is_told(client):
    assert client.delete("/login", headers=JSON).get_json()["code"] == "method_not_allowed"


@pytest.mark.parametrize(("size", "status"), [(LARGEST_BODY - 1000, 401), (LARGEST_BODY + 1, 413), (20 * LARGEST_BODY, 413)])
def test_a_body_has_a_largest_size(client, size, status):
    assert client.post("/login", data={"login": "x" * size}).status_code == status


def test_a_form_has_a_largest_number_of_parts(client):
    many = {f"field{n}": (BytesIO(b"x"), "x") for n in range(300)}
    assert client.post("/login", data=many, content_type="multipart/form-data").status_code == 413


@pytest.mark.parametrize("request_", [
    lambda c: c.get("/login?next=%00"), lambda c: c.post("/login", data={"login": "a\0", "password": "x"}), lambda c: c.get("/passes/%00/x"),
    lambda c: c.post("/login", data='{"login": "\\u0000"}', content_type="application/json")])
def test_a_character_that_cannot_be_stored_is_refused_on_both_databases(client, request_):
    assert request_(client).status_code == 400


@pytest.mark.parametrize("data", ["", "{", "null", "[]", '"text"', "1e999", "[" * 100000])
def test_a_body_that_is_no_object_is_a_clear_refusal(app, signed_in, data):
    with app.extensions["database"].transaction() as session:
        world = build(session)
    answer = signed_in("driver").post(f"/driver/trips/{world.long_trip}/scans", data=data, content_type="application/json")
    assert 400 <= answer.status_code < 500
    assert answer.content_type == "application/problem+json"


@pytest.mark.parametrize("path", ["/login", "/health", "/nothing", "/counter", "/static/favicon.svg", "/static/nothing.css", "/inspector"])
def test_every_answer_carries_the_security_headers(client, path):
    headers = client.get(path).headers
    assert {name: headers[name] for name in HEADERS} == HEADERS
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "camera=(self)" in headers["Permissions-Policy"]
    assert len(headers["X-Request-Id"]) == 16
    assert "Strict-Transport-Security" not in headers
    assert ("no-store" in headers["Cache-Control"]) is not path.startswith("/static/favicon")


def test_faults_carry_them_too_and_https_is_kept(app, client):
    app.config.update(PROPAGATE_EXCEPTIONS=False, SESSION_COOKIE_SECURE=True)
    serve(app, raising(ValueError("x")))
    for answer in (client.get("/probe"), client.post("/login", data={"login": "x" * (LARGEST_BODY + 1)}), client.delete("/login")):
        assert answer.status_code >= 400
        assert answer.headers["Content-Security-Policy"]
        assert answer.headers["Strict-Transport-Security"].startswith("max-age=")


def test_no_two_requests_share_an_id(client):
    assert len({client.get("/health").headers["X-Request-Id"] for _ in range(20)}) == 20


def test_the_log_of_a_request_names_its_route_and_not_what_was_asked(client, caplog):
    caplog.set_level(logging.INFO, "embarque.web")
    client.get("/passes/ABCD1234/secretlinktoken?name=Zzmarcador")
    record = next(one for one in caplog.records if one.getMessage() == "request")
    assert record.route == "/passes/<code>/<link>"
    told = json.dumps({key: str(value) for key, value in vars(record).items()})
    for secret in ("secretlinktoken", "Zzmarcador", "ABCD1234"):
        assert secret not in told


TOKENS = ("/api/", "/hooks/")  # let in by a token of their own or trusted with nothing: no cookie opens them


def arguments(rule) -> dict[str, object]:
    made = {"IntegerConverter": 1, "UUIDConverter": UUID(int=1), "PathConverter": "nothing"}
    return {name: made.get(type(converter).__name__, "AAAA0000") for name, converter in rule._converters.items()}


def walk(app):
    """(method, address, guarding action or None) of every route but the static files."""
    with app.test_request_context():
        for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
            if rule.endpoint == "static":
                continue
            action = getattr(app.view_functions[rule.endpoint], "guard_action", None)
            methods = sorted(rule.methods - {"HEAD", "OPTIONS"})
            address = app.url_map.bind("localhost").build(rule.endpoint, arguments(rule), method=methods[0])
            for method in methods:
                yield method, address, action


@pytest.mark.parametrize("role", [*ROLES, None])
def test_every_route_lets_in_the_roles_of_the_table_and_nobody_else(app, client, signed_in, role):
    with app.extensions["database"].transaction() as session:
        build(session)
    visitor = signed_in(role) if role else client
    wrong = []
    for method, address, action in walk(app):
        if action is None:
            continue
        status = visitor.open(address, method=method, headers={"Accept": "text/html"}).status_code
        expected = status == 303 if role is None else (status == 403) is (role not in ROLE_ACTIONS[action])
        if not expected or status >= 500 or (role and status == 401):
            wrong.append((method, address, action, status))
    assert wrong == []


def test_public_pages_answer_a_stranger(app, client):
    for method, address, action in walk(app):
        if action is None:
            allowed = (200, 303, 401, 404, 409, 422, *((415,) if address.startswith(TOKENS) else ()))
            assert client.open(address, method=method).status_code in allowed, address


def test_a_stranger_who_wants_json_is_told_to_sign_in(client):
    answer = client.get("/inspector", headers=JSON)
    assert (answer.status_code, answer.get_json()["code"]) == (401, "sign_in_first")


@pytest.mark.parametrize("role", ROLES)
def test_no_form_is_taken_without_its_token(app, signed_in, role, database):
    visitor = signed_in(role)
    app.config["WTF_CSRF_ENABLED"] = True
    with database.reading() as session:
        before = session.scalar(select(func.count()).select_from(AuditEntry))
    for method, address, _ in walk(app):
        if method == "POST" and not address.startswith(TOKENS):
            assert visitor.post(address, data={"csrf_token": "forged"}).status_code == 400, address
            assert visitor.post(address, json={}, headers={"Origin": "https://evil.example"}).status_code == 400, address
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(AuditEntry)) == before


@pytest.mark.parametrize("role", ROLES)
def test_a_session_opens_nothing_of_the_json_interface(app, signed_in, role):
    visitor = signed_in(role)
    for method, address, _ in walk(app):
        if address.startswith("/api/") and getattr(app.view_functions[app.url_map.bind("localhost").match(
                address, method=method)[0]], "guard_scope", None):
            assert visitor.open(address, method=method).status_code == 401, address


def test_a_form_with_its_token_is_taken(app, client):
    app.config["WTF_CSRF_ENABLED"] = True
    page = client.get("/login").text
    token = page.split('name="csrf_token" value="')[1].split('"')[0]
    assert client.post("/login", data={"login": "x", "password": "y", "csrf_token": token}).status_code == 401


@pytest.mark.parametrize("role", ROLES)
def test_everybody_lands_on_a_page_of_their_own(signed_in, role):
    client = signed_in(role)
    home = client.get("/login")
    assert home.status_code == 303
    assert client.get(home.location).status_code in (200, 303)
