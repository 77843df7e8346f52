"""Self-reflection on stored answers: selects the bad ones, has each made anew once, keeps the better grounded."""

from dataclasses import replace
from typing import Unpack

from judgeboard.blocking import run_blocking
from judgeboard.filters import RowFilter
from judgeboard.judges.prompt_file import load_prompt
from judgeboard.judges.protocol import Judge
from judgeboard.judges.version import prompt_hash
from judgeboard.llm.generator import Generator
from judgeboard.refining.generators import hosts_of, settings_of
from judgeboard.refining.reflect_landing import land_reflect_steps
from judgeboard.refining.reflect_summary import ReflectSummary, reflect_summary
from judgeboard.refining.reflect_work import Reflecting, reflecting
from judgeboard.refining.reflection import ReflectRule
from judgeboard.step_run import RunKeywords, RunOptions, require_price, run_steps, stoppable
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import ensure_version
from judgeboard.store.refining.refinement_rows import runs_of_method
from judgeboard.store.refining.reflect_candidates import (
    REFLECT,
    ReflectSelection,
    count_no_messages,
    count_waiting,
    reflect_candidates,
)
from judgeboard.store.responses.response_frontier import last_logged_id
from judgeboard.store.runs.method_runs import start_or_continue_method_run
from judgeboard.store.runs.runs import StoredRun


def reflect_pending(
    store: Store,
    judge: Judge,
    generator: Generator,
    *,
    where: RowFilter | None = None,
    rule: ReflectRule | None = None,
    rebuild_messages: bool = False,
    **options: Unpack[RunKeywords],
) -> ReflectSummary:
    """Reflect on what is selected and wait for it; Ctrl-C finishes the calls in flight.

    Arguments and errors as `reflect_pending_async`.
    """
    return run_blocking(
        reflect_pending_async,
        store,
        judge,
        generator,
        where=where,
        rule=rule,
        rebuild_messages=rebuild_messages,
        **stoppable(options),
    )


async def reflect_pending_async(
    store: Store,
    judge: Judge,
    generator: Generator,
    *,
    where: RowFilter | None = None,
    rule: ReflectRule | None = None,
    rebuild_messages: bool = False,
    **options: Unpack[RunKeywords],
) -> ReflectSummary:
    """Have bad answers of the log made anew once, judge the new ones, and record which of the two is better grounded.

    An unfinished run of the same command is continued up to where the log ended at its start; what has landed since
    is for the next run. An answer without a judgment of this version is judged first. What a run with the same judge
    version and generator has settled is not done again, whatever its rule and filter; what failed there is.

    Args:
        store: The open database.
        judge: Judges both answers; closed at the end.
        generator: Makes the new answers; closed at the end.
        where: Which answers; all of the log by default.
        rule: Which of them are made anew; the defaults of `ReflectRule`.
        rebuild_messages: Ask from query and passages where the log kept no messages.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        UnknownPrice: A cost limit is given and one of the two models has no price.
    """
    how, bad = RunOptions(**options), rule or ReflectRule()
    try:
        require_price(how.max_cost, priced=judge.priced, model=judge.version.model)
        require_price(how.max_cost, priced=generator.endpoint.priced, model=generator.endpoint.model)
        return await _reflect(store, judge, generator, where or RowFilter(), bad, rebuild_messages, how)
    finally:
        await judge.aclose()
        await generator.endpoint.aclose()


async def _reflect(
    store: Store,
    judge: Judge,
    generator: Generator,
    where: RowFilter,
    rule: ReflectRule,
    rebuild_messages: bool,
    how: RunOptions,
) -> ReflectSummary:
    method = {"generator": settings_of(generator)}
    asked = {
        "max_quality": rule.max_quality,
        "min_chars": rule.min_chars,
        "query_types": list(rule.query_types),
        "rebuild_messages": rebuild_messages,
        "prompt": prompt_hash(load_prompt("generate").text) if rebuild_messages else None,
    }
    with store.writing() as connection:
        attempt = connection.begin_nested()
        version = ensure_version(connection, judge.version)
        up_to = last_logged_id(connection)
        selection = ReflectSelection(
            version_id=version.id,
            where=where,
            max_quality=rule.max_quality,
            min_chars=rule.min_chars,
            query_types=rule.query_types,
            rebuild_messages=rebuild_messages,
            up_to=up_to,
            settled_by=runs_of_method(connection, REFLECT, version.id, method),
        )
        waiting = count_waiting(connection, selection)
        run: StoredRun | None = None
        if waiting:
            run = start_or_continue_method_run(
                connection,
                REFLECT,
                version,
                {"method": method, "rule": asked, "where": where.as_dict(), "up_to": up_to},
                selected=waiting,
                actor=how.actor,
                endpoint_host=hosts_of(judge, generator),
            )
            selection = replace(selection, run_id=run.id, up_to=run.question["up_to"])
            waiting = count_waiting(connection, selection)
            attempt.commit()
        else:  # a command that finds nothing to do leaves nothing behind
            without = count_no_messages(connection, selection)
            attempt.rollback()
    if run is None:
        return ReflectSummary(version.title, eligible=without, no_messages=without)
    ended = await run_steps(
        store,
        run.id,
        reflecting(judge, generator, rule),
        _Candidates(store, selection, run, generator.endpoint.model).read,
        lambda batch: land_reflect_steps(store, version, run.id, batch),
        options=how,
        expected=2 * waiting,
        all_done=lambda: _left(store, selection) == 0,
    )
    return reflect_summary(store, version.title, selection, run.id, ended)


class _Candidates:
    """Hands out the answers of a run, each once; from the other end where another process may be at the same run."""

    def __init__(self, store: Store, selection: ReflectSelection, run: StoredRun, model: str) -> None:
        self._store = store
        self._selection = selection
        self._run = run
        self._model = model
        self._after: int | None = None

    def read(self, limit: int) -> list[Reflecting]:
        """Return up to ``limit`` further answers; fewer only at the end."""
        with self._store.reading() as connection:
            found = reflect_candidates(
                connection, self._selection, after_id=self._after, downwards=self._run.shared, limit=limit
            )
        if found:
            self._after = found[-1].origin.item.response_id
        rebuild = self._selection.rebuild_messages
        return [Reflecting(one.origin, one.judged, self._run.id, self._model, rebuild, one.new_answer) for one in found]


def _left(store: Store, selection: ReflectSelection) -> int:
    with store.reading() as connection:
        return count_waiting(connection, selection)
