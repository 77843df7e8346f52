"""Reviewed answers as datasets: people's labels only, and each tool reads back what was written."""

import io
import json
from dataclasses import replace
from operator import attrgetter

import pytest

from graded_log import BAD, GOOD, GradedLog
from judgeboard.cli.app import run
from judgeboard.cli.export import SHAPES as OF_THE_COMMAND
from judgeboard.domain import Decision
from judgeboard.imports.importing import import_file
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.methods.suites.file import read_suite
from judgeboard.methods.suites.run import run_suite
from judgeboard.reports.datasets import reviewed_answers, shapes, write_dataset
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.responses import responses_by_id
from suite_runs import RUBRIC, scored

PASSAGES = ("Dyneema melts at 145 °C.", "Nylon, it says, melts at 250 °C: [“a”, 'b'].")
RIGHT = "Nylon melts at 250 °C."
MESSAGES = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "And nylon?"}]},
    {"role": "assistant", "content": "logged"},
)


def filled(store):
    """One answer of each fate: corrected, approved, in conflict, adjudicated, corrected unflagged, only judged."""
    log = GradedLog(store)
    rag = log.version()
    corrected, approved, conflict, adjudicated, added, judged = log.answers(6, passages=PASSAGES)
    (told,) = log.answers(1, passages=None, messages=MESSAGES, reference="250 °C", query_type="QA")
    log.say_all(rag, [corrected, judged], groundedness=0.1, label=BAD)
    log.decide(
        corrected,
        "low_groundedness",
        Decision.CONFIRM,
        "jon",
        label=BAD.value,
        quality=1,
        corrected_answer=RIGHT,
    )
    # The judge is wrong: its label is nowhere.
    log.say_all(rag, [approved], groundedness=0.1, label=BAD)
    log.review(approved, label=GOOD.value, quality=4)
    log.review(approved, "jon", label=GOOD.value, quality=3)
    for each in (conflict, adjudicated):
        log.review(each, label=GOOD.value, groundedness=0.9)
        log.review(each, "jon", label=BAD.value, groundedness=0.2)
    log.review(adjudicated, "lead", label=BAD.value, stage="adjudication")
    log.review(added, quality=2, corrected_answer="Better.", in_suite=True)
    log.review(told, label=BAD.value, groundedness=0.3)
    return log


@pytest.fixture
def log(sqlite_store):
    return filled(sqlite_store)


def exported(log, shape, **where):
    stream = io.BytesIO()
    written = write_dataset(Seen(log.store, None), shape, stream, RowFilter(**where))
    text = stream.getvalue().decode()
    if shapes()[shape].format == "json":
        return json.loads(text), written
    return [json.loads(line) for line in text.splitlines()], written


def test_labels_are_adjudicated_or_agreed_and_never_a_judges(store):
    log = filled(store)
    rows, written = exported(log, "ragas")
    metadata = [row["metadata"] for row in rows]
    # People differ, and the lead adjudicated the label only.
    assert "groundedness" not in metadata[2]
    assert [(each["external_id"], each.get("label"), each.get("quality")) for each in metadata] == [
        ("a1", "hallucinated", 1),
        ("a2", "grounded", 3),
        ("a4", "hallucinated", None),
        ("a5", None, 2),
        ("a7", "hallucinated", None),
    ]
    assert [*written.left_out.values()] == [1]
    assert [row["reference"] for row in rows] == [RIGHT, "answer 2", None, "Better.", "250 °C"]
    of_type, _ = exported(log, "ragas", query_types=("QA",))
    assert [row["metadata"]["external_id"] for row in of_type] == ["a7"]


@pytest.mark.parametrize(
    ("shape", "name"),
    [("ragas", "set.jsonl"), ("deepeval", "set.json"), ("label-studio", "tasks.json")],
)
def test_an_import_reads_back_the_answers(log, new_store, tmp_path, shape, name):
    file = tmp_path / name
    write_dataset(Seen(log.store, None), shape, file)
    other = new_store()
    result = import_file(other, file, kind="responses", source="log")
    assert (result.new, result.rejected) == (5, 0)
    if shape == "label-studio":
        import_file(other, file, kind="grades", source="log")
    sides = []
    for store in (log.store, other):
        with store.reading() as connection:
            sides.append(list(reviewed_answers(connection)))
            kept = [each for _, each in responses_by_id(connection, range(9))]
    other.close()
    texts = attrgetter("external_id", "query", "answer", "passages")
    assert [texts(each.response) for each in sides[0]] == [*map(texts, kept)]
    if shape == "label-studio":
        grades = [[(each.grades, each.corrected) for each in side] for side in sides]
        assert grades[0] == grades[1]


