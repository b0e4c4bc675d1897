"""The shape of what a partner searches and is told."""

from typing import Any

from marshmallow import fields

from kernel.api import Amount, Day, QueryWhole, Strict

LARGEST_ID = 2**31 - 1


class PlaceOut(Strict):
    """A town where buses call."""

    id = fields.Integer(required=True)
    name = fields.String(required=True)
    state = fields.String(required=True)


class PlacesOut(Strict):
    """Every town that can be searched for."""

    places = fields.List(fields.Nested(PlaceOut), required=True)


class SearchQuery(Strict):
    """Two towns by id, and the local date of the boarding call."""

    from_ = QueryWhole(1, LARGEST_ID, required=True, data_key="from")
    to = QueryWhole(1, LARGEST_ID, required=True)
    day = Day(required=True)


class StretchQuery(Strict):
    """A stretch of the trip in the address, by its calls."""

    board_seq = QueryWhole(0, 250, required=True)
    alight_seq = QueryWhole(1, 250, required=True)


class CallOut(Strict):
    """A call of the trip: when in UTC, and the zone in which people read it."""

    seq = fields.Integer(required=True)
    stop = fields.String(required=True)
    place = fields.String(required=True)
    at = fields.AwareDateTime(required=True)
    zone = fields.String(required=True)


class FareItemOut(Strict):
    """A part of the price."""

    kind = fields.String(required=True)
    label = fields.String(required=True)
    amount = Amount(required=True)


class FareOut(Strict):
    """The price for one passenger, and the act that it rests on."""

    total = Amount(required=True)
    act = fields.String(required=True)
    items = fields.List(fields.Nested(FareItemOut), required=True)


class DepartureOut(Strict):
    """A departure. `fare` is null where the stretch is not sold; `for_sale` says whether it can be bought now."""

    trip_id = fields.Integer(required=True)
    line = fields.String(required=True)
    line_name = fields.String(required=True)
    service_class = fields.String(required=True)
    rehearsal = fields.Boolean(required=True)
    status = fields.String(required=True)
    delay_minutes = fields.Integer(required=True)
    board = fields.Nested(CallOut, required=True)
    alight = fields.Nested(CallOut, required=True)
    seats = fields.Integer(required=True)
    free = fields.Integer(required=True)
    fare = fields.Nested(FareOut, required=True, allow_none=True)
    for_sale = fields.Boolean(required=True)


class DeparturesOut(Strict):
    """The day's departures by hour."""

    departures = fields.List(fields.Nested(DepartureOut), required=True)


class SeatsOut(Strict):
    """The numbers free on every leg of the stretch (from 201: standing places), and the vehicle's rows."""

    free = fields.List(fields.Integer(), required=True)
    layout = fields.List(fields.List(fields.Raw(metadata={"type": ["integer", "string", "null"]})), required=True)


def call_row(call: Any, at: Any) -> dict[str, Any]:
    """A call as `CallOut` tells it."""
    return {"seq": call.seq, "stop": call.stop.name, "place": call.stop.place.name, "at": at, "zone": call.stop.zone}
