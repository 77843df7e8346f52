"""Deterministic checks: what passes, what fails, and that nothing hostile hangs or gets out."""

import json
import sys
from typing import Any

import pytest

from judgeboard.errors import BadInput
from judgeboard.flags import expressions
from judgeboard.flags.checks import LONGEST, Check, language_of, named_checks

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
        ("language", "en", "The rope is made of nylon, and it is strong.", True),
        ("language", "en", "Das Seil ist aus Nylon und es ist nicht schwer.", False),
        ("language", "question", "La corde est en nylon et elle est dans le sac.", False),
        ("language", "en", "145 °C", True),  # too short to tell
        ("cites_passage", True, ANSWER, True),
        ("cites_passage", True, "Nylon melts at 250 °C.", False),
        ("cites_passage", True, "Nylon melts at 250 °C [3].", False),
        ("cites_passage", True, DECLINES, True),
        ("python", "len(answer) < 500 and 'sorry' not in answer.lower()", ANSWER, True),
        (
            "python",
            "any(word in answer for p in passages for word in p.split() if len(word) > 4)",
            ANSWER,
            True,
        ),
        ("python", "words(answer)[0] == 'nylon' and answer[-1:] == '.'", ANSWER, True),
        ("python", "sum([len(p) for p in passages]) / len(passages) > 100", ANSWER, False),
        ("python", "answer.count('.') if question else False", "No dot", False),
        ("python", "passages[7] == ''", ANSWER, False),
        ("json_schema", {"properties": {"a": {"pattern": "^x+$"}}}, '{"a": "xx"}', True),
        ("json_schema", {"properties": {"a": {"pattern": "^x+$"}}}, '{"a": "y"}', False),
        ("json_schema", {"uniqueItems": True}, "[[1], [2], [1]]", False),
    ],
)
def test_a_check_passes_or_says_why_not(kind: str, wanted: Any, answer: str, passes: bool) -> None:
    why = Check(kind, wanted).failure(
        answer, "At which temperature does the rope melt, and is it of nylon?", PASSAGES
    )
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
        ("language", "xx"),
        ("cites_passage", 1),
        ("json_schema", {"patternProperties": {"(a+)+$": {}}}),
        ("json_schema", {"properties": {"a": {"pattern": r"(a)\1"}}}),
    ],
)
def test_a_check_that_cannot_run_is_refused_when_it_is_defined(kind: str, wanted: Any) -> None:
    with pytest.raises(BadInput, match=kind):
        Check(kind, wanted)


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "__import__('os').system('true')",
            "answer.__class__",
            "().__class__.__bases__",
            "open('x')",
            "eval('1')",
        ),
        *(
            "answer.format(question)",
            "f'{answer}'",
            "lambda: 1",
            "[x for x in (y := answer)]",
            "print(answer)",
        ),
        *(
            "(x := answer)",
            "answer.lower",
            "len.__self__",
            "[].append(1)",
            "{**{}}",
            "await answer",
            "answer @ answer",
        ),
        *(
            "2 ** 100",
            "1 << 99",
            "'%99999999d' % 1",
            "round(1, -999999999)",
            "sum([[1]], [])",
            "answer.join(passages)",
        ),
        *(
            "secret",
            "b'x'",
            "1j",
            "answer; answer",
            "import os",
            "",
            "(" * 500,
            "not " * 200 + "1",
            "answer[::2]",
        ),
        "len(*passages)",
    ],
)
def test_an_expression_reaches_nothing_but_the_texts(expression: str) -> None:
    try:
        check = Check("python", expression)
    except BadInput:
        return
    assert "cannot be computed" in (check.failure(ANSWER, "", PASSAGES) or "")


def test_the_whitelist_names_no_attribute_that_leads_elsewhere() -> None:
    assert not [
        name for name in expressions._METHODS if name.startswith("_") or not hasattr(str, name)
    ]


HOSTILE = "a" * (LONGEST - 1) + "!"


def steps(check: Check, answer: str, passages: tuple[str, ...] = ()) -> int:
    """Count the calls of Python functions that a check makes: a figure that does not depend on the machine."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        check.failure(answer, answer, passages)
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
        ("python", "[1 for a in answer for b in answer for c in answer]", HOSTILE),
        ("python", "any([answer.lower() == question.upper() for a in answer])", HOSTILE),
        ("python", "any([answer in p + answer for p in passages for q in passages])", HOSTILE),
        ("language", "question", HOSTILE),
        ("cites_passage", True, "[1" * (LONGEST // 2)),
        ("refusal", True, "no information " * (LONGEST // 15)),
    ],
)
def test_nothing_hostile_hangs(kind: str, wanted: Any, answer: str) -> None:
    assert steps(Check(kind, wanted), answer, (HOSTILE,) * 40) < 2_000_000


def test_the_languages_are_told_apart() -> None:
    texts = {
        "de": "Die Seile sind aus Nylon, und das ist für den Sturz sehr wichtig.",
        "fr": "Les cordes sont en nylon, ce qui est important pour la chute.",
        "es": "Las cuerdas son de nailon, y eso es muy importante para la caída.",
        "it": "Le corde sono di nylon, e questo è molto importante per la caduta.",
        "ja": "ロープはナイロンでできています。",
        "zh": "绳子是尼龙做的。",
        "ru": "Верёвка сделана из нейлона.",
        "ko": "로프는 나일론으로 만들어졌습니다.",
    }
    assert {language_of(text) for text in texts.values()} == set(texts)
    assert [language_of(text) for text in texts.values()] == list(texts)
    assert language_of("60 m") is None


def test_a_file_of_checks_names_the_line_of_a_mistake() -> None:
    good = "checks:\n- name: short\n  length: {max_words: 9}\n- {name: cites, cites_passage: true, query_types: [QA]}\n"
    short, cites = named_checks(good)
    assert (short.name, short.check, cites.query_types) == (
        "short",
        Check("length", {"max_words": 9}),
        ("QA",),
    )
    assert named_checks("  \n") == ()
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
        ("- a\n", "checks, line 1: the file must be a mapping"),
    ):
        with pytest.raises(BadInput) as refused:
            named_checks(text)
        assert reason in str(refused.value)
