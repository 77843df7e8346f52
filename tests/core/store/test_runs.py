"""Runs: what they select, how they continue, what they count, and the reasons of failed calls."""

from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    JudgeVersion,
    Pair,
    ResponseKind,
    RunState,
    Shown,
    Status,
    StepRecord,
    Verdict,
)
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.filters import RowFilter
from judgeboard.store.generations import NewGeneration, store_generations
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.pairs import store_pairs
from judgeboard.store.run_steps import RunProblem, run_problems
from judgeboard.store.runs import (
    AskMode,
    Counts,
    finish_run,
    get_run,
    list_runs,
    run_counts,
    select_asks,
    selection_of,
    start_import_run,
    start_or_continue_method_run,
    start_or_continue_run,
)
from judgeboard.store.storing import store_judgments
from query_plans import steps_of

OK = Verdict(Status.OK, groundedness=0.9, cost_micro=7, prompt_tokens=10, completion_tokens=2)
ERROR = Verdict(Status.ERROR)


@pytest.fixture
def version(case):
    return case.version()


def start(case, version, **options):
    return case.write(start_or_continue_run, version, actor="test", **options)


def finish(case, run, state=RunState.DONE, why=None):
    case.write(finish_run, run.id, state, why_stopped=why)


def asks(case, run, *, after_id=0, limit=100):
    return case.read(select_asks, run, after_id=after_id, limit=limit)


def add(case, version, run, response_id, ask=0, verdict=OK):
    case.write(store_judgments, version, run.id, [NewJudgment(response_id, ask, 0, verdict)])


@on_sqlite
def test_a_plain_run_asks_what_this_version_was_never_asked(case, version):
    a, b, c = (case.answer(name) for name in "abc")
    first = start(case, version, where=RowFilter(ids=("a",)))
    add(case, version, first, a, verdict=ERROR)
    finish(case, first)
    run = start(case, version)
    assert (run.selected, run.state, run.judge_version_id) == (2, RunState.RUNNING, version.id)
    assert asks(case, run) == [(b, 0), (c, 0)]
    assert asks(case, run, after_id=b, limit=1) == [(c, 0)]
    other = case.version(t=1)
    assert asks(case, start(case, other)) == [(a, 0), (b, 0), (c, 0)]


@on_sqlite
def test_an_interrupted_plain_run_is_continued_unless_the_log_has_grown(case, version):
    a, b = case.answer("a"), case.answer("b")
    run = start(case, version)
    add(case, version, run, a)
    finish(case, run, RunState.INTERRUPTED, "Ctrl-C")
    again = start(case, version)
    assert (again.id, again.state, again.selected) == (run.id, RunState.RUNNING, 2)
    assert (again.why_stopped, again.finished_at) == (None, None)
    assert asks(case, again) == [(b, 0)]
    c = case.answer("c")
    grown = start(case, version)
    assert grown.id != run.id
    assert asks(case, grown) == [(b, 0), (c, 0)]
    assert asks(case, run) == [(b, 0)]  # behind its frontier nothing is its own


@on_sqlite
def test_an_interrupted_rejudge_goes_on_with_its_own_frontier(case, version):
    a, b = case.answer("a"), case.answer("b")
    case.say(version, a, groundedness=0.1)
    run = start(case, version, mode=AskMode.ALL)
    assert asks(case, run) == [(a, 1), (b, 0)]
    add(case, version, run, a, 1)
    finish(case, run, RunState.STOPPED, "the cost limit is reached")
    case.answer("c")
    again = start(case, version, mode=AskMode.ALL)
    assert (again.id, asks(case, again)) == (run.id, [(b, 0)])
    finish(case, again)
    anew = start(case, version, mode=AskMode.ALL)
    assert (anew.id != run.id, [ask for _, ask in asks(case, anew)]) == (True, [2, 0, 0])


def test_failed_asks_those_whose_latest_is_not_ok_once(case, version):
    good, failed, mended, broken, _unasked = (case.answer(name) for name in "abcde")
    for response_id, status in (
        (good, Status.OK),
        (failed, Status.ERROR),
        (mended, Status.ERROR),
        (mended, Status.OK),
        (broken, Status.OK),
        (broken, Status.REFUSED),
    ):
        case.say(version, response_id, status)
    run = start(case, version, mode=AskMode.FAILED)
    assert asks(case, run) == [(failed, 1), (broken, 2)]
    assert run.selected == 2
    add(case, version, run, failed, 1, ERROR)
    assert asks(case, run) == [(broken, 2)]  # what failed again waits for the next run
    finish(case, run)
    following = start(case, version, mode=AskMode.FAILED)
    assert [response for response, _ in asks(case, following)] == [failed, broken]


@on_sqlite
@pytest.mark.parametrize(
    "other", [{"mode": AskMode.ALL}, {"where": RowFilter(query_types=("sql",))}, {"limit": 3}]
)
def test_another_selection_is_another_run(case, version, other):
    case.answer("a", query_type="sql")
    run = start(case, version)
    assert start(case, version, **other).id != run.id
    assert start(case, version).id == run.id


