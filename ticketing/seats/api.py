"""Searching for partners: towns, departures with price parts and free seats, a trip's free seats."""

from datetime import timedelta
from typing import Any

from kernel.api import api_blueprint, operation
from kernel.clock import local_date
from kernel.errors import NotFound, RuleViolation
from kernel.web import now, reading
from ticketing.network.service import courses, load_journey, places_served
from ticketing.seats import service
from ticketing.seats.schemas import DeparturesOut, PlacesOut, SearchQuery, SeatsOut, StretchQuery, call_row
from ticketing.seats.service import Departure
from ticketing.tariffs.service import Price, Stretch, prices

blueprint = api_blueprint("search_api")


@blueprint.get("/places")
@operation("Cidades atendidas", scope="search", gives=PlacesOut())
def places() -> dict[str, Any]:
    with reading() as session:
        return {"places": places_served(session)}


@blueprint.get("/departures")
@operation("Partidas do dia entre duas cidades", scope="search", query=SearchQuery(), gives=DeparturesOut(),
           problems=(404,))
def departures(query: dict[str, Any]) -> dict[str, Any]:
    with reading() as session:
        origin = next((town for town in places_served(session) if town.id == query["from_"]), None)
        if origin is None:
            raise NotFound("no_such_place", "Nenhuma linha passa por essa cidade.")
        rows = service.departures_between(session, from_place_id=origin.id, to_place_id=query["to"], day=query["day"],
                                          zones=origin.zones, now=now())
        calls = courses(session, [row.trip.id for row in rows])
        stretches = [Stretch(row.line, calls[row.trip.id], row.board.seq, row.alight.seq,
                             local_date(now(), row.board.stop.zone)) for row in rows]
        priced = prices(session, stretches) if rows else []
        return {"departures": [_told(row, price) for row, price in zip(rows, priced, strict=True)]}


@blueprint.get("/trips/<int(max=2147483647):trip_id>/seats")
@operation("Poltronas livres em um trecho", scope="search", query=StretchQuery(), gives=SeatsOut(), problems=(404,))
def seats(trip_id: int, query: dict[str, Any]) -> dict[str, Any]:
    with reading() as session:
        journey = load_journey(session, trip_id, query["board_seq"], query["alight_seq"])
        return {"free": service.free_numbers(session, journey, now=now()), "layout": journey.vehicle.layout}


def _told(row: Departure, price: Price | RuleViolation) -> dict[str, Any]:
    sold = isinstance(price, Price)
    left = now() > row.board.departs_at + timedelta(minutes=row.trip.delay_minutes)
    return {
        "trip_id": row.trip.id, "line": row.line.code, "line_name": row.line.name,
        "service_class": row.line.service_class, "rehearsal": row.line.rehearsal, "status": row.trip.status,
        "delay_minutes": row.trip.delay_minutes, "board": call_row(row.board, row.board.departs_at),
        "alight": call_row(row.alight, row.alight.arrives_at), "seats": row.seats, "free": row.free,
        "fare": {"total": price.fare.total, "act": price.act, "items": price.fare.items} if isinstance(price, Price)
        else None, "for_sale": sold and not left and row.free > 0 and row.trip.status == "open"}
