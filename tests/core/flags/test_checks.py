"""Deterministic checks: what passes, what fails, and that nothing hostile hangs or gets out."""

import json
import sys

import pytest

from judgeboard.errors import BadInput
from judgeboard.flags.checks import LONGEST, Check, named_checks

PASSAGES = ("Nylon melts at 250 °C.", "Dyneema melts at 145 °C.")
ANSWER = "Nylon melts at 250 °C [1], and Dyneema at 145 °C [2]."
DECLINES = "The passages do not mention this."


@pytest.mark.parametrize(
    ("kind", "wanted", "answer", "passes"),
    [
        ("regex", r"\d+ °C", ANSWER, True),
        ("regex", r"(?i)NYLON", "cotton", False),
        ("not_regex", r"[\w.]+@[\w.]+", ANSWER, True),
        ("not_regex", r"[\w.]+@[\w.]+", "Ask a@b.example", False),
        ("length", {"max_words": 3}, "one two three", True),
        ("length", {"max_words": 3}, "one two three four", False),
        ("length", {"min_characters": 2, "max_characters": 4}, "x", False),
        ("refusal", False, DECLINES, False),
        ("refusal", False, ANSWER, True),
        ("refusal", True, DECLINES, True),
        ("cites_passage", True, ANSWER, True),
        ("cites_passage", True, "Nylon melts at 250 °C.", False),
        ("cites_passage", True, "Nylon melts at 250 °C [3].", False),
        ("cites_passage", True, DECLINES, True),
        ("json_schema", {"properties": {"a": {"pattern": "^x+$"}}}, '{"a": "xx"}', True),
        ("json_schema", {"properties": {"a": {"pattern": "^x+$"}}}, '{"a": "y"}', False),
        ("json_schema", {"uniqueItems": True}, "[[1], [2], [1]]", False),
        ("json_schema", {"required": ["a"]}, '{"a": 1}', True),
        ("json_schema", {"required": ["a"]}, "{}", False),
        ("json_schema", {"required": ["a"]}, "a: 1", False),
        ("json_schema", {"$ref": "http://localhost:1/x"}, "{}", False),
        ("equals", "60 m", " 60 m\n", True),
        ("equals", "60 m", "60 M", False),
    ],
)
def test_a_check_passes_or_says_why_not(kind, wanted, answer, passes):
    why = Check(kind, wanted).failure(answer, PASSAGES)
    assert (why is None) is passes, why


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("regex", "(a"),
        ("regex", r"(a)\1"),
        ("regex", "(?=a)a"),
        ("regex", "(a{1000}){1000}"),
        ("regex", "a" * 2_000),
        ("length", {"max_lines": 3}),
        ("length", {"max_words": True}),
        ("refusal", "no"),
        ("language", "en"),
        ("python", "len(answer) < 9"),
        ("cites_passage", 1),
        ("json_schema", {"patternProperties": {"(a+)+$": {}}}),
        ("json_schema", {"properties": {"a": {"pattern": r"(a)\1"}}}),
    ],
)
def test_a_check_that_cannot_run_is_refused_when_it_is_defined(kind, wanted):
    with pytest.raises(BadInput, match=kind):
        Check(kind, wanted)


HOSTILE = "a" * (LONGEST - 1) + "!"


def steps(check, answer, passages=()):
    """Count the calls of Python functions that a check makes: a figure that does not depend on the machine."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        check.failure(answer, passages)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("kind", "wanted", "answer"),
    [
        ("regex", "(a+)+$", HOSTILE),
        ("regex", "(a|a)*b", HOSTILE),
        ("not_regex", "(.*a){12}b", HOSTILE),
        ("json_schema", {"items": {"pattern": "(a+)+$"}}, json.dumps([HOSTILE[:20_000] + "!"])),
        ("json_schema", {"$ref": "#"}, "{}"),
        (
            "json_schema",
            {
                "$defs": {
                    f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)
                }
                | {"d40": False},
                "$ref": "#/$defs/d0",
            },
            "{}",
        ),
        ("json_schema", {"uniqueItems": True}, json.dumps([{"n": n} for n in range(4_000)])),
        ("json_schema", {}, "[" * 20_000),
        ("cites_passage", True, "[1" * (LONGEST // 2)),
        ("refusal", True, "no information " * (LONGEST // 15)),
    ],
)
def test_nothing_hostile_hangs(kind, wanted, answer):
    assert steps(Check(kind, wanted), answer, (HOSTILE,) * 40) < 2_000_000


def test_a_file_of_checks_names_the_line_of_a_mistake():
    good = "checks:\n- name: short\n  length: {max_words: 9}\n- {name: cites, cites_passage: true, query_types: [QA]}\n"
    short, cites = named_checks(good)
    assert (short.name, short.check, cites.query_types) == (
        "short",
        Check("length", {"max_words": 9}),
        ("QA",),
    )
    assert named_checks("  \n") == ()
    removed = good + "- {name: polite, python: 'True'}\n- {name: in English, language: en}\n"
    assert named_checks(removed, stored=True) == (short, cites)
    for text, reason in (
        (
            good.replace("length", "lenght"),
            "checks, line 2: checks[0]: a check has a name and one of",
        ),
        (good.replace("9", "-9"), "checks, line 3: checks[0].length: length: max_words must be"),
        (good.replace("query_types", "types"), "checks, line 4: types: unknown field"),
        (
            good.replace("cites,", "short,"),
            "checks, line 4: checks[1]: another check has the same name",
        ),
        (
            good.replace("cites_passage: true", "length: {max_words: 9}"),
            "another check has the same content",
        ),
        (removed, "checks, line 5: checks[2]: a check has a name and one of"),
        ("- a\n", "checks, line 1: the file must be a mapping"),
    ):
        with pytest.raises(BadInput) as refused:
            named_checks(text)
        assert reason in str(refused.value)
