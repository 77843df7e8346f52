"""The content hash sees every stored field but feedback; the evidence hash sees query and passages."""

from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest

from judgeboard.content_hash import content_hash, evidence_group, evidence_hash
from judgeboard.domain import Feedback, FeedbackKind, Response, ResponseKind

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


@pytest.mark.parametrize("name", OTHERS)
def test_every_stored_field_changes_the_hash(name):
    assert content_hash(replace(BASE, **{name: OTHERS[name]})) != content_hash(BASE)


def test_identity_and_feedback_do_not_change_it():
    other = replace(BASE, source="s", external_id="2", feedback=(Feedback(FeedbackKind.STARS, 4),), derived_from=7)
    assert content_hash(other) == content_hash(BASE)


def test_no_field_is_forgotten():
    assert set(OTHERS) | {"source", "external_id", "feedback", "derived_from"} == {one.name for one in fields(Response)}


def test_the_order_of_metadata_does_not_matter():
    assert content_hash(replace(BASE, metadata={"b": [None, "é"], "a": 1})) == content_hash(BASE)


def test_absent_passages_are_other_evidence_than_none():
    hashes = {evidence_hash("q", passages) for passages in (None, (), ("",), ("a", "b"), ("ab",))}
    assert len(hashes) == 5
    assert evidence_hash("q", ["a"]) == evidence_hash("q", ("a",))


def test_the_evidence_group_fits_a_bigint():
    groups = {evidence_group(f"q{number}", None) for number in range(200)}
    assert len(groups) == 200
    assert min(groups) < 0 < max(groups)
    assert all(-(2**63) <= group < 2**63 for group in groups)
