"""The inspector's look-up by day and line, and by document; a trip taken away as a file; identity over a period.

A document is posted, so that no address holds it.
"""

from datetime import date

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue

from kernel.clock import LEGAL_ZONE, local_date, parse_day
from kernel.errors import DomainError
from kernel.spreadsheets import CONTENT_TYPE
from kernel.web import actor, form_page, guard, now, reading, transaction, vault
from oversight.inspection import service
from oversight.inspection.listings import Listing, listing_csv, listing_pdf, read_listing, records_csv
from oversight.inspection.policy import USUAL_PERIOD
from ticketing.network import policy as network
from ticketing.sales.documents import KINDS

blueprint = Blueprint("inspections", __name__, url_prefix="/inspector")


@blueprint.get("")
@guard("inspect")
def home() -> ResponseReturnValue:
    return _home()


@blueprint.get("/trips/<int(max=2147483647):trip_id>")
@guard("inspect")
def trip(trip_id: int) -> ResponseReturnValue:
    with transaction() as session:
        sheet = service.look_at_trip(session, trip_id, vault=vault(), now=now(), actor=actor())
        return render_template("inspector/trip.html", sheet=sheet, titles=network.KINDS)


@blueprint.get("/trips/<int(max=2147483647):trip_id>/list.csv")
@guard("inspect")
def trip_csv(trip_id: int) -> ResponseReturnValue:
    listing = _taken(trip_id, "csv")
    return _file(listing_csv(listing), CONTENT_TYPE, f"{listing.name}.csv")


@blueprint.get("/trips/<int(max=2147483647):trip_id>/list.pdf")
@guard("inspect")
def trip_pdf(trip_id: int) -> ResponseReturnValue:
    listing = _taken(trip_id, "pdf")
    return _file(listing_pdf(listing), "application/pdf", f"{listing.name}.pdf")


@blueprint.get("/completeness")
@guard("inspect")
def completeness() -> ResponseReturnValue:
    first, last, line = _period()
    found, problem = None, None
    try:
        found = _records(first, last, line, "")
    except DomainError as error:
        problem = error
    with reading() as session:
        return form_page(
            "inspector/completeness.html", problem, first=first, last=last, line=line, lines=service.lines(session),
            found=found or [], by_line=service.by_line(found or []), total=service.total(found or []))


@blueprint.get("/completeness.csv")
@guard("inspect")
def completeness_csv() -> ResponseReturnValue:
    first, last, line = _period()
    return _file(records_csv(_records(first, last, line, "csv")), CONTENT_TYPE,
                 f"identificacao-{first:%Y%m%d}-{last:%Y%m%d}.csv")


@blueprint.post("/documents")
@guard("inspect")
def documents() -> ResponseReturnValue:
    kind, number, issuer = (request.form.get(f"document_{part}", "") for part in ("kind", "number", "issuer"))
    try:
        with transaction() as session:
            found = service.look_for_document(session, kind, number, issuer, vault=vault(), now=now(),
                                              actor=actor())
            return render_template("inspector/document.html", found=found, kinds=KINDS, typed=request.form)
    except DomainError as error:
        return _home(error)


def _home(problem: DomainError | None = None) -> ResponseReturnValue:
    day, line = _day("day") or local_date(now(), LEGAL_ZONE), request.args.get("line", "")[:80]
    with reading() as session:
        return form_page("inspector/home.html", problem, day=day, line=line, lines=service.lines(session), kinds=KINDS,
                         trips=service.trips_on(session, day, line))


def _taken(trip_id: int, form: str) -> Listing:
    with transaction() as session:
        sheet = service.look_at_trip(session, trip_id, vault=vault(), taken_as=form, now=now(), actor=actor())
        return read_listing(sheet, now=now(), actor=actor())


def _records(first: date, last: date, line: str, form: str) -> list[service.TripRecord]:
    with transaction() as session:
        return service.completeness(session, first, last, line, vault=vault(), taken_as=form, now=now(),
                                    actor=actor())


def _period() -> tuple[date, date, str]:
    """What the address asks for; a day that is missing or cannot be read is filled in: the 30 days up to today."""
    last = _day("until") or local_date(now(), LEGAL_ZONE)
    return _day("from") or last - USUAL_PERIOD, last, request.args.get("line", "")[:80]


def _file(content: bytes, content_type: str, name: str) -> Response:
    return Response(content, content_type=content_type, headers={
        "Content-Disposition": f'attachment; filename="{name}"'})


def _day(name: str) -> date | None:
    return parse_day(request.args.get(name, ""))
