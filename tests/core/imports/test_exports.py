"""Exports of other tools: the answers, scores and grades in them, and which files are not taken for one."""

import sqlite3
import zipfile
from contextlib import suppress

import pytest

from judgeboard.domain import Response
from judgeboard.errors import BadInput
from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import verdict_row
from judgeboard.imports.exports.export import ExportRows, recognised
from judgeboard.imports.importing import import_file
from judgeboard.imports.reading import read_records
from judgeboard.store.tables import JUDGMENT, RESPONSE, REVIEW
from stored_rows import row_count, rows_of, values_of
from tool_files import INSPECT_SAMPLE, opened, records, written

QUESTION = "At what temperature does Dyneema melt, and nylon?"
SLINGS = "Slings. Dyneema melts at about 145 °C, so never let it run over itself under load."
ROPES = "Ropes. Nylon melts at about 250 °C and stretches; it is what most ropes are made of."
PASSAGES = SLINGS, ROPES
BOTH = "Dyneema melts at about 145 °C, nylon at about 250 °C."
CITED = "Dyneema melts at about 145 °C [1]; nylon melts at about 250 °C [2]."
WRONG = "Dyneema melts at about 145 °C, nylon at about 310 °C."

# What files are taken for, and of their first answer: question, answer, passages, model.
TAKEN_FOR = {
    ("argilla/record.json", "argilla/records_flat.json"): (
        "Argilla",
        QUESTION,
        "Dyneema melts at 145 °C.",
        (f"{SLINGS}\n{ROPES}",),
        None,
    ),
    (
        "deepeval/results/test_run_20261121_043123.json",
        "deepeval/dot_deepeval/.latest_test_run.json",
        "deepeval/evaluation_result.json",
        "deepeval/llm_test_case.json",
        "deepeval/dot_deepeval/.latest_run_full.json",
    ): ("DeepEval", QUESTION, BOTH, PASSAGES, None),
    ("deepeval/goldens.json", "deepeval/goldens.csv", "deepeval/goldens.jsonl"): (
        "DeepEval",
        QUESTION,
        "145",
        PASSAGES,
        None,
    ),
    (
        "labelstudio/export_JSON.json",
        "labelstudio/export_JSON_MIN.json",
        "labelstudio/export_CSV.csv",
        "labelstudio/export_TSV.tsv",
    ): ("Label Studio", QUESTION, WRONG, PASSAGES, None),
    ("promptfoo/results.json", "promptfoo/results.jsonl", "promptfoo/results.csv"): (
        "promptfoo",
        QUESTION,
        CITED,
        ("Slings. Dyneema melts at about 145 °C.\nRopes. Nylon melts at about 250 °C.",),
        "openai:chat:gpt-4o-mini",
    ),
    (
        "ragas/dataset.csv",
        "ragas/dataset.jsonl",
        "ragas/dataset.parquet",
        "ragas/hf/data-00000-of-00001.arrow",
        "ragas/result.csv",
        "ragas/result.jsonl",
    ): ("ragas", QUESTION, BOTH, PASSAGES, None),
    ("ragas/multi_turn.jsonl",): (
        "ragas",
        "What is the weather in Bergen?",
        "It is 14 °C and raining in Bergen.",
        None,
        None,
    ),
}
CAPTURES = {name: taken_for for names, taken_for in TAKEN_FOR.items() for name in names}
# File -> of its first verdict: judge, groundedness and scores by name.
SCORES = {
    "argilla/record.json": ("judgeboard/rag v1", None, {"label score": 0.9}),
    "deepeval/evaluation_result.json": ("DeepEval", 0.8, {}),
    "deepeval/dot_deepeval/.latest_test_run.json": ("DeepEval", 0.8, {}),
    "labelstudio/export_JSON.json": ("judgeboard/rag v1", None, {"score": 0.9}),
    "promptfoo/results.jsonl": (
        "promptfoo",
        0.9,
        {"has_number": 1, "score": pytest.approx(0.633, abs=0.001)},
    ),
    "promptfoo/results.csv": ("promptfoo", 0.9, {"has_number": 1, "score": 0.63}),
    "ragas/result.csv": ("ragas", None, {"exact_match": 0}),
}
# Files -> their grades: person, label, quality, note.
GRADES = {
    ("argilla/record.json", "argilla/records_flat.json"): [
        ("3f0c7a6e-0000-4000-8000-000000000001", "hallucinated", 2, None),
        ("3f0c7a6e-0000-4000-8000-000000000002", "grounded", None, None),
    ],
    ("labelstudio/export_JSON.json", "labelstudio/export_CSV.csv"): [
        ("1", "hallucinated", 2, "nylon is wrong")
    ],
}


@pytest.fixture
def captures(shared):
    return shared / "captures"


