"""Asks a judge about stored responses: selects, asks, stores, and says what came of it."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Unpack

from sqlalchemy import Connection

from judgeboard.blocking import blocking
from judgeboard.domain import JudgeInput, Verdict
from judgeboard.filters import RowFilter
from judgeboard.judges.protocol import Judge
from judgeboard.method import Begun, Method, R, RunOptions, RunOutcome, run_method
from judgeboard.run_account import RunAccount
from judgeboard.runner import Answered, Keep
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_inputs import judge_inputs
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.landing import LandedVerdict, land_judgments
from judgeboard.store.runs.asks import PLAIN
from judgeboard.store.runs.runs import StoredRun, run_kind, select_asks, start_or_continue_run


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to a judge: the response as the judge sees it, the number of this ask, and of the repeat."""

    item: JudgeInput
    number: int
    repeat: int = 0


class VerdictMethod(Method[Ask, Answered[Ask, Verdict], R]):
    """A method whose steps are verdicts of a judge on responses; a subclass selects the responses."""

    judge: Judge

    async def ask(self, task: Ask, keep: Keep[Answered[Ask, Verdict]]) -> None:
        """Ask for one verdict."""
        verdict = await self.judge.judge(task.item)
        await keep(Answered(task, verdict, verdict))

    def save(self, connection: Connection, begun: Begun, steps: list[Answered[Ask, Verdict]]) -> None:
        """Store judgments, with the flags that they raise."""
        items = [
            LandedVerdict(step.task.item.response_id, step.task.number, step.task.repeat, step.result) for step in steps
        ]
        land_judgments(connection, begun.version, begun.run.id, items, datetime.now(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingSummary(RunAccount):
    """The account of a run that asks a judge once about each answer, or repeat of one; not_reached = selected - asked.

    ``judge`` is the title of the judge version. ``run_id`` is None where nothing was to ask.
    """

    judge: str
    selected: int = 0

    @classmethod
    def of_run(cls, version: StoredVersion, run: StoredRun | None, account: RunAccount) -> "JudgingSummary":
        """Return the summary of a run; of one that had nothing to ask where ``run`` is None."""
        counts = {each.name: getattr(account, each.name) for each in fields(account) if each.init}
        return cls(judge=version.title, selected=0 if run is None else run.selected or 0, **counts)


class Judging(VerdictMethod[JudgingSummary]):
    """Plain judging: every selected response is asked about once."""

    def __init__(
        self, judge: Judge, *, where: RowFilter | None = None, mode: str = PLAIN, limit: int | None = None
    ) -> None:
        self.judge = judge
        self.kind = run_kind(mode)
        self._where = where
        self._mode = mode
        self._limit = limit

    def begin(self, connection: Connection, version: StoredVersion, actor: str) -> StoredRun:
        """Start or continue the run of this selection."""
        return start_or_continue_run(
            connection,
            version,
            mode=self._mode,
            where=self._where,
            limit=self._limit,
            kind=self.kind,
            actor=actor,
            endpoint_host=self.endpoint_host,
        )

    def tasks(self, begun: Begun) -> Callable[[int], list[Ask]]:
        """Return the reader of asks, each handed out once, by response id."""
        # From the other end where another process may be at the same run: the two then meet, instead of paying for
        # each answer twice.
        after: int | None = None

        def read(limit: int) -> list[Ask]:
            nonlocal after
            asks: list[Ask] = []
            while len(asks) < limit:
                with begun.store.reading() as connection:
                    selected = select_asks(
                        connection,
                        begun.run,
                        after_id=after,
                        downwards=begun.run.shared,
                        limit=limit - len(asks),
                    )
                    inputs = judge_inputs(connection, [each.response_id for each in selected])
                if not selected:
                    break
                after = selected[-1].response_id
                asks += [Ask(inputs[each.response_id], each.ask) for each in selected if each.response_id in inputs]
            return asks

        return read

    def summarise(self, outcome: RunOutcome) -> JudgingSummary:
        """Return the counts of the run."""
        return JudgingSummary.of_run(outcome.version, outcome.run, outcome.account)


async def judge_pending_async(
    store: Store,
    judge: Judge,
    *,
    where: RowFilter | None = None,
    mode: str = PLAIN,
    limit: int | None = None,
    **options: Unpack[RunOptions],
) -> JudgingSummary:
    """Judge what is selected, storing every verdict at the latest 50 ms after it came.

    An unfinished run of the same judge version, filter and mode is continued.

    Args:
        store: Where the responses are.
        judge: Who is asked; closed at the end.
        where: Which responses; all of the log by default.
        mode: ``plain`` (those without any judgment of this version), ``failed`` (whose latest is not ok) or ``all``.
        limit: Ask for this many at most.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        BadInput: The mode is none of the three.
        UnknownPrice: A cost limit is given and the model has no price.
    """
    return await run_method(store, Judging(judge, where=where, mode=mode, limit=limit), **options)


judge_pending = blocking(judge_pending_async)
