"""The sign-in, sign-out and password pages."""

import logging
from urllib.parse import urlsplit

from flask import Blueprint, flash, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_login import current_user, login_user, logout_user
from limits.storage.memory import MemoryStorage

from kernel import auth
from kernel.errors import InvalidInput
from kernel.web import form_page, guard, now, public, reading, transaction

blueprint = Blueprint("login", __name__)


class ProcessCounts(MemoryStorage):
    """Counts of this process. The library's own storage starts a thread at every request, to forget what is over."""

    STORAGE_SCHEME = ["memory"]
    _until_cleared = 1000  # counts

    def _MemoryStorage__schedule_expiry(self) -> None:  # noqa: N802 - the library's private name
        self._until_cleared -= 1
        if self._until_cleared <= 0:
            self._until_cleared = 1000
            self._MemoryStorage__expire_events()  # type: ignore[attr-defined]


limiter = Limiter(get_remote_address, default_limits=["600/minute"])
logging.getLogger("flask-limiter").setLevel(logging.WARNING)  # below it logs addresses, and what was typed as a login


@blueprint.get("/login")
@public
def page() -> ResponseReturnValue:
    if current_user.is_authenticated:
        return redirect(url_for(auth.HOME_OF_ROLE[current_user.role]), 303)
    return render_template("login.html", next=request.args.get("next", ""), error=None, login="")


@blueprint.post("/login")
@limiter.limit("20/minute")
@limiter.limit("10/minute", key_func=lambda: request.form.get("login", "").strip().lower()[:40])
@public
def enter() -> ResponseReturnValue:
    login, password = request.form.get("login", ""), request.form.get("password", "")[:200]
    with reading() as db:
        staff = auth.find_staff(db, login)
    if not auth.password_matches(staff, password) or staff is None:
        return render_template("login.html", next=request.form.get("next", ""), login=login,
                               error="Usuário ou senha não conferem. Confira e tente de novo."), 401
    with transaction() as db:
        if current_user.is_authenticated:
            auth.end_session(db, current_user.token)  # the one before on this browser, so that no copy of it lives on
        current = auth.start_session(db, staff, now=now())
    session.clear()  # nothing from before the sign-in goes on: a planted cookie gains nothing
    login_user(current)
    return redirect(_local(request.form.get("next", "")) or url_for(auth.HOME_OF_ROLE[current.role]), 303)


@blueprint.post("/logout")
@public
def leave() -> ResponseReturnValue:
    if current_user.is_authenticated:
        with transaction() as db:
            auth.end_session(db, current_user.token)
    logout_user()
    session.clear()
    return redirect(url_for("login.page"), 303)


@blueprint.get("/password")
@guard("own_account")
def password() -> ResponseReturnValue:
    return form_page("password.html")


@blueprint.post("/password")
@limiter.limit("10/minute")
@guard("own_account")
def change_password() -> ResponseReturnValue:
    with reading() as db:
        staff = auth.find_staff(db, current_user.login)
    try:
        if not auth.password_matches(staff, request.form.get("current", "")[:200]):
            raise InvalidInput("wrong_password", "A senha atual não confere.",
                               fields={"current": "A senha atual não confere."})
        fresh = auth.hash_password(request.form.get("password", ""))
    except InvalidInput as error:
        return form_page("password.html", error)
    with transaction() as db:
        auth.change_password(db, current_user.staff_id, fresh, now=now(), actor=current_user.login)
    session.clear()
    flash("Senha trocada. Entre com a senha nova.")
    return redirect(url_for("login.page"), 303)


def _local(target: str) -> str | None:
    """The target when it is a path of this site; an address elsewhere is not followed."""
    try:
        parts = urlsplit(target)
    except ValueError:  # an open bracket where a host would stand
        return None
    safe = target.startswith("/") and not target.startswith(("//", "/\\")) and not parts.netloc and not parts.scheme
    return target if safe and "\n" not in target and "\r" not in target else None

