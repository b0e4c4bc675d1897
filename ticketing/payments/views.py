"""The till: opening a shift with its float, and the blind count that closes it; a PIX confirmed by hand; the office's
lists of shifts and of money that is to go back."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, current_app, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user

from kernel.clock import zone_name
from kernel.errors import Conflict, DomainError, InvalidInput
from kernel.filters import local
from kernel.money import Money, parse_money
from kernel.spreadsheets import CONTENT_TYPE, Cell, table
from kernel.web import actor, form_page, guard, now, reading, transaction, whole
from ticketing.network import service as network
from ticketing.network.models import Stop
from ticketing.payments import payouts as returns
from ticketing.payments import service
from ticketing.payments.desk import Desk
from ticketing.payments.port import read_typed_e2e

blueprint = Blueprint("tills", __name__)
SHIFT_HEAD = ("Caixa", "Agente", "Terminal", "Aberto", "Fechado", "Horário de", "Troco inicial", "Vendas", "Dinheiro",
              "Cartão", "Gaveta", "Contado", "Diferença")
CONFIRMED = {  # what the agent is told about each outcome
    "settled": ("PIX confirmado: as passagens estão prontas.", "ok"),
    "known": ("Este PIX já estava confirmado nesta compra.", "info"),
    "late": ("PIX registrado, mas as poltronas já foram vendidas: o valor vai ser devolvido.", "attention"),
    "short": ("PIX registrado, mas o valor é menor que o da compra: vai ser devolvido.", "attention"),
    "repeated": ("PIX registrado, mas a compra já estava paga: o valor vai ser devolvido.", "attention"),
}


@blueprint.get("/counter/shift")
@guard("keep_till")
def shift() -> ResponseReturnValue:
    return _page()


@blueprint.post("/counter/shift/open")
@guard("keep_till")
def open_shift() -> ResponseReturnValue:
    try:
        opening = _amount("opening_float")
        with transaction() as session:
            stop = network.stop(session, whole(request.form.get("stop_id", "")) or 0)
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


@blueprint.get("/counter/pix")
@guard("sell")
def pix() -> ResponseReturnValue:
    return _pix_page()


@blueprint.post("/counter/pix")
@guard("sell")
def confirm_pix() -> ResponseReturnValue:
    try:
        desk = _desk()
        if desk is None:
            raise Conflict("no_pix", "Aqui não se vende com PIX.")
        outcome = desk.confirm_by_hand(*_read_pix(), now=now(), actor=actor())
    except DomainError as error:
        return _pix_page(error)
    flash(*CONFIRMED[outcome])
    return redirect(url_for(".pix"), 303)


@blueprint.get("/office/payouts")
@guard("review_tills")
def payouts() -> ResponseReturnValue:
    return _payouts_page()


@blueprint.post("/office/payouts/<int(max=2147483647):payout_id>/bank")
@guard("review_tills")
def send_payout(payout_id: int) -> ResponseReturnValue:
    return _decide(payout_id, lambda session: returns.send_back(session, payout_id, now=now(), actor=actor()),
                   "O banco vai devolver.")


@blueprint.post("/office/payouts/<int(max=2147483647):payout_id>/paid")
@guard("review_tills")
def pay_payout(payout_id: int) -> ResponseReturnValue:
    reference = request.form.get("reference", "")
    return _decide(payout_id, lambda session: returns.pay_by_hand(session, payout_id, reference, now=now(),
                                                                  actor=actor()), "Registrado: devolvido por fora.")


@blueprint.post("/office/payouts/<int(max=2147483647):payout_id>/kept")
@guard("review_tills")
def keep_payout(payout_id: int) -> ResponseReturnValue:
    return _decide(payout_id, lambda session: returns.keep(session, payout_id, now=now(), actor=actor()),
                   "Registrado: o valor é da empresa.")


def _read_pix() -> tuple[str, str, Money]:
    """Code, end-to-end id and amount as typed. Raises InvalidInput with a sentence for each that is missing or none."""
    typed = {field: request.form.get(field, "").strip() for field in ("code", "e2e_id", "amount")}
    wrong = {} if typed["code"] else {"code": "Digite o código da compra."}
    for field, parse, sentence in (
            ("e2e_id", read_typed_e2e, "O identificador começa com E e tem 32 letras e números. Copie do extrato."),
            ("amount", parse_money, "Digite um valor como 150,00.")):
        try:
            parse(typed[field])
        except ValueError:
            wrong[field] = sentence
    if wrong:
        raise InvalidInput("invalid_input", "Confira os campos marcados.", fields=wrong)
    return typed["code"], typed["e2e_id"], parse_money(typed["amount"])


def _decide(payout_id: int, decision: Callable[[Any], None], done: str) -> ResponseReturnValue:
    try:
        with transaction() as session:
            decision(session)
    except DomainError as error:
        return _payouts_page(error, payout_id)
    flash(done, "ok")
    return redirect(url_for(".payouts"), 303)


def _payouts_page(problem: DomainError | None = None, opened: int | None = None) -> ResponseReturnValue:
    desk = _desk()
    with reading() as session:
        return form_page(
            "office/payouts.html", problem, opened=opened, listens=desk is not None and desk.bank.listens,
            payouts=[(row, returns.waits_for_person(row)) for row in returns.open_payouts(session)])


def _pix_page(problem: DomainError | None = None) -> ResponseReturnValue:
    return form_page("counter/pix.html", problem, by_hand=current_app.config["PIX_BY_HAND"])


def _desk() -> Desk | None:
    desk: Desk | None = current_app.extensions["pix_desk"]
    return desk


def _page(problem: DomainError | None = None) -> ResponseReturnValue:
    with reading() as session:
        current = service.current_shift(session, actor())
        options = [(stop.id, f"{stop.place.name}: {stop.name}") for stop in network.stops_served(session)]
        return form_page(
            "counter/shift.html", problem, shift=current, options=options, own_stop=current_user.stop_id,
            stop=network.stop(session, current.stop_id) if current else None)


def _amount(field: str) -> Money:
    try:
        return parse_money(request.form.get(field, ""))
    except ValueError as error:
        sentence = "Digite um valor como 150,00."
        raise InvalidInput("bad_amount", sentence, fields={field: sentence}) from error
