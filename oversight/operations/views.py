"""The office's pages of the day: what needs a person, the trips, and one trip with its delay and its cancelling."""

from datetime import timedelta

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from kernel.clock import LEGAL_ZONE, local_date, parse_day
from kernel.errors import DomainError
from kernel.web import actor, form_page, guard, now, read, reading, transaction
from oversight.operations import service
from oversight.operations.schemas import CancelForm, DelayForm
from ticketing.network.policy import CANCEL_REASONS
from ticketing.network.service import cancel_trip, report_delay

blueprint = Blueprint("office", __name__, url_prefix="/office")


@blueprint.get("/trips")
@guard("run_trips")
def trips() -> ResponseReturnValue:
    today = local_date(now(), LEGAL_ZONE)
    day, line = parse_day(request.args.get("day", "")) or today, request.args.get("line", "")[:80]
    with reading() as session:
        return render_template(
            "office/trips.html", day=day, today=today, line=line, lines=service.lines(session),
            rows=service.trips_of_day(session, day, line=line or None), needs=service.needs(session, now=now()),
            before=day - timedelta(days=1), after=day + timedelta(days=1))


@blueprint.get("/trips/<int(max=2147483647):trip_id>")
@guard("run_trips")
def trip(trip_id: int) -> ResponseReturnValue:
    return _trip_page(trip_id)


@blueprint.post("/trips/<int(max=2147483647):trip_id>/delay")
@guard("run_trips")
def delay(trip_id: int) -> ResponseReturnValue:
    try:
        minutes = read(DelayForm(), request.form)["minutes"]
        with transaction() as session:
            report_delay(session, trip_id, minutes, now=now(), actor=actor())
    except DomainError as error:
        return _trip_page(trip_id, error)
    flash(f"Atraso de {minutes} min registrado." if minutes else "Viagem de volta ao horário.", "ok")
    return redirect(url_for(".trip", trip_id=trip_id), 303)


@blueprint.post("/trips/<int(max=2147483647):trip_id>/cancel")
@guard("run_trips")
def cancel(trip_id: int) -> ResponseReturnValue:
    try:
        reason = read(CancelForm(), request.form)["reason"]
        with transaction() as session:
            cancel_trip(session, trip_id, reason, now=now(), actor=actor())
    except DomainError as error:
        return _trip_page(trip_id, error)
    flash("Viagem cancelada. O guichê devolve o valor inteiro de cada passagem.", "ok")
    return redirect(url_for(".trip", trip_id=trip_id), 303)


def _trip_page(trip_id: int, problem: DomainError | None = None) -> ResponseReturnValue:
    with reading() as session:
        return form_page("office/trip.html", problem, sheet=service.trip_sheet(session, trip_id),
                         reasons=list(CANCEL_REASONS.items()))
