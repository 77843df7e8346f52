"""Reading people's YAML: what is read, and that every complaint names file and line."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict, Field

from judgeboard.errors import BadInput
from judgeboard.formats import yaml_file
from judgeboard.formats.yaml_file import YamlFile, parse_yaml, read_yaml
from judgeboard.settings.fields import CLOSED, Number, Text


def test_values_come_without_surprises():
    read = parse_yaml(
        "a: 1\nb: [x, 2.5, yes, null]\nc: 2026-01-02\nd: 2026-99-99\n5: five\n", "f.yaml"
    )
    assert read.content == {
        "a": 1,
        "b": ["x", 2.5, True, None],
        "c": "2026-01-02",
        "d": "2026-99-99",
        "5": "five",
    }


def test_an_alias_stands_for_the_value_it_names():
    assert parse_yaml("a: &x [1]\nb: *x\n", "f.yaml").content == {"a": [1], "b": [1]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f.yaml is empty"),
        ("a: 1\na: 2\n", "line 2: the field 'a' is given twice"),
        ("a: 1\nb: [1\n", "line 3: bad YAML"),
        ("a: 1\n b: 2\n", "line 2: bad YAML"),
        ("a: {b: What is it?}\n", "needs quotes inside { } or [ ]"),
        ("a: &x [1, *x]\n", "line 1: this value contains itself"),
        ("a: 1\n? [x]\n: 2\n", "line 2: the name of a field must be a text"),
        ("a: 1\nb: !!int seven\n", "line 2: invalid literal"),
        ("[" * 1_000, "nested too deeply"),
    ],
)
def test_what_is_no_usable_yaml_names_its_line(text, said):
    with pytest.raises(BadInput, match=r"^f\.yaml") as refused:
        parse_yaml(text, "f.yaml")
    assert said in str(refused.value)


@dataclass(frozen=True)
class Part:
    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    name: Text
    share: Annotated[Number, Field(ge=0, le=1)] = 0.5


@dataclass(frozen=True)
class Whole:
    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    parts: tuple[Part, ...] = ()
    note: Text | None = None


def test_a_file_becomes_the_value_that_its_annotations_describe():
    file = parse_yaml("parts:\n  - name: a\n    share: 1\n  - {name: b}\nnote:\n", "f.yaml")
    assert file.read(Whole) == Whole((Part("a", 1.0), Part("b")))
    assert file.at("parts", 1).read(Part) == Part("b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n", "line 1: a: unknown field; known: parts, note"),
        (
            "note: ok\nparts:\n  - name: a\n    sharing: 1\n",
            "line 4: parts[0].sharing: unknown field; known: name, share",
        ),
        ("parts:\n  - share: 1\n", "line 2: parts[0]: name is required"),
        ("note: 7\n", "line 1: note: Input should be a valid string, not 7"),
        ("note: '  '\n", "line 1: note: a text must not be blank"),
        ('note: "a\\0b"\n', "line 1: note: the text contains NUL at character 2"),
        (
            "parts:\n  - name: a\n    share: true\n",
            "line 3: parts[0].share: Input should be a valid number, not True",
        ),
        (
            "parts:\n  - name: a\n    share: 2\n",
            "line 3: parts[0].share: Input should be less than or equal to 1, not 2",
        ),
        (
            "parts:\n  - name: a\n    share: .nan\n",
            "line 3: parts[0].share: Input should be a finite number, not nan",
        ),
        ("- a\n", "line 1: the file must be a mapping of names to values"),
    ],
)
def test_a_wrong_value_names_file_line_and_field(text, said):
    with pytest.raises(BadInput) as refused:
        parse_yaml(text, "f.yaml").read(Whole)
    assert str(refused.value) == f"f.yaml, {said}"


def test_aliases_of_aliases_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(
        yaml_file, "MOST_VALUES", 200_000
    )  # counting to the real limit takes seconds
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    text += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    with pytest.raises(BadInput, match="200,000"):
        parse_yaml(text, "f.yaml")


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    with pytest.raises(BadInput, match=r"none\.yaml"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(BadInput, match="folder"):
        read_yaml(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    with pytest.raises(BadInput, match=r"latin\.yaml .*UTF-8"):
        read_yaml(tmp_path / "latin.yaml")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*!?|>'\"#%@`,\n \t0.~<", max_size=40))
def test_no_text_ends_in_anything_but_a_value_or_a_complaint(text):
    with suppress(BadInput):
        assert isinstance(parse_yaml(text, "f.yaml"), YamlFile)
