"""The runs page: every row adds up, what went wrong is grouped, and it can be asked again."""

from datetime import UTC, datetime, timedelta

import pytest

from app_pages import click, keys, markup, text_with, texts
from graded_log import GradedLog
from job_steps import ask, ended, rag, working
from judgeboard.domain import RunState
from judgeboard.llm.recording_endpoint import completion, failure, verdict
from judgeboard.measure.notes import note
from judgeboard.runs.jobs import recent_jobs
from judgeboard.store.filters import RowFilter
from judgeboard.store.runs import Counts
from judgeboard.store.tables import Run
from judgeboard_dashboard.views.runs import RunLine

NOW = datetime(2026, 3, 2, 9, 52, tzinfo=UTC)


def mixed(request, _number):
    """Answers as a model that cannot cope with some of the questions."""
    asked = request["messages"][1]["content"]
    if "rock number 4?" in asked:
        return failure(400, "too long")
    bad = any(f"rock number {number}?" in asked for number in (2, 3))
    return completion('{"groundedness": 85, "quality": 3, "reasoning": "x"}') if bad else verdict()


@pytest.fixture
def mixed_run(page_rows, sqlite_store, endpoint):
    """A job of which some answers got no usable verdict."""
    endpoint.server.script = mixed
    plain = tuple(name for name in page_rows.responses if name.startswith("plain"))
    job_id = ask(sqlite_store, rag(endpoint), where=RowFilter(ids=plain))
    with working(sqlite_store):
        ended(sqlite_store, job_id)
    return job_id


def test_every_run_adds_up_and_says_what_went_wrong(mixed_run, open_page):
    page = open_page("runs")
    runs, problems = page.dataframe[0].value, page.dataframe[1].value
    run = runs.iloc[0]
    results = ["Ok", "Unparsable", "Refused", "Error"]
    assert run["Asked"] == run[results].sum()
    assert run["Selected"] == run["Asked"] + run["Not reached"]
    assert run[["Kind", "State", "By"]].tolist() == ["rejudge", "done", "Mara"]
    within_800_px = ["State", "Asked", *results, "Not reached"]
    assert list(runs.columns)[3:10] == within_800_px
    assert "3 of 12" in markup(page)
    status, why, times, example = problems.iloc[0].tolist()
    assert status == "unparsable"
    assert times == 2
    assert "groundedness" in why
    assert why.endswith("not 85")
    # The one that was judged first.
    assert example in {"plain-02", "plain-03"}
    status, why, times, example = problems.iloc[1].tolist()
    assert (status, times, example) == ("error", 1, "plain-04")
    assert why.startswith("HTTP 400")


def test_the_failed_are_asked_again(mixed_run, open_page, sqlite_store, endpoint):
    page = open_page("runs")
    assert page.button(key="run_judge").label == "Retry 3 answers"
    endpoint.server.script = lambda _request, _number: verdict()
    click(page, "run_judge")
    again = recent_jobs(sqlite_store)[0]
    assert (again.mode, again.selected, again.actor) == ("failed", 3, "Mara")
    with working(sqlite_store):
        assert ended(sqlite_store, again.id).ok == 3
    page = open_page("runs")
    assert "run_judge" not in keys(page)


def test_the_whole_reason_of_a_stopped_run_stands_below_the_table(
    page_rows, open_page, sqlite_store, endpoint
):
    """The column has room for 40 letters, and a window of 800 px has no room for the column."""
    endpoint.reply = failure(401, "bad key")
    with working(sqlite_store):
        stopped = ended(sqlite_store, ask(sqlite_store, rag(endpoint)))
    assert len(stopped.why) > 60
    reason = stopped.why.rstrip(".")
    assert text_with(open_page("runs"), "This run is stopped:", reason, cls="jb-note")


def test_a_job_without_a_run_is_said_until_a_run_begins(
    page_rows, open_page, sqlite_store, monkeypatch
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with working(sqlite_store):
        failed = ended(sqlite_store, ask(sqlite_store, {"kind": "rag", "model": "gpt-4o-mini"}))
        page = open_page("runs")
        (note,) = texts(page, "jb-note")
        assert "OPENAI_API_KEY" in note
        assert failed.run_id is None
        assert page.button(key=f"watch_{failed.id}").label == "Open job"
        ended(sqlite_store, ask(sqlite_store, {"kind": "lexical"}))
    assert not texts(open_page("runs"), "jb-note")


def test_the_cost_of_all_calls_and_of_each_judge_is_shown(open_page, page_store):
    log = GradedLog(page_store)
    version, ids = log.version("rag"), log.answers(5)
    log.run(version, {each: {"groundedness": 0.5} for each in ids[:2]})
    assert "$" not in texts(open_page("runs"), "jb-say")[-1]
    log.run(version, {each: {"groundedness": 0.5, "cost_micro": 1_500_000} for each in ids[2:4]})
    log.run(version, {ids[4]: {"groundedness": 0.5, "cost_micro": 0}})
    page = open_page("runs")
    words = texts(page, "jb-say")[-1]
    assert "5 calls" in words
    assert "$ 3.00" in words
    assert note("calls_left_out", calls=2).text in words
    assert list(page.dataframe[-1].value["Judge version"]) == ["all", "rag v1"]


def test_a_run_says_why_it_stopped_or_how_long_it_has_been_silent():
    reason = "the cost limit was reached"
    assert _line(RunState.STOPPED, why_stopped=reason).why == reason
    assert str(_line(RunState.RUNNING).why).endswith(" 5 min")
    assert _line(RunState.DONE).why is None


def _line(state, **columns):
    began = NOW - timedelta(minutes=5)
    run = Run(id=1, kind="judge", actor="me", started_at=began, state=state, **columns)
    return RunLine(run, "rag v1", Counts(ok=1), None, NOW)
