"""The shape of what the passenger's pages send."""

from marshmallow import fields

from ticketing.sales.schemas import StretchForm


class BookingForm(StretchForm):
    """A stretch to buy; the seats are a list of check boxes and are read by `policy.read_seats`."""

    idempotency_key = fields.String(required=True)
