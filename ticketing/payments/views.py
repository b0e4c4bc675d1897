"""The till: opening a shift with its float, and the blind count that closes it; the office's list of shifts."""

from flask import Blueprint, Response, flash, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user

from kernel.clock import zone_name
from kernel.errors import DomainError, InvalidInput
from kernel.filters import local
from kernel.money import Money, parse_money
from kernel.spreadsheets import CONTENT_TYPE, Cell, table
from kernel.web import actor, guard, now, reading, status_of, transaction
from ticketing.network import service as network
from ticketing.network.models import Stop
from ticketing.payments import service

blueprint = Blueprint("tills", __name__)
SHIFT_HEAD = ("Caixa", "Agente", "Terminal", "Aberto", "Fechado", "Horário de", "Troco inicial", "Vendas", "Dinheiro",
              "Cartão", "Gaveta", "Contado", "Diferença")


@blueprint.get("/counter/shift")
@guard("keep_till")
def shift() -> ResponseReturnValue:
    return _page(None)


@blueprint.post("/counter/shift/open")
@guard("keep_till")
def open_shift() -> ResponseReturnValue:
    try:
        opening = _amount("opening_float")
        with transaction() as session:
            stop = network.stop(session, _stop_id(request.form.get("stop_id", "")))
            service.open_shift(session, stop_id=stop.id, opening_float=opening, now=now(), actor=actor())
    except DomainError as error:
        return _page(error)
    flash("Caixa aberto.", "ok")
    return redirect(url_for("counter.home"), 303)


@blueprint.post("/counter/shift/close")
@guard("keep_till")
def close_shift() -> ResponseReturnValue:
    try:
        counted = _amount("counted")
        with transaction() as session:
            report = service.close_shift(session, counted=counted, now=now(), actor=actor())
            stop = network.stop(session, report.shift.stop_id)
            return render_template("counter/shift_closed.html", report=report, stop=stop)
    except DomainError as error:
        return _page(error)


@blueprint.get("/office/shifts")
@guard("review_tills")
def shifts() -> ResponseReturnValue:
    with reading() as session:
        stops = {stop.id: stop for stop in network.stops_served(session)}
        return render_template("office/shifts.html", reports=service.recent_shifts(session), stops=stops)


@blueprint.get("/office/shifts.csv")
@guard("review_tills")
def shifts_csv() -> ResponseReturnValue:
    with reading() as session:
        stops = {stop.id: stop for stop in network.stops_served(session)}
        rows = [_shift_row(report, stops[report.shift.stop_id]) for report in service.recent_shifts(session)]
    return Response(table((SHIFT_HEAD, *rows)), content_type=CONTENT_TYPE, headers={
        "Content-Disposition": 'attachment; filename="caixas.csv"'})


def _shift_row(report: service.ShiftReport, stop: Stop) -> tuple[Cell, ...]:
    turn = report.shift
    closed = local(turn.closed_at, stop.zone) if turn.closed_at else None
    return (turn.code, turn.agent, stop.name, local(turn.opened_at, stop.zone), closed, zone_name(stop.zone),
            turn.opening_float, report.sales, report.cash, report.card, turn.cash, turn.counted, report.difference)


def _page(problem: DomainError | None) -> ResponseReturnValue:
    with reading() as session:
        current = service.current_shift(session, actor())
        options = [(stop.id, f"{stop.place.name}: {stop.name}") for stop in network.stops_served(session)]
        page = render_template(
            "counter/shift.html", shift=current, options=options, own_stop=current_user.stop_id, typed=request.form,
            stop=network.stop(session, current.stop_id) if current else None, problem=problem,
            errors=problem.fields if problem else {})
    return make_response(page, status_of(problem) if problem else 200)


def _stop_id(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0  # what no list offers is no stop


def _amount(field: str) -> Money:
    try:
        return parse_money(request.form.get(field, ""))
    except ValueError as error:
        sentence = "Digite um valor como 150,00."
        raise InvalidInput("bad_amount", sentence, fields={field: sentence}) from error
