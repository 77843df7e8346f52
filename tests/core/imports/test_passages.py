"""Whatever a log calls its context becomes a list of passages; absent is not empty."""

import pytest


@pytest.mark.parametrize(
    ("context", "passages"),
    [
        (None, None),
        ([], ()),
        ("", ()),
        ("a text", ("a text",)),
        ('["not", "csv"]', ('["not", "csv"]',)),
        (["p1", "", "p2"], ("p1", "", "p2")),
        ({"name": "Ämt", "n": 1}, ('{"name": "Ämt", "n": 1}',)),
        (['{"name": "record"}'], ('{"name": "record"}',)),
        ([{"a": 1}], ('{"a": 1}',)),
    ],
)
def test_passages_are_read(one, context, passages):
    response = one({"query": "q", "answer": "a", "context": context})
    assert response.passages == passages
    assert response.metadata == {}


def test_absent_passages_are_none(one):
    assert one({"query": "q", "answer": "a"}).passages is None


def test_of_passage_objects_the_text_is_taken_and_the_rest_is_kept(one):
    context = [{"page_content": "p1", "score": 0.9}, {"document": {"content": "p2", "id": 4}, "rank": 2}, "p3"]
    response = one({"query": "q", "answer": "a", "context": context})
    assert response.passages == ("p1", "p2", "p3")
    assert response.metadata == {"context_details": [{"score": 0.9}, {"rank": 2, "document": {"id": 4}}, {}]}


@pytest.mark.parametrize(
    ("context", "says"),
    [
        (["p", 3], "passage 2 is a number"),
        ([None], "passage 1 is null"),
        ([["p"]], "a list"),
        (7, "a number"),
        (True, "t"),
    ],
)
def test_what_is_no_passage_rejects_its_row(refused, context, says):
    field, reason = refused({"query": "q", "answer": "a", "context": context})
    assert field == "context"
    assert says in reason
