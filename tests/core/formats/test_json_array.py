"""JSON files: an array of any length, wrapped or not; one bad element costs itself."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.domain import Rejected, Response
from judgeboard.formats.json import _Cutter, _elements

GOOD = b'{"query": "q", "answer": "a"}'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "text",
    [
        b"[" + GOOD + b", " + GOOD + b"]",
        b"\xef\xbb\xbf \n[\n" + GOOD + b"\n,\n" + GOOD + b",\n]\n",
        b'{"data": [' + GOOD + b"," + GOOD + b"]}",
        b'{"version": 1, "meta": {"rows": [1]}, "rows" : [' + GOOD + b"," + GOOD + b'], "more": [{"a": 1}]}',
        GOOD + b"\n" + GOOD,
        json.dumps({"query": "q", "answer": "a"}, indent=2).encode() * 2,
    ],
)
def test_two_rows_come_in_from_every_shape_of_file(reading, text):
    items = list(reading(text, "log.json"))
    assert [item.answer for item in items] == ["a", "a"]


def test_a_single_object_is_one_row(reading):
    (response,) = reading(b'{"query": "q", "answer": "a", "context": ["p"]}', "log.json")
    assert response.passages == ("p",)


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        (b'{"query": "q", "answer": NaN}', "NaN"),
        (b'{"query": "q", "answer": "caf\xe9"}', "not UTF-8"),
        (b"3", "not an object but a number"),
        (b"[1]", "not an object but a list"),
        (b'{"query": "q" "answer": "a"}', "not JSON"),
        (b"nonsense", "not JSON"),
        (b'{"query": "q", "answer": "\\ud800"}', "half a character"),
    ],
)
def test_a_bad_element_is_rejected_and_its_neighbours_come_in(reading, element, reason):
    before, bad, after = reading(b"[" + GOOD + b"," + element + b"," + GOOD + b"]", "log.json")
    assert isinstance(bad, Rejected)
    assert bad.line == 2
    assert reason in bad.reason
    assert (before.answer, after.answer) == ("a", "a")


@pytest.mark.parametrize("end", [b"", b",", b',{"que', b',{"query": "q", "answer": "a\\'])
def test_a_file_that_breaks_off_gives_the_rows_before_and_says_so(reading, end):
    file = reading(b"[" + GOOD + b"," + GOOD + end, "log.json")
    items = list(file)
    assert [type(item) for item in items] == [Response, Response, Rejected]
    assert file.unreadable is not None
    assert file.unreadable.startswith("unreadable after row 2: ")
    assert items[-1].reason == file.unreadable


def test_text_after_the_array_that_is_no_row_is_said(reading):
    items = list(reading(b"[" + GOOD + b"]]", "log.json"))
    assert [type(item) for item in items] == [Response, Rejected]


@settings(max_examples=60, deadline=None)
@given(st.lists(JSON, max_size=6), st.integers(1, 9), st.booleans(), st.sampled_from([None, 1]))
def test_any_array_is_cut_into_its_elements_wherever_the_pieces_end(values, size, escaped, indent):
    text = json.dumps(values, ensure_ascii=escaped, indent=indent).encode()
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    assert [json.loads(piece) for piece in _elements(_Cutter(pieces))] == values