def test_every_captured_export_gives_its_answers_scores_and_grades(captures):
    for name, (tool, *content) in CAPTURES.items():
        reading, (first, *_) = opened(captures / name)
        assert reading.export is not None, name
        assert tool in reading.export.title, name
        assert [first.query, first.answer, first.passages, first.generator_model] == content, name
    for name, expected in SCORES.items():
        _, (first, *_) = opened(captures / name, "verdicts")
        scores = {score.dimension: score.value for score in first.verdict.scores}
        assert (first.judge.name, first.verdict.groundedness, scores) == expected, name
    for name, expected in ((name, grades) for names, grades in GRADES.items() for name in names):
        _, given = opened(captures / name, "grades")
        grades = [(each.annotator, each.grade) for each in given]
        assert [
            (person, grade.label, grade.quality, grade.note) for person, grade in grades
        ] == expected, name


# What captured files are taken for, by patterns of their names; other files are none of an export.
RECOGNISED = {
    "Argilla records": ("argilla/*.json",),
    "DeepEval test cases": ("deepeval/goldens.*", "deepeval/llm_test_case.json"),
    "a Label Studio export": ("labelstudio/export_*",),
    "MLflow traces": (
        "mlflow/search_traces_*",
        "mlflow/rest_search.json",
        "mlflow/trace_to_json.json",
    ),
    "OpenTelemetry spans": (
        "*/00?-*_traces.json",
        "*/00?-*_logs.json",
        "vercel_ai_js/*.bin",
        "phoenix/*_otlpv1.json",
    ),
    "Phoenix annotations": ("phoenix/span_annotations_dataframe.jsonl",),
    "Phoenix spans": ("phoenix/spans_dataframe.*", "phoenix/spans.json"),
    "a DeepEval test run": (
        "deepeval/*/.latest_*.json",
        "deepeval/results/*.json",
        "deepeval/evaluation_result.json",
    ),
    "promptfoo results": ("promptfoo/results.*",),
    "a ragas dataset": (
        "ragas/dataset.*",
        "ragas/result.*",
        "ragas/multi_turn.jsonl",
        "ragas/hf/*.arrow",
    ),
}


def test_every_captured_file_is_recognised_as_its_tool(captures):
    expected = {
        file: title
        for title, patterns in RECOGNISED.items()
        for pattern in patterns
        for file in captures.glob(pattern)
    }
    taken_for = {}
    for file in captures.rglob("*"):
        if file.name.endswith(".rejected.jsonl"):  # left by an import of a captured file
            continue
        with suppress(BadInput), read_records(file) as reading:
            if reading.export is not None:
                taken_for[file] = reading.export.title
    assert taken_for == expected


def test_a_row_of_an_answer_with_the_keys_of_a_score_keeps_its_answer():
    span = {
        "context.trace_id": "t",
        "context.span_id": "s",
        "attributes.input.value": "Is it loud?",
    }
    feedback = {"run_id": "r", "key": "helpful", "score": 0.5}
    assert recognised([span | feedback], "responses").title == "Phoenix spans"
    assert recognised([feedback], "feedback").title == "LangSmith feedback"


def test_the_verdicts_of_a_file_have_the_ids_of_its_answers(captures):
    for name in SCORES:
        _, answers = opened(captures / name)
        _, verdicts = opened(captures / name, "verdicts")
        ids = {answer.external_id for answer in answers if isinstance(answer, Response)}
        assert {verdict.external_id for verdict in verdicts} <= ids, name


RAGAS = {"user_input": "q", "response": "a", "retrieved_contexts": ["p"], "faithfulness": 0.5}


@pytest.mark.parametrize(
    "options",
    [
        {"format": "jsonl"},
        {"mapping": {"user_input": "query", "response": "answer", "faithfulness": "stars"}},
    ],
)
def test_a_format_or_a_mapping_is_followed_without_recognition(tmp_path, options):
    reading, (response,) = opened(written(tmp_path, RAGAS | {"faithfulness": 1}), **options)
    assert reading.export is None
    assert response.query == "q"


