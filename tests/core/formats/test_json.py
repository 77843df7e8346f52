"""JSON arrays and JSON lines: one bad element costs itself."""

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


def array_of(*elements):
    return b"[" + b",".join(elements) + b"]"


TWO = array_of(GOOD, GOOD)


@pytest.mark.parametrize(
    "text",
    [
        b"[" + GOOD + b", " + GOOD + b"]",
        b"\xef\xbb\xbf \n[\n" + GOOD + b"\n,\n" + GOOD + b",\n]\n",
        b'{"data": ' + TWO + b"}",
        b'{"version": 1, "meta": {"rows": [1]}, "rows" : ' + TWO + b', "more": [{"a": 1}]}',
        GOOD + b"\n" + GOOD,
        json.dumps(json.loads(GOOD), indent=2).encode() * 2,
    ],
)
def test_two_rows_come_in_from_every_shape_of_file(reading, text):
    assert [item.answer for item in reading(text, "log.json")] == ["a", "a"]


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ('{"query": "ä ö ü ß", "answer": "'.encode() + b'caf\xe9"}', "not UTF-8"),
        (b"3", "not an object but a number"),
        (b"nonsense", "not JSON"),
        (b'{"query": "q", "answer": "\\ud800"}', "half a character"),
    ],
)
def test_a_bad_element_is_rejected_and_its_neighbours_come_in(reading, element, reason):
    before, bad, after = reading(array_of(GOOD, element, GOOD), "log.json")
    assert (bad.line, reason in bad.reason) == (2, True)
    assert (before.answer, after.answer) == ("a", "a")


@pytest.mark.parametrize("end", [b"", b",", b',{"que', b',{"query": "q", "answer": "a\\'])
def test_a_file_that_breaks_off_gives_the_rows_before_and_says_so(reading, end):
    file = reading(TWO[:-1] + end, "log.json")
    items = list(file)
    assert [type(item) for item in items] == [Response, Response, Rejected]
    assert "row 2: " in file.unreadable
    assert items[-1].reason == file.unreadable


def test_text_after_the_array_that_is_no_row_is_said(reading):
    items = reading(array_of(GOOD) + b"]", "log.json")
    assert [type(item) for item in items] == [Response, Rejected]


@settings(max_examples=60, deadline=None)
@given(st.lists(JSON, max_size=6), st.integers(1, 9), st.booleans(), st.sampled_from([None, 1]))
def test_any_array_is_cut_into_its_elements_wherever_the_pieces_end(values, size, escaped, indent):
    text = json.dumps(values, ensure_ascii=escaped, indent=indent).encode()
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    assert [json.loads(piece) for piece in _elements(_Cutter(pieces))] == values


def test_blank_lines_a_byte_order_mark_and_a_missing_last_line_end_do_not_matter(reading):
    items = reading(b"\xef\xbb\xbf" + GOOD + b"\r\n\n  \t\n" + GOOD)
    assert [item.answer for item in items] == ["a", "a"]


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        (b"not json", None, "not JSON"),
        (b"[1, 2]", None, "not an object but a list"),
        (b'{"query": "q", "answer": NaN}', "answer", "no answer"),
        (b'{"query": "q", "answer": "a", "x": 1e999}', "x", "not finite"),
        (b'{"query": "q", "answer": "a", "x": 36893488147419103232}', "x", "beyond 64 bits"),
        (b'{"query": "q", "answer": "a\0"}', None, "NUL"),
        (b'{"query": "q", "answer": "a\\u0000"}', "answer", "NUL"),
        (b'{"query": "q", "answer": "a", "x": {"deep": ["\\u0000"]}}', "x", "NUL"),
        (b'{"query": "q", "answer": "a", "\\u0000": 1}', "\0", "NUL"),
        (b'{"query": "q", "answer": "a \\ud83d"}', "answer", "half a character"),
        ('{"query": "ä ö ü ß", "answer": "'.encode() + b'caf\xe9"}', None, "not UTF-8 (byte 40"),
        (
            b'{"query": "q", "answer": "a", "x": ' + b"[" * 200 + b"]" * 200 + b"}",
            "x",
            "nested too deeply",
        ),
        (
            b'{"query": "q", "answer": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            None,
            "nested too deeply",
        ),
        (b'{"id": "a", "query": "q", "answer": "a", "id": "b"}', "id", "twice"),
        (b'{"query": "q", "answer": "a", "metadata": [{"k": 1, "k": 2}]}', "k", "twice"),
        (b'{"answer": "a"}', "query", "no query"),
        (b'{"query": "q"}', "answer", "no answer"),
        (b'{"query": "q", "answer": null}', "answer", "no answer"),
        (b'{"query": "q", "answer": " \\n"}', "answer", "no answer"),
        (b'{"query": "q", "answer": 42}', "answer", "expected a text, found a number"),
    ],
)
def test_a_bad_line_is_rejected_and_the_good_ones_around_it_come_in(reading, line, field, reason):
    before, bad, after = reading(b"\n".join([GOOD, line, GOOD]))
    assert (bad.line, bad.field, reason in bad.reason) == (2, field, True)
    assert "\n" not in bad.reason
    assert (before.answer, after.answer) == ("a", "a")


def test_a_line_that_is_not_json_is_kept_as_its_text(reading):
    text = "ä ö ü caf"
    (bad,) = reading(text.encode() + b"\xe9 {\r\n")
    assert bad.row == text + "\\xe9 {"


@pytest.mark.parametrize("encoding", ["cp1252", "cp1250", "utf-16", "mac_roman"])
def test_other_encodings_are_read(reading, encoding):
    answer = "Viertel nach fünf, schönen Tag! Grüße, ß."
    rows = [{"query": f"Wie spät ist es, Nr. {n}?", "answer": answer} for n in range(9)]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    records = reading(text.encode(encoding))
    assert [{"query": each.query, "answer": each.answer} for each in records] == rows
    assert records.encoding is not None


def test_a_value_that_was_not_measured_costs_no_answer(reading):
    (response,) = reading(b'{"query": "q", "answer": "a", "x": -Infinity, "y": [NaN]}')
    assert response.metadata == {"y": [None]}


def test_pairs_of_surrogates_are_one_character(reading):
    (response,) = reading(b'{"query": "q", "answer": "\\ud83d\\ude00"}')
    assert response.answer == "😀"


def test_a_line_separator_inside_a_text_ends_no_line(reading):
    (response,) = reading('{"query": "q", "answer": "a\u2028b\u0085c"}'.encode())
    assert response.answer == "a\u2028b\u0085c"


def test_an_endless_number_is_said_without_the_words_of_python(reading):
    (item,) = reading(b'{"query": "q", "answer": "a", "n": ' + b"9" * 5000 + b"}")
    assert "5,000" in item.reason
