import pytest

from judgeboard.domain import Estimate
from judgeboard.measure.notes import note
from judgeboard.measure.result import About, Result, Row
from judgeboard.measure.words import WORDS


def result():
    return Result(
        about=About(judges=("rag v3",), by="query_type", counts={"answers": 12}),
        headline=note("few_groups", n=1),
        rows=(
            Row.of("bad_answers", "sql", Estimate(0.5, 0.4, 0.6, 10)),
            Row.of("bad_answers", None, Estimate(None, n=2, reason="<b>no labels</b>")),
        ),
        caveats=(note("picked_labels", n=2),),
    )


def test_a_figure_is_read_by_its_name_and_slice():
    assert result().figure("bad_answers", "sql") == Estimate(0.5, 0.4, 0.6, 10)
    assert result().figure("bad_answers").reason == "<b>no labels</b>"
    with pytest.raises(KeyError):
        result().figure("kappa")


def test_a_frame_has_one_row_for_each_figure():
    frame = result().frame
    assert list(frame.columns) == ["figure", "slice", "value", "low", "high", "n", "reason"]
    assert frame.value.tolist()[0] == 0.5
    assert frame.value.isna().tolist() == [False, True]


def test_json_has_codes_with_their_numbers():
    plain = result().to_dict()
    assert plain["rows"][0]["figure"] == "bad_answers"
    assert plain["about"]["counts"] == {"answers": 12}
    assert plain["headline"]["values"] == {"n": 1}
    assert [each["code"] for each in plain["caveats"]] == ["picked_labels"]


def test_a_notebook_shows_the_headline_the_table_and_the_caveats_as_text():
    html = result()._repr_html_()
    assert result().sentence in html
    assert result().caveats[0].text in html
    assert "<b>no labels</b>" not in html


def test_each_sentence_names_at_most_three_values():
    from string import Formatter

    for code, sentence in WORDS.items():
        names = {name for _, name, _, _ in Formatter().parse(sentence) if name}
        assert len(names) <= 3, code


@pytest.mark.parametrize(
    ("format_", "value", "words"),
    [
        ("%", Estimate(0.5, 0.4, 0.6, 10), "50 % [40, 60]"),
        (".2", 0.475, "0.48"),
        ("list", ["sql", "table", "rare"], "sql, table and rare"),
        ("answer", 1, "1 answer"),
        ("answer", 2912, "2,912 answers"),
        (",", 2912, "2,912"),
        ("day", 20_373, "12 Oct 2025"),
    ],
)
def test_values_are_written_as_their_format_says(monkeypatch, format_, value, words):
    monkeypatch.setitem(WORDS, "new", f"{{value:{format_}}}")
    assert note("new", value=value).text == words
