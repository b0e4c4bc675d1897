"""Partners see what a ticket of theirs gets back, and pay it back on their account."""

import secrets
from typing import Any

from flask import current_app

from kernel.api import actor, api_blueprint, operation
from kernel.repeats import body_hash, claim
from kernel.web import now, reading, transaction
from refunds.windows import service
from refunds.windows.schemas import QuoteOut, RefundIn, RefundOut
from ticketing.payments.service import Means
from ticketing.sales.service import find_sold_by

blueprint = api_blueprint("refunds_api")


@blueprint.get("/tickets/<code>/refund")
@operation("O que a passagem devolve agora", scope="refund", gives=QuoteOut(), problems=(404,))
def offered(code: str) -> dict[str, Any]:
    with reading() as session:
        find_sold_by(session, code, actor())
        offer = service.preview(session, code, now=now())
        decision, refusal = offer.quote.decision, offer.refusal
        return {"code": offer.found.ticket.code, "refund": offer.quote.refund, "kept": offer.quote.kept,
                "outcome": decision.outcome, "rule": decision.citation.rule, "article": decision.citation.article,
                "reasons": decision.reasons, "full_until": offer.full_until,
                "refusal": {"code": refusal.code, "title": refusal.sentence} if refusal else None}


@blueprint.post("/tickets/<code>/refund")
@operation("Devolver a passagem na conta do parceiro", scope="refund", takes=RefundIn(), gives=RefundOut(), status=201,
           keyed=True, problems=(404, 409))
def refunds(code: str, body: dict[str, Any], key: str) -> service.Paid:
    fresh = secrets.token_hex(8)  # whose payment the key stands for: another sending draws another
    with transaction() as session:
        found = find_sold_by(session, code, actor())
        asked = {"code": found.ticket.code, "refund": body["refund"]}
        first = claim(session, route="api.refunds", key=key, subject=fresh,
                      body=body_hash(asked, current_app.config["SECRET_KEY"]), now=now(), actor=actor())
        if first != fresh:
            return service.paid_before(session, found)
        return service.refund(session, code, Means("account"), shown=body["refund"], now=now(), actor=actor())