@on_sqlite
def test_a_limit_is_kept_by_whoever_continues_the_run(case, version):
    a, b, c = (case.answer(name) for name in "abc")
    run = start(case, version, limit=2)
    assert asks(case, run) == [(a, 0), (b, 0)]
    add(case, version, run, a)
    case.answer("d")
    again = start(case, version, limit=2)
    assert (again.id, asks(case, again)) == (run.id, [(b, 0)])
    finish(case, run)
    assert asks(case, start(case, version, limit=2))[:2] == [(b, 0), (c, 0)]


@on_sqlite
def test_counts_add_up_and_an_unknown_cost_is_not_zero(case, version):
    run, empty = start(case, version), start(case, case.version(t=1))
    for name, verdict in (("a", OK), ("b", OK), ("c", ERROR)):
        add(case, version, run, case.answer(name), verdict=verdict)
    counts = case.read(run_counts, [run.id, empty.id])
    assert counts[run.id] == Counts(
        ok=2, error=1, cost_micro=14, unpriced=1, prompt_tokens=20, completion_tokens=4
    )
    assert (counts[run.id].asked, counts[empty.id]) == (3, Counts())
    assert counts[empty.id].cost_micro is None


def test_runs_are_listed_newest_first(case, version):
    case.answer()
    ids = [start(case, version, limit=number).id for number in range(1, 5)]
    ids.append(case.write(start_import_run, version, "test").id)
    newest = case.read(list_runs, limit=2)
    older = case.read(list_runs, before_id=newest[-1].id)
    imported = case.read(get_run, ids[-1])
    assert asks(case, imported) == []
    assert [run.id for run in (*newest, *older)] == ids[::-1]
    assert (imported.kind, selection_of(imported)) == ("import", None)


@on_sqlite
def test_an_unknown_run_or_mode_is_said(case, version):
    with pytest.raises(NotFound, match="no run 9"):
        case.read(get_run, 9)
    with pytest.raises(BadInput, match="failed or all"):
        start(case, version, mode="some")


@pytest.mark.parametrize("mode", AskMode)
def test_the_next_asks_are_found_without_sorting_the_log(sqlite_case, mode):
    sqlite_case.answer()
    run = start(sqlite_case, sqlite_case.version(), mode=mode)
    with steps_of(sqlite_case.store, "SELECT response.id") as steps:
        asks(sqlite_case, run)
    assert len({statement for statement, _ in steps}) == 1
    assert "INDEX ix_response_kind (kind=?" in steps[0][1]


def test_made_answers_are_asked_only_where_their_kind_is_named(case, version):
    log = case.answer("a")
    control = case.answer("b", kind=ResponseKind.CONTROL, derived_from=log)
    candidate = case.answer("c", kind=ResponseKind.CANDIDATE)
    assert asks(case, start(case, version)) == [(log, 0)]
    both = start(case, version, where=RowFilter(kinds=("control", "log")))
    assert asks(case, both) == [(log, 0), (control, 0)]
    picked = RowFilter(kinds=("control",), response_ids=(log, control, candidate))
    assert asks(case, start(case, version, where=picked)) == [(control, 0)]
    case.say(version, control, groundedness=0.2)
    low = RowFilter(kinds=("control",), judge_version=version.id, max_score=0.5)
    assert asks(case, start(case, version, mode=AskMode.ALL, where=low)) == [(control, 1)]


@on_sqlite
def test_reasons_are_counted_with_an_answer_each(case, version):
    above = "groundedness 85 is above 1"
    run = start(case, version)
    for number, verdict in enumerate(
        (
            *[Verdict(Status.UNPARSABLE, error=above)] * 3,
            Verdict(Status.ERROR, error="context too long" + "!" * 400),
            Verdict(Status.ERROR, error="context too long" + "!" * 500),
            Verdict(Status.REFUSED),
            OK,
        )
    ):
        add(case, version, run, case.answer(f"a{number}"), verdict=verdict)
    problems = case.read(run_problems, run.id)
    assert case.read(run_problems, run.id, limit=1) == problems[:1]
    assert case.read(run_problems, run.id + 1) == []
    assert problems == [
        RunProblem("unparsable", above, 3, 1, None, "a0"),
        RunProblem("error", "context too long" + "!" * 284, 2, 4, None, "a3"),
        RunProblem("refused", None, 1, 6, None, "a5"),
    ]


@on_sqlite
def test_reasons_of_steps_about_a_pair_name_the_pair(store):
    lost = StepRecord(Status.UNPARSABLE, error="winner is null")
    with store.writing() as connection:
        (pair,) = store_pairs(connection, [Pair("log", "p1", "?", "left", "right")]).new
        version = ensure_version(connection, JudgeVersion("pairwise", "pairwise"))
        run = start_or_continue_method_run(
            connection, "compare", version, {}, selected=3, actor="test"
        )
        orders = [NewComparison(pair, shown, lost, {}) for shown in Shown]
        store_comparisons(connection, version, run.id, orders)
        failed = NewGeneration("q7", 1, "m", StepRecord(Status.ERROR, error="HTTP 500"), None)
        store_generations(connection, run.id, [failed], datetime.now(UTC))
        assert run_problems(connection, run.id) == [
            RunProblem("unparsable", "winner is null", 2, None, pair, "p1"),
            RunProblem("error", "HTTP 500", 1, None, None, "q7"),
        ]
