"""The inspector's look-up: by day and line, and by document. A document is posted, so that no address holds it."""

from datetime import date
from typing import Any

from flask import Blueprint, current_app, make_response, render_template, request
from flask.typing import ResponseReturnValue

from kernel.clock import local_date
from kernel.errors import DomainError
from kernel.web import actor, guard, now, reading, status_of, transaction
from oversight.inspection import service
from ticketing.network import policy as network
from ticketing.sales.documents import KINDS

blueprint = Blueprint("inspections", __name__, url_prefix="/inspector")
OFFICIAL_ZONE = "America/Sao_Paulo"  # which day is "today" before a trip is chosen


@blueprint.get("")
@guard("inspect")
def home() -> ResponseReturnValue:
    return _home(None)


@blueprint.get("/trips/<int(max=2147483647):trip_id>")
@guard("inspect")
def trip(trip_id: int) -> ResponseReturnValue:
    with transaction() as session:
        sheet = service.look_at_trip(session, trip_id, vault=_vault(), now=now(), actor=actor())
        return render_template("inspector/trip.html", sheet=sheet, titles=network.KINDS)


@blueprint.post("/documents")
@guard("inspect")
def documents() -> ResponseReturnValue:
    kind, number, issuer = (request.form.get(f"document_{part}", "") for part in ("kind", "number", "issuer"))
    try:
        with transaction() as session:
            found = service.look_for_document(session, kind, number, issuer, vault=_vault(), now=now(),
                                              actor=actor())
            return render_template("inspector/document.html", found=found, kinds=KINDS, problem=None,
                                   typed=request.form)
    except DomainError as error:
        return _home(error)


def _home(problem: DomainError | None) -> ResponseReturnValue:
    day, line = _day(request.args.get("day", "")), request.args.get("line", "")[:80]
    with reading() as session:
        page = render_template(
            "inspector/home.html", day=day, line=line, lines=service.lines(session), kinds=KINDS, typed=request.form,
            trips=service.trips_on(session, day, line), problem=problem)
    return make_response(page, status_of(problem) if problem else 200)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return local_date(now(), OFFICIAL_ZONE)


def _vault() -> Any:
    return current_app.extensions["vault"]
