"""What is said of money, time, estimates and jobs: nothing unknown looks like a number."""

import html
import re
import shlex
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from judgeboard.runs.estimates import CallEstimate
from judgeboard.runs.jobs import JobProgress
from judgeboard.store.filters import RowFilter
from judgeboard_dashboard.views.rejudge import bar_text, share, sum_words
from judgeboard_dashboard.widgets.long_work import FirstSeen, left_words
from judgeboard_dashboard.widgets.rejudge_form import details, job_words, lead, row_choices
from judgeboard_dashboard.widgets.texts import commands, duration, rules_words

START = datetime(2026, 3, 2, 9, 52, tzinfo=UTC)


def job(**changes):
    given = {
        "id": "rejudge-1",
        "state": "running",
        "why": None,
        "actor": "Mara",
        "where": RowFilter(),
        "mode": "all",
        "judge": {"kind": "rag"},
        "judge_title": "rag v4",
        "version_id": 4,
        "run_id": 14,
        "created_at": START,
        "started_at": START,
        "finished_at": None,
        "selected": 61,
        "ok": 36,
        "unparsable": 1,
        "refused": 0,
        "error": 1,
        "cost_micro": 56_000,
        "worker_alive": True,
    }
    return JobProgress(**(given | changes))


def numbers_in(words):
    """Return the numbers of a sentence, amounts and times with their unit."""
    return re.findall(r"(?:\$ )?\d(?:[\d.,]*\d)?(?: s\b)?", words)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "under 1 s"),
        (6.2, "6 s"),
        (59.6, "1 min"),
        (98, "1 min 38 s"),
        (7500, "2 h 5 min"),
        (3599.7, "1 h"),
    ],
)
def test_duration(seconds, words):
    assert duration(seconds) == words


def test_an_estimate_says_what_is_known_and_no_more():
    known = CallEstimate(61, 90_000, 40, 1420, "gpt-4o-mini", priced=True, version_title="rag v3")
    assert numbers_in(lead(known)) == ["61", "$ 0.09", "40 s"]
    assert numbers_in(details(known)) == ["1,420", "3"]
    assert "rag v3" in details(known)
    unpriced = CallEstimate(61, None, 40, 1420, "llama", priced=False)
    assert numbers_in(lead(unpriced)) == ["61", "40 s"]
    own = CallEstimate(61, 0, 40, None, "llama", priced=True, own_endpoint=True)
    not_own = replace(own, own_endpoint=False)
    for estimate in (own, not_own):
        assert numbers_in(lead(estimate)) == ["61", "$ 0", "40 s"]
        assert ("own endpoint" in lead(estimate)) is estimate.own_endpoint
    first = CallEstimate(1, None, None, None, "gpt-4o-mini", priced=True)
    assert numbers_in(lead(first)) == ["1"]
    assert not numbers_in(details(first))
    offline = lead(CallEstimate(400, 0, 0.01, None, None, priced=True))
    assert numbers_in(offline) == ["400"]
    assert "offline" in offline
    assert "offline" not in lead(
        CallEstimate(400, None, None, None, None, priced=False)
    )  # it calls a host
    assert not numbers_in(lead(CallEstimate(0, 0, None, None, None, priced=True)))
    assert "Continues run 14" in details(
        CallEstimate(23, None, None, None, "m", priced=True, continues=14)
    )


def test_a_running_job_says_how_far_it_is():
    running = job()
    assert numbers_in(sum_words(running)) == ["36", "1", "0", "1", "23", "61"]
    assert share(running) == pytest.approx(38 / 61)
    seen = FirstSeen(at=100.0, asked=18)
    assert seen.rate(running.asked, 105.0) == pytest.approx(4.0)
    assert FirstSeen(at=100.0, asked=38).rate(running.asked, 105.0) is None
    left = [left_words(steps, 0.5).removesuffix(" left") for steps in (20, 55, 3_700)]
    assert left == ["40 s", "2 min", "2 h 3 min"]
    assert numbers_in(bar_text(running, 4.0)) == ["38", "61", "4.0", "6 s", "$ 0.056"]
    assert bar_text(job(cost_micro=None), None).split(" · ") == ["38 of 61", "cost unknown"]
    assert bar_text(job(ok=0, unparsable=0, error=0, cost_micro=None), None) == "0 of 61"


def test_rows_narrow_the_filter_of_the_page():
    where = RowFilter(query_types=("QA",))
    choices = row_choices(where)
    assert choices["open"].where == RowFilter(query_types=("QA",), states=("open",))
    assert {name: choice.mode for name, choice in choices.items()} == {
        "open": "all",
        "match": "all",
        "failed": "failed",
        "plain": "plain",
    }
    assert job_words(RowFilter(response_ids=(7,)), "all") == "one answer"
    assert job_words(where, "failed").endswith(", QA")
    assert job_words(where, "failed") != job_words(where, "plain")


APPLY = "Run `judgeboard flags apply`."


def test_a_command_names_the_database_unless_it_is_the_default(monkeypatch):
    monkeypatch.delenv("JUDGEBOARD_DB", raising=False)
    assert "--db" not in str(commands(APPLY))
    path = "/logs/may log.db"
    monkeypatch.setenv("JUDGEBOARD_DB", path)
    assert f"apply --db {html.escape(shlex.quote(path))}<" in str(commands(APPLY))
    assert "--db" not in str(commands("Try `judgeboard quickstart`."))
    monkeypatch.setenv("JUDGEBOARD_DB", "postgresql://me:secret@host/log")
    shown = str(commands(APPLY))
    assert "host/log" in shown
    assert "secret" not in shown


def test_rules_that_do_not_fit_are_counted():
    rules = "low_groundedness", "feedback_gap", "low_quality", "feedback_gap"
    assert rules_words(rules).lower().split(" · ") == [
        "low groundedness",
        "feedback gap",
        "low quality",
    ]
    assert rules_words(rules, 42).lower().split(" · ") == ["low groundedness", "feedback gap +1"]
    # One rule is always named.
    assert rules_words(rules, 5) == "Low groundedness +2"
    assert rules_words((), 5) == ""
