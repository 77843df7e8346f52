"""Files with scores alone add them to stored answers, by trace or span; those without an answer are rejected rows."""

from functools import partial
from uuid import UUID

import pytest
from sqlalchemy import select

from engines import on_sqlite
from judgeboard.cli.app import run
from judgeboard.domain import Response
from judgeboard.imports import importing
from judgeboard.imports import responses as importing_responses
from judgeboard.imports.recorded import VerdictImport
from judgeboard.store import responses
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import FEEDBACK, JUDGMENT, RESPONSE, REVIEW
from judging_log import address
from sent_traces import Sent, gathered, receiving, send_spans, trace
from stored_rows import rows_of, values_of, write_to
from tool_files import written, written_csv

TRACE, SPAN, UNKNOWN = Sent(1).trace_id, Sent(1).span_id, "f" * 32
LANGFUSE = [
    {"name": "user-thumbs", "value": 1, "dataType": "BOOLEAN", "source": "API"},
    {"name": "groundedness", "value": 0.2, "dataType": "NUMERIC", "source": "EVAL"},
    {
        "name": "label",
        "value": 1,
        "stringValue": "grounded",
        "dataType": "CATEGORICAL",
        "source": "ANNOTATION",
    },
]
LANGSMITH = [
    {"key": "user_feedback", "score": 1, "feedback_source": {"type": "api"}},
    {"key": "groundedness", "score": 0.2, "feedback_source": {"type": "model"}},
    {
        "key": "label",
        "score": "",
        "value": "grounded",
        "feedback_source": {"type": "app", "user_name": "mara"},
    },
    {
        "key": "quality",
        "score": 1,
        "feedback_source": {"type": "api", "metadata": {"sent_by": "judgeboard"}},
    },
]
PHOENIX = [
    {"annotation_name": "thumbs", "annotator_kind": "CODE", "result.score": 1},
    {"annotation_name": "groundedness", "annotator_kind": "LLM", "result.score": 0.2},
    {
        "annotation_name": "label",
        "annotator_kind": "HUMAN",
        "result.label": "grounded",
        "identifier": "mara",
    },
]


def langfuse(trace_id):
    return [
        {"id": f"{trace_id}{n}", "traceId": trace_id, "stringValue": "", **row}
        for n, row in enumerate(LANGFUSE)
    ]


def langsmith(trace_id):
    run_id = str(UUID(trace_id))
    return [{"run_id": run_id, "value": "", **row} for row in LANGSMITH]


def phoenix(trace_id):
    nothing = {"result.score": None, "result.label": None, "result.explanation": None}
    span_id = SPAN if trace_id == TRACE else trace_id[:16]
    return [{"span_id": span_id, **nothing, **row} for row in PHOENIX]


@pytest.fixture
def received(store):
    """A database with the answer of a trace."""
    with receiving(store) as http:
        send_spans(http, trace(1))
    gathered(store)
    return store


@pytest.mark.parametrize("tool", [langfuse, langsmith, phoenix])
def test_scores_belong_to_the_answer_of_their_trace(tool, received, tmp_path, capsys):
    rows = [*tool(TRACE), *tool(UNKNOWN)]
    if received.is_sqlite:
        file = written_csv(tmp_path / "scores.csv", *rows)
    else:
        file = written(tmp_path, *rows, name="scores.jsonl")
    for again in (False, True):
        assert run(["import", str(file), "--db", address(received)]) == 1
        shown = capsys.readouterr().out
        assert "recognised:" in shown
        assert shown.count("1 rejected") == 3, shown
        assert ("1 new" in shown) is not again
    for table in (FEEDBACK, JUDGMENT, REVIEW):
        answered = select(RESPONSE.c.external_id).join_from(RESPONSE, table)
        with received.reading() as connection:
            assert connection.execute(answered).scalars().all() == [TRACE], table.name
    assert values_of(received, JUDGMENT.c.groundedness) == [0.2]
    assert values_of(received, REVIEW.c.label) == ["grounded"]
    assert UNKNOWN[:16] in (tmp_path / f"{file.name}.verdicts.rejected.jsonl").read_text()


