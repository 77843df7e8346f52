"""Runs: what they select, how they go on, what they count."""

import pytest
from sqlalchemy import event

from judgeboard.domain import ResponseKind, RunState, Status, Verdict
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.filters import RowFilter
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.runs import (
    AskMode,
    Counts,
    SelectedAsk,
    StoredRun,
    finish_run,
    get_run,
    list_runs,
    run_counts,
    select_asks,
    start_import_run,
    start_or_continue_run,
)
from judgeboard.store.storing import store_judgments

OK = Verdict(Status.OK, groundedness=0.9, cost_micro=7, prompt_tokens=10, completion_tokens=2)
ERROR = Verdict(Status.ERROR)


@pytest.fixture
def version(desk):
    return desk.version()


def start(desk, version, **options) -> StoredRun:
    with desk.store.writing() as connection:
        return start_or_continue_run(connection, version, actor="test", **options)


def finish(desk, run: StoredRun, state: RunState = RunState.DONE, why: str | None = None) -> None:
    with desk.store.writing() as connection:
        finish_run(connection, run.id, state, why_stopped=why)


def asks(desk, run: StoredRun, *, after_id: int = 0, limit: int = 100) -> list[tuple[int, int]]:
    with desk.store.reading() as connection:
        selected = select_asks(connection, run, after_id=after_id, limit=limit)
    assert all(isinstance(each, SelectedAsk) for each in selected)
    return [(each.response_id, each.ask) for each in selected]


def add(desk, version, run: StoredRun, verdicts: dict[tuple[int, int], Verdict]) -> None:
    items = [NewJudgment(response, ask, 0, verdict) for (response, ask), verdict in verdicts.items()]
    with desk.store.writing() as connection:
        store_judgments(connection, version, run.id, items)


def test_a_plain_run_asks_what_this_version_was_never_asked(desk, version) -> None:
    a, b, c = (desk.answer(name) for name in "abc")
    first = start(desk, version, where=RowFilter(ids=("a",)))
    add(desk, version, first, {(a, 0): ERROR})
    finish(desk, first)
    run = start(desk, version)
    assert (run.selected, run.state, run.version_title) == (2, RunState.RUNNING, "rag v1")
    assert asks(desk, run) == [(b, 0), (c, 0)]
    assert asks(desk, run, after_id=b, limit=1) == [(c, 0)]
    other = desk.version(t=1)
    assert asks(desk, start(desk, other)) == [(a, 0), (b, 0), (c, 0)]


def test_an_interrupted_plain_run_is_continued_unless_the_log_has_grown(desk, version) -> None:
    a, b = desk.answer("a"), desk.answer("b")
    run = start(desk, version)
    add(desk, version, run, {(a, 0): OK})
    finish(desk, run, RunState.INTERRUPTED, "Ctrl-C")
    again = start(desk, version)
    assert (again.id, again.state, again.why_stopped, again.finished_at) == (run.id, RunState.RUNNING, None, None)
    assert (again.selected, asks(desk, again)) == (2, [(b, 0)])
    c = desk.answer("c")
    grown = start(desk, version)
    assert grown.id != run.id
    assert asks(desk, grown) == [(b, 0), (c, 0)]
    assert asks(desk, run) == [(b, 0)]  # behind its frontier nothing is its own


def test_an_interrupted_rejudge_goes_on_with_its_own_frontier(desk, version) -> None:
    a, b = desk.answer("a"), desk.answer("b")
    desk.say(version, a, groundedness=0.1)
    run = start(desk, version, mode=AskMode.ALL, kind="rejudge")
    assert asks(desk, run) == [(a, 1), (b, 0)]
    add(desk, version, run, {(a, 1): OK})
    finish(desk, run, RunState.STOPPED, "the cost limit is reached")
    desk.answer("c")
    again = start(desk, version, mode=AskMode.ALL, kind="rejudge")
    assert (again.id, asks(desk, again)) == (run.id, [(b, 0)])
    finish(desk, again)
    anew = start(desk, version, mode=AskMode.ALL, kind="rejudge")
    assert (anew.id != run.id, [ask for _, ask in asks(desk, anew)]) == (True, [2, 0, 0])


def test_failed_asks_those_whose_latest_is_not_ok_once(desk, version) -> None:
    ids = {name: desk.answer(name) for name in ("ok", "failed", "mended", "broken", "unasked")}
    for name, statuses in {
        "ok": [Status.OK],
        "failed": [Status.ERROR],
        "mended": [Status.ERROR, Status.OK],
        "broken": [Status.OK, Status.REFUSED],
    }.items():
        for status in statuses:
            desk.say(version, ids[name], status)
    run = start(desk, version, mode=AskMode.FAILED)
    assert asks(desk, run) == [(ids["failed"], 1), (ids["broken"], 2)]
    assert run.selected == 2
    add(desk, version, run, {(ids["failed"], 1): ERROR})
    assert asks(desk, run) == [(ids["broken"], 2)]  # what failed again waits for the next run
    finish(desk, run)
    assert [response for response, _ in asks(desk, start(desk, version, mode=AskMode.FAILED))] == [
        ids["failed"],
        ids["broken"],
    ]


@pytest.mark.parametrize(
    "other", [{"mode": AskMode.ALL}, {"where": RowFilter(query_types=("sql",))}, {"limit": 3}, {"kind": "rejudge"}]
)
def test_another_selection_is_another_run(desk, version, other) -> None:
    desk.answer("a", query_type="sql")
    run = start(desk, version)
    assert start(desk, version, **other).id != run.id
    assert start(desk, version).id == run.id


