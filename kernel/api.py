"""The JSON interface's glue: who calls and what they may do, strict bodies, and the document that describes it all."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, NoReturn, cast

from flask import Blueprint, Flask, Response, current_app, g, jsonify, request
from flask.typing import ResponseReturnValue
from flask_limiter.util import get_remote_address
from marshmallow import RAISE, Schema, fields
from marshmallow.validate import Range
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from kernel.login import limiter
from kernel.money import parse_money
from kernel.partners import SCOPES, Caller, Finder
from kernel.web import csrf, now, problem, read, reading

Route = Callable[..., ResponseReturnValue]
Decorator = Callable[[Callable[..., Any]], Route]
PREFIX = "/api/v1"
PER_TOKEN, PER_ADDRESS = "300/minute", "1200/minute"
AMOUNT_PATTERN = r"^(0|[1-9][0-9]{0,6})\.[0-9]{2}$"
KEY_PATTERN = "^[A-Za-z0-9-]{8,64}$"


class Strict(Schema):
    """A shape that knows every field it takes."""

    class Meta:
        unknown = RAISE


class Whole(fields.Integer):
    """A whole number of JSON: neither text, nor 1.0, nor true."""

    def __init__(self, smallest: int, largest: int, **told: Any) -> None:
        super().__init__(strict=True, validate=Range(smallest, largest), **told)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value, attr, data, **kwargs)


class QueryWhole(fields.Integer):
    """A whole number in an address: digits and nothing else."""

    def __init__(self, smallest: int, largest: int, **told: Any) -> None:
        super().__init__(validate=Range(smallest, largest), **told)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value, attr, data, **kwargs)


class Amount(fields.String):
    """Money as text with two decimals, from 0.00."""

    def __init__(self, **told: Any) -> None:
        super().__init__(metadata={"pattern": AMOUNT_PATTERN, "example": "84.50"}, **told)

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        return None if value is None else str(value)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not re.fullmatch(AMOUNT_PATTERN, text) or text.endswith("\n"):
            raise self.make_error("invalid", input=value)
        return parse_money(text)


class Day(fields.Date):
    """A date as 2026-03-31, in the years that the product knows."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not (isinstance(value, str) and re.fullmatch(r"2[01][0-9]{2}-[0-9]{2}-[0-9]{2}", value)):
            raise self.make_error("invalid", input=value, obj_type="date")
        return super()._deserialize(value, attr, data, **kwargs)


class ProblemOut(Strict):
    """What went wrong (RFC 9457): `code` for the program, `title` for a person, `fields` for each field."""

    type = fields.String(required=True)
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    code = fields.String(required=True)
    fields_ = fields.Dict(keys=fields.String(), values=fields.String(), required=True, data_key="fields")
    request_id = fields.String(required=True)
    article = fields.String()


@dataclass(frozen=True, slots=True)
class Operation:
    """What a route takes and answers. `problems` are the statuses of its refusals beside those of every route."""

    summary: str
    scope: str | None
    gives: Schema
    status: int
    takes: Schema | None
    query: Schema | None
    keyed: bool
    problems: frozenset[int]


def api_blueprint(name: str) -> Blueprint:
    """Routes under /api/v1: no CSRF token, since no cookie counts there; one allowance for each token and address."""
    blueprint = Blueprint(name, __name__, url_prefix=PREFIX)
    csrf.exempt(blueprint)
    limiter.shared_limit(PER_TOKEN, scope="api-token", key_func=_token_key)(blueprint)
    limiter.shared_limit(PER_ADDRESS, scope="api-address", key_func=get_remote_address)(blueprint)
    return blueprint


def operation(summary: str, *, scope: str | None, gives: Schema, status: int = 200, takes: Schema | None = None,
              query: Schema | None = None, keyed: bool = False, problems: Iterable[int] = ()) -> Decorator:
    """Guard a route by a scope, read what it takes, answer what it gives: the same facts that the document tells.

    The view gets `body`, `query` and `key` where it takes them. `scope` None lets everybody in.
    """
    if scope is not None and scope not in SCOPES:
        raise ValueError(f"no such scope: {scope}")
    told = Operation(summary, scope, gives, status, takes, query, keyed, frozenset(problems))

    def decorate(view: Callable[..., Any]) -> Route:
        @wraps(view)
        def guarded(**parts: Any) -> ResponseReturnValue:
            if scope is not None and (refusal := _let_in(scope)) is not None:
                return refusal
            answer = jsonify(gives.dump(view(**parts, **_sent(told))))
            answer.status_code = status
            return answer
        guarded.operation = told  # type: ignore[attr-defined]
        if scope is None:
            guarded.is_public = True  # type: ignore[attr-defined]
        else:
            guarded.guard_scope = scope  # type: ignore[attr-defined]
        return guarded
    return decorate


def actor() -> str:
    """Who calls: what the audit log names."""
    return cast(Caller, g.caller).actor


def started(app: Flask, finders: Iterable[Finder]) -> None:
    """Tell the interface where callers come from: each finder knows one kind of token."""
    app.extensions["callers"] = tuple(finders)


def _let_in(scope: str) -> Response | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    caller = _find(token.strip()) if scheme.lower() == "bearer" and len(token) < 200 else None
    if caller is None:
        refusal = problem(401, "token_invalid", "Envie um token em vigor: Authorization: Bearer …")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal
    if scope not in caller.scopes:
        return problem(403, "scope_missing", f"Este token não permite isso: falta o escopo {scope}.")
    g.caller = caller
    return None


def _find(token: str) -> Caller | None:
    with reading() as session:
        finders: tuple[Finder, ...] = current_app.extensions["callers"]
        return next((caller for find in finders if (caller := find(session, token, now())) is not None), None)


def _sent(told: Operation) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    if told.query is not None:
        sent["query"] = read(told.query, request.args.to_dict())
    if told.takes is not None:
        sent["body"] = read(told.takes, _body())
    if told.keyed:
        sent["key"] = request.headers.get("Idempotency-Key", "")
    return sent


def _body() -> Mapping[str, Any]:
    """The JSON object of the request; NaN, lone surrogates, endless numbers and anything else are refused with 400."""
    if request.mimetype != "application/json":
        raise UnsupportedMediaType
    try:
        sent = json.loads(request.get_data().decode(), parse_constant=_no_number)
        json.dumps(sent, ensure_ascii=False).encode()  # a lone surrogate is no text, and no database stores it
    except (ValueError, RecursionError) as error:
        raise BadRequest from error
    if not isinstance(sent, dict):
        raise BadRequest
    return sent


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _token_key() -> str:
    sent = request.headers.get("Authorization", "")
    return hashlib.sha256(sent.encode("utf-8", "replace")).hexdigest() if sent else get_remote_address()

