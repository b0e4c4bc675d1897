"""The counter's refund page: what comes back and by which rule, then the payment."""

import secrets
from typing import Any

from flask import Blueprint, current_app, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue

from kernel import filters
from kernel.errors import DomainError
from kernel.repeats import body_hash, claim
from kernel.web import actor, form_page, guard, now, read, reading, transaction
from refunds.windows import service
from refunds.windows.schemas import RefundForm
from ticketing.payments.service import current_shift, read_means

blueprint = Blueprint("refund_windows", __name__, url_prefix="/counter")


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
    means = read_means(form["method"], form["reference"])
    asked = {"code": code, "method": means.method, "reference": means.reference, "shown": form["shown"]}
    fresh = secrets.token_hex(8)  # whose payment the key stands for: another sending draws another
    with transaction() as session:
        first = claim(session, route="counter.refunds", key=form["idempotency_key"], subject=fresh,
                      body=body_hash(asked, current_app.config["SECRET_KEY"]), now=now(), actor=actor())
        if first != fresh:
            return None
        return service.refund(session, code, means, shown=form["shown"], now=now(), actor=actor())


def _page(code: str, problem: DomainError | None = None) -> ResponseReturnValue:
    with reading() as session:
        offer = service.preview(session, code, now=now())
        return form_page("counter/refund.html", problem, offer=offer, legs=offer.legs,
                         shift=current_shift(session, actor()),
                         key=request.form.get("idempotency_key") or secrets.token_hex(16))
