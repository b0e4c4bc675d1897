"""The shape of the refund form."""

from marshmallow import EXCLUDE, Schema, fields

from ticketing.sales.schemas import MoneyText


class RefundForm(Schema):
    """A refund to pay; `shown` is the amount that the page told. Means and key are checked by their own rules."""

    class Meta:
        unknown = EXCLUDE

    method = fields.String(load_default="")
    reference = fields.String(load_default="")
    shown = MoneyText(load_default=None)
    idempotency_key = fields.String(required=True)
