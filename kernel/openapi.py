"""The OpenAPI document of the JSON interface, made from what each route says of itself."""

import re
from collections.abc import Mapping
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask, Response, current_app, json
from flask.typing import ResponseReturnValue
from marshmallow import Schema
from werkzeug.routing import IntegerConverter, Rule

from kernel.api import KEY_PATTERN, Operation, ProblemOut, api_blueprint
from kernel.web import public

VERSION = "1.0.0"
ABOUT = ("Venda e embarque para parceiros. Valores são texto com duas casas (\"84.50\"); instantes são UTC. "
         "Recusas são application/problem+json com um código para o programa e uma frase para uma pessoa.")
REFUSALS = {400: "O pedido não se lê", 401: "Sem token em vigor", 403: "O token não permite", 404: "Não há",
            409: "Alguém foi mais rápido, ou já não é possível", 413: "Grande demais", 415: "Não é JSON",
            422: "Um campo ou uma regra recusa", 429: "Pedidos demais", 503: "Ocupado: tente de novo"}
OF_EVERY_ROUTE = (400, 429, 503)

blueprint = api_blueprint("openapi")


@blueprint.get("/openapi.json")
@public
def served() -> ResponseReturnValue:
    """The document; the one route that it does not list is its own."""
    held = current_app.extensions
    if "openapi" not in held:
        held["openapi"] = json.dumps(document(current_app), ensure_ascii=False, sort_keys=True)
    return Response(held["openapi"], content_type="application/json")


def document(app: Flask) -> dict[str, Any]:
    """OpenAPI 3.1 for every route that has an `operation`."""
    spec = APISpec(title="Embarque", version=VERSION, openapi_version="3.1.0", info={"description": ABOUT},
                   plugins=[MarshmallowPlugin(schema_name_resolver=_name)])
    spec.components.security_scheme("token", {"type": "http", "scheme": "bearer"})
    spec.components.schema("Problem", schema=ProblemOut)
    paths: dict[str, dict[str, Any]] = {}
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        told: Operation | None = getattr(app.view_functions[rule.endpoint], "operation", None)
        if told is not None:
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                paths.setdefault(_path(rule), {})[method.lower()] = _described(told, rule)
    for path, operations in paths.items():
        spec.path(path=path, operations=operations)
    return spec.to_dict()


def _name(schema: Any) -> str:
    made = schema if isinstance(schema, type) else type(schema)
    return str(made.__name__).removesuffix("Out")


def _path(rule: Rule) -> str:
    return re.sub(r"<(?:[^<>]*:)?(\w+)>", r"{\1}", rule.rule)


def _described(told: Operation, rule: Rule) -> dict[str, Any]:
    parameters: list[Mapping[str, Any]] = [
        {"in": "path", "name": name, "required": True, "schema": _part(rule, name)} for name in sorted(rule.arguments)]
    if told.query is not None:
        parameters.append({"in": "query", "schema": told.query})
    if told.keyed:
        parameters.append({"in": "header", "name": "Idempotency-Key", "required": True,
                           "description": "Outra chave a cada ato; a mesma ao repetir um pedido sem resposta.",
                           "schema": {"type": "string", "pattern": KEY_PATTERN}})
    described: dict[str, Any] = {
        "operationId": rule.endpoint.replace(".", "_"), "summary": told.summary, "parameters": parameters,
        "security": [{"token": []}] if told.scope else [],
        "responses": {str(told.status): _answer("Feito", told.gives, "application/json"), **_refusals(told)}}
    if told.scope:
        described["x-scope"] = told.scope
    if told.takes is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": told.takes}}}
    return described


def _refusals(told: Operation) -> dict[str, Any]:
    statuses = {*OF_EVERY_ROUTE, *told.problems}
    if told.scope:
        statuses |= {401, 403}
    if told.takes is not None:
        statuses |= {413, 415, 422}
    if told.query is not None or told.keyed:
        statuses.add(422)
    return {str(status): _answer(REFUSALS[status], "Problem", "application/problem+json")
            for status in sorted(statuses)}


def _answer(what: str, schema: Schema | str, kind: str) -> dict[str, Any]:
    return {"description": what, "content": {kind: {"schema": schema}}}


def _part(rule: Rule, name: str) -> dict[str, Any]:
    converter = rule._converters[name]
    if isinstance(converter, IntegerConverter):
        return {"type": "integer", "minimum": 0, "maximum": converter.max}
    return {"type": "string", "minLength": 1}
