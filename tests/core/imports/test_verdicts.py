"""A row becomes a verdict that was recorded elsewhere, its raw text kept."""

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    Claim,
    ClaimStatus,
    DimensionScore,
    JudgeVersion,
    Label,
    Response,
    Status,
)
from judgeboard.store.items import load_item
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.storing import store_responses
from stored_rows import read, write_to
from tool_files import wrong_last

ROW = {"response_id": "r", "judge": "detector"}


@pytest.fixture
def judged(one):
    """Return ``judged(column=…)``: the verdict of a row with these columns."""
    return lambda **columns: one({**ROW, **columns}, kind="verdicts").verdict


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("as it was\n", "as it was\n"),
        ({"ö": [0.1, None]}, '{"ö": [0.1, null]}'),
        (0.25, "0.25"),
        (None, None),
    ],
)
def test_the_raw_text_is_kept_and_any_other_value_as_its_json(judged, raw, kept):
    verdict = judged(label="grounded", raw=raw, explanation="why")
    assert (verdict.status, verdict.label, verdict.raw, verdict.reasoning) == (
        Status.OK,
        Label.GROUNDED,
        kept,
        "why",
    )


def test_a_verdict_that_could_not_be_used_says_its_status(judged):
    verdict = judged(status="unparsable", raw="garbage")
    assert (verdict.status, verdict.raw) == (Status.UNPARSABLE, "garbage")


@pytest.mark.parametrize(
    ("part", "field"),
    [
        *wrong_last(
            {"groundedness": 85},
            {"quality": "three"},
            {"label": "maybe"},
            {"quality": 3, "judge": None},
            {"quality": 3, "reasoning": ["a"]},
            {"quality": 3, "claims": "a"},
            {"quality": 3, "claims": [{"status": "supported"}]},
            {"quality": 3, "claims": [{"text": "a", "status": "fine"}]},
            {"quality": 3, "claims": [{"text": "a", "status": "supported", "passage": "1"}]},
        ),
        ({}, None),
        ({"raw": "garbage"}, None),
        ({"status": "refused", "quality": 3}, "status"),
        ({"status": "fine", "quality": 3}, "status"),
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
def test_a_word_for_no_verdict_is_an_unusable_verdict_and_keeps_its_text(judged, word):
    verdict = judged(label=word)
    assert (verdict.status, verdict.label, verdict.raw) == (Status.UNPARSABLE, None, word)
    scored = judged(label=word, groundedness=0.2)
    assert (scored.status, scored.label, scored.groundedness) == (Status.OK, None, 0.2)


def test_failed_is_a_verdict_and_not_a_missing_one(judged):
    verdict = judged(label="failed")
    assert (verdict.status, verdict.label) == (Status.OK, Label.HALLUCINATED)


@pytest.mark.parametrize("word", ["none", " None "])
def test_none_may_be_a_class_and_is_never_unusable_unasked(one, refused, word):
    row = {**ROW, "label": word}
    field, reason = refused(row, kind="verdicts")
    assert field == "label"
    assert "--map-value label:none=grounded (good)" in reason
    mapped = one(row, kind="verdicts", values={"label": {"none": "grounded"}}).verdict
    assert (mapped.status, mapped.label) == (Status.OK, Label.GROUNDED)


def test_a_judge_judges_a_response_once_in_a_file(several):
    row = {"external_id": "r", "judge": "detector", "quality": 3}
    parts = dict.fromkeys(("judge", "judge_version", "judge_model", "source"), "other")
    parts |= {"ask": 1, "repeat": 1}
    others = (row | {part: value} for part, value in parts.items())
    first, again, *others = several(row, row, *others, kind="verdicts")
    assert (first.judge.name, again.field) == ("detector", "external_id")
    assert [each.external_id for each in others] == ["r"] * len(parts)


def test_a_number_on_a_scale_of_its_own_is_never_a_quality(judged):
    verdict = judged(quality=0.25, scale="0-1", scores={"depth": 1, "style": None})
    assert verdict.quality is None
    assert verdict.scores == (
        DimensionScore("score", 0.25, "0-1"),
        DimensionScore("depth", 1, "0-1"),
        DimensionScore("style", None, "0-1"),
    )
    assert judged(quality=3, scale="1-4").quality == 3


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
    judged, raw, named
):
    scores = judged(quality=0.25, scale="0-1", raw=raw).scores
    assert [(each.dimension, each.value) for each in scores] == [("score", 0.25), *named]
    assert judged(label="grounded", raw=raw).scores == ()


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


def test_claims_are_placed_in_the_stored_texts(store, bring):
    answer = Response("log", "r", "q", "It is old. It is red.", ("A.", "Granite is old."))
    [response_id] = write_to(store, store_responses, [answer]).new
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
    for new in (1, 0):
        assert bring({**ROW, "groundedness": 0.5, "claims": claims}, kind="verdicts").new == new
    [judgment] = read(store, load_item, response_id).judgments
    assert judgment.claims == (
        Claim("It is old.", ClaimStatus.SUPPORTED, "It is old.", 2, "old", 0, 10, 11, 14),
        Claim("It is blue.", ClaimStatus.UNSUPPORTED, "It is blue."),
    )


@on_sqlite
def test_two_verdicts_of_one_version_under_two_models_are_compared(store, bring):
    """The fingerprint names the version, whatever else a row says of its judge."""
    write_to(store, store_responses, [Response("default", "r", "q", "a", passages=("p",))])
    version = write_to(store, ensure_version, JudgeVersion(name="detector", kind="recorded"))
    row = ROW | {"judge_version": version.fingerprint}
    summary = bring(
        row | {"judge_model": "m1", "groundedness": 0.2},
        row | {"judge_model": "m2", "groundedness": 0.9},
        kind="verdicts",
    )
    assert (summary.new, summary.differing) == (1, 1)
    assert "'r'" in summary.first_rejected[0].reason
