"""A row becomes a verdict that was recorded elsewhere, its raw text kept."""

import json

import pytest

from engines import on_sqlite
from judgeboard.domain import Claim, ClaimStatus, JudgeVersion, Label, Response, Status
from judgeboard.imports.importing import import_file
from judgeboard.store.items import load_item
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.storing import store_responses

ROW = {"response_id": "r", "judge": "detector"}


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("as it was\n", "as it was\n"),
        ({"ö": [0.1, None]}, '{"ö": [0.1, null]}'),
        (0.25, "0.25"),
        (None, None),
    ],
)
def test_the_raw_text_is_kept_and_any_other_value_as_its_json(one, raw, kept):
    verdict = one(
        {**ROW, "label": "grounded", "raw": raw, "explanation": "why"}, kind="verdicts"
    ).verdict
    assert (verdict.status, verdict.label, verdict.raw, verdict.reasoning) == (
        Status.OK,
        Label.GROUNDED,
        kept,
        "why",
    )


def test_a_verdict_that_could_not_be_used_says_its_status(one):
    verdict = one({**ROW, "status": "unparsable", "raw": "garbage"}, kind="verdicts").verdict
    assert (verdict.status, verdict.raw) == (Status.UNPARSABLE, "garbage")


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({}, None),
        ({"raw": "garbage"}, None),
        ({"status": "refused", "quality": 3}, "status"),
        ({"status": "fine", "quality": 3}, "status"),
        ({"groundedness": 85}, "groundedness"),
        ({"quality": "three"}, "quality"),
        ({"label": "maybe"}, "label"),
        ({"quality": 3, "judge": None}, "judge"),
        ({"quality": 3, "reasoning": ["a"]}, "reasoning"),
        ({"quality": 3, "claims": "a"}, "claims"),
        ({"quality": 3, "claims": [{"status": "supported"}]}, "claims"),
        ({"quality": 3, "claims": [{"text": "a", "status": "fine"}]}, "claims"),
        (
            {"quality": 3, "claims": [{"text": "a", "status": "supported", "passage": "1"}]},
            "claims",
        ),
    ],
)
def test_what_is_no_verdict_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="verdicts")[0] == field


@pytest.mark.parametrize(
    "word",
    [
        "Invalid",
        "N/A",
        " error ",
        "unparsable",
        "timeout",
        "Parse_Error",
        "refused",
        "unknown",
        "?",
        "failed to judge",
        "null",
        "nan",
    ],
)
def test_a_word_for_no_verdict_is_an_unusable_verdict_and_keeps_its_text(one, word):
    verdict = one({**ROW, "label": word}, kind="verdicts").verdict
    assert (verdict.status, verdict.label, verdict.raw) == (Status.UNPARSABLE, None, word)
    scored = one({**ROW, "label": word, "groundedness": 0.2}, kind="verdicts").verdict
    assert (scored.status, scored.label, scored.groundedness) == (Status.OK, None, 0.2)


def test_failed_is_a_verdict_and_not_a_missing_one(one):
    verdict = one({**ROW, "label": "failed"}, kind="verdicts").verdict
    assert (verdict.status, verdict.label) == (Status.OK, Label.HALLUCINATED)


@pytest.mark.parametrize("word", ["none", " None "])
def test_none_may_be_a_class_and_is_never_unusable_unasked(one, refused, word):
    field, reason = refused({**ROW, "label": word}, kind="verdicts")[:2]
    assert field == "label"
    assert "--map-value label:none=grounded (good)" in reason
    mapped = one(
        {**ROW, "label": word}, kind="verdicts", values={"label": {"none": "grounded"}}
    ).verdict
    assert (mapped.status, mapped.label) == (Status.OK, Label.GROUNDED)


def test_a_judge_judges_a_response_once_in_a_file(reading):
    rows = [{**ROW, "quality": 3}, {**ROW, "quality": 3}, {**ROW, "judge": "other", "quality": 3}]
    first, again, other = reading("\n".join(map(json.dumps, rows)).encode(), kind="verdicts")
    assert (first.judge, again.field, other.judge) == ("detector", "external_id", "other")


