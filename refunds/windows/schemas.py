"""The shape of the refund form, and of what partners send and are told."""

from marshmallow import EXCLUDE, Schema, fields

from kernel.api import Amount, Strict
from ticketing.sales.schemas import MoneyText


class RefundForm(Schema):
    """A refund to pay; `shown` is the amount that the page told. Means and key are checked by their own rules."""

    class Meta:
        unknown = EXCLUDE

    method = fields.String(load_default="")
    reference = fields.String(load_default="")
    shown = MoneyText(load_default=None)
    idempotency_key = fields.String(required=True)


class RefundIn(Strict):
    """The amount that the passenger was told; another one by now is refused."""

    refund = Amount(required=True)


class RefusalOut(Strict):
    """Why nothing can be paid back now."""

    code = fields.String(required=True)
    title = fields.String(required=True)


class QuoteOut(Strict):
    """What comes back and what is kept, by which rule; `refusal` is null where it can be paid now."""

    code = fields.String(required=True)
    refund = Amount(required=True)
    kept = Amount(required=True)
    outcome = fields.String(required=True)
    rule = fields.String(required=True)
    article = fields.String(required=True)
    reasons = fields.List(fields.String(), required=True)
    full_until = fields.AwareDateTime(required=True)
    refusal = fields.Nested(RefusalOut, required=True, allow_none=True)


class RefundOut(Strict):
    """What was paid back."""

    code = fields.String(required=True)
    refunded = Amount(required=True)
    kept = Amount(required=True)
    method = fields.String(required=True)
    at = fields.AwareDateTime(required=True)
