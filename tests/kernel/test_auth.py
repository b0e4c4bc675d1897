"""Signing in and staying in: what a copied, planted, old or forged cookie is worth, and what a wrong guess learns."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from kernel import auth
from kernel.auth import HOME_OF_ROLE, ROLE_ACTIONS, ROLES, SESSION_LENGTH, SHORTEST_PASSWORD, SignIn, Staff
from kernel.errors import Conflict, InvalidInput
from kernel.login import limiter
from tests.instants import NOW

PASSWORD = "uma senha comprida"
OTHER = "outra senha comprida"
HASH = auth.hash_password(PASSWORD)


@pytest.fixture
def clerk(app) -> str:
    with app.extensions["database"].transaction() as session:
        auth.add_staff(session, login="fiscal", display_name="Fiscal de teste", role="inspector", password_hash=HASH,
                       stop_id=None, now=NOW, actor="tests")
    return "fiscal"


def enter(client, login="fiscal", password=PASSWORD, **more):
    return client.post("/login", data={"login": login, "password": password, **more})


def inside(client) -> bool:
    answer = client.get("/inspector")
    assert answer.status_code in (200, 303)
    return answer.status_code == 200


def cookie_of(client) -> str:
    return client.get_cookie("session").value


def with_cookie(app, value: str):
    client = app.test_client()
    client.set_cookie("session", value)
    return client


def sessions(app) -> int:
    with app.extensions["database"].reading() as session:
        return session.scalar(select(func.count()).select_from(SignIn))


def test_a_copied_cookie_is_worth_nothing_after_signing_out(app, client, clerk):
    enter(client)
    copied = cookie_of(client)
    assert inside(with_cookie(app, copied))
    client.post("/logout")
    assert not inside(client)
    assert not inside(with_cookie(app, copied))
    assert sessions(app) == 0


def test_a_planted_cookie_gains_nothing_from_the_sign_in(app, client, clerk):
    stranger = app.test_client()
    with stranger.session_transaction() as planted:
        planted.update(last_sale={"booking": "X", "change": None}, _user_id="planted token")
    victim = with_cookie(app, cookie_of(stranger))
    enter(victim)
    assert inside(victim)
    assert not inside(with_cookie(app, cookie_of(stranger)))
    with victim.session_transaction() as kept:
        assert "last_sale" not in kept
        assert kept["_user_id"] != "planted token"


def test_signing_in_again_on_the_same_browser_ends_the_session_before(app, client, clerk):
    enter(client)
    copied = cookie_of(client)
    enter(client)
    assert inside(client)
    assert not inside(with_cookie(app, copied))


def test_a_new_password_ends_every_session_of_that_person(app, client, clerk):
    enter(client)
    elsewhere = app.test_client()
    enter(elsewhere)
    copied = cookie_of(client)
    changed = client.post("/password", data={"current": PASSWORD, "password": OTHER})
    assert (changed.status_code, changed.location) == (303, "/login")
    assert not any(map(inside, (client, elsewhere, with_cookie(app, copied))))
    assert enter(client).status_code == 401
    assert enter(client, password=OTHER).status_code == 303
    assert inside(client)


@pytest.mark.parametrize(("form", "field"), [
    ({"current": "errada", "password": OTHER}, "current"), ({"current": PASSWORD, "password": "x" * (SHORTEST_PASSWORD - 1)}, "password"),
    ({"current": PASSWORD, "password": "x" * 201}, "password"), ({"current": PASSWORD}, "password"), ({}, "current")])
def test_a_password_that_is_not_changed_says_why_and_ends_nothing(client, clerk, form, field):
    enter(client)
    answer = client.post("/password", data=form)
    assert answer.status_code == 422
    assert f'id="f-{field}-error"' in answer.text
    assert PASSWORD not in answer.text
    assert inside(client)


def test_somebody_who_is_disabled_is_out_at_once_and_stays_out(app, client, clerk):
    enter(client)
    copied = cookie_of(client)
    with app.extensions["database"].transaction() as session:
        auth.disable_staff(session, clerk, now=NOW, actor="admin")
    assert not inside(client)
    assert not inside(with_cookie(app, copied))
    assert enter(client).status_code == 401


def test_a_session_left_in_the_table_does_not_serve_the_disabled(app, client, clerk):
    enter(client)
    with app.extensions["database"].transaction() as session:
        session.scalars(select(Staff)).one().disabled_at = NOW
    assert not inside(client)


@pytest.mark.parametrize(("later", "still"), [(SESSION_LENGTH - timedelta(seconds=1), True), (SESSION_LENGTH, False)])
def test_a_session_ends_with_a_long_shift(app, client, clerk, later, still):
    enter(client)
    app.extensions["clock"] = lambda: NOW + later
    assert inside(client) is still


def test_old_sessions_are_cleared_on_the_way(app, client, clerk):
    enter(client)
    app.extensions["clock"] = lambda: NOW + SESSION_LENGTH
    enter(app.test_client())
    assert sessions(app) == 1


def test_a_forged_or_broken_cookie_is_nobody(app, client, clerk):
    enter(client)
    good = cookie_of(client)
    for bad in (good[:-10] + ("A" if good[-10] != "A" else "B") + good[-9:], good[1:], "", "x", "é" * 50, "." * 4000, "eyJfdXNlcl9pZCI6IjEifQ"):
        assert not inside(with_cookie(app, bad))


def test_the_table_holds_no_token_that_a_reader_could_use(app, client, clerk):
    enter(client)
    with client.session_transaction() as cookie:
        token = cookie["_user_id"]
    with app.extensions["database"].reading() as session:
        assert token.encode() not in session.scalars(select(SignIn.token_hash)).one()
    assert len(token) >= 40


@pytest.mark.parametrize("secure", [True, False])
def test_the_cookie_is_kept_from_scripts_and_other_sites(app, client, clerk, secure):
    app.config["SESSION_COOKIE_SECURE"] = secure
    told = enter(client).headers["Set-Cookie"]
    assert "HttpOnly" in told
    assert "SameSite=Lax" in told
    assert ("Secure" in told) is secure


@pytest.mark.parametrize(("login", "password"), [
    ("fiscal", "errada"), ("ninguem", PASSWORD), ("", ""), ("fiscal", ""), ("fiscal'--", PASSWORD), ("f" * 100000, "x"), ("fiscal", "x" * 100000)])
def test_a_wrong_guess_learns_nothing(app, client, clerk, login, password):
    answer = enter(client, login, password)
    assert answer.status_code == 401
    assert "Usuário ou senha não conferem" in answer.text
    assert not inside(client)


def test_an_unknown_login_costs_one_hash_as_a_wrong_password_does(monkeypatch, app, clerk):
    asked = []

    class Counted:
        def verify(self, hashed: str, password: str) -> None:
            asked.append(hashed)
            raise auth.VerificationError

    monkeypatch.setattr(auth, "_hasher", Counted())
    for login in ("fiscal", "ninguem"):
        enter(app.test_client(), login, "errada")
    assert asked == [HASH, auth._NOBODY]


@pytest.mark.parametrize("typed", ["FISCAL", "  fiscal  ", "Fiscal"])
def test_a_login_is_read_without_case_or_blanks(client, clerk, typed):
    assert enter(client, typed).status_code == 303


@pytest.mark.parametrize("target", [
    "//evil.example", "/\\evil.example", "https://evil.example/", "\\\\evil.example", "javascript:alert(1)", "/\t/evil.example",
    "/\n/evil.example", "evil.example", " //evil.example", "http:evil.example", "//[evil", "http://["])
def test_the_way_on_never_leads_to_another_site(client, clerk, target):
    assert enter(client, next=target).location == "/inspector"


def test_the_way_on_leads_back_to_the_page_that_was_asked_for(client, clerk):
    asked = client.get("/inspector?day=2026-03-02")
    assert asked.status_code == 303
    assert asked.location == "/login?next=/inspector?day%3D2026-03-02"
    assert enter(client, next="/inspector?day=2026-03-02").location == "/inspector?day=2026-03-02"


def test_what_was_typed_as_a_login_and_its_address_are_in_no_log_when_guessing_is_stopped(app, monkeypatch, caplog):
    monkeypatch.setattr(limiter, "enabled", True)
    monkeypatch.setattr(auth, "password_matches", lambda staff, password: False)
    limiter.reset()
    with caplog.at_level("INFO"):
        answers = [enter(app.test_client(), "Zzmarcador 000.000.012-44").status_code for _ in range(11)]
    assert answers[-1] == 429
    assert "zzmarcador" not in caplog.text.lower() and "127.0.0.1" not in caplog.text
    limiter.reset()


def test_guessing_is_slowed_down_by_login_and_by_address(app, client, clerk, monkeypatch):
    monkeypatch.setattr(limiter, "enabled", True)
    monkeypatch.setattr(auth, "password_matches", lambda staff, password: False)
    limiter.reset()
    answers = [enter(app.test_client(), password="errada").status_code for _ in range(11)]
    assert answers == [401] * 10 + [429]
    blocked = enter(app.test_client(), password="errada")
    assert blocked.headers["Retry-After"]
    limiter.reset()


@pytest.mark.parametrize(("changes", "kind"), [
    ({"role": "boss"}, InvalidInput), ({"login": "x"}, InvalidInput), ({"login": "josé"}, InvalidInput), ({"login": "a b"}, InvalidInput),
    ({"login": "x" * 41}, InvalidInput), ({"login": "Fiscal "}, Conflict)])
def test_a_bad_or_taken_login_is_refused(app, clerk, changes, kind):
    person = {"login": "novo", "display_name": "Nova pessoa de teste", "role": "agent", "password_hash": HASH, "stop_id": None, **changes}
    with pytest.raises(kind), app.extensions["database"].transaction() as session:
        auth.add_staff(session, **person, now=NOW, actor="tests")


def test_every_role_has_actions_and_a_home():
    assert set(HOME_OF_ROLE) == set(ROLES)
    assert frozenset().union(*ROLE_ACTIONS.values()) == set(ROLES)
