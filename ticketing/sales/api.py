"""Partners hold seats, sell on their account and look at their own tickets."""

from typing import Any, cast

from flask import current_app

from kernel.api import actor, api_blueprint, operation
from kernel.errors import Conflict
from kernel.repeats import body_hash, claim
from kernel.vault import Vault
from kernel.web import now, reading, transaction
from ticketing.payments.service import Means
from ticketing.sales import service
from ticketing.sales.identities import FIELDS
from ticketing.sales.schemas import HoldIn, HoldOut, ReleasedOut, SaleIn, SaleOut, TicketOut
from ticketing.seats import service as seats

blueprint = api_blueprint("sales_api")


@blueprint.post("/holds")
@operation("Reservar uma poltrona", scope="hold", takes=HoldIn(), gives=HoldOut(), status=201, problems=(404, 409))
def holds(body: dict[str, Any]) -> dict[str, Any]:
    with transaction() as session:
        hold = service.hold_seat(session, **body, now=now(), actor=actor())
        return {"hold": hold.code, "seat": hold.seat, "expires_at": hold.expires_at}


@blueprint.delete("/holds/<code>")
@operation("Soltar uma reserva própria", scope="hold", gives=ReleasedOut())
def released(code: str) -> dict[str, Any]:
    with transaction() as session:
        return {"released": seats.release_hold(session, code[:32], actor=actor())}


@blueprint.post("/sales")
@operation("Vender na conta do parceiro", scope="sell", takes=SaleIn(), gives=SaleOut(), status=201, keyed=True,
           problems=(404, 409))
def sales(body: dict[str, Any], key: str) -> service.Sold:
    with transaction() as session:
        fresh = service.new_code()
        booking = claim(session, route="api.sales", key=key, subject=fresh,
                        body=body_hash(body, current_app.config["SECRET_KEY"]), now=now(), actor=actor())
        if booking != fresh:
            return service.sold_before(session, booking)
        places = [service.Place(person["seat"], person["hold"], {field: person[field] for field in FIELDS})
                  for person in body["passengers"]]
        order = service.Order(booking, "partner", body["trip_id"], body["board_seq"], body["alight_seq"], places,
                              Means("account"))
        sold = service.sell(session, order, vault=cast(Vault, current_app.extensions["vault"]), now=now(),
                            actor=actor())
        if body["total"] not in (None, sold.total):
            raise Conflict("price_changed", f"O total desta venda é {sold.total}. Mostre o valor e venda de novo.",
                           fields={"total": f"Agora: {sold.total}."})
        return sold


@blueprint.get("/tickets/<code>")
@operation("Uma passagem que o parceiro vendeu", scope="sell", gives=TicketOut(), problems=(404,))
def ticket(code: str) -> dict[str, Any]:
    with reading() as session:
        found = service.find_sold_by(session, code, actor())
        row, board = found.ticket, found.journey.board
        return {"code": row.code, "booking": found.booking.code, "status": row.status, "trip_id": row.trip_id,
                "board_seq": row.board_seq, "alight_seq": row.alight_seq, "seat": row.seat,
                "departs_at": board.departs_at, "zone": board.stop.zone, "fare": row.fare, "sold_at": row.sold_at,
                "refund_until": row.refund_until}