def test_equal_answers_of_one_export_get_different_ids(tmp_path):
    file = written(tmp_path, RAGAS, RAGAS | {"faithfulness": 1.0})
    _, answers = opened(file)
    _, verdicts = opened(file, "verdicts")
    ids = [answer.external_id for answer in answers]
    assert len({*ids}) == 2
    assert [verdict.external_id for verdict in verdicts] == ids
    assert [verdict.verdict.groundedness for verdict in verdicts] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("cell", "passages"),
    [
        ("['a, b', \"it's\"]", ("a, b", "it's")),
        ("['a' 'b'\n 'c']", ("a", "b", "c")),
        (r"['two\nlines', 'p']", ("two\nlines", "p")),
        ('["a", "b"]', ("a", "b")),
        ("[1] a passage, [2] another", ("[1] a passage, [2] another",)),
        ("[]", ()),
        ("plain", ("plain",)),
        ('{"a": 1}', ('{"a": 1}',)),
        ("['a', 'b'] and more]", ("['a', 'b'] and more]",)),
    ],
)
def test_lists_in_csv_are_read_as_pandas_and_numpy_write_them(tmp_path, cell, passages):
    quoted = '"' + cell.replace('"', '""') + '"'
    file = tmp_path / "log.csv"
    file.write_text(f"question,answer,contexts\nq,a,{quoted}\n")
    _, (response,) = opened(file)
    assert response.passages == passages


@pytest.mark.parametrize("start", [b"PK\3\4", b"SQLite format 3\0"])
def test_other_archives_and_databases_are_still_refused(tmp_path, start):
    other = tmp_path / "other.bin"
    if start[0] == ord("P"):
        with zipfile.ZipFile(other, "w") as file:
            file.writestr("rows.csv", "a,b")
    else:
        with sqlite3.connect(other) as connection:
            connection.execute("CREATE TABLE t (a)")
    with pytest.raises(BadInput, match=r"PK|SQLite"):
        read_records(other)


LABEL_STUDIO = {
    "id": 1,
    "data": {"id": "q1", "question": "Which rope?", "answer": "A dry one."},
    "predictions": [{"id": 1, "model_version": "m1", "result": [], "score": 0.5}],
    "annotations": [
        {
            "completed_by": "ines",
            "result": [{"from_name": "label", "value": {"choices": ["grounded"]}}],
        },
    ],
}
ARGILLA = {
    "id": "q1",
    "fields": {"question": "How many slings?", "answer": "Eight."},
    "responses": {
        "label": [
            {"value": "grounded", "user_id": "ann"},
            {"value": "hallucinated", "user_id": "ben"},
        ],
    },
    "suggestions": {"label": {"value": "grounded", "score": 0.9, "agent": "m2"}},
}
DEEPEVAL = {"input": "q", "actualOutput": "a", "retrievalContext": ["p"]}
MESSAGES = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
RECORDS = [
    INSPECT_SAMPLE,
    RAGAS,
    DEEPEVAL | {"metricsData": [{"name": "n", "score": 1}]},
    {
        "vars": {"question": "q"},
        "response": {"output": "a"},
        "namedScores": {"n": 1},
        "testCase": {},
        "provider": {},
    },
    LABEL_STUDIO,
    {
        "id": 1,
        "question": "q",
        "answer": "a",
        "label": "bad",
        "annotator": 1,
        "annotation_id": 2,
        "lead_time": 3.5,
        "updated_at": "2026-11-21T04:36:17Z",
        "span": "[]",
    },
    ARGILLA | {"metadata": {}},
    {"question": "q", "answer": "a", "label.responses": ["bad"], "label.responses.users": ["u"]},
    {"model": "m", "messages": MESSAGES},
    {"question": "q", "student_answer": "a", "teacher_grading": "1", "reviewer_feedback": "0"},
    {
        "run_id": "r",
        "key": "k",
        "score": 1,
        "comment": "c",
        "feedback_source": {"type": "app", "user_name": "u"},
    },
    {
        "traceId": "t",
        "name": "n",
        "value": 1,
        "source": "ANNOTATION",
        "dataType": "NUMERIC",
        "comment": "c",
    },
    {
        "annotator_kind": "HUMAN",
        "span_id": "s",
        "name": "n",
        "result": {"score": 1, "label": "l", "explanation": "e"},
    },
]


UNEXPECTED = (
    None,
    "",
    0,
    -1.5,
    True,
    [],
    {},
    [None],
    [[]],
    [{}],
    {"a": None},
    "[",
    10**30,
    {"value": [[]]},
)


@pytest.mark.parametrize("row", RECORDS, ids=lambda row: next(iter(row)))
def test_unexpected_values_in_an_export_reject_no_more_than_their_row(row):
    for name in row:
        for value in UNEXPECTED:
            others = [
                Row(2, row | {name: value}),
                Row(3, {key: row[key] for key in row if key != name}),
            ]
            for kind in ("responses", "verdicts", "grades"):
                export = recognised([row], kind)
                every = [Row(1, row), *others]
                shape = export.shape or ExportRows(export, kind).rows
                items = list(shape(iter(every)))
                assert kind != "responses" or export.of_scores or items[0].line == 1


OWN = {"id": "r7", "model": "m", "rating": 4, "timestamp": "2026-11-21T04:00:00Z", "cost": 0.5}


