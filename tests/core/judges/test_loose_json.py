"""Objects are found in whatever a model puts around them, and broken ones are read as they were meant."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.judges.loose_json import Cut, Pairs, Unclear, objects_in

# Words without the marks of JSON.
PLAIN = st.text(
    st.characters(exclude_characters='{}"\\\x00', exclude_categories=["Cs"]), max_size=40
)
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
LISTS = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
VALUES = LISTS | st.dictionaries(st.text(max_size=5), LISTS, max_size=3)


def plain(value):
    if isinstance(value, Pairs):
        return {name: plain(each) for name, each in value}
    return [plain(each) for each in value] if isinstance(value, list) else value


def only(text):
    (found,) = objects_in(text)
    return plain(found.fields)


@settings(max_examples=200, deadline=None)
@given(
    PLAIN,
    PLAIN,
    st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4),
    st.booleans(),
)
def test_any_object_is_found_whole_between_any_words(before, after, content, escaped):
    text = json.dumps(content, ensure_ascii=escaped)
    (found,) = objects_in(f"{before}{text}{after}")
    assert (plain(found.fields), found.mended) == (content, False)
    assert f"{before}{text}{after}"[found.start : found.end] == text


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("{'a': 'it\\'s', 'b': None}", {"a": "it's", "b": None}),
        ("{a: 1, b: two words, c: [1, 2,],}", {"a": 1, "b": "two words", "c": [1, 2]}),
        ('{"a": "x"\n"b": {"c": True}\n}', {"a": "x", "b": {"c": True}}),
        ('{"a": "he said "no", then left", "b": 1}', {"a": 'he said "no", then left', "b": 1}),
        ('{"a": "x\ty\nz", "b": 1}', {"a": "x\ty\nz", "b": 1}),
        ('{"a": 0,8, "b": 1 or 2}', {"a": "0,8", "b": "1 or 2"}),
        ('{"a": "http://b.c", // why\n"b": 1}', {"a": "http://b.c", "b": 1}),
        ('{"a": [{"b": 1}, {"b": 2', {"a": [{"b": 1}, {"b": "2"}]}),
        ("{“a”: “x”, “b”: 1}", {"a": "x", "b": 1}),
    ],
)
def test_a_broken_object_is_read_as_it_was_meant(text, content):
    assert only(text) == content


def test_a_value_at_the_end_of_the_text_is_cut():
    for text in ('{"a": 1', '{"a": "1', "{a: [1"):
        (found,) = objects_in(text)
        ((_, value),) = found.fields
        assert isinstance(value[0] if isinstance(value, list) else value, Cut)
    assert only('{"a": "1"') == {"a": "1"}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "say "b": 1}", "c": 2}',
        '{"a": "x", {"a": 2}}',
        '{"a": {"b": "x",{ "c": 1}, "d": {"b": "y", "c": 2}}',
        r"{\"a\": 1}",
        "{a:" * 1_000 + "x",
    ],
)
def test_what_can_be_read_in_several_ways_is_unclear(text):
    with pytest.raises(Unclear):
        list(objects_in(text))


def test_braces_without_fields_are_no_objects():
    text = "{} {ok} {1, 2} {{}} f(x) { return 1 }" + "{" * 1_000
    assert not list(objects_in(text))
