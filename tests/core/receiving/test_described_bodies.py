"""OpenAPI describes the bodies that the routes really take."""

import json

import pytest
from pydantic import ValidationError

from judgeboard.domain import Role
from judgeboard.errors import BadInput
from judgeboard.imports.kinds import kind_class
from judgeboard.people.roster import add_person
from judgeboard.receiving.api import SentReview
from judgeboard.receiving.bodies import (
    SentAnswer,
    SentFeedback,
    SentJudgment,
    feedback_in_body,
    records_in_body,
)
from judgeboard.receiving.keys import Sender
from sent_traces import JSON, receiving


@pytest.fixture
def http(sqlite_store):
    add_person(sqlite_store, SentReview.example["reviewer"], Role.REVIEWER, "test")
    with receiving(sqlite_store) as client:
        yield client


def bodies(http):
    """The JSON content of each POST route, in the order of the routes: an answer comes before what is about it."""
    paths = http.get("/api/openapi.json").json()["paths"]
    posts = {path: methods["post"] for path, methods in paths.items() if "post" in methods}
    assert all(operation["requestBody"]["required"] for operation in posts.values())
    return {
        path: operation["requestBody"]["content"]["application/json"]
        for path, operation in posts.items()
    }


def fields(content):
    """The schema of one object."""
    schema = content["schema"]
    if "oneOf" in schema:
        one, several = schema["oneOf"]
        assert several == {"type": "array", "items": one}
        return dict(one)
    return schema


def is_stored(reply):
    content = reply.json()
    refused = isinstance(content, dict) and (content.get("problems") or content.get("errors"))
    return reply.status_code in {200, 207} and not refused


def test_every_example_is_stored_and_every_required_field_is_required(http):
    for path, content in bodies(http).items():
        schema, example = fields(content), content["example"]
        assert set(example) <= set(schema["properties"]), path
        assert all(
            "type" in each or "anyOf" in each or name == "raw"
            for name, each in schema["properties"].items()
        )
        sendings = [example, [example]] if "oneOf" in content["schema"] else [example]
        for body in sendings:
            reply = http.post(path, content=json.dumps(body), headers=JSON)
            assert is_stored(reply), (path, reply.text)
            assert not (isinstance(reply.json(), dict) and reply.json().get("other_fields")), (
                path,
                reply.text,
            )
        for name in schema.get("required", ()):
            # Without a judge, its model would name it.
            without = {each: value for each, value in example.items() if not each.startswith(name)}
            assert not is_stored(http.post(path, content=json.dumps(without), headers=JSON)), (
                path,
                name,
            )


@pytest.mark.parametrize(
    ("path", "kind"), [("/api/responses", "responses"), ("/api/judgments", "verdicts")]
)
def test_the_fields_are_those_of_the_import(http, path, kind):
    columns = kind_class(kind)
    schema = fields(bodies(http)[path])
    assert set(schema["properties"]) == set(columns.columns) - {
        "kind",
        "ask",
        "repeat",
    }  # of exports alone
    assert set(schema["required"]) == set(columns.needed)


VALUES = {
    "text": ["word", "up", "grounded", "ok", "1-5", "2026-01-01T00:00:00Z"],
    "whole number": [0, 1, 3],
    "fraction": [0.5, 2.5],
    "true or false": [True, False],
    "list": [["text"], [{"role": "user", "text": "t", "status": "supported"}], [{"thumbs": "up"}]],
    "object": [{"text": "t"}, {"thumbs": "up"}, {"tone": {"value": 4, "scale": "1-5"}}],
}


def is_described(body, content):
    try:
        body.model_validate(content, strict=True)
    except ValidationError:
        return False
    return True


def is_taken(body, content, field):
    sent = json.dumps(content).encode()
    try:
        if body is SentFeedback:
            return bool(feedback_in_body(sent, Sender()))
        records = records_in_body(sent, Sender(), "responses" if body is SentAnswer else "verdicts")
        return bool(records.items) and field not in records.other_fields
    except BadInput:
        return False


@pytest.mark.parametrize("body", [SentAnswer, SentJudgment, SentFeedback])
def test_each_field_takes_the_types_that_are_described_and_no_others(body):
    bare = {
        name: value for name, value in body.example.items() if name not in {"response_id", "thumbs"}
    }
    for field in body.model_fields:
        without = {} if body is not SentFeedback or field.endswith("_id") else {"response_id": "r"}
        if body is SentFeedback and field not in {"thumbs", "stars"}:
            without |= {"kind": "stars", "value": 3} if field == "kind" else {"thumbs": "up"}
        settings = [bare | without]
        settings += [bare | {"scale": "1-5"}] if field in {"quality", "scores"} else []
        settings += [
            bare | {"response_id": "r", "kind": kind}
            for kind in ("thumbs", "stars")
            if field == "value"
        ]
        # An object of feedback is described once, at the field ``feedback``.
        left_out = {"list", "object"} if field in {"thumbs", "stars", "value"} else set()
        for kind, values in (
            (kind, values) for kind, values in VALUES.items() if kind not in left_out
        ):
            contents = [setting | {field: value} for setting in settings for value in values]
            described = any(is_described(body, content) for content in contents)
            assert described == any(is_taken(body, content, field) for content in contents), (
                field,
                kind,
            )
