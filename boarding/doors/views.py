"""The driver's pages: my trips, the scanner and its answers, boarding by name, the list; and the office's roster."""

from datetime import date
from typing import Any, cast
from uuid import UUID, uuid4

from flask import Blueprint, current_app, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user

from boarding.doors import manifest, service
from boarding.doors.manifest import DoorTrip
from boarding.doors.policy import REFUSAL_REASONS
from boarding.doors.schemas import AnswerOut, DocumentIn, NameForm, RosterForm, ScanIn
from boarding.doors.service import Answer, Presentation
from boarding.passes.service import Issuer
from kernel import filters
from kernel.clock import LEGAL_ZONE, local_date, parse_day
from kernel.errors import DomainError
from kernel.web import actor, form_page, guard, now, public, read, reading, transaction, vault
from ticketing.sales.documents import KINDS

blueprint = Blueprint("drivers", __name__, url_prefix="/driver")
office = Blueprint("rosters", __name__, url_prefix="/office")

WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"
SCAN_IN, DOCUMENT_IN, ANSWER_OUT = ScanIn(), DocumentIn(), AnswerOut()
TRIP = "/trips/<int(max=2147483647):trip_id>"


@blueprint.get("/trips")
@guard("board")
def trips() -> ResponseReturnValue:
    with reading() as session:
        cards = manifest.driver_cards(session, staff_id=current_user.staff_id, now=now())
    return render_template("driver/trips.html", cards=cards, now=now())


@blueprint.get(TRIP + "/scan")
@guard("board")
def scan(trip_id: int) -> ResponseReturnValue:
    with reading() as session:
        trip = manifest.driver_trip(session, trip_id, staff_id=current_user.staff_id)
        here = trip.stop_at(now())
        aboard = manifest.aboard(session, trip_id, here)
    return render_template(
        "driver/scan.html", trips_url=url_for(".trips"), manifest_url=url_for(".passenger_list", trip_id=trip_id),
        board_by_name_url=url_for(".passengers", trip_id=trip_id), count={"aboard": aboard, "capacity": trip.capacity},
        trip={"id": trip.id, "line_code": trip.line_code, "line_name": trip.line_name, "current_stop": here,
              "departure": filters.hour(trip.origin.departs_at, trip.origin.zone),
              "stop_options": _stops(trip)})


@blueprint.post(TRIP + "/scans")
@guard("board")
def scans(trip_id: int) -> ResponseReturnValue:
    told = read(SCAN_IN, request.get_json())
    return _json(_record(trip_id, Presentation(**{**told, "id": str(told["id"])})))


@blueprint.post(TRIP + "/scans/<uuid:scan_id>/answer")
@guard("board")
def documents(trip_id: int, scan_id: UUID) -> ResponseReturnValue:
    return _json(_answer(trip_id, scan_id, read(DOCUMENT_IN, request.get_json())))


@blueprint.get("/scanner/worker.js")
@public
def worker() -> ResponseReturnValue:
    # the one script that may compile WebAssembly; the page that starts it never may
    script = current_app.send_static_file("driver/worker.js")
    script.headers["Content-Security-Policy"] = WORKER_POLICY
    return script


@blueprint.get(TRIP + "/passengers")
@guard("board")
def passengers(trip_id: int) -> ResponseReturnValue:
    return _by_name(trip_id, "", request.args.get("stop", ""))


@blueprint.post(TRIP + "/passengers/search")
@guard("board")
def found(trip_id: int) -> ResponseReturnValue:
    # posted, so that no address and no browser's history holds a name
    return _by_name(trip_id, request.form.get("q", "")[:80], request.form.get("stop", ""))


def _by_name(trip_id: int, search: str, stop: str) -> ResponseReturnValue:
    with transaction() as session:
        trip = manifest.driver_trip(session, trip_id, staff_id=current_user.staff_id)
        here = _stop(trip, stop)
        rows = manifest.passengers(session, trip, vault=vault(), search=search, now=now(), actor=actor())
        aboard = manifest.aboard(session, trip_id, here)
    return render_template("driver/board_by_name.html", trip=trip, rows=rows, here=here, search=search, aboard=aboard,
                           new_id=uuid4, stops=_stops(trip), kinds=KINDS)


