"""The shape of what a phone sends from the door and of what it is told."""

from typing import Any

from marshmallow import EXCLUDE, Schema, fields
from marshmallow.validate import Length, OneOf, Range

from boarding.doors.policy import REFUSAL_REASONS
from ticketing.sales.documents import KINDS


class ScanIn(Schema):
    """One presentation, under the phone's own id. `at` has an offset; a time without one is refused."""

    id = fields.UUID(required=True)
    kind = fields.String(required=True, validate=OneOf(("scan", "code", "name")))
    text = fields.String(required=True, validate=Length(1, 2000))
    stop_seq = fields.Integer(required=True, strict=True, validate=Range(0, 255))
    at = fields.AwareDateTime(required=True, format="iso")


class DocumentIn(Schema):
    """The driver's answer to "is this the person"."""

    outcome = fields.String(required=True, validate=OneOf(("confirmed", "refused")))
    reason = fields.String(load_default=None, allow_none=True, validate=OneOf(tuple(REFUSAL_REASONS)))


class NameForm(Schema):
    """The button beside a name on the list; `id` was made with the page, so a second press is the same scan."""

    class Meta:
        unknown = EXCLUDE  # the form's own token

    id = fields.UUID(required=True)
    code = fields.String(required=True, validate=Length(1, 20))
    stop_seq = fields.Integer(required=True, validate=Range(0, 255))


class RosterForm(Schema):
    """A driver put on a trip, or taken off it."""

    class Meta:
        unknown = EXCLUDE

    act = fields.String(required=True, validate=OneOf(("put_on", "take_off")))
    trip_id = fields.Integer(required=True, validate=Range(0, 2**31 - 1))
    staff_id = fields.Integer(required=True, validate=Range(0, 2**31 - 1),
                              error_messages={"invalid": "Escolha um motorista da lista."})


class PassengerOut(Schema):
    """Who should be standing there."""

    name = fields.String()
    document = fields.Function(lambda passenger: KINDS[passenger.kind])
    last4 = fields.String()


class AnswerOut(Schema):
    """What the phone shows; tones are "ok", "attention", "stop" and "info"."""

    id = fields.String()
    result = fields.String()
    tone = fields.String()
    word = fields.String()
    seat = fields.String(allow_none=True)
    do = fields.List(fields.String())
    passenger = fields.Nested(PassengerOut, allow_none=True)
    checks = fields.List(fields.String())
    detail = fields.String(allow_none=True)
    count = fields.Method("_count")

    def _count(self, answer: Any) -> dict[str, Any]:
        return {"aboard": answer.aboard, "capacity": answer.capacity}