@on_sqlite
@pytest.mark.parametrize("source", ["langfuse", "default"])
def test_scores_of_a_tool_belong_to_its_answer_if_another_source_has_the_id(
    store, tmp_path, source
):
    answers = [Response(each, "chat-1", "q", each) for each in ("shop", source)]
    write_to(store, store_responses, answers)
    file = written(tmp_path, *langfuse("chat-1"), name="scores.jsonl")
    assert run(["import", str(file), "--db", address(store)]) == 0
    for table in (FEEDBACK, JUDGMENT, REVIEW):
        assert values_of(store, table.c.response_id) == [2], table.name


@on_sqlite
def test_only_ids_of_spans_are_looked_for_in_all_responses(store, monkeypatch):
    looked_for = []
    monkeypatch.setattr(
        responses, "responses_of_spans", lambda _connection, ids: looked_for.append(ids) or {}
    )
    kind = VerdictImport(None)
    kind.of_traces = True
    with store.reading() as connection:
        assert kind.responses_named(connection, {TRACE, "f" * 32}) == {}
        kind.responses_named(connection, {TRACE, SPAN})
    assert looked_for == [{SPAN}]


@on_sqlite
def test_users_feedback_comes_in_a_file_of_its_own(received, tmp_path):
    file = tmp_path / "feedback.csv"
    file.write_text(f"trace_id,stars,user,at\n{TRACE},4,ann,2026-11-21T04:00:00Z\n{TRACE},0,ann,\n")
    for _ in range(2):
        assert run(["import", "--kind", "feedback", str(file), "--db", address(received)]) == 1
    (feedback,) = rows_of(received, FEEDBACK)
    assert (feedback["kind"], feedback["value"], feedback["user"]) == ("stars", 4, "ann")


def thumb(number, value="up"):
    return {"response_id": f"a{number}", "thumbs": value}


@pytest.fixture
def bring_feedback(bring):
    return partial(bring, kind="feedback")


def test_the_feedback_of_many_answers_is_stored_at_once(log, bring_feedback, monkeypatch):
    log.answers(4)
    calls = []
    store_feedback = importing_responses.add_feedback

    def counted(connection, feedback, *more):
        calls.append(len(feedback))
        return store_feedback(connection, feedback, *more)

    monkeypatch.setattr(importing_responses, "add_feedback", counted)
    rows = [*map(thumb, (1, 2, 3, 4)), thumb(2), thumb(2) | {"stars": 3}]
    first = bring_feedback(*rows)
    assert (first.new, first.unchanged, calls) == (5, 1, [4])
    assert bring_feedback(*rows).unchanged == 6


def test_a_thumb_without_a_time_that_a_file_changes_back_is_newer_and_the_same_file_changes_nothing(
    log, bring_feedback, nothing_changes, monkeypatch
):
    monkeypatch.setattr(importing, "BATCH_ROWS", 2)
    log.answers(3)
    up, down = thumb(1), thumb(1, "down")
    others = [thumb(2), thumb(3)]

    def thumbs():
        return values_of(log.store, FEEDBACK.c.value, FEEDBACK.c.response_id == 1)

    files = {
        "first.jsonl": [up, *others, down, *others, up],
        "other.jsonl": [down],
        "later.jsonl": [up],
    }
    for name, expected in zip(files, ([1, 0, 1], [1, 0, 1, 0], [1, 0, 1, 0, 1]), strict=True):
        bring_feedback(*files[name], name=name)
        assert thumbs() == expected
        with nothing_changes():
            known = list(files)[: list(files).index(name) + 1]
            for before in known:  # a file that may not know of a change does not change it back
                bring_feedback(*files[before], name=before)
    bring_feedback(down, name="later.jsonl")
    assert thumbs() == [1, 0, 1, 0, 1, 0]
    bring_feedback(up, name="later.jsonl")
    assert thumbs() == [1, 0, 1, 0, 1, 0, 1]
