"""A verdict is taken strictly or not at all."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.domain import ClaimStatus
from judgeboard.judges.rag import VerdictForm
from judgeboard.llm.asking import UnusableReply

GOOD = {"reasoning": "It is in passage 1.", "groundedness": 0.85, "quality": 3}
CLAIM = {"text": "30 m", "status": "supported", "answer_quote": "30 m", "passage": 1, "passage_quote": None}


def parse(form: VerdictForm = VerdictForm(), **changes: Any) -> dict[str, Any]:  # noqa: B008  a frozen value
    return form.parse(json.dumps({**GOOD, **changes})).content


@pytest.mark.parametrize("groundedness", [0, 1, 0.0, 1.0, 0.85, 1e-9])
@pytest.mark.parametrize("quality", [1, 2, 3, 4])
def test_good_values_are_taken(groundedness: float, quality: int) -> None:
    verdict = parse(groundedness=groundedness, quality=quality)
    assert (verdict["groundedness"], verdict["quality"]) == (groundedness, quality)
    assert isinstance(verdict["groundedness"], float)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"groundedness": 85}, "groundedness 85 is above 1"),
        ({"groundedness": 330}, "groundedness 330 is above 1"),
        ({"groundedness": -0.1}, "groundedness -0.1 is below 0"),
        ({"groundedness": True}, "groundedness must be a number from 0 to 1, not True"),
        ({"groundedness": "0.8"}, "groundedness must be a number"),
        ({"groundedness": None}, "groundedness is null"),
        ({"groundedness": [0.5]}, "groundedness must be a number"),
        ({"quality": 3.0}, "quality must be an integer from 1 to 4, not 3.0"),
        ({"quality": True}, "quality must be an integer"),
        ({"quality": "3"}, "quality must be an integer"),
        ({"quality": 0}, "quality 0 is below 1"),
        ({"quality": 5}, "quality 5 is above 4"),
        ({"quality": None}, "quality is null"),
        ({"reasoning": None}, "reasoning must be a text"),
        ({"reasoning": 3}, "reasoning must be a text"),
        ({"confidence": 0.9}, "the field 'confidence' was not asked for"),
        ({"claims": []}, "the field 'claims' was not asked for"),
    ],
)
def test_one_bad_field_makes_the_whole_verdict_unusable(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnusableReply) as unusable:
        parse(**changes)
    assert reason in str(unusable.value)


@pytest.mark.parametrize("name", list(GOOD))
def test_a_missing_field_is_named(name: str) -> None:
    with pytest.raises(UnusableReply, match=f"the field '{name}' is missing"):
        VerdictForm().parse(json.dumps({key: value for key, value in GOOD.items() if key != name}))


def test_infinity_written_as_a_number_is_no_groundedness() -> None:
    with pytest.raises(UnusableReply, match="groundedness must be a number"):
        VerdictForm().parse('{"reasoning": "", "groundedness": 1e999, "quality": 3}')


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=4))
def test_no_value_passes_but_numbers_in_range(value: Any) -> None:
    try:
        verdict = parse(groundedness=value, quality=value)
    except UnusableReply:
        return
    assert value == 1
    assert verdict["quality"] == 1


def test_without_passages_groundedness_is_neither_asked_for_nor_taken() -> None:
    form = VerdictForm(groundedness=False)
    assert "groundedness" not in form.schema["properties"]
    plain = {"reasoning": "", "quality": 2}
    assert form.parse(json.dumps(plain)).content == plain
    assert form.parse(json.dumps({**plain, "groundedness": None})).content == plain
    with pytest.raises(UnusableReply, match="'groundedness' was not asked for"):
        form.parse('{"reasoning": "", "quality": 2, "groundedness": 0.5}')


def test_claims_are_read_whole() -> None:
    verdict = parse(VerdictForm(claims=True), claims=[CLAIM, {**CLAIM, "status": "contradicted", "passage": None}])
    assert [claim["status"] for claim in verdict["claims"]] == [ClaimStatus.SUPPORTED, ClaimStatus.CONTRADICTED]
    assert verdict["claims"][0]["passage"] == 1
    assert parse(VerdictForm(claims=True), claims=[])["claims"] == []


@pytest.mark.parametrize(
    "claims",
    [
        None,
        {},
        "none",
        [3],
        [{**CLAIM, "status": "maybe"}],
        [{**CLAIM, "passage": "1"}],
        [{**CLAIM, "passage": True}],
        [{**CLAIM, "passage": 10**30}],
        [{**CLAIM, "text": None}],
        [{**CLAIM, "answer_quote": 3}],
        [{**CLAIM, "extra": 3}],
        [{"text": "30 m"}],
    ],
)
def test_one_bad_claim_makes_the_whole_verdict_unusable(claims: Any) -> None:
    with pytest.raises(UnusableReply, match="claim"):
        parse(VerdictForm(claims=True), claims=claims)


@pytest.mark.parametrize("form", [VerdictForm(groundedness=g, claims=c) for g in (True, False) for c in (True, False)])
def test_the_example_shown_to_models_is_a_verdict_of_its_form(form: VerdictForm) -> None:
    assert form.parse(form.example).content["quality"] == 3
    assert list(form.schema["required"]) == list(form.fields) == list(json.loads(form.example))
    assert form.schema["additionalProperties"] is False
