"""The refund pages of counter and passenger: what comes back and by which rule, then the payment."""

import secrets
from typing import Any

from flask import Blueprint, current_app, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue

from kernel import filters
from kernel.errors import DomainError, NotFound
from kernel.login import limiter
from kernel.repeats import body_hash, claim
from kernel.web import actor, form_page, guard, now, public, read, reading, transaction
from refunds.windows import service
from refunds.windows.schemas import RefundForm
from ticketing.online.service import ACTOR, find_purchase
from ticketing.payments.payouts import payouts_of
from ticketing.payments.service import Means, current_shift, read_means

blueprint = Blueprint("refund_windows", __name__, url_prefix="/counter")
passenger = Blueprint("my_refunds", __name__, url_prefix="/trips/<code>/<link>/tickets/<ticket>/refund")


@blueprint.get("/tickets/<code>/refund")
@guard("refund")
def page(code: str) -> ResponseReturnValue:
    return _page(code)


@blueprint.post("/tickets/<code>/refund")
@guard("refund")
def pay(code: str) -> ResponseReturnValue:
    try:
        paid = _pay(code, read(RefundForm(), request.form))
    except DomainError as error:
        return _page(code, error)
    if paid is not None:
        flash(f"Devolvido: {filters.money(paid.refunded)} {service.BACK[paid.method]}.", "ok")
    return redirect(url_for(".page", code=code), 303)


def _pay(code: str, form: dict[str, Any]) -> service.Paid | None:
    """What was paid now; None when this very form was sent before and paid then."""
    means = Means("pix") if form["method"] == "pix" else read_means(form["method"], form["reference"])
    with transaction() as session:
        return _once(session, code, means, form, route="counter.refunds", by=actor())


def _once(session: Any, code: str, means: Means, form: dict[str, Any], *, route: str,
          by: str) -> service.Paid | None:
    asked = {"code": code, "method": means.method, "reference": means.reference, "shown": form["shown"]}
    fresh = secrets.token_hex(8)  # whose payment the key stands for: another sending draws another
    first = claim(session, route=route, key=form["idempotency_key"], subject=fresh,
                  body=body_hash(asked, current_app.config["SECRET_KEY"]), now=now(), actor=by)
    if first != fresh:
        return None
    return service.refund(session, code, means, shown=form["shown"], now=now(), actor=by)


@passenger.get("")
@public
def offered(code: str, link: str, ticket: str) -> ResponseReturnValue:
    return _own_page(code, link, ticket, None)


@passenger.post("")
@limiter.limit("20/minute")
@public
def ask_back(code: str, link: str, ticket: str) -> ResponseReturnValue:
    """The buyer pays back one ticket of the purchase, by the rules of the counter."""
    try:
        form = read(RefundForm(), request.form)
        with transaction() as session:
            _own(session, code, link, ticket)
            _once(session, ticket, Means("pix"), form, route="passenger.refunds", by=ACTOR)
    except NotFound:
        raise
    except DomainError as error:
        return _own_page(code, link, ticket, error)
    return redirect(url_for(".offered", code=code, link=link, ticket=ticket), 303)


def _own(session: Any, code: str, link: str, ticket: str) -> service.Offer:
    """The offer for a ticket of this purchase. Raises NotFound, the same for unknown and for somebody else's."""
    row = find_purchase(session, code, link, current_app.config["SECRET_KEY"])
    offer = service.preview(session, ticket, now=now())
    if offer.found.booking.code != row.code:
        raise NotFound("no_such_purchase", "Não há bilhete neste endereço. Confira o código e o link, letra por letra.")
    return offer


def _own_page(code: str, link: str, ticket: str, problem: DomainError | None) -> ResponseReturnValue:
    with reading() as session:
        offer = _own(session, code, link, ticket)
        return form_page(
            "passenger/refund.html", problem, offer=offer, code=code, link=link,
            payouts=payouts_of(session, offer.found.ticket.code),
            key=request.form.get("idempotency_key") or secrets.token_hex(16))


def _page(code: str, problem: DomainError | None = None) -> ResponseReturnValue:
    with reading() as session:
        offer = service.preview(session, code, now=now())
        return form_page("counter/refund.html", problem, offer=offer, back=service.BACK, legs=offer.legs,
                         shift=current_shift(session, actor()),
                         key=request.form.get("idempotency_key") or secrets.token_hex(16))
