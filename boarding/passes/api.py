"""Partners fetch the passes of the tickets that they sold."""

from typing import Any, cast

from flask import current_app, url_for

from boarding.passes.schemas import PassOut
from boarding.passes.service import Issuer, show_ticket
from kernel.api import actor, api_blueprint, operation
from kernel.web import now, transaction
from ticketing.sales.service import find_sold_by

blueprint = api_blueprint("passes_api")


@blueprint.get("/tickets/<code>/pass")
@operation("O bilhete de embarque", scope="passes", gives=PassOut(), problems=(404,))
def shown(code: str) -> dict[str, Any]:
    issuer = cast(Issuer, current_app.extensions["pass_issuer"])
    with transaction() as session:  # writes: a pass is made when it is first shown
        find_sold_by(session, code, actor())
        made = show_ticket(session, code, issuer, link=None, make_pass=True, now=now())
    assert made is not None, "with make_pass there is always a pass"
    links = {name: url_for(f"passes.{view}", code=made.code, link=made.link, _external=True)
             for name, view in (("page", "page"), ("image", "picture"), ("pdf", "pdf"))}
    return {"code": made.code, "state": made.state, "token": made.token, "seat": made.facts.seat, **links}
