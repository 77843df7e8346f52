"""The content hash sees every stored field but feedback; the evidence hash sees query and passages."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from judgeboard.domain import Feedback, FeedbackKind, Response, ResponseKind
from judgeboard.store.responses import content_hash, evidence_group

BASE = Response("default", "1", "why?", "because", ("p",), metadata={"a": 1, "b": [None, "é"]})
OTHERS = {
    "query": "why not?",
    "answer": "so",
    "passages": None,
    "query_type": "QA",
    "generator_model": "m",
    "generator_cost": 0.000001,
    "messages": ({"role": "user", "content": "why?"},),
    "reference": "r",
    "asked_at": datetime(2026, 3, 1, tzinfo=UTC),
    "metadata": {"a": 2},
    "kind": ResponseKind.CONTROL,
}

WHOLE = replace(
    BASE,
    passages=("p", "é"),
    query_type="QA",
    generator_model="m",
    generator_cost=0.1234567,
    messages=({"role": "user", "content": "why?"},),
    reference="r",
    asked_at=datetime(2026, 3, 1, 12, 30, 0, 5, tzinfo=timezone(timedelta(hours=2))),
    kind=ResponseKind.CONTROL,
)


@pytest.mark.parametrize("name", OTHERS)
def test_every_stored_field_changes_the_hash(name):
    assert content_hash(replace(BASE, **{name: OTHERS[name]})) != content_hash(BASE)


def test_identity_and_feedback_do_not_change_it():
    other = replace(BASE, source="s", external_id="2", feedback=(Feedback(FeedbackKind.STARS, 4),), derived_from=7)
    assert content_hash(other) == content_hash(BASE)


@pytest.mark.parametrize(
    ("response", "known"),
    [
        (replace(BASE, metadata={}, passages=None), "ad94b9a12a1e109e44f619842107a67d8e53ac350d810d374c4b689c733bdf31"),
        (replace(BASE, metadata={}, passages=()), "345365af189f903d783c7fb735182fd5ecce980bbb39e4551e53b1d21d40f16d"),
        (WHOLE, "e832526c0e1804cc9772cffffe36d98006f060390de3da20cf6451d8b2d7d7d2"),
    ],
)
def test_the_hashes_of_stored_responses_stay_what_they_are(response, known):
    assert content_hash(response) == known


def test_no_field_is_forgotten():
    assert set(OTHERS) | {"source", "external_id", "feedback", "derived_from"} == {one.name for one in fields(Response)}


def test_the_order_of_metadata_does_not_matter():
    assert content_hash(replace(BASE, metadata={"b": [None, "é"], "a": 1})) == content_hash(BASE)


def test_absent_passages_are_other_evidence_than_none():
    hashes = {evidence_group("q", passages) for passages in (None, (), ("",), ("a", "b"), ("ab",))}
    assert len(hashes) == 5
    assert evidence_group("q", ["a"]) == evidence_group("q", ("a",))


def test_the_evidence_group_fits_a_bigint():
    groups = {evidence_group(f"q{number}", None) for number in range(200)}
    assert len(groups) == 200
    assert min(groups) < 0 < max(groups)
    assert all(-(2**63) <= group < 2**63 for group in groups)
