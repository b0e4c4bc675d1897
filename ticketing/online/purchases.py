"""A purchase at its own address: passengers, hold, payment. The address is the only key; no cookie holds anything."""

from datetime import timedelta
from typing import Any

import qrcode
from flask import Blueprint, current_app, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from qrcode.image.svg import SvgPathImage

from kernel.errors import Conflict, DomainError, NotFound
from kernel.login import limiter
from kernel.web import form_page, now, public, reading, transaction
from ticketing.online import policy, service
from ticketing.online.service import Purchase
from ticketing.payments.desk import Desk
from ticketing.payments.providers import DemoBank
from ticketing.sales.documents import KINDS

blueprint = Blueprint("purchases", __name__, url_prefix="/bookings/<code>/<link>")
PAGES = {"passengers": "passenger/passengers.html", "payment": "passenger/payment.html", "over": "passenger/over.html"}
AGAIN_SECONDS = 15  # how often a page without JavaScript asks anew


@blueprint.get("")
@public
def page(code: str, link: str) -> ResponseReturnValue:
    return _page(code, link, None)


@blueprint.get("/state")
@public
def state(code: str, link: str) -> ResponseReturnValue:
    with reading() as session:
        row = service.find_purchase(session, code, link, _secret())
        return {"state": policy.purchase_state(row.status, row.expires_at, now()),
                "until": row.expires_at.isoformat()}


@blueprint.get("/passengers")
@public
def passengers(code: str, link: str) -> ResponseReturnValue:
    return _page(code, link, None, step="passengers")


@blueprint.post("/passengers")
@public
def name(code: str, link: str) -> ResponseReturnValue:
    try:
        with transaction() as session:
            row = service.find_purchase(session, code, link, _secret())
            service.name_passengers(session, row, request.form, vault=current_app.extensions["vault"], now=now())
    except NotFound:
        raise
    except DomainError as error:
        return _page(code, link, error, step="passengers")
    return _pay(code, link)


@blueprint.post("/payment")
@limiter.limit("60/minute")
@public
def pay(code: str, link: str) -> ResponseReturnValue:
    return _pay(code, link)


@blueprint.post("/check")
@limiter.limit("30/minute")
@public
def check(code: str, link: str) -> ResponseReturnValue:
    with reading() as session:
        row = service.find_purchase(session, code, link, _secret())
        txid, before = row.txid, row.status
    counts = _desk().collect([txid], now=now()) if txid else {}
    with reading() as session:
        paid = service.find_purchase(session, code, link, _secret()).status == "paid"
    if not paid and before != "paid":
        flash("O banco não respondeu. Confira de novo em alguns segundos." if counts.get("unanswered") else
              "O pagamento ainda não chegou. Depois de pagar, ele leva alguns segundos.", "info")
    return redirect(url_for(".page", code=code, link=link), 303)


@blueprint.post("/extension")
@public
def extend(code: str, link: str) -> ResponseReturnValue:
    try:
        with transaction() as session:
            service.extend_hold(session, service.find_purchase(session, code, link, _secret()), now=now())
    except Conflict as error:
        flash(error.sentence, "attention")
    else:
        flash("Mais tempo para terminar a compra.", "ok")
    return redirect(url_for(".passengers" if request.form.get("step") == "passengers" else ".page",
                            code=code, link=link), 303)


@blueprint.post("/cancellation")
@public
def give_up(code: str, link: str) -> ResponseReturnValue:
    try:
        with transaction() as session:
            row = service.find_purchase(session, code, link, _secret())
            service.give_up(session, row, now=now())
            seats_page = url_for("shop.choose", trip=row.trip_id, board=row.board_seq, alight=row.alight_seq)
    except Conflict as error:
        flash(error.sentence, "attention")
        return redirect(url_for(".page", code=code, link=link), 303)
    flash("A reserva foi desfeita e nada foi cobrado.", "info")
    return redirect(seats_page, 303)


@blueprint.post("/demonstration")
@public
def pretend(code: str, link: str) -> ResponseReturnValue:
    """The demonstration's bank is told that somebody paid; where there is a real one this page does not exist."""
    bank = _desk().bank
    if not isinstance(bank, DemoBank):
        raise NotFound("no_such_page", "Esta página não existe.")
    with reading() as session:
        row = service.find_purchase(session, code, link, _secret())
        txid, total = row.txid, row.total
    if txid is not None:
        bank.pay(txid, total, now=now())
        _desk().collect([txid], now=now())
    return redirect(url_for(".page", code=code, link=link), 303)


def _pay(code: str, link: str) -> ResponseReturnValue:
    """Ask for the money: the intent is committed first, then the bank is asked, then its code is kept."""
    try:
        with transaction() as session:
            row = service.find_purchase(session, code, link, _secret())
            txid = service.open_charge(session, row, _desk().bank, now=now())
        _desk().activate(txid, now=now())
    except Conflict as error:
        return _page(code, link, error)
    return redirect(url_for(".page", code=code, link=link), 303)


def _page(code: str, link: str, problem: DomainError | None, *, step: str = "") -> ResponseReturnValue:
    """The page of where the purchase stands; a refusal keeps what was typed."""
    with reading() as session:
        purchase = service.look(session, service.find_purchase(session, code, link, _secret()), now=now())
        if purchase.state == "paid":
            return redirect(url_for("my_trips.page", code=purchase.row.code, link=link), 303)
        shown = _step(purchase, step)
        return form_page(
            PAGES[shown], problem, purchase=purchase, journey=purchase.journey, row=purchase.row, link=link,
            summary=_summary(problem, len(purchase.seats)), kinds=list(KINDS.items()), field_of=policy.field_of,
            now=now(),
            calm=policy.CALM_UNTIL // timedelta(seconds=1), **(_payment(purchase) if shown == "payment" else {}))


def _summary(problem: DomainError | None, passengers: int) -> dict[str, str]:
    """What is wrong, field by field; with several passengers each sentence says whose field it is."""
    fields = problem.fields if problem else {}
    if passengers == 1:
        return fields
    return {name: f"Passageiro {name.rpartition('-')[2]}: {told}" for name, told in fields.items()}


def _step(purchase: Purchase, step: str) -> str:
    if purchase.state == "over":
        return "over"
    return "passengers" if (step or not purchase.named) and purchase.row.identity_required else "payment"


def _payment(purchase: Purchase) -> dict[str, Any]:
    br_code = purchase.charge.br_code if purchase.charge else None
    bank = _desk().bank
    return {"br_code": br_code, "qr": _qr(br_code) if br_code else "", "demo": isinstance(bank, DemoBank),
            "listens": bank.listens, "again": AGAIN_SECONDS}


def _qr(text: str) -> str:
    """The code as an inline SVG: no style and no script, so that the security policy lets it through."""
    picture = qrcode.make(text, image_factory=SvgPathImage, error_correction=qrcode.ERROR_CORRECT_M, border=4)
    return str(picture.to_string(encoding="unicode"))


def _desk() -> Desk:
    desk = current_app.extensions["pix_desk"]
    if desk is None:
        raise Conflict("not_sold_online", "A venda pela internet está fechada. Compre no guichê.")
    return desk  # type: ignore[no-any-return]


def _secret() -> str:
    return str(current_app.config["SECRET_KEY"])
