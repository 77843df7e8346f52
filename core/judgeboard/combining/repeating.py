"""Asks one judge version the same questions several times, and makes one verdict of what it said."""

from datetime import UTC, datetime
from typing import Unpack

from judgeboard.blocking import run_blocking
from judgeboard.combining.keeping import keep_combined
from judgeboard.combining.rule import RULE
from judgeboard.domain import JudgeVersion
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.judge_kinds import REPEATS
from judgeboard.judge_work import Answered, Ask, asking
from judgeboard.judges.protocol import Judge
from judgeboard.judging_summary import JudgingSummary, summary_of
from judgeboard.step_run import RunKeywords, RunOptions, require_price, run_steps, stoppable
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_inputs import judge_inputs
from judgeboard.store.judgments.judge_versions import StoredVersion, ensure_version
from judgeboard.store.judgments.member_verdicts import by_repeat
from judgeboard.store.landing import LandedVerdict, land_judgments
from judgeboard.store.responses.response_frontier import last_logged_id
from judgeboard.store.runs.method_runs import start_or_continue_method_run
from judgeboard.store.runs.repeat_asks import Repeat, count_missing, missing_repeats, next_answers
from judgeboard.store.runs.runs import StoredRun, keep_if_selected, run_counts


def repeats_version(version: StoredVersion, repeats: int) -> JudgeVersion:
    """Return the version under which the combined verdict of ``repeats`` repeats is kept: "rag x3"."""
    params = {"members": [version.fingerprint], "repeats": repeats, "rule": RULE}
    return JudgeVersion(f"{version.name} x{repeats}", REPEATS, model=version.model, params=params, scale=version.scale)


def judge_repeats(
    store: Store,
    judge: Judge,
    repeats: int,
    *,
    where: RowFilter | None = None,
    limit: int | None = None,
    **options: Unpack[RunKeywords],
) -> JudgingSummary:
    """Ask a judge ``repeats`` times about each answer and wait for it; Ctrl-C finishes the calls in flight.

    Arguments and errors as `judge_repeats_async`.
    """
    how = stoppable(options)
    return run_blocking(judge_repeats_async, store, judge, repeats, where=where, limit=limit, **how)


async def judge_repeats_async(
    store: Store,
    judge: Judge,
    repeats: int,
    *,
    where: RowFilter | None = None,
    limit: int | None = None,
    **options: Unpack[RunKeywords],
) -> JudgingSummary:
    """Ask a judge ``repeats`` times about each answer, storing each repeat and then the verdict combined of them.

    Repeat 0 is what a plain run asks: what is there of it, or of an earlier run of repeats, is not asked again. The
    combined verdict is kept for every answer that has all its repeats. An unfinished run of the same command is
    continued up to where the log ended at its start; what has landed since is for the next run.

    Args:
        store: Where the responses are.
        judge: Who is asked; closed at the end.
        repeats: How often, two at least.
        where: Which responses; all of the log by default.
        limit: Only so many of them, the first to have landed.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        BadInput: Fewer than two repeats.
        UnknownPrice: A cost limit is given and the model has no price.
    """
    how, meant = RunOptions(**options), where or RowFilter()
    try:
        if repeats < 2:
            raise BadInput(f"--repeats must be 2 or more, not {repeats}")
        require_price(how.max_cost, priced=judge.priced, model=judge.version.model)
        with store.writing() as connection:
            attempt = connection.begin_nested()
            version = ensure_version(connection, judge.version)
            up_to = last_logged_id(connection)
            if limit is not None:
                first = next_answers(connection, meant, after_id=0, up_to=up_to, limit=limit)
                up_to = first[-1] if first else 0
            started = start_or_continue_method_run(
                connection,
                REPEATS,
                version,
                {"where": meant.as_dict(), "repeats": repeats, "limit": limit, "up_to": up_to},
                selected=count_missing(connection, version.id, repeats, meant, up_to),
                actor=how.actor,
                endpoint_host=judge.endpoint_host,
            )
            up_to = started.question["up_to"]
            run = keep_if_selected(attempt, started)
        if run is None:
            # Of a run that was killed before it came to that.
            keep_repeats(store, version, repeats, where=meant, actor=how.actor)
            return JudgingSummary(judge=version.title)
        return await _ask(store, judge, version, run, _Repeats(store, version, run, repeats, meant, up_to), how)
    finally:
        await judge.aclose()


async def _ask(
    store: Store, judge: Judge, version: StoredVersion, run: StoredRun, asks: "_Repeats", how: RunOptions
) -> JudgingSummary:
    def write(batch: list[Answered]) -> None:
        items = [LandedVerdict(one.ask.item.response_id, 0, one.ask.repeat, one.verdict) for one in batch]
        with store.writing() as connection:
            land_judgments(connection, version, run.id, items, datetime.now(UTC))

    selected = run.selected or 0
    ended = await run_steps(
        store,
        run.id,
        asking(judge),
        asks.read,
        write,
        options=how,
        expected=selected - _asked(store, run),
        all_done=lambda: _asked(store, run) >= selected,
    )
    keep_repeats(store, version, asks.repeats, where=asks.where, actor=how.actor)
    return summary_of(store, run, ended)


def keep_repeats(
    store: Store, version: StoredVersion, repeats: int, *, where: RowFilter | None = None, actor: str = "library"
) -> int:
    """Store the combined verdict of every answer that has all its repeats; return how many have it now."""
    with store.writing() as connection:
        judged = by_repeat(connection, version.id, where)
        complete = {
            id_: [one.opinions[number].verdict for number in range(repeats)]
            for id_, one in sorted(judged.items())
            if all(number in one.opinions for number in range(repeats))
        }
        if complete:
            combined = ensure_version(connection, repeats_version(version, repeats))
            keep_combined(connection, combined, complete, actor)
    return len(complete)


class _Repeats:
    """Hands out the repeats that are still to ask, each once; from the other end where another process is at it."""

    def __init__(
        self, store: Store, version: StoredVersion, run: StoredRun, repeats: int, where: RowFilter, up_to: int
    ) -> None:
        self.repeats = repeats
        self.where = where
        self._store = store
        self._version = version
        self._backwards = run.shared
        self._up_to = up_to
        self._after = up_to + 1 if run.shared else 0
        self._waiting: list[Repeat] = []

    def read(self, limit: int) -> list[Ask]:
        """Return up to ``limit`` further asks; fewer only at the end."""
        with self._store.reading() as connection:
            while len(self._waiting) < limit:
                answers = next_answers(
                    connection,
                    self.where,
                    after_id=self._after,
                    up_to=self._up_to,
                    limit=limit,
                    backwards=self._backwards,
                )
                if not answers:
                    break
                self._after = answers[-1]
                self._waiting += missing_repeats(connection, self._version.id, self.repeats, answers)
            batch, self._waiting = self._waiting[:limit], self._waiting[limit:]
            items = judge_inputs(connection, sorted({each.response_id for each in batch}))
        return [Ask(items[each.response_id], 0, each.repeat) for each in batch if each.response_id in items]


def _asked(store: Store, run: StoredRun) -> int:
    with store.reading() as connection:
        return run_counts(connection, [run.id])[run.id].asked
