"""The bank's call-back. It is only a hint: what was paid is read back from the bank before anything is believed."""

from flask import Blueprint, current_app, request
from flask.typing import ResponseReturnValue

from kernel.login import limiter
from kernel.web import csrf, now, public
from ticketing.payments.port import notice_txids

blueprint = Blueprint("hooks", __name__, url_prefix="/hooks")
csrf.exempt(blueprint)


@blueprint.post("/pix")
@limiter.limit("300/minute")
@public
def pix() -> ResponseReturnValue:
    """Always 200, so that a bank does not repeat what reconciling finds anyway."""
    desk = current_app.extensions["pix_desk"]
    txids = notice_txids(request.get_json(force=True, silent=True))
    if desk is not None and txids:
        desk.collect(txids, now=now())
    return {"received": True}
