"""The counter: departures, seat map, passenger and payment on one screen; and one ticket's page."""

import secrets
from collections.abc import Mapping
from datetime import date
from typing import Any

from flask import Blueprint, current_app, flash, jsonify, redirect, request, url_for
from flask import session as cookie
from flask.typing import ResponseReturnValue
from flask_login import current_user

from kernel import filters
from kernel.clock import local_date, parse_day
from kernel.errors import DomainError, InvalidInput
from kernel.money import ZERO, Money
from kernel.repeats import body_hash, claim
from kernel.web import actor, form_page, guard, now, read, reading, transaction, vault, whole
from ticketing.network import service as network
from ticketing.network.service import Journey, load_journey
from ticketing.payments.service import Means, current_shift, read_means
from ticketing.sales import corrections, identities, service
from ticketing.sales.documents import KINDS
from ticketing.sales.schemas import HoldForm, SaleForm
from ticketing.seats import service as seats
from ticketing.tariffs.service import price

blueprint = Blueprint("counter", __name__, url_prefix="/counter")
HOLD_FORM, SALE_FORM = HoldForm(), SaleForm()
BOARD_FIELDS = ("origin", "day", "to", "trip", "board", "alight")


@blueprint.get("")
@guard("sell")
def home() -> ResponseReturnValue:
    return _cockpit(request.args)


@blueprint.post("/holds")
@guard("sell")
def holds() -> ResponseReturnValue:
    form = read(HOLD_FORM, request.form)
    with transaction() as session:
        if form["release"]:
            seats.release_hold(session, form["release"], actor=actor())
        hold = service.hold_seat(session, form["trip"], form["board"], form["alight"], form["seat"], now=now(),
                                 actor=actor())
        return jsonify(hold=hold.code, seat=hold.seat, until=hold.expires_at.isoformat() if hold.expires_at else None)


@blueprint.post("/holds/release")
@guard("sell")
def released_holds() -> ResponseReturnValue:
    with transaction() as session:
        released = seats.release_hold(session, request.form.get("release", "")[:32], actor=actor())
    return jsonify(released=released)


@blueprint.post("/sales")
@guard("sell")
def sales() -> ResponseReturnValue:
    try:
        form = read(SALE_FORM, request.form)
        booking, change = _sell(form)
    except DomainError as error:
        return _cockpit(request.form, error)
    cookie["last_sale"] = {"booking": booking, "change": change.cents if change else None}
    return redirect(_board_address(request.form), 303)


@blueprint.get("/tickets")
@guard("sell")
def find() -> ResponseReturnValue:
    code = service.read_code(request.args.get("code", ""))
    if not code:
        return form_page("counter/find.html", code="")
    try:
        with reading() as session:
            found = service.find_ticket(session, code)
            return redirect(url_for(".ticket", code=found.ticket.code), 303)
    except DomainError as error:
        return form_page("counter/find.html", error, code=request.args["code"])


@blueprint.get("/tickets/<code>")
@guard("sell")
def ticket(code: str) -> ResponseReturnValue:
    return _ticket_page(code)


@blueprint.post("/tickets/<code>/void")
@guard("void")
def void(code: str) -> ResponseReturnValue:
    try:
        means = read_means(request.form.get("method", ""), request.form.get("reference", ""))
        with transaction() as session:
            amount = corrections.void_ticket(session, code, means, request.form.get("reason", ""), now=now(),
                                             actor=actor(), supervisor=current_user.role == "supervisor")
    except DomainError as error:
        return _ticket_page(code, error)
    flash(f"Venda cancelada: {filters.money(amount)} de volta ao passageiro.", "ok")
    return redirect(url_for(".ticket", code=code), 303)


@blueprint.post("/tickets/<code>/name")
@guard("correct_name")
def name(code: str) -> ResponseReturnValue:
    try:
        with transaction() as session:
            corrections.correct_name(session, code, request.form.get("name", ""), vault=vault(), now=now(),
                                 actor=actor())
    except DomainError as error:
        return _ticket_page(code, error)
    flash("Nome corrigido. Imprima o bilhete de novo.", "ok")
    return redirect(url_for(".ticket", code=code), 303)


def _sell(form: Mapping[str, Any]) -> tuple[str, Money | None]:
    means = read_means(form["method"], form["reference"])
    place = service.Place(form["seat"], form["hold"], {field: form[field] for field in identities.FIELDS})
    with transaction() as session:
        fresh = service.new_code()
        booking = claim(session, route="counter.sales", key=form["idempotency_key"], subject=fresh,
                        body=body_hash(_asked(form), current_app.config["SECRET_KEY"]), now=now(), actor=actor())
        if booking != fresh:
            return booking, _change(means, form["received"], service.sold_before(session, booking).total)
        order = service.Order(booking, "counter", form["trip"], form["board"], form["alight"], [place], means)
        sold = service.sell(session, order, vault=vault(), now=now(), actor=actor())
        return booking, _change(means, form["received"], sold.total)


def _asked(form: Mapping[str, Any]) -> dict[str, object]:
    # a lost answer may be asked for again after the page has let its hold go: the hold is no part of what was asked
    return {key: value for key, value in form.items() if key not in ("idempotency_key", "hold")}


