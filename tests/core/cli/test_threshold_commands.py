"""The commands `threshold` and `stand` in a terminal."""

import re

import pytest

from graded_log import scored_and_labelled
from judgeboard.people.roster import raise_flags
from judgeboard.store.settings import set_setting
from stored_rows import write_to


@pytest.fixture
def labelled(sqlite_log):
    """A log with 200 answers that a judge scored and a person labelled."""
    scored_and_labelled(sqlite_log)
    return sqlite_log


def chosen_row(result, figure):
    (row,) = (row for row in result["rows"] if (row["figure"], row["slice"]) == (figure, "chosen"))
    return row


def test_a_threshold_is_printed_with_what_it_changes(labelled, typed):
    printed = typed("labels threshold --recall 0.8")
    for part in ("rag v1, recall of at least 80 %", "Keep 0.5, or flag below ", "all labels: 200"):
        assert part in printed, part
    result = typed("labels threshold --recall 0.8 --by query_type --json")
    (chosen,) = result["thresholds"]
    assert chosen["about"]["where"] == {"query_type": "sql"}
    assert chosen["headline"]["code"] == "threshold_keep_or_change"
    recall = chosen_row(chosen, "recall")
    assert recall["low"] <= recall["value"]
    assert result["goal"] == {"aim": "recall", "value": 0.8, "delta": 0.05}
    assert "use a threshold" in printed
    assert "use a threshold" not in typed("labels threshold --cost 5")
    [kept] = typed("labels threshold --cost 5 --json")["thresholds"]
    assert kept["headline"]["code"] == "threshold_cheapest"
    assert "use a threshold" not in str(kept)


def test_the_next_step_of_a_threshold_works_where_flags_are_superseded(
    labelled, typed, monkeypatch
):
    write_to(labelled.store, set_setting, "low_groundedness", 0.9, "test")
    raise_flags(labelled.store)
    [result] = typed("labels threshold --recall 0.8 --json")["thresholds"]
    value = chosen_row(result, "low_groundedness")["value"]
    advice = re.search(
        r"Then run `judgeboard flags apply --yes .*`.\s+It supersedes (\d+) open flags",
        typed("labels threshold --recall 0.8"),
    )
    monkeypatch.setenv("JUDGEBOARD_LOW_GROUNDEDNESS", str(value))
    assert f"{advice[1]} superseded" in typed("flags apply --yes")
    monkeypatch.delenv("JUDGEBOARD_LOW_GROUNDEDNESS")


@pytest.mark.parametrize("words", ["labels threshold", "labels threshold --recall 0.8 --cost 5"])
def test_a_threshold_has_one_goal(labelled, words, typed):
    assert "--recall, --precision, --false-omission" in typed(words, code=2)


def test_verdicts_that_need_no_review_are_counted(labelled, typed):
    assert "need no review: " in typed("labels stand --agreement 0.8")
    result = typed("labels stand --agreement 0.8 --json")
    (confident,) = (row["value"] for row in result["rows"] if row["figure"] == "no_review")
    assert 0 < confident <= result["about"]["counts"]["judged"] == 200
    for jury in ("", ",", "rag"):
        assert "at least two" in typed(f"labels stand --jury '{jury}'", code=2)
