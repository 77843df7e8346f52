"""Langfuse: its observations, traces and spans."""

import csv
import json
from functools import partial

import pytest

from judgeboard.domain import Rejected
from judgeboard.imports.importing import import_file
from judgeboard.tools import langfuse
from judgeboard.traces.spans import Operation, Passage
from made_spans import part_of
from tool_files import records, written

read_part = partial(part_of, langfuse.read_span)

# A trace without an id.
TRACE = {
    "name": "assistant",
    "input": "q?",
    "output": "a.",
    "userId": "u",
    "sessionId": "s",
    "bookmarked": False,
}


def observation(name, kind, parent, **more):
    start = {"root": 0, "find": 1, "call": 2}[name]
    return {
        "id": f"o-{name}",
        "traceId": "trace-1",
        "traceName": "assistant",
        "type": kind,
        "name": name,
        "startTime": f"2026-11-21T04:00:0{start}.000Z",
        "endTime": "2026-11-21T04:00:05.000Z",
        "userId": "u",
        "sessionId": "s",
        "level": "DEFAULT",
        "metadata": {"query_type": "material"},
        "tags": ["prod"],
        "parentObservationId": parent,
        "providedModelName": None,
        "usageDetails": {},
        "costDetails": {},
        "input": None,
        "output": None,
        **more,
    }


OBSERVATIONS = [
    observation(
        "call",
        "GENERATION",
        "o-root",
        input=[{"role": "user", "content": "Passages: p1, p2. Question: q?"}],
        output={"role": "assistant", "content": "a."},
        providedModelName="gpt",
        usageDetails={"input": 7, "output": 3, "total": 10},
        costDetails={"total": 0.25},
    ),
    observation(
        "find",
        "RETRIEVER",
        "o-root",
        input="q?",
        output=[{"page_content": "p1"}, {"page_content": "p2"}],
    ),
    observation(
        "root", "SPAN", None, input={"question": "q?"}, output="a.", groundedness=[0.9], thumbs=[1]
    ),
]


def _as_csv(folder):
    file = folder / "export.csv"
    with file.open("w", newline="") as stream:
        table = csv.DictWriter(stream, list(OBSERVATIONS[-1]))
        table.writeheader()
        for row in OBSERVATIONS:
            table.writerow(
                {
                    name: value if isinstance(value, str | None) else json.dumps(value)
                    for name, value in row.items()
                }
            )
    return file


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "rest"])
def test_observations_of_langfuse_become_the_answer_of_their_trace(tmp_path, form):
    file = tmp_path / f"export.{form}"
    if form == "csv":
        file = _as_csv(tmp_path)
    elif form == "jsonl":
        written(tmp_path, *OBSERVATIONS, name=file.name)
    elif form == "json":
        file.write_text(json.dumps(OBSERVATIONS))
    else:
        timestamp = {"timestamp": "2026-11-21T04:00:00Z"}
        trace = TRACE | timestamp | {"id": "trace-1", "input": {"question": "q?"}}
        scores = [
            {"name": "groundedness", "value": 0.9, "source": "EVAL"},
            {"name": "thumbs", "value": 1},
        ]
        observations = [
            {name: row[name] for name in row if name != "groundedness"} for row in OBSERVATIONS
        ]
        file.write_text(json.dumps(trace | {"observations": observations[:2], "scores": scores}))
    title, (answer,) = records(file)
    assert str(title).startswith("Langfuse")
    assert answer.external_id == "trace-1"
    assert answer.query == "q?"
    assert answer.answer == "a."
    assert answer.passages == ("p1", "p2")
    assert answer.generator_model == "gpt"
    assert answer.generator_cost == 0.25
    assert [answer.metadata[key] for key in ("session", "user", "prompt_tokens")] == ["s", "u", 7]
    assert [(each.kind, each.value) for each in answer.feedback] == [("thumbs", 1)]
    _, (verdict,) = records(file, "verdicts")
    assert verdict.external_id == "trace-1"
    assert verdict.verdict.groundedness == 0.9


@pytest.mark.parametrize(
    ("name", "value", "feedback"),
    [
        ("thumbs_down", 1, [0]),
        ("user-feedback", 0, [0]),
        ("feedback_on_style", 1, []),
        ("feedback_on_style", True, [1]),
        ("user_feedback", 3, []),
        ("user-stars", 3, [3]),
        ("gold_star", 1, []),
    ],
)
def test_the_name_of_a_score_tells_feedback_of_users(tmp_path, name, value, feedback):
    root = observation("root", "SPAN", None, input="q?", output="a.")
    _, (answer,) = records(written(tmp_path, *OBSERVATIONS[:2], root | {name: [value]}))
    assert [each.value for each in answer.feedback] == feedback


