"""The shape of the office's forms about a trip."""

from marshmallow import EXCLUDE, Schema, fields, validate

from ticketing.network.policy import CANCEL_REASONS

MINUTES = "Digite os minutos de atraso, de 0 a 1440."


class DelayForm(Schema):
    """How late a trip leaves, in minutes."""

    class Meta:
        unknown = EXCLUDE

    minutes = fields.Integer(required=True, validate=validate.Range(0, 1440, error=MINUTES),
                             error_messages={"invalid": MINUTES, "required": MINUTES})


class CancelForm(Schema):
    """Why the carrier cancels a trip."""

    class Meta:
        unknown = EXCLUDE

    reason = fields.String(load_default="", validate=validate.OneOf(["", *CANCEL_REASONS], error="Escolha na lista."))
