"""One table is the same in a terminal, as HTML and as CSV."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from judgeboard.domain import Estimate
from judgeboard.formats.output import Column, Table, text_lines, to_csv, to_html, to_plain

TABLE = Table(
    (
        Column("Judge"),
        Column("Answers", "count"),
        Column("Agreement", "share estimate"),
        Column("Kappa", "estimate"),
        Column("Since", "time"),
    ),
    (
        (
            "=rag",
            1234,
            Estimate(0.79, 0.77, 0.82, n=1234, method="bootstrap"),
            Estimate(None, n=3, reason="too few"),
            datetime(2026, 3, 1, tzinfo=UTC),
        ),
        ("<nli>", None, Estimate(1 / 3, n=3), Estimate(0.5, 0.25, 0.75, n=3), None),
    ),
)


def test_a_terminal_shows_aligned_columns_and_estimates_with_their_intervals():
    assert list(text_lines(TABLE)) == [
        "Judge  Answers  Agreement      Kappa              Since",
        "=rag     1,234  79 % [77, 82]  too few            2026-03-01T00:00:00Z",
        "<nli>        –  33 %           0.50 [0.25, 0.75]  –",
    ]


def test_html_shows_the_same_words_and_no_markup_of_a_value():
    html = to_html(TABLE)
    assert "<td>=rag</td><td class=n>1,234</td><td>79 % [77, 82]</td>" in html
    assert "&lt;nli&gt;" in html


def test_csv_has_unrounded_numbers_and_no_formula():
    head, first, second = to_csv(TABLE).splitlines()
    assert head.startswith(
        "Judge,Answers,Agreement,Agreement low,Agreement high,Agreement n,Agreement reason,Kappa,"
    )
    assert first == "'=rag,1234,0.79,0.77,0.82,1234,,,,,3,too few,2026-03-01T00:00:00Z"
    assert second == f"<nli>,,{1 / 3},,,3,,0.5,0.25,0.75,3,,"


def test_a_row_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="2 values"):
        Table((Column("a"), Column("b")), ((1,),))


def test_a_row_without_an_estimate_still_fills_every_column_of_the_csv():
    table = Table((Column("Judge"), Column("Kappa", "estimate")), (("nli", None),))
    assert to_csv(table).splitlines()[1] == "nli,,,,,"


def test_a_record_in_a_result_keeps_its_own_json_form():
    @dataclass(frozen=True)
    class Seen:
        number: int
        _kept: int = 1

        def as_json(self):
            return {"id": self.number}

    @dataclass(frozen=True)
    class Result:
        seen: tuple[Seen, ...]
        _kept: int = 1

    assert to_plain(Result((Seen(7),))) == {"seen": [{"id": 7}]}