@pytest.mark.parametrize(
    ("row", "tool"),
    [
        ({"user_input": "q", "response": "a", "contexts": ["p"]}, None),
        (RAGAS, "a ragas dataset"),
        (
            {
                "user_input": "q",
                "response": "a",
                "contexts": ["p"],
                "factual_correctness(mode=f1)": 1,
            },
            "a ragas dataset",
        ),
        ({"messages": MESSAGES, "context": ["p"]}, "OpenAI chat logs"),
        (DEEPEVAL, "DeepEval test cases"),
    ],
)
def test_columns_beside_those_of_a_tool_keep_their_meaning(tmp_path, row, tool):
    file = written(tmp_path, row | OWN)
    title, (response,) = records(file)
    assert title == tool
    assert (response.query, response.answer, response.passages) == ("q", "a", ("p",))
    assert (response.external_id, response.generator_model, response.generator_cost) == (
        "r7",
        "m",
        0.5,
    )
    assert [(each.kind, each.value) for each in response.feedback] == [("stars", 4)]
    assert response.asked_at is not None
    if tool == "a ragas dataset":
        _, (verdict,) = opened(file, "verdicts")
        assert len(verdict.verdict.scores) + (verdict.verdict.groundedness is not None) == 1


def imported(store, file, **options):
    """Import the answers of an export, then its verdicts and its grades."""
    kinds = ("responses", "verdicts", "grades")
    return {
        kind: import_file(store, file, kind=kind, on_rejected=lambda _row: None, **options)
        for kind in kinds
    }


def on_each_answer(store):
    """Return the numbers of verdicts and grades of each answer, by its source."""
    verdicts, grades = (values_of(store, table.c.response_id) for table in (JUDGMENT, REVIEW))
    return {
        answer["source"]: (verdicts.count(answer["id"]), grades.count(answer["id"]))
        for answer in rows_of(store, RESPONSE)
    }


def test_ids_of_different_tools_do_not_meet(store, tmp_path):
    for row in (LABEL_STUDIO, ARGILLA):
        results = imported(store, written(tmp_path, row))
        assert [result.rejected for result in results.values()] == [0, 0, 0]
    assert on_each_answer(store) == {"label-studio": (1, 1), "argilla": (1, 2)}


def test_what_belongs_to_a_rejected_answer_is_rejected_with_it(store, tmp_path):
    imported(store, written(tmp_path, LABEL_STUDIO), source="log")
    again = {
        "id": "q2",
        "fields": {"question": "q", "answer": "a"},
        "responses": ARGILLA["responses"],
    }
    unanswered = again | {"fields": {"question": "q"}}
    results = imported(store, written(tmp_path, ARGILLA, again, unanswered), source="log")
    assert on_each_answer(store) == {"log": (0, 2)}
    assert {kind: (result.new, result.rejected) for kind, result in results.items()} == {
        "responses": (1, 2),
        "verdicts": (0, 1),
        "grades": (2, 4),
    }
    (of_other, *_) = results["grades"].first_differing
    assert "'q1'" in of_other.reason


def test_answers_of_a_trace_with_a_chosen_id_are_told_apart_by_their_question(store, tmp_path):
    def trace(question, *scores):
        row = {
            "id": "chat-1",
            "name": "chat",
            "userId": None,
            "sessionId": None,
            "timestamp": "2026-11-21T04:00:00Z",
            "input": question,
            "output": "a",
            "scores": scores,
            "observations": [],
        }
        return written(tmp_path, row)

    imported(store, trace("q"))
    scores = [
        {"id": "s1", "name": "user_thumbs", "value": 0},
        {"id": "s2", "name": "faithfulness", "value": 0.5},
    ]
    results = imported(store, trace("another question", *scores))
    assert (results["responses"].rejected, results["responses"].feedback_added) == (1, 0)
    assert (results["verdicts"].rejected, row_count(store, JUDGMENT)) == (1, 0)


@pytest.mark.parametrize("row", [LABEL_STUDIO, ARGILLA], ids=["Label Studio", "Argilla"])
def test_a_file_whose_answers_are_in_the_earlier_default_source_changes_nothing(
    store, tmp_path, row
):
    file = written(tmp_path, row)
    imported(store, file, source="default")
    stored = on_each_answer(store)
    results = imported(store, file)
    assert [(result.new, result.rejected) for result in results.values()] == [(0, 0)] * 3
    assert on_each_answer(store) == stored
    assert stored.keys() == {"default"}


def test_a_groundedness_whose_scale_a_rule_names_is_converted():
    rows = [
        verdict_row("j", {"faithfulness": n}, scales={"faithfulness": "1-5"})[0] for n in (1, 4, 9)
    ]
    assert [row.get("groundedness") for row in rows] == [0, 0.75, None]
    assert (rows[2]["status"], rows[2]["raw"]) == ("error", {"faithfulness": 9})
