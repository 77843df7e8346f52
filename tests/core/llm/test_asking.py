"""The JSON object is found in whatever a model puts around it."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.llm.asking import UnusableReply, read_json_object

OBJECT = {"quality": 3, "reasoning": "a {brace} and a ``` fence"}
# Words without the marks of JSON and of code.
PLAIN = st.text(st.characters(exclude_characters="{}`\x00", exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "  \n{}\n",
        "Here is my verdict:\n{}\nI hope it helps.",
        "<think>First {{maybe 3}}, then 4.</think>\n{}",
        "[{}]",
    ],
)
def test_text_around_the_object_is_tolerated(around: str) -> None:
    assert read_json_object(around.format(json.dumps(OBJECT))).content == OBJECT


@pytest.mark.parametrize("opening", ["```json\n", "```\n", "```JSON\n", "Sure!\n```json\n"])
def test_code_fences_are_tolerated(opening: str) -> None:
    assert read_json_object(f'{opening}{{"quality": 3}}\n```\nDone {{ok}}.').content == {"quality": 3}


@settings(max_examples=60, deadline=None)
@given(PLAIN, PLAIN, st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=4))
def test_any_object_is_found_between_any_words(before: str, after: str, content: dict[str, object]) -> None:
    read = read_json_object(before + json.dumps(content) + after)
    if not read.replaced:
        assert read.content == content


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_no_reply_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(UnusableReply):
        assert isinstance(read_json_object(text).content, dict)


def test_a_reason_stays_short_whatever_the_reply() -> None:
    name = "x" * 10_000
    with pytest.raises(UnusableReply, match="the field") as reason:
        read_json_object(f'{{"{name}": 1, "{name}": 2}}')
    assert len(str(reason.value)) == 300


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("4", "no JSON object"),
        ("I would say 0.8.", "no JSON object"),
        ('{"quality": 3', "no JSON object"),
        ('{"quality": 3, "quality": 4}', "'quality' is given twice"),
        ('{"a": {"b": 1, "b": 2}}', "'b' is given twice"),
        ('{"groundedness": NaN}', "NaN is not JSON"),
        ('{"groundedness": -Infinity}', "-Infinity is not JSON"),
        ("[" * 100_000 + '{"a":' * 100_000, "no JSON object"),
        ('{"quality": ' + "9" * 5000 + "}", "no JSON object"),
    ],
)
def test_what_is_no_usable_object_says_why(text: str, reason: str) -> None:
    with pytest.raises(UnusableReply, match=reason):
        read_json_object(text)


def test_escapes_that_cannot_be_stored_are_replaced_and_marked() -> None:
    read = read_json_object(r'{"reasoning": "a\u0000b", "claims": [{"text": "\ud800"}], "face": "\ud83d\ude00"}')
    assert read.content == {"reasoning": "a\ufffdb", "claims": [{"text": "\ufffd"}], "face": "😀"}
    assert read.replaced
    assert not read_json_object(r'{"a": "\u00e9"}').replaced