def test_a_number_on_a_scale_of_its_own_is_never_a_quality(one):
    verdict = one(
        {**ROW, "quality": 0.25, "scale": "0-1", "scores": {"depth": 1, "style": None}},
        kind="verdicts",
    ).verdict
    assert verdict.quality is None
    assert [(each.dimension, each.value, each.scale) for each in verdict.scores] == [
        ("score", 0.25, "0-1"),
        ("depth", 1, "0-1"),
        ("style", None, "0-1"),
    ]
    assert one({**ROW, "quality": 3, "scale": "1-4"}, kind="verdicts").verdict.quality == 3


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ({"depth": 0.2, "style": 1}, [("depth", 0.2), ("style", 1)]),
        ({"depth": 0.2, "style": 7}, []),  # not on the row's scale: it means something else
        ({"depth": 0.2, "why": "thin"}, []),
        ("0.2", []),
    ],
)
def test_what_the_judge_really_said_is_read_where_it_is_numbers_by_name_on_the_rows_scale(
    one, raw, named
):
    verdict = one({**ROW, "quality": 0.25, "scale": "0-1", "raw": raw}, kind="verdicts").verdict
    assert [(each.dimension, each.value) for each in verdict.scores] == [("score", 0.25), *named]
    assert one({**ROW, "label": "grounded", "raw": raw}, kind="verdicts").verdict.scores == ()


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"quality": 2, "scale": "0-1"}, "quality"),
        ({"scores": {"depth": 1}}, "scale"),
        ({"scores": [1], "scale": "0-1"}, "scores"),
        ({"quality": 1, "scale": "high"}, "scale"),
        ({"quality": 1, "scale": "0-1", "status": "error"}, "status"),
    ],
)
def test_a_score_needs_its_scale_and_lies_on_it(refused, part, field):
    assert refused({**ROW, **part}, kind="verdicts")[0] == field


def test_claims_are_placed_in_the_stored_texts(store, tmp_path):
    with store.writing() as connection:
        answer = Response("log", "r", "q", "It is old. It is red.", ("A.", "Granite is old."))
        [response_id] = store_responses(connection, [answer]).new
    claims = [
        {
            "text": "It is old.",
            "status": "supported",
            "answer_quote": "It is old.",
            "passage": 2,
            "passage_quote": "old",
        },
        {"text": "It is blue.", "status": "unsupported", "answer_quote": "It is blue."},
    ]
    path = tmp_path / "verdicts.jsonl"
    path.write_text(json.dumps({**ROW, "groundedness": 0.5, "claims": claims}), encoding="utf-8")
    for new in (1, 0):
        assert import_file(store, path, kind="verdicts").new == new
    with store.reading() as connection:
        [judgment] = load_item(connection, response_id).judgments
    assert judgment.claims == (
        Claim("It is old.", ClaimStatus.SUPPORTED, "It is old.", 2, "old", 0, 10, 11, 14),
        Claim("It is blue.", ClaimStatus.UNSUPPORTED, "It is blue."),
    )


@on_sqlite
def test_two_verdicts_of_one_version_under_two_models_are_compared(store, bring):
    """The fingerprint names the version, whatever else a row says of its judge."""
    with store.writing() as connection:
        store_responses(connection, [Response("default", "r", "q", "a", passages=("p",))])
        version = ensure_version(connection, JudgeVersion(name="detector", kind="recorded"))
    rows = [
        ROW | {"judge_version": version.fingerprint, "judge_model": model} for model in ("m1", "m2")
    ]
    summary = bring(
        rows[0] | {"groundedness": 0.2}, rows[1] | {"groundedness": 0.9}, kind="verdicts"
    )
    assert (summary.new, summary.differing) == (1, 1)
    assert "'r'" in summary.first_rejected[0].reason
