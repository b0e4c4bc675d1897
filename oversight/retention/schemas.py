"""The shape of the office's forms about legal holds."""

from marshmallow import EXCLUDE, Schema, fields, validate

from oversight.retention.policy import LONGEST_REASON, NAME_THE_CASE, SHORTEST_REASON

LAST_DAY = "Escolha o último dia da guarda."
CONFIRM = "Marque a caixa para encerrar a guarda."


class HoldForm(Schema):
    """Why a trip's identities are kept past their day, and until when; what may be said is the policy's."""

    class Meta:
        unknown = EXCLUDE

    reason = fields.String(required=True, error_messages={"required": NAME_THE_CASE},
                           validate=validate.Length(SHORTEST_REASON, LONGEST_REASON, error=NAME_THE_CASE))
    ends_on = fields.Date(required=True, error_messages={"invalid": LAST_DAY, "required": LAST_DAY})


class ReleaseForm(Schema):
    """Ending a hold cannot be undone, so it is said twice."""

    class Meta:
        unknown = EXCLUDE

    confirm = fields.String(required=True, validate=validate.Equal("yes", error=CONFIRM),
                            error_messages={"required": CONFIRM})
