"""The passenger's ticket on the phone, its picture and its print; the counter's print of the same ticket."""

from dataclasses import replace
from typing import cast

from flask import Blueprint, Response, current_app, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from boarding.passes import service
from boarding.passes.drawing import qr_svg, ticket_png
from boarding.passes.paper import ticket_pdf
from boarding.passes.policy import Block, Kind, ticket_layout
from boarding.passes.service import Issuer, Shown
from kernel.errors import NotFound
from kernel.login import limiter
from kernel.web import form_page, guard, now, public, reading, transaction
from ticketing.online.policy import link_matches
from ticketing.online.service import find_purchase
from ticketing.sales.service import read_code

blueprint = Blueprint("passes", __name__, url_prefix="/")
trips = Blueprint("my_trips", __name__, url_prefix="/")
counter = Blueprint("tickets_print", __name__, url_prefix="/counter")
# a picture or a paper takes a hundred times the work of a page: who has one ticket must not stop the counters
drawn = limiter.limit("20/minute", key_func=lambda: read_code((request.view_args or {})["code"]))


@blueprint.get("/passes")
@public
def search() -> ResponseReturnValue:
    return form_page("passenger/open.html")


@blueprint.post("/passes")
@public
def open_by_code() -> ResponseReturnValue:
    code, link = read_code(request.form.get("code", "")), _link_of(request.form.get("link", ""))
    if link_matches(code, link, current_app.config["SECRET_KEY"]):  # a purchase's address, of several tickets
        return redirect(url_for("my_trips.page", code=code, link=link), 303)
    try:
        _show(code, link)
    except NotFound as error:
        return form_page("passenger/open.html", error)
    return redirect(url_for(".page", code=code, link=link), 303)


@trips.get("/trips/<code>/<link>", endpoint="page")
@public
def trip(code: str, link: str) -> ResponseReturnValue:
    """Every ticket of a purchase, once it is paid."""
    issuer = cast(Issuer, current_app.extensions["pass_issuer"])
    with reading() as session:
        row = find_purchase(session, code, link, current_app.config["SECRET_KEY"])
        if row.status != "paid":
            return redirect(url_for("purchases.page", code=row.code, link=link), 303)
        journey, tickets = service.trip_tickets(session, row.code, issuer, now=now())
        return render_template("passenger/trip.html", code=row.code, link=link, journey=journey, tickets=tickets,
                               address=url_for("my_trips.page", code=row.code, link=link, _external=True))


@blueprint.get("/passes/<code>/<link>")
@public
def page(code: str, link: str) -> ResponseReturnValue:
    shown = _show(code, link)
    return render_template("passenger/pass.html", shown=shown, blocks=_blocks(shown),
                           svg=qr_svg(shown.token) if shown.token else "")


@blueprint.get("/passes/<code>/<link>/image.png")
@drawn
@public
def picture(code: str, link: str) -> ResponseReturnValue:
    shown = _show(code, link)
    picture = ticket_png(_blocks(shown), service.travelling_token(shown))
    return Response(picture, content_type="image/png", headers={
        "Content-Disposition": f'inline; filename="bilhete-{shown.code}.png"'})


@blueprint.get("/passes/<code>/<link>/ticket.pdf")
@drawn
@public
def pdf(code: str, link: str) -> ResponseReturnValue:
    return _pdf(_show(code, link))


@blueprint.get("/passes/<code>/<link>/print")
@public
def paper(code: str, link: str) -> ResponseReturnValue:
    shown = _show(code, link)
    return render_template("passenger/print.html", shown=shown, blocks=_blocks(shown),
                           svg=qr_svg(service.travelling_token(shown), "Q"))


@blueprint.get("/passes/sw.js")
@public
def service_worker() -> ResponseReturnValue:
    script = current_app.send_static_file("passenger/sw.js")
    script.headers["Cache-Control"] = "no-cache"
    return script


@counter.get("/tickets/<code>/print")
@guard("sell")
def printed(code: str) -> ResponseReturnValue:
    shown = _show(code, None)
    return render_template("counter/print.html", shown=shown, blocks=_blocks(shown),
                           svg=qr_svg(service.travelling_token(shown), "Q"))


@counter.get("/tickets/<code>/ticket.pdf")
@guard("sell")
def counter_pdf(code: str) -> ResponseReturnValue:
    return _pdf(_show(code, None))


def _pdf(shown: Shown) -> Response:
    """Made here, after the transaction has ended: drawing takes longer than reading."""
    made = ticket_pdf(_blocks(shown), service.travelling_token(shown), code=shown.code, carrier=shown.facts.carrier)
    return Response(made, content_type="application/pdf", headers={
        "Content-Disposition": f'attachment; filename="bilhete-{shown.code}.pdf"'})


def _show(code: str, link: str | None) -> Shown:
    issuer = cast(Issuer, current_app.extensions["pass_issuer"])
    with reading() as session:
        shown = service.show_ticket(session, code, issuer, link=link, make_pass=False, now=now())
    if shown is None:  # shown for the first time: its pass is made now
        with transaction() as session:
            shown = service.show_ticket(session, code, issuer, link=link, make_pass=True, now=now())
    return cast(Shown, shown)


def _blocks(shown: Shown) -> list[Block]:
    address = url_for("passes.page", code=shown.code, link=shown.link, _external=True)
    blocks = ticket_layout(replace(shown.facts, link=address.partition("://")[2]))
    return [block for block in blocks if shown.token or block.kind is not Kind.NOTE]


def _link_of(typed: str) -> str:
    """The last part of a pasted address, or the short link as typed."""
    return "".join(typed.split()).rstrip("/").rpartition("/")[2][:64]