def _change(means: Means, received: Money | None, total: Money) -> Money | None:
    if means.method != "cash" or received is None:
        return None
    if received < total:
        sentence = "O valor recebido é menor que o total."
        raise InvalidInput("received_short", sentence, fields={"received": sentence})
    return received - total


def _cockpit(wanted: Mapping[str, str], problem: DomainError | None = None) -> ResponseReturnValue:
    with reading() as session:
        shift = current_shift(session, actor())
        if shift is None:
            flash("Abra o caixa para vender.", "attention")
            return redirect(url_for("tills.shift"), 303)
        till = network.stop(session, shift.stop_id)
        stop = _origin(session, wanted) or till
        day = parse_day(wanted.get("day", "")) or local_date(now(), stop.zone)
        to = whole(wanted.get("to", ""))
        rows = seats.departures(session, from_stop_id=stop.id, to_place_id=to, day=day, zone=stop.zone, now=now())
        return form_page(
            "counter/home.html", problem, shift=shift, till=till, stop=stop, day=day, to=to,
            rows=_board(rows, stop.id, day, to, wanted),
            origins=[(each.id, each.name) for each in network.stops_served(session)], kinds=list(KINDS.items()),
            destinations=[(place.id, place.name) for place in network.destinations(session, stop.id)],
            offer=_offer(session, wanted, problem), last_sale=_last_sale(session), zero=ZERO,
            key=request.form.get("idempotency_key") or secrets.token_hex(16))


def _origin(session: Any, wanted: Mapping[str, str]) -> Any:
    chosen = whole(wanted.get("origin", ""))
    try:
        return network.stop(session, chosen) if chosen else None
    except DomainError:
        return None


def _board(rows: list[seats.Departure], origin: int, day: date, to: int | None,
           wanted: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{
        "href": url_for(".home", origin=origin, day=day.isoformat(), to=to, trip=row.trip.id, board=row.board.seq,
                        alight=row.alight.seq),
        "departs_at": row.board.departs_at, "zone": row.board.stop.zone, "destination": row.alight.stop.place.name,
        "line": row.line.code, "platform": row.board.stop.platform, "free": row.free, "state": _state(row),
        "picked": wanted.get("trip") == str(row.trip.id) and wanted.get("board") == str(row.board.seq)} for row in rows]


def _state(row: seats.Departure) -> tuple[str, str] | None:
    if row.trip.status == "cancelled":
        return "stop", "cancelada"
    if row.trip.delay_minutes:
        return "attention", f"atrasada {row.trip.delay_minutes} min"
    return ("info", "já saiu") if row.board.departs_at < now() else None


def _offer(session: Any, wanted: Mapping[str, str], problem: DomainError | None) -> dict[str, Any] | None:
    """What the chosen stretch costs and asks for; a stretch that cannot be sold says why in its place."""
    trip_id = whole(wanted.get("trip", ""))
    if trip_id is None:
        return None
    try:
        journey = load_journey(session, trip_id, whole(wanted.get("board", "")), whole(wanted.get("alight", "")))
    except DomainError as error:
        return {"journey": None, "refusal": error}
    offer: dict[str, Any] = {"journey": journey, "refusal": None, "price": None,
                             "requirement": service.requirement(journey)}
    try:
        network.check_open_for_sale(journey, now())
        offer["price"] = price(session, journey, now=now())
    except DomainError as error:
        offer["refusal"] = error
    chosen = None if problem and "seat" in problem.fields else whole(wanted.get("seat", ""))
    states, standing = _seat_states(session, journey, wanted.get("hold", ""))
    return {**offer, "states": states, "standing": standing, "chosen": chosen,
            "hold": wanted.get("hold", "") if chosen else ""}


def _seat_states(session: Any, journey: Journey, own_hold: str) -> tuple[dict[int, str], tuple[int, ...]]:
    states = seats.seat_states(session, journey, now=now())
    own = seats.held_seat(session, own_hold, actor=actor(), now=now())
    if own is not None:
        states[own] = "mine"
    free = tuple(n for n in seats.numbers_for_sale(journey) if n > 200 and states.get(n, "free") == "free")
    return states, free


def _ticket_page(code: str, problem: DomainError | None = None) -> ResponseReturnValue:
    with reading() as session:
        found = service.find_ticket(session, code)
        passenger = identities.of_ticket(session, found.ticket, vault())
        return form_page("counter/ticket.html", problem, found=found, passenger=passenger, now=now(),
                         void_until=corrections.void_until(found),
                         fare_lines=service.fare_lines(session, found.ticket.id))


def _last_sale(session: Any) -> dict[str, Any] | None:
    last = cookie.get("last_sale")
    if not last:
        return None
    try:
        tickets = service.tickets_of_booking(session, last["booking"])
    except DomainError:
        return None
    return {"tickets": tickets, "change": None if last["change"] is None else Money(last["change"])}


def _board_address(form: Mapping[str, str]) -> str:
    kept: dict[str, Any] = {field: form[field] for field in BOARD_FIELDS if form.get(field)}
    return url_for(".home", **kept)
