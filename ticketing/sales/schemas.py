"""The shape of the counter's forms, and of what partners send and are told."""

from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate

from kernel.api import Amount, Strict, Whole
from kernel.money import Money, parse_money

NOT_A_NUMBER = "Escolha de novo na lista."
LARGEST_ID = 2**31 - 1


class MoneyText(fields.Field[Money | None]):
    """An amount as a person types it; None for an empty field."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Money | None:
        if not str(value).strip():
            return None
        try:
            return parse_money(str(value))
        except ValueError as error:
            raise ValidationError("Digite um valor como 45,50.") from error


class OrBlank(fields.Integer):
    """A whole number, or None for an empty field."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        return None if value == "" else super()._deserialize(value, attr, data, **kwargs)


def number(smallest: int, largest: int) -> fields.Integer:
    """A whole number that a list on the page offers."""
    return fields.Integer(required=True, validate=validate.Range(smallest, largest, error=NOT_A_NUMBER),
                          error_messages={"invalid": NOT_A_NUMBER, "required": NOT_A_NUMBER})


class StretchForm(Schema):
    """A stretch of a trip."""

    class Meta:
        unknown = EXCLUDE

    trip = number(1, 2**31 - 1)
    board = number(0, 250)
    alight = number(1, 250)


class HoldForm(StretchForm):
    """A seat to hold on a stretch; `release` is the code of the hold that it replaces."""

    seat = number(1, 255)
    release = fields.String(load_default="", validate=validate.Length(max=32))


class SaleForm(StretchForm):
    """One passenger's sale at the counter. Identity is checked by its own policy, so any text passes here."""

    seat = OrBlank(load_default=None, allow_none=True, error_messages={"invalid": NOT_A_NUMBER})
    hold = fields.String(load_default="", validate=validate.Length(max=32))
    name = fields.String(load_default="")
    document_kind = fields.String(load_default="")
    document_number = fields.String(load_default="")
    document_issuer = fields.String(load_default="")
    birth_date = fields.String(load_default="")
    method = fields.String(load_default="cash")
    reference = fields.String(load_default="")
    received = MoneyText(load_default=None)
    idempotency_key = fields.String(required=True)


class HoldIn(Strict):
    """A seat to hold on a stretch of a trip."""

    trip_id = Whole(1, LARGEST_ID, required=True)
    board_seq = Whole(0, 250, required=True)
    alight_seq = Whole(1, 250, required=True)
    seat = Whole(1, 255, required=True)


class HoldOut(Strict):
    """A held seat; the code is asked for at the sale."""

    hold = fields.String(required=True)
    seat = fields.Integer(required=True)
    expires_at = fields.AwareDateTime(required=True)


class ReleasedOut(Strict):
    """Whether there was a hold to give back."""

    released = fields.Boolean(required=True)


class PassengerIn(Strict):
    """A passenger: a seat (null for any), a live hold's code, and identity, which its own policy reads (T5, T6)."""

    seat = Whole(1, 255, load_default=None, allow_none=True)
    hold = fields.String(load_default="", validate=validate.Length(max=32))
    name = fields.String(load_default="", validate=validate.Length(max=200))
    document_kind = fields.String(load_default="", validate=validate.Length(max=20))
    document_number = fields.String(load_default="", validate=validate.Length(max=60))
    document_issuer = fields.String(load_default="", validate=validate.Length(max=60))
    birth_date = fields.String(load_default="", validate=validate.Length(max=20))


class SaleIn(Strict):
    """A sale to one or more passengers on one stretch; `total`, where it is sent, must be what the sale comes to."""

    trip_id = Whole(1, LARGEST_ID, required=True)
    board_seq = Whole(0, 250, required=True)
    alight_seq = Whole(1, 250, required=True)
    method = fields.String(required=True, validate=validate.OneOf(("account",)))
    total = Amount(load_default=None)
    passengers = fields.List(fields.Nested(PassengerIn), required=True, validate=validate.Length(1, 10))


class SaleOut(Strict):
    """What was sold: the tickets' codes, seats in the same order, and the total put on the account."""

    booking = fields.String(required=True)
    tickets = fields.List(fields.String(), required=True)
    total = Amount(required=True)


class TicketOut(Strict):
    """A ticket that the partner sold. `refund_until` is the last instant of the whole refund."""

    code = fields.String(required=True)
    booking = fields.String(required=True)
    status = fields.String(required=True)
    trip_id = fields.Integer(required=True)
    board_seq = fields.Integer(required=True)
    alight_seq = fields.Integer(required=True)
    seat = fields.Integer(required=True)
    departs_at = fields.AwareDateTime(required=True)
    zone = fields.String(required=True)
    fare = Amount(required=True)
    sold_at = fields.AwareDateTime(required=True)
    refund_until = fields.AwareDateTime(required=True)
