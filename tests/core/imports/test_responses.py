"""A row becomes a response with an id of its own; ids are never shared."""

import json

import pytest

from judgeboard.domain import Rejected, Response
from judgeboard.store.responses import content_hash

ROW = {"query": "q", "answer": "a"}


def test_without_an_id_a_row_gets_its_content_hash_and_equal_rows_are_numbered(reading):
    other = {**ROW, "answer": "b"}
    items = list(reading("\n".join(json.dumps(row) for row in (ROW, other, ROW, ROW, other)).encode()))
    first, second = content_hash(items[0]), content_hash(items[1])
    assert [item.external_id for item in items] == [first, second, f"{first}-2", f"{first}-3", f"{second}-2"]


def test_thousands_of_equal_rows_are_numbered_without_a_gap(reading):
    items = list(reading((json.dumps(ROW).encode() + b"\n") * 3000))
    digest = content_hash(items[0])
    assert [item.external_id for item in items] == [digest, *(f"{digest}-{number}" for number in range(2, 3001))]


def test_an_id_may_occur_once_even_if_the_rows_are_equal(reading):
    rows = [{"id": "x", **ROW}, {"id": "x", **ROW}, {"id": 1, **ROW}, {"id": "1", **ROW}, {"id": 1.0, **ROW}]
    items = list(reading("\n".join(map(json.dumps, rows)).encode()))
    assert [type(item) for item in items] == [Response, Rejected, Response, Rejected, Rejected]
    assert {item.field for item in items if isinstance(item, Rejected)} == {"external_id"}


def test_one_id_in_two_sources_is_two_ids(reading):
    rows = [{"source": source, "external_id": "x", **ROW} for source in ("a", "b")]
    assert all(isinstance(item, Response) for item in reading("\n".join(map(json.dumps, rows)).encode()))


def test_the_id_of_a_rejected_row_stays_free(reading):
    rows = [{"id": "x", "query": "q"}, {"id": "x", **ROW}]
    bad, good = reading("\n".join(map(json.dumps, rows)).encode())
    assert isinstance(bad, Rejected)
    assert good.external_id == "x"


def test_texts_stay_exactly_as_they_are(one):
    text = "  = \r\n\t<b>ä</b> \u202e😀 "
    response = one({"query": text, "answer": text, "reference": text, "id": " x "})
    assert (response.query, response.answer, response.reference, response.external_id) == (text, text, text, " x ")


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"id": True}, "external_id"),
        ({"id": 1.5}, "external_id"),
        ({"id": ["x"]}, "external_id"),
        ({"id": "x" * 513}, "external_id"),
        ({"query_type": {"a": 1}}, "query_type"),
        ({"query_type": "x" * 129}, "query_type"),
        ({"model": ["m"]}, "generator_model"),
        ({"cost": -1}, "generator_cost"),
        ({"cost": "0.1"}, "generator_cost"),
        ({"cost": True}, "generator_cost"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"content": "no role"}]}, "messages"),
        ({"messages": ["hello"]}, "messages"),
        ({"reference": 42}, "reference"),
        ({"asked_at": "yesterday"}, "asked_at"),
        ({"ts": True}, "asked_at"),
        ({"metadata": ["a"]}, "metadata"),
        ({"metadata": "{'a': 1}"}, "metadata"),
        ({"metadata": '{"a": "\\u0000"}'}, "metadata"),
        ({"external_id": "x", "kind": "nonsense"}, "kind"),
    ],
)
def test_an_unusable_optional_field_rejects_the_row_and_is_named(refused, extra, field):
    assert refused({**ROW, **extra})[0] == field


def test_optional_fields_are_read(one):
    messages = [{"role": "user", "content": "q"}]
    response = one({**ROW, "messages": messages, "metadata": '{"a": 1}', "ideal": ["x", "y"], "type": 3, "cost": 1e-7})
    assert response.messages == tuple(messages)
    assert (response.metadata, response.reference, response.query_type) == ({"a": 1}, "x\ny", "3")
    assert response.generator_cost == 0  # costs are kept in whole millionths


def test_a_row_without_optional_fields_has_the_defaults(one):
    response = one({**ROW, "type": " ", "id": ""}, source="mine")
    assert (response.query_type, response.source, response.metadata) == ("unspecified", "mine", {})
    assert response.external_id == content_hash(response)