# What each tool's loader takes, from its source: ragas `SingleTurnSample` (other keys are ignored),
# DeepEval `add_goldens_from_json_file`, the Phoenix client's `create_dataset(examples=…)`, TRL's
# conversational preferences, the samples of openai/evals.
SAMPLE = {"user_input", "retrieved_contexts", "response", "reference"}
GOLDEN = {
    "input",
    "actual_output",
    "expected_output",
    "retrieval_context",
    "name",
    "additional_metadata",
}


def test_each_tool_finds_its_fields(log):
    rows, _ = exported(log, "ragas")
    assert all(row.keys() >= SAMPLE and isinstance(row["user_input"], str) for row in rows)
    assert rows[0]["retrieved_contexts"] == list(PASSAGES)
    assert rows[4]["retrieved_contexts"] is None
    rows, _ = exported(log, "deepeval")
    assert all(row.keys() == GOLDEN for row in rows)
    assert (rows[0]["actual_output"], rows[0]["expected_output"]) == ("answer 1", RIGHT)
    rows, _ = exported(log, "phoenix")
    assert all(
        isinstance(row[name], dict) for row in rows for name in ("input", "output", "metadata")
    )
    assert (rows[0]["output"], rows[2]["output"]) == ({"answer": RIGHT}, {})
    assert rows[0]["metadata"] == {
        "source": "log",
        "external_id": "a1",
        "label": "hallucinated",
        "quality": 1,
        "logged_answer": "answer 1",
    }
    rows, written = exported(log, "openai-evals")
    assert [row["ideal"] for row in rows] == [RIGHT, "answer 2", "Better.", "250 °C"]
    assert written.left_out["no expected answer"] == 1
    assert rows[3]["input"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "And nylon?"},
    ]
    assert PASSAGES[1] in rows[0]["input"][0]["content"]
    rows, _ = exported(log, "dpo")
    pairs = [(row["chosen"][0]["content"], row["rejected"][0]["content"]) for row in rows]
    assert pairs == [(RIGHT, "answer 1"), ("Better.", "answer 5")]
    assert [row["prompt"][-1]["role"] for row in rows] == ["user", "user"]


def test_label_studio_gets_tasks_as_it_exports_them(log, shared):
    rows, _ = exported(log, "label-studio")
    (task, *_) = json.loads((shared / "captures" / "labelstudio" / "export_JSON.json").read_text())
    captured = {each["from_name"]: each for each in task["annotations"][0]["result"]}
    for row in rows:
        (annotation,) = row["annotations"]
        assert annotation["ground_truth"] is True
        for result in annotation["result"]:
            known = captured.get(result["from_name"], result)
            assert result.keys() == known.keys()
            assert (result["to_name"], result["type"]) == (known["to_name"], known["type"])
            assert result["value"].keys() == known["value"].keys()
    names = {each["from_name"] for row in rows for each in row["annotations"][0]["result"]}
    assert names == {"label", "quality", "groundedness", "corrected_answer"}
    assert task["data"].keys() >= rows[0]["data"].keys() - {"source", "reference"}


def test_corrected_answers_become_a_suite_that_runs(log, tmp_path):
    twins = log.answers(2, group=7, passages=None)  # a suite cannot ask the same twice
    log.review_all(twins, corrected_answer="Once.", in_suite=True)
    log.review_all(log.answers(1), corrected_answer="Neither flagged nor added.")
    file = tmp_path / "cases.yaml"
    written = write_dataset(Seen(log.store, None), "suite", file)
    suite = replace(read_suite(file), rubric=RUBRIC)
    cases = [(case.query, case.reference, case.context) for case in suite.cases]
    assert cases == [
        ("query on evidence 1", RIGHT, PASSAGES),
        ("query on evidence 5", "Better.", PASSAGES),
        ("query on evidence of group 7", "Once.", None),
    ]
    assert (written.rows, sorted(written.left_out.values())) == (3, [1, 1, 4])
    with RecordingEndpoint(lambda _request, _number: scored(5, 5)) as endpoint:
        result = run_suite(
            log.store, suite, lambda query: query.upper(), model="judge", base_url=endpoint.base_url
        )
    assert (result.measured, result.gate.code) == (3, 0)


def test_the_command_writes_datasets(sqlite_store, tmp_path, capsys):
    assert set(OF_THE_COMMAND) == set(shapes())
    log = GradedLog(sqlite_store)
    log.review_all(log.answers(2), label=GOOD.value)
    database = ["--db", str(sqlite_store.engine.url.database)]
    file = tmp_path / "set.jsonl"
    assert run(["export", "--as", "ragas", "--where", "id=a2", "-o", str(file), *database]) == 0
    assert json.loads(file.read_text())["metadata"]["external_id"] == "a2"
    assert "1 row written" in capsys.readouterr().out
    assert run(["export", "--as", "suite", "-o", str(file), *database]) == 2
    assert "no case" in capsys.readouterr().err
    for wrong in (["responses", "--as", "ragas"], ["issues", "--where", "id=a2"], []):
        assert run(["export", *wrong, "-o", str(file), *database]) == 2
