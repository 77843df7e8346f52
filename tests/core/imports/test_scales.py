"""Scales as files write them."""

import pytest

from judgeboard.imports.fields import Unusable
from judgeboard.imports.scales import scale_in, scale_of_pairs


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1-5", "1-5"),
        ("0 to 1", "0-1"),
        ("0.5 – 1", "0.5-1"),
        ("-2..2 (positive: answer 2 better)", "-2..2"),
        ("-2 - -1", "-2..-1"),
    ],
)
def test_a_scale_is_read_to_its_ends(text: str, plain: str) -> None:
    assert str(scale_in("scale", text)) == plain


@pytest.mark.parametrize("text", ["", "five", "5-1", "1-1", "1-5 stars", "1"])
def test_what_is_no_scale_is_said(text: str) -> None:
    with pytest.raises(Unusable, match="is not a scale"):
        scale_in("scale", text)


def test_grades_of_pairs_lean_to_b_above_zero() -> None:
    assert str(scale_of_pairs("scale", None)) == "-2..2"
    with pytest.raises(Unusable, match="change their sign"):
        scale_of_pairs("scale", "-2..2 (positive: response A is better)")
    with pytest.raises(Unusable, match="needs 0 for a tie"):
        scale_of_pairs("scale", "1-5")