def test_an_unknown_column_among_those_of_langfuse_is_metadata_and_no_score(tmp_path):
    root = observation("root", "SPAN", None, input="q?", output="a.")
    file = written(tmp_path, {"region": 1} | root)
    _, (answer,) = records(file)
    assert answer.metadata["region"] == 1
    assert records(file, "verdicts")[1] == []


def test_a_trace_without_an_id_is_rejected_alone(tmp_path):
    first, last = (TRACE | {"id": id_} for id_ in ("t", "t2"))
    _, items = records(written(tmp_path, first, TRACE, last))
    assert [isinstance(item, Rejected) for item in items] == [False, True, False]


def test_an_id_that_an_application_chose_may_be_another_trace_in_another_source(
    sqlite_store, tmp_path
):
    own = {"id": "o", "traceId": "chat-1", "type": "GENERATION", "output": "a."}
    own["startTime"] = "2026-11-21T04:00:00Z"
    summaries = []
    for source, question in (("shop", "q?"), ("shop 2", "q?"), ("bank", "other?")):
        file = written(tmp_path, own | {"input": question})
        summaries.append(import_file(sqlite_store, file, source=source))
    assert [(each.new, each.unchanged) for each in summaries] == [(1, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (
            {"input": 41, "output": 20, "total": 78, "input_cache_read": 16, "output_reasoning": 1},
            (57, 21),
        ),
        ({"input": 57, "output": 21, "total": 78, "input_cached_tokens": 16}, (57, 21)),
        (
            {
                "prompt_tokens": 57,
                "completion_tokens": 21,
                "prompt_tokens_details": {"cached_tokens": 16},
            },
            (57, 21),
        ),
        ({"characters": 3}, (None, None)),
        ("broken", (None, None)),
    ],
)
def test_tokens_of_langfuse_in_both_styles(usage, tokens):
    attributes = {
        "langfuse.observation.type": "GENERATION",
        "langfuse.observation.usage_details": json.dumps(usage),
        "langfuse.observation.cost_details": '{"input": 0.5, "output": 0.25}',
    }
    part = read_part(attributes)
    assert (part.prompt_tokens, part.completion_tokens, part.cost) == (*tokens, 0.75)


def test_langfuse_prefers_the_question_and_answer_of_the_trace():
    part = read_part(
        {
            "langfuse.observation.input": '{"args": [1], "kwargs": {}}',
            "langfuse.observation.output": "null",
            "langfuse.trace.input": '{"question": "Hi?"}',
            "langfuse.trace.output": "Hello.",
            "langfuse.trace.public": True,
            "langfuse.trace.metadata": '{"tenant": "acme"}',
            "langfuse.trace.tags": '["a", "b"]',
            "langfuse.observation.metadata.langfuse_session_id": "s-1",
            "langfuse.user.id": "u-1",
            "langfuse.environment": "production",
        },
    )
    assert part.operation == Operation.APP
    assert part.question == "Hi?"
    assert part.answer == "Hello."
    assert (part.session, part.user, part.tags) == ("s-1", "u-1", ("a", "b"))
    assert part.metadata == {"tenant": "acme", "environment": "production", "public": True}


def test_langfuse_adds_to_spans_of_other_libraries_without_calling_them_its_own():
    part = read_part(
        {"langfuse.trace.tags": ["a"], "session.id": "s-1", "input.value": "Hi?"},
    )
    assert part.operation == Operation.OTHER
    assert part.question is None
    assert part.session == "s-1"
    assert part.tags == ("a",)


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        ("retriever", Operation.RETRIEVAL),
        ("tool", Operation.TOOL),
        ("agent", Operation.APP),
        ("chain", Operation.APP),
        *((kind, Operation.CHECK) for kind in ("evaluator", "guardrail")),
        *((kind, Operation.OTHER) for kind in ("embedding", "event")),
    ],
)
def test_types_of_langfuse(kind, operation):
    assert read_part({"langfuse.observation.type": kind}).operation is operation


def test_a_retriever_may_return_one_text():
    part = read_part(
        {"langfuse.observation.type": "retriever", "langfuse.observation.output": "One.\nTwo."},
    )
    assert part.passages == (Passage("One.\nTwo."),)
