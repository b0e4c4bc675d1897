"""The shape of a ticket's pass as partners are told it."""

from marshmallow import fields

from kernel.api import Strict


class PassOut(Strict):
    """A pass: the text of its QR code (null when nobody boards with it any more) and where its pages are.

    `state` is "valid", "boarded", "refunded", "voided", "cancelled" or "over". Whoever has a link sees the ticket:
    give it to its passenger alone.
    """

    code = fields.String(required=True)
    state = fields.String(required=True)
    token = fields.String(required=True, allow_none=True)
    seat = fields.String(required=True, allow_none=True)
    page = fields.String(required=True)
    image = fields.String(required=True)
    pdf = fields.String(required=True)
