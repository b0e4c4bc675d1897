"""The office's legal holds: a trip's identities are kept past their day for as long as an authority asks for them.

The service opens its own transactions here, because the vault's file has to be written between them.
"""

from flask import Blueprint, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue

from kernel.errors import DomainError
from kernel.web import actor, database, form_page, guard, now, read, reading, vault
from oversight.retention import service
from oversight.retention.schemas import HoldForm, ReleaseForm
from ticketing.network.service import load_journey

blueprint = Blueprint("holds", __name__, url_prefix="/office")


@blueprint.get("/holds")
@guard("hold_identities")
def holds() -> ResponseReturnValue:
    return _list()


@blueprint.get("/trips/<int(max=2147483647):trip_id>/hold")
@guard("hold_identities")
def trip(trip_id: int) -> ResponseReturnValue:
    return _form(trip_id)


@blueprint.post("/trips/<int(max=2147483647):trip_id>/hold")
@guard("hold_identities")
def place(trip_id: int) -> ResponseReturnValue:
    try:
        asked = read(HoldForm(), request.form)
        code = service.place_hold(database(), vault(), trip_id, asked["reason"], asked["ends_on"], now=now(),
                                  actor=actor())
    except DomainError as error:
        return _form(trip_id, error)
    flash(f"Guarda legal {code} em vigor até {asked['ends_on']:%d/%m/%Y}.", "ok")
    return redirect(url_for(".holds"), 303)


@blueprint.post("/holds/<code>/release")
@guard("hold_identities")
def release(code: str) -> ResponseReturnValue:
    try:
        read(ReleaseForm(), request.form)
        released = service.release_hold(database(), vault(), code, now=now(), actor=actor())
    except DomainError as error:
        return _list(error, code)
    flash(f"Guarda {code} encerrada. Identidades de volta ao seu prazo: {released.kept}. "
          f"Apagadas: {released.erased}.", "ok")
    return redirect(url_for(".holds"), 303)


def _list(problem: DomainError | None = None, code: str = "") -> ResponseReturnValue:
    with reading() as session:
        return form_page("office/holds.html", problem, held=service.holds(session, in_force=True), refused=code,
                         ended=service.holds(session, in_force=False))


def _form(trip_id: int, problem: DomainError | None = None) -> ResponseReturnValue:
    with reading() as session:
        return form_page("office/hold.html", problem, journey=load_journey(session, trip_id))
