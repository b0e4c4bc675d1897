"""The passenger's way to a purchase: search, departures, seats. What follows it is in purchases.py."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from flask import Blueprint, current_app, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from kernel.clock import LEGAL_ZONE, local_date
from kernel.errors import Conflict, DomainError
from kernel.login import limiter
from kernel.repeats import body_hash, claim
from kernel.web import form_page, now, public, read, reading, transaction
from ticketing.network.service import Journey, ServedPlace
from ticketing.online import policy, search, service
from ticketing.online.schemas import BookingForm
from ticketing.sales.schemas import StretchForm
from ticketing.sales.service import new_code
from ticketing.seats import service as seats

blueprint = Blueprint("shop", __name__, url_prefix="/")


@blueprint.get("/")
@public
def home() -> ResponseReturnValue:
    with reading() as session:
        return _search_page(search.towns(session), None)


@blueprint.get("/departures")
@public
def departures() -> ResponseReturnValue:
    asked = {field: request.args.get(field, "") for field in ("from", "to", "day")}
    with reading() as session:
        towns = search.towns(session)
        try:
            wanted = search.read_search(towns, asked["from"], asked["to"], asked["day"], now=now())
        except DomainError as error:
            return _search_page(towns, error)
        if isinstance(wanted, list):
            return render_template("passenger/which.html", questions=[_question(one, asked) for one in wanted])
        found = search.options(session, wanted, now=now())
        return render_template(
            "passenger/departures.html", wanted=wanted, rows=[_row(one) for one in found], label=policy.label,
            earlier=_on(wanted, -1) if wanted.day > local_date(now(), min(wanted.origin.zones)) else None,
            later=_on(wanted, 1), any_free=any(one.for_sale for one in found))


@blueprint.get("/bookings/new")
@public
def choose() -> ResponseReturnValue:
    return _seat_page(read(StretchForm(), request.args), (), None)


@blueprint.post("/bookings")
@limiter.limit("30/minute")
@public
def start() -> ResponseReturnValue:
    form = read(BookingForm(), request.form)
    typed = request.form.getlist("seat")
    try:
        chosen = policy.read_seats(typed)
        code = _start(form, chosen)
    except DomainError as error:
        return _seat_page(form, _numbers(typed), error)
    return redirect(url_for("purchases.page", code=code, link=policy.booking_link(code, _secret())), 303)


def _start(form: dict[str, Any], chosen: Sequence[int]) -> str:
    if current_app.extensions["pix_desk"] is None:
        raise Conflict("not_sold_online", "A venda pela internet está fechada. Compre no guichê.")
    fresh = new_code()
    asked = {"trip": form["trip"], "board": form["board"], "alight": form["alight"], "seats": list(chosen)}
    with transaction() as session:
        code = claim(session, route="online.bookings", key=form["idempotency_key"], subject=fresh,
                     body=body_hash(asked, _secret()), now=now(), actor=service.ACTOR)
        if code == fresh:
            service.start_booking(session, code, (form["trip"], form["board"], form["alight"]), chosen, now=now())
    return code


def _numbers(typed: Sequence[str]) -> list[int]:
    """What was ticked, to be shown ticked again; a text too long for a seat's number is none."""
    return [int(each) for each in typed if each.isascii() and each.isdigit() and len(each) <= 3]


def _search_page(towns: Sequence[ServedPlace], problem: DomainError | None) -> ResponseReturnValue:
    today = local_date(now(), LEGAL_ZONE)
    return form_page("passenger/search.html", problem, places=[policy.label(one) for one in towns], asked=request.args,
                     today=today, last=today + timedelta(days=policy.FURTHEST_SEARCH_DAYS))


def _question(question: search.Question, asked: dict[str, str]) -> dict[str, Any]:
    """A name that several towns answer to, and where each of them leads."""
    return {"field": question.field, "typed": asked[question.field], "answers": [
        (policy.label(town), _address({**asked, question.field: policy.label(town)}))
        for town in question.places]}


def _on(wanted: search.Wanted, days: int) -> str:
    return _address({"from": policy.label(wanted.origin), "to": policy.label(wanted.destination),
                     "day": (wanted.day + timedelta(days=days)).isoformat()})


def _address(asked: dict[str, Any]) -> str:
    return url_for(".departures", **asked)


def _row(one: search.Option) -> dict[str, Any]:
    """A departure as the board shows it; only what is for sale leads on."""
    row = one.departure
    return {
        "href": url_for(".choose", trip=row.trip.id, board=row.board.seq, alight=row.alight.seq)
        if one.for_sale else None,
        "departs_at": row.board.departs_at, "zone": row.board.stop.zone, "arrives_at": row.alight.arrives_at,
        "arrival_zone": row.alight.stop.zone, "destination": row.alight.stop.place.name, "line": row.line.code,
        "board": row.board.stop.name, "alight": row.alight.stop.name, "service_class": row.line.service_class,
        "duration": policy.duration_words(one.duration), "free": row.free, "rehearsal": row.line.rehearsal,
        "price": one.price.fare.total if one.price else None, "state": _state(one),
        "parts": [(item.label, item.amount) for item in one.price.fare.items] if one.price else []}


def _state(one: search.Option) -> tuple[str, str] | None:
    trip = one.departure.trip
    if trip.status == "cancelled":
        return "stop", "cancelada"
    if one.left:
        return "info", "já saiu"
    if one.price is None:
        return "info", "trecho não vendido"
    return ("attention", f"atrasada {trip.delay_minutes} min") if trip.delay_minutes else None


def _seat_page(form: dict[str, Any], selected: Sequence[int], problem: DomainError | None) -> ResponseReturnValue:
    with reading() as session:
        quoted = service.quote(session, form["trip"], form["board"], form["alight"], now=now())
        states = seats.seat_states(session, quoted.journey, now=now())
        return form_page(
            "passenger/seats.html", problem, quoted=quoted, journey=quoted.journey, states=states,
            selected=[seat for seat in selected if states.get(seat, "free") == "free"], most=policy.MOST_SEATS,
            free=sum(states.get(seat, "free") == "free" for seat in quoted.journey.layout.seats_for_sale),
            key=secrets.token_hex(16), back=_back(quoted.journey))


def _back(journey: Journey) -> str:
    return _address({"from": policy.label(journey.board.stop.place), "to": policy.label(journey.alight.stop.place),
                     "day": journey.day.isoformat()})


def _secret() -> str:
    return str(current_app.config["SECRET_KEY"])
