"""The shape of what a phone sends and is told, and of the trip's sealed list."""

import base64
import binascii
from typing import Any

from marshmallow import fields
from marshmallow.validate import Length, OneOf, Regexp

from boarding.devices.policy import RESULTS
from kernel.api import Strict, Whole
from ticketing.seats.schemas import CallOut

KINDS = ("scan", "manual", "undo", "override", "close")
MOST_RECORDS, LONGEST_BODY = 200, 800
UUID = [Regexp("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"), Length(max=36)]
LARGEST = 2**31 - 1


class Bytes(fields.String):
    """Bytes as base64 text."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        try:
            return base64.b64decode(super()._deserialize(value, attr, data, **kwargs), validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.make_error("invalid", input=value) from error


class Instant(fields.AwareDateTime):
    """An instant with its offset, from 1970 to 2200: a wrong clock is flagged later, not refused here."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        told = super()._deserialize(value, attr, data, **kwargs)
        if not 1970 <= told.year <= 2200:
            raise self.make_error("invalid", input=value, obj_type="datetime")
        return told


class DeviceIn(Strict):
    """A phone that has a code from the office; `public_key` is its Ed25519 key, 32 bytes in base64."""

    code = fields.String(required=True, validate=Length(8, 20))
    public_key = Bytes(required=True, metadata={"pattern": "^[A-Za-z0-9+/]{43}=$"})
    name = fields.String(required=True, validate=Length(1, 60))


class DeviceOut(Strict):
    """The phone's id, and the token that it calls with, told this once."""

    device = fields.String(required=True)
    token = fields.String(required=True)


class SignedRecord(Strict):
    """A line of the log: `body` is the JSON text that was signed, `signature` over `BL1`, a zero byte and that text."""

    id = fields.String(required=True, validate=UUID)
    device = fields.String(required=True, validate=Length(1, 16))
    body = fields.String(required=True, validate=Length(1, LONGEST_BODY))
    signature = fields.String(required=True, validate=Length(1, 100))


class ScansIn(Strict):
    """Up to 200 lines; a line that came before is sent again without harm."""

    records = fields.List(fields.Nested(SignedRecord), required=True, validate=Length(1, MOST_RECORDS))


class NoteOut(Strict):
    """Something about a line that somebody should look at."""

    id = fields.String(required=True)
    note = fields.String(required=True)


class ScansOut(Strict):
    """The ids that are kept and need not be sent again: all of the batch. `quarantined` are those nobody believes."""

    acknowledged = fields.List(fields.String(), required=True)
    quarantined = fields.List(fields.String(), required=True)
    notes = fields.List(fields.Nested(NoteOut), required=True)


class RecordIn(Strict):
    """The signed body. Either `pass_id` (32 hexadecimal digits) or `code` says whose ticket it is, or neither."""

    id = fields.String(required=True, validate=UUID)
    device = fields.String(required=True)
    seq = Whole(1, LARGEST, required=True)
    trip_id = Whole(1, LARGEST, required=True)
    kind = fields.String(required=True, validate=OneOf(KINDS))
    pass_id = fields.String(load_default=None, allow_none=True, validate=[Regexp("^[0-9a-f]{32}$"), Length(max=32)])
    code = fields.String(load_default=None, allow_none=True, validate=[Regexp("^[0-9A-Za-z -]+$"), Length(1, 20)])
    stop_seq = Whole(0, 255, required=True)
    result = fields.String(load_default="NONE", validate=OneOf(sorted(RESULTS)))
    document = fields.String(load_default=None, allow_none=True, validate=OneOf(("confirmed", "refused")))
    undoes = fields.String(load_default=None, allow_none=True, validate=UUID)
    at = Instant(required=True)
    asof = Instant(load_default=None, allow_none=True)


class ListedOut(Strict):
    """A ticket of the list. `pass_hash` is SHA-256 of the pass's id; `sealed` opens with that id alone."""

    code = fields.String(required=True)
    pass_hash = fields.String(required=True)
    revision = fields.Integer(required=True)
    seat = fields.Integer(required=True)
    board_seq = fields.Integer(required=True)
    alight_seq = fields.Integer(required=True)
    status = fields.String(required=True)
    document_asked = fields.Boolean(required=True)
    boarded_at = fields.AwareDateTime(required=True, allow_none=True)
    sealed = fields.String(required=True, allow_none=True)


class ListOut(Strict):
    """A trip as a phone takes it along: `asof` is the server's time, `keys` what passes are verified with."""

    trip_id = fields.Integer(required=True)
    line = fields.String(required=True)
    status = fields.String(required=True)
    delay_minutes = fields.Integer(required=True)
    asof = fields.AwareDateTime(required=True)
    keys = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    calls = fields.List(fields.Nested(CallOut), required=True)
    tickets = fields.List(fields.Nested(ListedOut), required=True)