@blueprint.post(TRIP + "/passengers")
@guard("board")
def board_by_name(trip_id: int) -> ResponseReturnValue:
    form = read(NameForm(), request.form)
    answer = _record(trip_id, Presentation(str(form["id"]), "name", form["code"], form["stop_seq"], now()))
    return redirect(url_for(".answer", trip_id=trip_id, scan_id=answer.id), 303)


@blueprint.get(TRIP + "/passengers/<uuid:scan_id>")
@guard("board")
def answer(trip_id: int, scan_id: UUID) -> ResponseReturnValue:
    with reading() as session:
        trip = manifest.driver_trip(session, trip_id, staff_id=current_user.staff_id)
        told = service.answer_of(session, trip_id, str(scan_id), vault=vault(),
                                 staff_id=current_user.staff_id, actor=actor())
    return render_template("driver/verdict.html", trip=trip, answer=told, reasons=REFUSAL_REASONS)


@blueprint.post(TRIP + "/passengers/<uuid:scan_id>")
@guard("board")
def document(trip_id: int, scan_id: UUID) -> ResponseReturnValue:
    given = {name: value for name, value in request.form.items() if name in ("outcome", "reason") and value}
    _answer(trip_id, scan_id, read(DOCUMENT_IN, given))
    return redirect(url_for(".answer", trip_id=trip_id, scan_id=scan_id), 303)


@blueprint.get(TRIP + "/manifest")
@guard("board")
def passenger_list(trip_id: int) -> ResponseReturnValue:
    with transaction() as session:
        trip = manifest.driver_trip(session, trip_id, staff_id=current_user.staff_id)
        here = _stop(trip, request.args.get("stop", ""))
        rows = manifest.passengers(session, trip, vault=vault(), now=now(), actor=actor())
        aboard = manifest.aboard(session, trip_id, here)
    return render_template("driver/manifest.html", trip=trip, rows=rows, here=here, aboard=aboard, printed_at=now())


@office.get("/rosters")
@guard("run_trips")
def rosters() -> ResponseReturnValue:
    return form_page("office/rosters.html", **_roster(_day()))


@office.post("/rosters")
@guard("run_trips")
def change_roster() -> ResponseReturnValue:
    day = _day()
    try:
        form = read(RosterForm(), request.form)
        change = manifest.take_off_roster if form["act"] == "take_off" else manifest.put_on_roster
        with transaction() as session:
            change(session, form["trip_id"], form["staff_id"], now=now(), actor=actor())
    except DomainError as error:
        return form_page("office/rosters.html", error, **_roster(day))
    return redirect(url_for(".rosters", day=day.isoformat()) + f"#trip-{form['trip_id']}", 303)


def _roster(day: date) -> dict[str, Any]:
    with reading() as session:
        return {"day": day, "rows": manifest.roster(session, day), "drivers": manifest.drivers(session)}


def _day() -> date:
    return parse_day(request.args.get("day", "")) or local_date(now(), LEGAL_ZONE)


def _stop(trip: DoorTrip, chosen: str) -> int:
    """The stop chosen on the page, or where the bus should be by the hour."""
    known = {str(call.seq): call.seq for call in trip.calls[:-1]}
    return known.get(chosen, trip.stop_at(now()))


def _stops(trip: DoorTrip) -> list[tuple[int, str]]:
    return [(call.seq, call.place) for call in trip.calls[:-1]]


def _record(trip_id: int, shown: Presentation) -> Answer:
    issuer = _issuer()
    with transaction() as session:
        return service.record_scan(session, trip_id, shown, keys=issuer.keys.public_keys, vault=issuer.vault,
                                   staff_id=current_user.staff_id, now=now(), actor=actor())


def _answer(trip_id: int, scan_id: UUID, told: dict[str, Any]) -> Answer:
    with transaction() as session:
        return service.answer_document(session, trip_id, str(scan_id), told["outcome"], told["reason"],
                                       staff_id=current_user.staff_id, now=now(), actor=actor())


def _json(answer: Answer) -> ResponseReturnValue:
    return jsonify(ANSWER_OUT.dump(answer))


def _issuer() -> Issuer:
    return cast(Issuer, current_app.extensions["pass_issuer"])
