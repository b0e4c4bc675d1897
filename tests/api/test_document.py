"""The OpenAPI document is true: every route and every answer is in it, and what it describes is what is answered."""

import json
from collections import Counter

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from kernel.partners import SCOPES

ADDRESS = "/api/v1/openapi.json"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
          negative_data_rejection]


@pytest.fixture
def document(app):
    return app.test_client().get(ADDRESS).get_json()


def operations(document):
    for path, methods in document["paths"].items():
        yield from ((path, method, told) for method, told in methods.items())


def test_the_document_is_openapi_31_and_open_to_everybody(app, document):
    assert document["openapi"] == "3.1.0"
    assert app.test_client().get(ADDRESS).content_type == "application/json"
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def test_every_route_of_the_interface_is_in_the_document(app, document):
    routes = {(rule.rule, method.lower()) for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/")
              for method in rule.methods - {"HEAD", "OPTIONS"}} - {(ADDRESS, "get")}
    told = {(path.replace("{trip_id}", "<int(max=2147483647):trip_id>").replace("{code}", "<code>"), method)
            for path, method, _ in operations(document)}
    assert told == routes


def test_every_operation_tells_its_scope_its_answer_and_its_refusals(document):
    for path, _method, told in operations(document):
        assert told.get("x-scope") in (SCOPES if told["security"] else (None,)), path
        good = [status for status in told["responses"] if status < "300"]
        assert len(good) == 1 and {"400", "429", "503"} <= set(told["responses"])
        assert {"401", "403"} <= set(told["responses"]) or not told["security"]
        for status, answer in told["responses"].items():
            kind = "application/json" if status in good else "application/problem+json"
            assert list(answer["content"]) == [kind], (path, status)


def test_no_schema_takes_a_field_that_it_does_not_know(document):
    assert [name for name, schema in document["components"]["schemas"].items()
            if schema.get("additionalProperties") is not False] == []


def tried(app, document, world, partner, mode, examples) -> Counter:
    """Requests that the document describes, with ids that exist now and then; every answer is checked against it."""
    code = partner.sell(world, seats=(12,))[1]["tickets"][0]
    text = json.dumps(document)
    if mode is GenerationMode.POSITIVE:
        text = text.replace('"maximum": 2147483647', '"maximum": 8').replace(
            '"minLength": 1, "type": "string"', f'"enum": ["{code}", "NONE0000"], "type": "string"')
        assert code in text
    app.extensions["openapi"] = text
    seen = Counter()
    for found in schemathesis.openapi.from_wsgi(ADDRESS, app).get_all_operations():
        operation = found.ok()

        @settings(max_examples=examples, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
                  suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def one(case):
            answer = case.call_and_validate(headers=partner.headers, checks=CHECKS)
            seen[answer.status_code] += 1
        one()
    return seen


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["as described", "otherwise"])
def test_the_answers_are_those_of_the_document(app, document, world, partner, mode):
    assert tried(app, document, world, partner, mode, 12).total() >= 60


@pytest.mark.heavy
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["as described", "otherwise"])
def test_the_answers_are_those_of_the_document_at_length(app, document, world, partner, mode):
    assert tried(app, document, world, partner, mode, 400).total() >= 2000
