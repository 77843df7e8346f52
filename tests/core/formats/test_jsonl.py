"""JSON lines: a bad line is rejected with its number, and costs no other line."""

import pytest

from judgeboard.domain import Rejected

GOOD = b'{"query": "q", "answer": "a"}'


def test_blank_lines_a_byte_order_mark_and_a_missing_last_line_end_do_not_matter(reading):
    items = list(reading(b"\xef\xbb\xbf" + GOOD + b"\r\n\n  \t\n" + GOOD))
    assert [item.answer for item in items] == ["a", "a"]


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        (b"not json", None, "not JSON"),
        (b'{"query": "q", "answer": "a"', None, "not JSON"),
        (b"[1, 2]", None, "not an object but a list"),
        (b"null", None, "not an object but null"),
        (b'"text"', None, "not an object but a text"),
        (b'{"query": "q", "answer": NaN}', None, "NaN"),
        (b'{"query": "q", "answer": "a", "x": -Infinity}', None, "-Infinity"),
        (b'{"query": "q", "answer": "a", "x": 1e999}', "x", "not finite"),
        (b'{"query": "q", "answer": "a", "x": 36893488147419103232}', "x", "beyond 64 bits"),
        (b'{"query": "q", "answer": "a\0"}', None, "NUL"),
        (b'{"query": "q", "answer": "a\\u0000"}', "answer", "NUL"),
        (b'{"query": "q", "answer": "a", "x": {"deep": ["\\u0000"]}}', "x", "NUL"),
        (b'{"query": "q", "answer": "a", "x": {"\\u0000": 1}}', "x", "NUL"),
        (b'{"query": "q", "answer": "a", "\\u0000": 1}', "\0", "NUL"),
        (b'{"query": "q", "answer": "a \\ud83d"}', "answer", "U+D83D"),
        (b'{"query": "q", "answer": "caf\xe9"}', None, "not UTF-8 (byte 30"),
        (b'{"query": "q", "answer": "a", "x": ' + b"[" * 200 + b"]" * 200 + b"}", "x", "levels deep"),
        (b'{"query": "q", "answer": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", None, "nested too deeply"),
        (b'{"id": "a", "query": "q", "answer": "a", "id": "b"}', "id", "twice"),
        (b'{"query": "q", "answer": "a", "answer": "a"}', "answer", "twice"),
        (b'{"query": "q", "answer": "a", "metadata": [{"k": 1, "k": 2}]}', "k", "twice"),
        (b'{"answer": "a"}', "query", "no query"),
        (b'{"query": "q"}', "answer", "no answer"),
        (b'{"query": "q", "answer": null}', "answer", "no answer"),
        (b'{"query": "q", "answer": " \\n"}', "answer", "no answer"),
        (b'{"query": "q", "answer": 42}', "answer", "expected a text, found a number"),
        (b'{"query": "q", "answer": true}', "answer", "expected a text, found true or false"),
        (b'{"query": ["q"], "answer": "a"}', "query", "expected a text, found a list"),
    ],
)
def test_a_bad_line_is_rejected_and_the_good_ones_around_it_come_in(reading, line, field, reason):
    before, bad, after = reading(b"\n".join([GOOD, line, GOOD]))
    assert isinstance(bad, Rejected)
    assert (bad.line, bad.field) == (2, field)
    assert reason in bad.reason
    assert "\n" not in bad.reason
    assert (before.answer, after.answer) == ("a", "a")


def test_a_line_that_is_not_json_is_kept_as_its_text(reading):
    (bad,) = reading(b"caf\xe9 {\r\n")
    assert bad.row == "caf\\xe9 {"


def test_pairs_of_surrogates_are_one_character(reading):
    (response,) = reading(b'{"query": "q", "answer": "\\ud83d\\ude00"}')
    assert response.answer == "😀"


def test_a_line_separator_inside_a_text_ends_no_line(reading):
    (response,) = reading('{"query": "q", "answer": "a\u2028b\u0085c"}'.encode())
    assert response.answer == "a\u2028b\u0085c"


def test_an_endless_number_is_said_without_the_words_of_python(reading):
    (item,) = reading(b'{"query": "q", "answer": "a", "n": ' + b"9" * 5000 + b"}")
    assert item.reason == "not usable: a whole number has 5,000 digits"
