"""The office's page of phones: a code for a new one, locking one out, and what their logs leave to be looked at."""

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from boarding.devices import enrolment, service
from boarding.devices.policy import WORDS
from kernel.errors import DomainError
from kernel.web import actor, guard, now, reading, status_of, transaction

blueprint = Blueprint("devices", __name__, url_prefix="/office/devices")


@blueprint.get("")
@guard("run_trips")
def page() -> ResponseReturnValue:
    return _page(None, None)


@blueprint.post("/codes")
@guard("run_trips")
def codes() -> ResponseReturnValue:
    with transaction() as session:
        code = enrolment.make_code(session, now=now(), actor=actor())
    return _page(None, code)  # no redirect: the code is shown this once and stands in no address


@blueprint.post("/revoked")
@guard("run_trips")
def revoked() -> ResponseReturnValue:
    try:
        with transaction() as session:
            enrolment.revoke(session, request.form.get("device", "")[:16], now=now(), actor=actor())
    except DomainError as error:
        return _page(error, None)
    return redirect(url_for(".page"), 303)


def _page(problem: DomainError | None, code: str | None) -> ResponseReturnValue:
    with reading() as session:
        shown = render_template(
            "office/devices.html", problem=problem, code=code, until=now() + enrolment.CODE_LASTS,
            devices=enrolment.devices(session), notes=service.open_notes(session, now=now()), words=WORDS,
            quarantined=service.quarantine(session, now=now()), zone="America/Sao_Paulo")
    return make_response(shown, status_of(problem) if problem else 200)
