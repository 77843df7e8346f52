"""promptfoo: results as JSON, JSON lines or CSV. Assertions and named scores become verdicts."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from judgeboard.formats.files import Row
from judgeboard.imports import known_names
from judgeboard.imports.exports.entry import (
    Entries,
    Entry,
    answer_row,
    from_json,
    named,
    objects,
    shown_reason,
    verdict_row,
    without_nothing,
)
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.fields import json_text
from judgeboard.llm.chat import last_of_user, text_of
from judgeboard.store.filters import value_at
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import parsed_object

_TABLE = ("Status", "Score", "Named Scores")
"""Columns of a table of results."""
_OF_RESULTS = {
    "gradingResult",
    "namedScores",
    "testCase",
    "promptIdx",
    "testIdx",
    "failureReason",
    "tokenUsage",
}
_ANSWERS = re.compile(r"\[([^\]]+)\] .*", re.DOTALL)
"""The name of a column of answers: the name of a provider, and a prompt."""
_ERROR = 2  # `failureReason` of a provider's error; 1 is a failed assertion


def _results(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results in a row, which may itself be a result."""
    inner = row.get("results")
    results = objects(inner.get("results") if isinstance(inner, dict) else inner)
    return results or [dict(row)]


def _is_result(row: Mapping[str, Any]) -> bool:
    """Whether an object has variables, and several keys of results."""
    return isinstance(row.get("vars"), dict) and len(row.keys() & _OF_RESULTS) > 1


def _answer_column(row: Mapping[str, Any]) -> str | None:
    """Return the first column of answers in a table of results."""
    return next((name for name in row if _ANSWERS.fullmatch(name)), None)


def read(rows: Iterable[Row]) -> Entries:
    """Yield the entries of results, files of results, or rows of a table of results."""
    for row in rows:
        for values in _results(row.values):
            if values.keys() >= {*_TABLE}:
                entry = _table_row(values)
            elif _is_result(values):
                entry = _result(values)
            else:
                entry = Entry(None, reason="not a result of promptfoo")
            yield Row(row.line, values), entry


def _result(result: Mapping[str, Any]) -> Entry:
    output = value_at(result, ("response", "output"))
    if output is None or result.get("failureReason") == _ERROR:
        problem = (
            value_at(result, ("response", "error"))
            or result.get("error")
            or "the provider gave no output"
        )
        return Entry(None, reason=f"no answer: {shown_reason(problem)}")
    # A model's identifier is a text in older files.
    provider = result.get("provider")
    model = provider.get("id") if isinstance(provider, dict) else provider
    usage = parsed_object(result.get("tokenUsage")) or parsed_object(
        value_at(result, ("response", "tokenUsage"))
    )
    metadata = {
        **parsed_object(value_at(result, ("testCase", "metadata"))),
        "description": value_at(result, ("testCase", "description")),
        "prompt_tokens": usage.get("prompt"),
        "completion_tokens": usage.get("completion"),
        "latency_ms": result.get("latencyMs"),
    }
    answer = answer_row(
        result["vars"],
        external_id=result.get("id"),
        query=_question(result["vars"], value_at(result, ("prompt", "raw"))),
        answer=json_text(output),
        query_type=named(metadata, ("query_type", "category", "question_type")),
        generator_model=model,
        generator_cost=result.get("cost"),
        metadata=without_nothing(metadata),
    )
    grading = parsed_object(result.get("gradingResult"))
    scores = parsed_object(result.get("namedScores")) or parsed_object(grading.get("namedScores"))
    reasons = {"score": grading.get("reason")}
    for part in objects(grading.get("componentResults")):
        metric = value_at(part, ("assertion", "metric")) or value_at(part, ("assertion", "type"))
        reasons |= {str(metric): part.get("reason")} if metric else {}
    return Entry(
        answer, verdict_row("promptfoo", scores | {"score": grading.get("score")}, reasons)
    )


def _question(variables: Mapping[str, Any], prompt: Any) -> str | None:
    """Return the variable with a name of questions, the only variable, or else the user's part of the prompt."""
    question = named(variables, known_names.QUESTION)
    if question is None and len(variables) == 1:
        question = next(iter(variables.values()))
    messages = from_json(prompt)
    if question is None and isinstance(messages, list):
        place = last_of_user(messages)
        return None if place is None else text_of(messages[place].get("content"))
    return json_text(question) if question is not None else json_text(prompt)


def _table_row(row: Mapping[str, Any]) -> Entry:
    """Return the entry of a table's row: variables, then the answer, then scores."""
    column = _answer_column(row)
    if column is None:
        return Entry(None, reason="no answer: the row has no column of a provider")
    if row.get("Status") == "ERROR" or not row[column]:
        return Entry(None, reason=shown_reason(row.get("Grader Reason") or "the provider failed"))
    names = list(row)
    variables = {name: row[name] for name in names[: names.index(column)] if name != "Description"}
    provider = _ANSWERS.fullmatch(column)
    answer = answer_row(
        variables,
        query=_question(variables, None),
        answer=row[column],
        generator_model=provider[1] if provider else None,
        metadata=without_nothing(
            {"description": row.get("Description"), "comment": row.get("Comment")}
        ),
    )
    scores = parsed_object(row["Named Scores"]) | {"score": row["Score"]}
    return Entry(answer, verdict_row("promptfoo", scores, {"score": row.get("Grader Reason")}))


_RESULTS = Export(
    "promptfoo results",
    "promptfoo",
    (
        Keys(("vars", "results"), holds=lambda row: any(map(_is_result, _results(row)))),
        Keys(*_TABLE, holds=lambda row: _answer_column(row) is not None),
    ),
    read,
)
TOOL = Tool(exports=(_RESULTS,))