def test_a_finished_run_is_not_continued(desk, version) -> None:
    desk.answer()
    run = start(desk, version)
    finish(desk, run)
    assert start(desk, version).id != run.id


def test_a_limit_is_part_of_the_selection(desk, version) -> None:
    for name in "abc":
        desk.answer(name)
    run = start(desk, version, limit=2)
    assert (run.selected, run.selection.limit) == (2, 2)
    assert start(desk, version, limit=9).selected == 3


def test_a_limit_is_kept_by_whoever_continues_the_run(desk, version) -> None:
    a, b, c = (desk.answer(name) for name in "abc")
    run = start(desk, version, limit=2)
    assert asks(desk, run) == [(a, 0), (b, 0)]
    add(desk, version, run, {(a, 0): OK})
    desk.answer("d")
    again = start(desk, version, limit=2)
    assert (again.id, asks(desk, again)) == (run.id, [(b, 0)])
    finish(desk, run)
    assert asks(desk, start(desk, version, limit=2))[:2] == [(b, 0), (c, 0)]


def test_who_finds_a_run_running_may_begin_at_its_other_end(desk, version) -> None:
    ids = [desk.answer(name) for name in "abcd"]
    run = start(desk, version)
    assert not run.shared
    other = start(desk, version)
    assert (other.id, other.shared) == (run.id, True)
    with desk.store.reading() as connection:
        first = select_asks(connection, other, downwards=True, limit=3)
        rest = select_asks(connection, other, downwards=True, after_id=first[-1].response_id, limit=3)
    assert [each.response_id for each in (*first, *rest)] == ids[::-1]
    finish(desk, run, RunState.INTERRUPTED, "Ctrl-C")
    assert not start(desk, version).shared


def test_the_filter_narrows_what_is_asked(desk, version) -> None:
    desk.answer("a", query_type="QA")
    sql = desk.answer("b", query_type="sql")
    run = start(desk, version, where=RowFilter(query_types=("sql",)))
    assert (run.selected, asks(desk, run)) == (1, [(sql, 0)])
    assert run.selection.where == RowFilter(query_types=("sql",))


def test_counts_add_up_and_an_unknown_cost_is_not_zero(desk, version) -> None:
    ids = [desk.answer(name) for name in "abcd"]
    run, empty = start(desk, version), start(desk, desk.version(t=1))
    add(desk, version, run, {(id_, 0): verdict for id_, verdict in zip(ids, [OK, OK, ERROR], strict=False)})
    with desk.store.reading() as connection:
        counts = run_counts(connection, [run.id, empty.id])
    assert counts[run.id] == Counts(ok=2, error=1, cost_micro=14, unpriced=1, prompt_tokens=20, completion_tokens=4)
    assert (counts[run.id].asked, counts[empty.id]) == (3, Counts())
    assert counts[empty.id].cost_micro is None


def test_runs_are_listed_newest_first(desk, version) -> None:
    desk.answer()
    ids = [start(desk, version, limit=number).id for number in range(1, 5)]
    with desk.store.writing() as connection:
        ids.append(start_import_run(connection, version, "test").id)
    with desk.store.reading() as connection:
        newest = list_runs(connection, limit=2)
        older = list_runs(connection, before_id=newest[-1].id)
        imported = get_run(connection, ids[-1])
        assert select_asks(connection, imported, limit=10) == []
    assert [run.id for run in (*newest, *older)] == ids[::-1]
    assert (imported.kind, imported.selection) == ("import", None)


def test_an_unknown_run_or_mode_is_said(desk, version) -> None:
    with desk.store.reading() as connection, pytest.raises(NotFound, match="no run 9"):
        get_run(connection, 9)
    with pytest.raises(BadInput, match="plain, failed or all"):
        start(desk, version, mode="some")


@pytest.mark.parametrize("mode", AskMode)
def test_the_next_asks_are_found_without_sorting_the_log(sqlite_desk, mode: str) -> None:
    sqlite_desk.answer()
    run = start(sqlite_desk, sqlite_desk.version(), mode=mode)
    plans = []

    def explain(connection, cursor, statement, parameters, _context, _many) -> None:
        if statement.startswith("SELECT response.id"):
            plans.append([row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)])

    event.listen(sqlite_desk.store.engine, "before_cursor_execute", explain)
    asks(sqlite_desk, run)
    [plan] = plans
    assert plan[0].startswith("SEARCH response USING INDEX ix_response_kind (kind=? AND id")


def test_made_answers_are_asked_only_where_their_kind_is_named(desk, version) -> None:
    log = desk.answer("a")
    control = desk.answer("b", kind=ResponseKind.CONTROL, derived_from=log)
    candidate = desk.answer("c", kind=ResponseKind.CANDIDATE)
    assert asks(desk, start(desk, version)) == [(log, 0)]
    both = start(desk, version, where=RowFilter(kinds=("control", "log")))
    assert asks(desk, both) == [(log, 0), (control, 0)]
    picked = start(desk, version, where=RowFilter(kinds=("control",), response_ids=(log, control, candidate)))
    assert asks(desk, picked) == [(control, 0)]
    desk.say(version, control, groundedness=0.2)
    low = RowFilter(kinds=("control",), judge_version=version.id, max_score=0.5)
    assert asks(desk, start(desk, version, mode=AskMode.ALL, where=low)) == [(control, 1)]
