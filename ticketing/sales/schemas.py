"""The shape of the counter's forms."""

from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate

from kernel.money import Money, parse_money

NOT_A_NUMBER = "Escolha de novo na lista."


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
