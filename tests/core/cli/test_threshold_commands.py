"""The commands `threshold` and `stand` in a terminal."""

import json
import re

import pytest

from graded_log import BAD, GOOD
from judgeboard.people.roster import raise_flags
from judgeboard.store.settings import set_setting
from judging_log import address
from stored_rows import write_to


@pytest.fixture
def database(sqlite_log):
    """A database with 200 answers that a judge scored and a person labelled; returns its address."""
    log = sqlite_log
    ids = log.answers(200, query_type="sql")
    bad = {each: place % 3 == 0 for place, each in enumerate(ids)}
    scores = {
        each: (place * 37 % 101) / 300 + (0.1 if bad[each] else 0.6)
        for place, each in enumerate(ids)
    }
    log.say(log.version(), {each: {"groundedness": round(scores[each], 3)} for each in ids})
    log.reviews({each: {"label": BAD if bad[each] else GOOD} for each in ids})
    return address(log.store)


def test_a_threshold_is_printed_with_what_it_changes(database, shell):
    words = f"labels threshold --recall 0.8 --db {database}"
    printed = shell(words)
    for part in ("rag v1, recall of at least 80 %", "Keep 0.5, or flag below ", "all labels: 200"):
        assert part in printed, part
    result = json.loads(shell(f"{words} --by query_type --json"))
    (chosen,) = result["thresholds"]
    assert chosen["about"]["where"] == {"query_type": "sql"}
    assert chosen["headline"]["code"] == "threshold_keep_or_change"
    (recall,) = (
        row for row in chosen["rows"] if (row["figure"], row["slice"]) == ("recall", "chosen")
    )
    assert recall["low"] <= recall["value"]
    assert result["goal"] == {"aim": "recall", "value": 0.8, "delta": 0.05}
    assert "use a threshold" in printed
    for output in ("", "--json"):
        kept = shell(f"labels threshold --cost 5 {output} --db {database}")
        assert "use a threshold" not in kept
    assert [each["headline"]["code"] for each in json.loads(kept)["thresholds"]] == [
        "threshold_cheapest"
    ]


def test_the_next_step_of_a_threshold_works_where_flags_are_superseded(
    database, sqlite_log, shell, monkeypatch
):
    write_to(sqlite_log.store, set_setting, "low_groundedness", 0.9, "test")
    raise_flags(sqlite_log.store)
    rows = json.loads(shell(f"labels threshold --recall 0.8 --json --db {database}"))["thresholds"][
        0
    ]["rows"]
    (value,) = (
        row["value"]
        for row in rows
        if (row["figure"], row["slice"]) == ("low_groundedness", "chosen")
    )
    advice = re.search(
        r"Then run `judgeboard flags apply --yes .*`.\s+It supersedes (\d+) open flags",
        shell(f"labels threshold --recall 0.8 --db {database}"),
    )
    monkeypatch.setenv("JUDGEBOARD_LOW_GROUNDEDNESS", str(value))
    assert f"{advice[1]} superseded" in shell(f"flags apply --yes --db {database}")
    monkeypatch.delenv("JUDGEBOARD_LOW_GROUNDEDNESS")


@pytest.mark.parametrize("words", ["labels threshold", "labels threshold --recall 0.8 --cost 5"])
def test_a_threshold_has_one_goal(database, words, shell):
    assert "--recall, --precision, --false-omission" in shell(f"{words} --db {database}", code=2)


def test_verdicts_that_need_no_review_are_counted(database, shell):
    assert "need no review: " in shell(f"labels stand --agreement 0.8 --db {database}")
    result = json.loads(shell(f"labels stand --agreement 0.8 --json --db {database}"))
    (confident,) = (row["value"] for row in result["rows"] if row["figure"] == "no_review")
    assert 0 < confident <= result["about"]["counts"]["judged"] == 200
    for jury in ("", ",", "rag"):
        assert "at least two" in shell(f"labels stand --jury '{jury}' --db {database}", code=2)
