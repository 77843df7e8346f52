"""Self-refine over many prompts: logged questions or those of a file, every attempt stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from judgeboard.blocking import run_blocking
from judgeboard.filters import RowFilter
from judgeboard.judges.prompt_file import load_prompt
from judgeboard.judges.rating import RatingJudge
from judgeboard.judges.version import prompt_hash
from judgeboard.llm.generator import Generator
from judgeboard.refining.attempts import RefineRule
from judgeboard.refining.generators import hosts_of, settings_of
from judgeboard.refining.refine_landing import land_refine_steps
from judgeboard.refining.refine_reading import ListedPrompts, LoggedPrompts, PromptSource
from judgeboard.refining.refine_work import refinements_of, refining
from judgeboard.run_account import RunAccount, account_of
from judgeboard.step_run import Ended, RunKeywords, RunOptions, require_price, run_steps, stoppable
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import StoredVersion, ensure_version
from judgeboard.store.refine_candidates import REFINE
from judgeboard.store.refinements import count_calls, stored_attempts
from judgeboard.store.responses.logged_origins import Origin, external_ids
from judgeboard.store.runs.method_runs import start_or_continue_method_run
from judgeboard.store.runs.runs import StoredRun


@dataclass(frozen=True, slots=True)
class RefineSummary:
    """What a run of self-refine has come to; ``calls`` counts requests to models, repairs and retries among them.

    ``items`` are as JSON: id, passed, and attempts with rating, evaluation, feedback, status and error.
    """

    judge: str
    account: RunAccount = field(default_factory=RunAccount)
    prompts: int = 0
    passed: int = 0
    calls: int = 0
    items: tuple[dict[str, Any], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values; ``cost`` is in the price file's currency."""
        counts = {name: getattr(self, name) for name in ("judge", "prompts", "passed", "calls")}
        return counts | self.account.as_json() | {"items": list(self.items)}


def refine_pending(
    store: Store,
    judge: RatingJudge,
    generator: Generator,
    *,
    where: RowFilter | None = None,
    prompts: Sequence[Origin] | None = None,
    rule: RefineRule | None = None,
    **options: Unpack[RunKeywords],
) -> RefineSummary:
    """Refine what is selected and wait for it; Ctrl-C finishes the calls in flight.

    Arguments and errors as `refine_pending_async`.
    """
    return run_blocking(
        refine_pending_async, store, judge, generator, where=where, prompts=prompts, rule=rule, **stoppable(options)
    )


async def refine_pending_async(
    store: Store,
    judge: RatingJudge,
    generator: Generator,
    *,
    where: RowFilter | None = None,
    prompts: Sequence[Origin] | None = None,
    rule: RefineRule | None = None,
    **options: Unpack[RunKeywords],
) -> RefineSummary:
    """Answer questions until each answer is good enough, or the limit is reached.

    An unfinished run of the same command is continued up to where the log ended at its start; what has landed since
    is for the next run. Of logged ones, what a run with the same judge version and
    generator has brought to this rule's end is not done again; prompts of a file are answered anew by every call that
    finds no unfinished run.

    Args:
        store: The open database.
        judge: Rates each attempt; closed at the end.
        generator: Makes the answers; closed at the end. It is given the messages that the log kept, else question and
            passages.
        where: Which answers' questions; all of the log by default.
        prompts: Answer these instead, as `read_prompts` gives them.
        rule: When attempts end; the defaults of `RefineRule`.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        UnknownPrice: A cost limit is given and one of the two models has no price.
    """
    how, ends, model = RunOptions(**options), rule or RefineRule(), generator.endpoint.model
    source: PromptSource
    if prompts is None:
        source = LoggedPrompts(store, where or RowFilter(), ends, model)
    else:
        source = ListedPrompts(store, prompts, ends, model)
    try:
        require_price(how.max_cost, priced=judge.priced, model=judge.version.model)
        require_price(how.max_cost, priced=generator.endpoint.priced, model=model)
        return await _refine(store, judge, generator, ends, source, how)
    finally:
        await judge.aclose()
        await generator.endpoint.aclose()


async def _refine(
    store: Store, judge: RatingJudge, generator: Generator, rule: RefineRule, source: PromptSource, how: RunOptions
) -> RefineSummary:
    version, run = _begin(store, judge, generator, rule, source, how)
    if run is None:
        return RefineSummary(version.title)
    source.begin(run)
    ended = await run_steps(
        store,
        run.id,
        refining(judge, generator, rule),
        source.read,
        lambda batch: land_refine_steps(store, version, run.id, rule, batch),
        options=how,
        expected=2 * source.left(),
        all_done=lambda: source.left() == 0,
    )
    return _summary(store, version.title, run, rule, ended, left=source.left())


def _begin(
    store: Store, judge: RatingJudge, generator: Generator, rule: RefineRule, source: PromptSource, how: RunOptions
) -> tuple[StoredVersion, StoredRun | None]:
    method = {"generator": settings_of(generator)}
    asked = {
        "success_rating": rule.success_rating,
        "max_repeats": rule.max_repeats,
        "keep": rule.keep,
        "prompt": prompt_hash(load_prompt("generate").text),
    }
    with store.writing() as connection:
        attempt = connection.begin_nested()
        version = ensure_version(connection, judge.version)
        question, waiting = source.question(connection, version.id, method)
        if not waiting:  # a command that finds nothing to do leaves nothing behind
            attempt.rollback()
            return version, None
        run = start_or_continue_method_run(
            connection,
            REFINE,
            version,
            {"method": method, "rule": asked, **question},
            selected=waiting,
            actor=how.actor,
            endpoint_host=hosts_of(judge, generator),
        )
        attempt.commit()
    return version, run


def _summary(store: Store, judge: str, run: StoredRun, rule: RefineRule, ended: Ended, *, left: int) -> RefineSummary:
    with store.reading() as connection:
        attempts = stored_attempts(connection, run.id)
        names = external_ids(connection, [int(named) for named in attempts]) if "where" in run.question else {}
        calls = count_calls(connection, run.id)
    items = []
    for subject, stored in attempts.items():
        made = refinements_of(stored)
        shown = [one.as_json() for one in made]
        named = names.get(int(subject), subject) if names else subject
        items.append({"id": named, "passed": rule.passed(made), "attempts": shown})
    return RefineSummary(
        judge=judge,
        account=account_of(store, run.id, ended, not_reached=left),
        prompts=run.selected or 0,
        passed=sum(bool(item["passed"]) for item in items),
        calls=calls,
        items=tuple(items),
    )
