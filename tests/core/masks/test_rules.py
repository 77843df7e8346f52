"""Personal data in texts are replaced by masks."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.errors import BadInput
from judgeboard.masks import rules
from judgeboard.masks.rules import MASKS, Masks, masks_of
from judgeboard.registry.plugins import Plugin
from judgeboard.settings.model import Settings

KEY = "a key of this test"
CARDS = ("4111111111111111", "4111 1111 1111 1111", "378282246310005", "5555-5555-5555-4444")
IBANS = ("DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19", "nl91abna0417164300")
PHONES = ("+49 (0)151 1234567", "0151/2345678", "(555) 123-4567", "01 23 45 67 89", "+14155552671")
ADDRESSES = ("192.168.1.10", "2001:db8::8a2e:370:7334", "fe80::1")
MAILS = ("jane.doe@example.org", "JÖRG_1@bücher.example.de", "почта@пример.рф", "a+b@x.co.uk")
VALUES = {"card": CARDS, "iban": IBANS, "phone": PHONES, "ip": ADDRESSES, "email": MAILS}
ALL = tuple((kind, value) for kind, values in VALUES.items() for value in values)
OTHER = (
    "2026-10-12 14:05:09",
    "05.11.2025",
    "12/10/2026",
    "$1,000,000.00",
    "0.12345678",
    "std::begin(a)",
    "1764522000123456789",
    "4111 1111 1111 1112",  # a wrong check digit
    "DE88370400440532013000",
    "version 1.2.3",
    "00:1b:44:11:3a:b7",
    "10:20:30",
    "@jane",
    "123e4567-e89b-12d3-a456-426614174000",
    '{"a": "\\u00e9\\n"}',
    "999.1.1.1",
)


def masks(**settings):
    return masks_of(Settings(masks={"key": KEY} | settings))


def masked(value, **settings):
    return masks(**settings).masked(value)


def masks_in(text):
    return masks().masks_in(text)


@pytest.mark.parametrize(("kind", "value"), ALL)
def test_a_value_of_a_kind_is_masked_within_a_sentence(kind, value):
    for text in ("{}", "Write to {}.", "({})", "x: {}, y", '"{}"', "first\n{}\nlast"):
        result = masked(text.format(value))
        [mask] = masks_in(result)
        assert mask.startswith(f"<{kind} ")
        assert result == text.format(mask)


@pytest.mark.parametrize("text", OTHER)
def test_other_texts_stay_as_they_are(text):
    assert masked(text) == text


@pytest.mark.parametrize(("kind", "value"), ALL)
def test_a_value_is_masked_between_other_numbers(kind, value):
    for text in ("{} 0", "{} 123456 123456", "12 {} 34", "2026-10-12 {}", "7: {}, 4.5"):
        result = masked(text.format(value))
        assert value not in result
        assert any(mask.startswith(f"<{kind} ") for mask in masks_in(result)), result


def test_the_same_value_has_the_same_mask_however_it_is_written():
    for first, second in (
        ("Jane@Example.org", "jane@example.ORG"),
        ("4111 1111 1111 1111", "4111111111111111"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("+49 151 1234567", "0049 1511234567"),
    ):
        assert masked(first) == masked(second)
    assert masked("a@x.org") != masked("b@x.org")


def test_a_mask_needs_the_key():
    first, second = masks(), masks(key="another key of this test")
    assert first.masked("a@x.org") != second.masked("a@x.org")
    assert first.version != second.version


@given(
    st.lists(st.tuples(st.text(max_size=20), st.sampled_from(ALL)), max_size=6),
    st.text(max_size=20),
)
def test_no_value_survives_and_masking_again_changes_nothing(parts, end):
    text = "".join(f"{before} {value} " for before, (_, value) in parts) + end
    result = masked(text)
    assert masked(result) == result
    for _, (kind, value) in parts:
        if not any(f" {value} " in f" {before} " for before, _ in parts):
            assert f" {value} " not in f" {result} "
        assert any(mask.startswith(f"<{kind} ") for mask in masks_in(result))


@given(
    st.recursive(
        st.text() | st.integers() | st.floats(allow_nan=False),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_json_keeps_its_shape_and_texts_without_values_stay(value):
    result = masked(value, kinds=["email"])
    if "@" not in json.dumps(value):
        assert result == value
    assert masked(result, kinds=["email"]) == result


def test_json_in_a_text_is_read_before_it_is_masked():
    content = {"a": ["call\nme@x.org"], "me@x.org": 4111111111111111, "b": '{"c": "\\tme@x.org"}'}
    for text in (json.dumps(content), json.dumps(content).replace("@", "\\u0040")):
        result = masked(text)
        assert "x.org" not in result
        assert "4111" not in result
        assert len(json.loads(result)) == 3
    untouched = '{"a":  "no value\\n"}'
    assert masked(untouched) == untouched


def test_a_number_of_a_column_with_missing_numbers_is_masked():
    """Tables have the whole numbers of such a column as floats."""
    card, time = 4111111111111111, 1764522000123456.0
    row = {"card": float(card), "time": time, "nothing": float("nan"), "most": float("inf")}
    result = masked(row)
    assert result["card"] == masked(str(card)) != str(card)
    assert result["time"] == time
    assert result["most"] == float("inf")


def test_the_key_may_be_in_a_variable(monkeypatch):
    monkeypatch.setenv("MASK_KEY", KEY)
    assert masked("a@x.org", key="env:MASK_KEY") == masked("a@x.org")


def test_only_the_kinds_of_the_project_file_are_masked():
    text = "a@x.org 192.168.1.10 T-123456"
    chosen = masks(kinds=["ip"], patterns={"ticket": "T-[0-9]{6}"})
    assert chosen.masked(text).startswith("a@x.org <ip ")
    assert "<ticket " in chosen.masked(text)


def test_a_text_that_looks_like_a_mask_hides_no_value():
    assert "4111111111111111" not in masked("<4111111111111111 abc>")
    assert "a@x.org" not in masked("<email a@x.org>")


def test_an_own_pattern_takes_no_more_time_on_a_text_that_is_made_for_it():
    slow_elsewhere = masks(kinds=[], patterns={"slow": "(a+)+b|(a|aa)+c"})
    text = "a" * 200_000
    assert slow_elsewhere.masked(text) == text


@pytest.mark.parametrize("kind", rules._OURS)
def test_a_hostile_text_is_searched_in_linear_time(kind):
    # With a search in quadratic time, each of these would take minutes.
    for piece in (
        "a",
        "1",
        "1.",
        "1 ",
        "a.",
        "a@",
        ":",
        "0 1",
        "+1 ",
        "DE89 ",
        "4111 ",
        "(0",
        "::1",
    ):
        masked(piece * (300_000 // len(piece)), kinds=[kind])


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        *(
            ({"patterns": {"ticket": pattern}}, "masks.patterns.ticket")
            for pattern in ("T-(", "(x{1000}){1000}", r"(a)\1", "x*")
        ),
        ({"patterns": {"email": "x"}}, "masks.patterns.email"),
        ({"patterns": {"No Name": "x"}}, "masks.patterns.No Name"),
        ({"key": "short"}, "masks.key"),
        ({"key": "env:NO_KEY_HERE"}, "masks.key"),
        ({"kinds": ["emails"]}, "masks.kinds"),
        ({"plugins": ["missing"]}, "masks.plugins"),
        ({"kind": ["email"]}, "masks.kind"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_file_and_key(settings, key, tmp_path, monkeypatch):
    file = tmp_path / "judgeboard.toml"
    lines = {"key": KEY} | settings
    written = (f"{name} = {_toml(value)}" for name, value in lines.items())
    file.write_text("\n".join(["[masks]", *written]))
    monkeypatch.setenv("JUDGEBOARD_CONFIG", str(file))
    from judgeboard.registry.masks import masked

    with pytest.raises(BadInput) as refusal:
        masked("text")
    reason = str(refusal.value)
    assert str(file) in reason
    assert key in reason
    assert lines["key"] not in reason


def _toml(value):
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{" + ", ".join(f"{json.dumps(name)} = '{each}'" for name, each in value.items()) + "}"


def plugin_kind(places):
    return rules._plugin_kind(Plugin("judgeboard.masks", "names", "package", "1"), places)


def with_plugin(monkeypatch, places):
    monkeypatch.setitem(MASKS._ours, "names", plugin_kind(places))
    return Masks(KEY, [], ["names", "email"])


def test_a_function_of_another_package_finds_its_own_kind(monkeypatch):
    def names(text):
        return [match.span() for match in re.finditer("Jane", text)]

    result = with_plugin(monkeypatch, names).masked("Jane is Jane, not jane@x.org")
    first, second = re.match("(.*) is (.*), not", result).groups()
    assert first == second
    assert first.startswith("<names ")


@pytest.mark.parametrize(
    "places",
    [lambda _text: [(0, 99)], lambda _text: [(2, 1)], lambda _text: 1 / 0, lambda _text: ["x"]],
)
def test_a_function_that_fails_stores_nothing_unmasked(monkeypatch, places):
    with pytest.raises(BadInput, match="names of the package package 1"):
        with_plugin(monkeypatch, places).masked("some text")


def test_what_is_no_function_is_refused():
    with pytest.raises(BadInput):
        plugin_kind("no function")
