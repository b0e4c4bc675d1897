"""The shape of the office's form that comes with a file."""

from typing import Any

from marshmallow import EXCLUDE, Schema, fields, validate

from ticketing.imports.sections import ZONES

CHOICE = "Escolha na lista."
BOX: dict[str, Any] = {"load_default": False, "truthy": {"1"}, "falsy": {""},
                       "error_messages": {"invalid": "Marque ou não."}}


class ImportForm(Schema):
    """How an uploaded file is to come in. Blank choices come as None, and what the file says goes before them."""

    class Meta:
        unknown = EXCLUDE

    kind = fields.String(load_default="", validate=validate.OneOf(
        ["", "gtfs", "sections", "fares"], error=CHOICE))
    rehearsal = fields.Boolean(**BOX)
    state = fields.String(load_default="", validate=validate.OneOf(["", *ZONES], error=CHOICE))
    vehicle = fields.String(load_default="", validate=validate.Length(max=20, error=CHOICE))
    carrier = fields.String(load_default="", validate=validate.Length(max=18, error=CHOICE))
    days = fields.String(load_default="", validate=validate.Regexp(
        r"(?a:\d{0,3})\Z", error="Digite de 0 a 400 dias, ou deixe em branco."))
    line = fields.String(load_default="", validate=validate.Length(max=80, error="O código tem até 80 letras."))
    act = fields.String(load_default="", validate=validate.Length(max=120, error="Use até 120 letras."))
    starts_on = fields.Date(load_default=None, error_messages={"invalid": "Escolha o primeiro dia."})
    both_ways = fields.Boolean(**BOX)
