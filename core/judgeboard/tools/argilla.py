"""Argilla: records with the responses of people and the suggestions of models, nested or flat."""

from collections.abc import Iterator, Mapping
from typing import Any

from judgeboard.imports.exports.entry import (
    Entry,
    answer_row,
    each_row,
    grade_row,
    objects,
    verdict_row,
)
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.store.filters import value_at
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import parsed_object

_RESPONSES, _USERS, _SUGGESTION = ".responses", ".responses.users", ".suggestion"
_OWN = frozenset({"id", "status", "_server_id", "vectors", "inserted_at", "updated_at"})


@each_row
def read(row: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry of a record."""
    record = row if isinstance(row.get("fields"), dict) else _nested(row)
    people: dict[str, dict[str, Any]] = {}
    responses = record.get("responses")
    for question, replies in parsed_object(responses).items():
        for reply in objects(replies):
            people.setdefault(str(reply.get("user_id")), {})[question] = reply.get("value")
    for reply in objects(responses):  # the first version of Argilla
        answers = {
            name: value_at(each, ("value",))
            for name, each in parsed_object(reply.get("values")).items()
        }
        people.setdefault(str(reply.get("user_id")), {}).update(answers)
    agents: dict[str, dict[str, Any]] = {}
    suggestions = [
        (question, each)
        for question, each in parsed_object(record.get("suggestions")).items()
        if isinstance(each, dict)
    ]
    suggestions += [
        (str(each.get("question_name")), each) for each in objects(record.get("suggestions"))
    ]
    for question, suggestion in suggestions:
        scores = agents.setdefault(str(suggestion.get("agent") or "Argilla suggestion"), {})
        scores[question] = suggestion.get("value")
        if suggestion.get("score") is not None:
            scores[f"{question} score"] = suggestion["score"]
    answer = answer_row(
        parsed_object(record.get("metadata")) | parsed_object(record["fields"]),
        external_id=record.get("external_id") or record.get("id"),
    )
    yield Entry(
        answer,
        [verdict for agent, scores in agents.items() for verdict in verdict_row(agent, scores)],
        [grade for person, answers in people.items() for grade in grade_row(person, answers)],
    )


def _listed(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a flat record of a table in the nested form."""
    questions = {
        name.removesuffix(ending)
        for name in row
        for ending in (_RESPONSES, _SUGGESTION)
        if name.endswith(ending)
    }
    fields = {
        name: value
        for name, value in row.items()
        if name not in _OWN and not any(name.startswith(f"{question}.") for question in questions)
    }
    responses = {
        question: [
            {"user_id": user, "value": value}
            for user, value in zip(
                _listed(row.get(f"{question}{_USERS}")),
                _listed(row.get(f"{question}{_RESPONSES}")),
                strict=False,
            )
        ]
        for question in questions
    }
    suggestions = {
        question: {
            "value": row.get(f"{question}{_SUGGESTION}"),
            "score": row.get(f"{question}{_SUGGESTION}.score"),
            "agent": row.get(f"{question}{_SUGGESTION}.agent"),
        }
        for question in questions
        if row.get(f"{question}{_SUGGESTION}") is not None
    }
    return {
        "id": row.get("id"),
        "fields": fields,
        "responses": responses,
        "suggestions": suggestions,
    }


_RECORDS = Export(
    "Argilla records",
    "argilla",
    (
        Keys(
            "fields",
            "responses",
            holds=lambda row: (
                isinstance(row["fields"], dict) and isinstance(row["responses"], dict | list)
            ),
        ),
        Keys(holds=lambda row: any(name.endswith((_USERS, _SUGGESTION)) for name in row)),
    ),
    read,
)
TOOL = Tool(exports=(_RECORDS,))
