"""The file of rejected rows can be imported: it stores what the rows themselves would have stored."""

import json
from typing import Any

import pytest

from judgeboard.imports.importing import import_file
from judgeboard.imports.kinds import KINDS, kind_class
from judgeboard.store.tables import METADATA
from tool_files import written, written_csv

Row = dict[str, Any]
ANSWER = {"external_id": "r1", "source": "log"}
TIME = "2026-05-01T10:00:00Z"
LEFT = {**ANSWER, "query": "which?", "answer": "left"}
RIGHT = {**LEFT, "external_id": "r2", "answer": "right"}
ANSWERS = [("responses", LEFT), ("responses", RIGHT)]
ASKED = {
    "external_id": "p1",
    "source": "log",
    "question": "which?",
    "answer_a": "left",
    "answer_b": "right",
}
PAIR = {
    **ASKED,
    "options": ["x", "y"],
    "query_type": "math",
    "reference": "x",
    "model_a": "m",
    "model_b": "n",
    "response_a": "r1",
    "response_b": "r2",
    "gold": "tie",
    "metadata": {"k": 1},
}
RESPONSE = {
    **LEFT,
    "context": ["a passage", {"text": "another", "rank": 2}],
    "query_type": "chat",
    "generator_model": "m",
    "generator_cost": 0.25,
    "messages": [{"role": "user", "content": "which?"}],
    "reference": "left",
    "asked_at": TIME,
    "metadata": {"k": 1},
    "thumbs": "up",
    "stars": 4,
    "feedback": 3,
    "kind": "candidate",
    "extra": "e",
}
REVIEW = {
    "review": 7,
    "replaces": 6,
    "decision": "confirm",
    "stage": "blind",
    "seconds": 2.5,
    "seen": ["people"],
    "flags": [{"id": 3, "rule": "low_quality"}],
    "why_differs": "other",
    "claim_marks": [{"status": "supported", "text": "left", "start": 0, "end": 4}],
    "in_suite": True,
}
GRADE = {
    **REVIEW,
    **ANSWER,
    "annotator": "ada",
    "label": "grounded",
    "label_implied": True,
    "groundedness": 3,
    "quality": 4,
    "spans": [{"start": 0, "end": 2}],
    "aspects": {"depth": 2},
    "scale": "1-5",
    "dimension": "tone",
    "score": 3,
    "note": "so",
    "corrected_answer": "right",
    "failure_modes": ["outdated"],
    "at": TIME,
}
PREFERENCE = {
    "pair_id": "p1",
    "source": "log",
    "annotator": "ada",
    "aspects": {"depth": 2, "style": "a"},
    "scale": "-3..3",
    "preference": "b",
    "shown": "ba",
    "note": "so",
    "at": TIME,
}
VERDICT = {
    **ANSWER,
    "judge": "j",
    "judge_version": "7",
    "judge_model": "m",
    "label": "grounded",
    "groundedness": 3,
    "quality": 4,
    "scores": {"depth": 2},
    "scale": "1-5",
    "reasoning": "why",
    "claims": [{"text": "It is left.", "status": "supported", "answer_quote": "left"}],
    "raw": '{"quality": 4}',
    "status": "ok",
    "error": "none",
    "ask": 1,
    "repeat": 2,
}
COMPARISON = {
    "external_id": "p1",
    "source": "log",
    "judge": "j",
    "judge_version": "7",
    "order": "ab",
    "verdict": "a",
    "aspect": "depth",
    "condition": "reference",
    "reference": "R",
    "reasoning": "why",
    "raw": "[[A]]",
    "status": "ok",
    "error": "none",
    "ask": 1,
}
JUDGED_PAIR = {
    **PAIR,
    "judge": "j",
    "verdict_order_ab": {"depth": "a"},
    "verdict_order_ba": "b",
    "raw": "both",
    "raw_ab": "[[A]]",
    "raw_ba": "[[B]]",
    "human": [
        {
            "annotator": "ada",
            "shown": "ba",
            "scale": "-3..3",
            "note": "so",
            "at": TIME,
            "depth": 3,
        }
    ],
}
SAMPLES = {
    **PAIR,
    "judge": "m",
    "judge_version": "7",
    "samples": ["1", None],
    "correct": [True, None],
    "models": ["m1", "m2"],
    "statuses": ["ok", "refused"],
    "raw": ["it is 1", "no"],
    "verdicts": {"A": {"ab": "a", "ba": None}},
}
REPEATS = {
    **ANSWER,
    "question": "which?",
    "answer": "left",
    "reference": "left",
    "query_type": "chat",
    "generator_model": "w",
    "judge": "m",
    "rubric": "1 bad, 5 good",
    "scale": "1-5",
    "samples": [5, None],
    "raw": ["fine", "?"],
    "metadata": {"k": 1},
}
FEEDBACK = {
    **ANSWER,
    "thumbs": "up",
    "stars": 4,
    "comment": "Old price.",
    "feedback": 3,
    "user": "ann",
    "at": TIME,
}
JUDGE = {**ANSWER, "judge": "j", "judge_version": "f00d"}
JUDGED = {**JUDGE, "groundedness": 0.1}
AUDIT = {
    **JUDGE,
    "judgment_ask": 0,
    "judgment_repeat": 0,
    "supreme_judge": "s",
    "supreme_judge_version": "beef",
    "ask": 0,
    "correct": False,
    "reasoning": "no",
    "inclusion_probability": 0.5,
    "status": "ok",
    "raw": "no",
    "error": "",
}
OTHER_ANSWER = [("responses", {**LEFT, "answer": "other"})]
OTHER_PAIR = [("pairs", {**ASKED, "question": "how?"})]
OF_PAIRS = {"pair_id", "preference", "shown"}
OF_PUBLIC_PAIRS = {
    "annotator",
    "scale",
    "score_a",
    "score_b",
    "winner",
    "winner_a",
    "winner_b",
    "winner_tie",
}  # not with `human`
OF_SCHEMAS = {"label_schema", "fields"}  # a schema comes from a file of its own
OF_RESPONSES = {
    "external_id",
    "label",
    "label_implied",
    "groundedness",
    "quality",
    "spans",
    "corrected_answer",
    "failure_modes",
    "dimension",
    "score",
}
# By kind: a row, the fields it cannot have, what makes the store refuse it, and what the store
# needs to accept it.
CASES = [
    ("responses", RESPONSE, set(), OTHER_ANSWER, []),
    ("grades", GRADE, OF_PAIRS | OF_SCHEMAS, [], ANSWERS),
    ("grades", PREFERENCE, OF_RESPONSES | OF_SCHEMAS | set(REVIEW), [], [("pairs", ASKED)]),
    ("verdicts", VERDICT, set(), [], ANSWERS),
    ("feedback", FEEDBACK, set(), [], ANSWERS),
    ("pairs", JUDGED_PAIR, OF_PUBLIC_PAIRS, OTHER_PAIR, ANSWERS),
    ("comparisons", COMPARISON, set(), [], [("pairs", ASKED)]),
    ("samples", SAMPLES, set(), OTHER_PAIR, ANSWERS),
    ("repeats", REPEATS, set(), OTHER_ANSWER, []),
    ("audits", AUDIT, set(), ANSWERS, [*ANSWERS, ("verdicts", JUDGED)]),
]


