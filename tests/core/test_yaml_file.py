"""Reading people's YAML: what is read, and that every complaint names file and line."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.errors import BadInput
from judgeboard.yaml_file import YamlValue, parse_yaml, read_yaml


def test_values_come_without_surprises() -> None:
    read = parse_yaml("a: 1\nb: [x, 2.5, yes, null]\nc: 2026-01-02\nd: 2026-99-99\n5: five\n", "f.yaml")
    assert read.plain() == {
        "a": 1,
        "b": ["x", 2.5, True, None],
        "c": "2026-01-02",
        "d": "2026-99-99",
        "5": "five",
    }


def test_an_alias_stands_for_the_value_it_names() -> None:
    assert parse_yaml("a: &x [1]\nb: *x\n", "f.yaml").plain() == {"a": [1], "b": [1]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f.yaml is empty"),
        ("a: 1\na: 2\n", "line 2: the field 'a' is given twice"),
        ("a: 1\nb: [1\n", "line 3: no YAML"),
        ("a: 1\n b: 2\n", "line 2: no YAML"),
        ("a: {b: What is it?}\n", "inside of { } or [ ] needs quotes"),
        ("a: &x [1, *x]\n", "line 1: this value contains itself"),
        ("a: 1\n? [x]\n: 2\n", "line 2: a field's name must be a word"),
        ("a: 1\nb: !!int seven\n", "line 2: invalid literal"),
        ("[" * 5_000, "nested too deeply"),
    ],
)
def test_what_is_no_usable_yaml_names_its_line(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=r"^f\.yaml") as refused:
        parse_yaml(text, "f.yaml").plain()
    assert said in str(refused.value)


def test_a_wrong_field_names_its_own_line() -> None:
    read = parse_yaml("a: 1\nb:\n  - x\n", "f.yaml")
    with pytest.raises(BadInput, match=r"^f.yaml, line 2: the file has no field 'b'; there is a, c$"):
        read.fields("the file", ("a", "c"))
    with pytest.raises(BadInput, match=r"^f.yaml, line 1: a must be a text, not 1$"):
        read.mapping("the file")["a"].text("a")
    with pytest.raises(BadInput, match=r"line 1: a must be from 2 to 3, not 1$"):
        read.mapping("the file")["a"].number("a", 2, 3)
    with pytest.raises(BadInput, match=r"line 1: a must be a number, not True$"):
        parse_yaml("a: true", "f.yaml").mapping("the file")["a"].number("a", 0)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_yaml(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    with pytest.raises(BadInput, match="cannot be read"):
        read_yaml(tmp_path / "latin.yaml")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*!?|>'\"#%@`,\n \t0.~<", max_size=40))
def test_no_text_ends_in_anything_but_a_value_or_a_complaint(text: str) -> None:
    with suppress(BadInput):
        assert isinstance(parse_yaml(text, "f.yaml"), YamlValue)