@pytest.fixture
def store_with(tmp_path, new_store):
    """Return ``store_with(rows)``: a database with rows, each with its kind."""

    def new(rows):
        store = new_store()
        for kind, row in rows:
            file = written(tmp_path, row, name="before.jsonl")
            assert import_file(store, file, kind=kind).new == 1
        return store

    return new


def written_as(format_name, folder, row):
    """Write a row to a file of this format."""
    if format_name == "csv":
        return written_csv(folder / "any.csv", row | {"empty": ""})
    return written(folder, row)


def stored_in(store):
    """Every row of every table, without the times and the events of the imports."""
    times = {"created_at", "imported_at", "started_at", "finished_at", "import_batch_id"}
    left_out = {"import_batch", "event", "failure_mode"}  # the latter has a time of its own
    with store.reading() as connection:
        stored = {
            table.name: [
                {name: str(value) for name, value in row.items() if name not in times}
                for row in connection.execute(table.select()).mappings()
            ]
            for table in METADATA.sorted_tables
            if table.name not in left_out
        }
    store.close()
    return stored


@pytest.mark.parametrize("format_name", ["jsonl", "csv"])
@pytest.mark.parametrize(("kind", "row", "no_fields", "refusing", "needed"), CASES)
def test_a_rejected_row_is_stored_like_the_row_itself_once_its_reason_is_gone(
    store_with, tmp_path, kind, row, no_fields, refusing, needed, format_name
):
    assert set(row) - {"extra"} == set(kind_class(kind).columns) - no_fields
    file = written_as(format_name, tmp_path, row)
    first = store_with(refusing)
    refused = import_file(first, file, kind=kind)
    first.close()
    assert (refused.new, refused.rejected, refused.rejected_file is None) == (0, 1, False)
    assert refused.first_rejected[0].field in {None, "id", *row}
    direct, again, bare = (store_with(needed) for _ in range(3))
    bare_row = json.loads(refused.rejected_file.read_text())["row"]
    assert import_file(direct, file, kind=kind).new == 1
    assert import_file(again, refused.rejected_file, kind=kind).new == 1
    assert import_file(bare, written(tmp_path, bare_row, name="row.jsonl"), kind=kind).new == 1
    assert stored_in(again) == stored_in(bare) == stored_in(direct)


def test_every_kind_has_a_rejected_row():
    assert {kind for kind, *_ in CASES} == set(KINDS)
