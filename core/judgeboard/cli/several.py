"""Asking more than once: a jury of models, or one judge repeatedly; what `judgeboard judge` does with either."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judgeboard.cli.asking import run_options
from judgeboard.cli.judge_output import JudgeOutput
from judgeboard.cli.jury import report_lines as jury_lines
from judgeboard.cli.options import listed
from judgeboard.cli.repeats import report_lines as repeats_lines
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.judges.protocol import Judge

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--jury", metavar="M1,M2,M3", help="Ask each of these models, and keep the verdict made of theirs."),
    click.option("--repeats", type=click.IntRange(2), help="Ask the same this many times, to see how stable it is."),
)


def several_options(command: F) -> F:
    """Give a command the options of asking more than once."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def judge_by_models(
    db: str | None,
    kind: str,
    jury: str,
    *,
    where: tuple[str, ...],
    mode: str,
    limit: int | None,
    max_cost: float | None,
    chosen: dict[str, Any],
    output: JudgeOutput,
) -> int:
    """Ask every model of a jury in turn, as judges of their own, then combine; return the exit code.

    Where one is stopped nothing is combined yet: the same command goes on there.

    Raises:
        BadInput: Fewer than two models, one that has no price where a cost limit is given, options of another judge.
    """
    from judgeboard.cli.judge import summary_lines
    from judgeboard.cli.terminal import actor
    from judgeboard.combining.jury import judge_by_jury
    from judgeboard.filters import parse_where
    from judgeboard.judge_choice import make_judge
    from judgeboard.judges.version import fingerprint
    from judgeboard.judging import judge_pending
    from judgeboard.run_account import STOPPED
    from judgeboard.step_run import require_price
    from judgeboard.store.engine import open_store

    models = listed(jury)
    if len(set(models)) < 2:
        raise BadInput(f"--jury needs two different models at least, not {jury!r}")
    if chosen.get("model"):
        raise BadInput("--jury names the models: leave --model out")
    # Names of their own: within one name a later member would count as the earlier one's next version.
    judges = [make_judge(kind, **(chosen | {"model": model, "name": f"{kind} {model}"})) for model in models]
    addresses = [fingerprint(judge.version) for judge in judges]
    code, spent = 0, 0
    meant = parse_where(where)
    with in_turn(judges) as next_judges, closing(open_store(db)) as store:
        for judge in judges:  # before the first of them is asked
            require_price(max_cost, priced=judge.priced, model=judge.version.model)
        for number, judge in enumerate(next_judges, start=1):
            left = None if max_cost is None else max_cost - spent / 1_000_000
            with run_options(chosen["concurrency"], left) as how:
                summary = judge_pending(store, judge, where=meant, mode=mode, limit=limit, **how)
            output.say(summary_lines(summary))
            output.keep(members=[summary.as_json()])
            code, spent = max(code, summary.exit_code), spent + (summary.cost_micro or 0)
            if code >= STOPPED:
                return code
            if max_cost is not None and spent / 1_000_000 >= max_cost and number < len(judges):
                output.say(["stopped: the cost limit is reached", "The same command goes on where this one ended."])
                return STOPPED
        if _known(store, addresses):
            report = judge_by_jury(store, addresses, name=chosen.get("name"), where=meant, actor=actor())
            output.say(jury_lines(report))
            output.keep(jury=report.as_json())
    return code


@contextmanager
def in_turn(judges: Sequence["Judge"]) -> Iterator[Iterator["Judge"]]:
    """Hand out judges one after another, each to be closed by who takes it; the rest is closed at the end."""
    waiting = list(judges)

    def taken() -> Iterator["Judge"]:
        while waiting:
            yield waiting.pop(0)

    try:
        yield taken()
    finally:
        if waiting:
            asyncio.run(_close(waiting))


async def _close(judges: Sequence["Judge"]) -> None:
    for judge in judges:
        await judge.aclose()


def judge_repeatedly(
    db: str | None,
    kind: str,
    repeats: int,
    *,
    where: tuple[str, ...],
    limit: int | None,
    max_cost: float | None,
    chosen: dict[str, Any],
    output: JudgeOutput,
) -> int:
    """Ask one judge several times about each answer, then say how stable it is; return the exit code.

    Raises:
        BadInput: The judge cannot be made, or has no price where a cost limit is given.
    """
    from judgeboard.cli.judge import summary_lines
    from judgeboard.combining.repeating import judge_repeats
    from judgeboard.combining.repeats_report import repeats_report
    from judgeboard.filters import parse_where
    from judgeboard.judge_choice import make_judge
    from judgeboard.judges.version import fingerprint
    from judgeboard.store.engine import open_store

    judge = make_judge(kind, **chosen)
    with closing(open_store(db)) as store:
        with run_options(chosen["concurrency"], max_cost) as how:
            summary = judge_repeats(store, judge, repeats, where=parse_where(where), limit=limit, **how)
        output.say(summary_lines(summary))
        output.keep(**summary.as_json())
        if summary.ok:
            with store.reading() as connection:
                report = repeats_report(connection, version=fingerprint(judge.version))
            output.say(repeats_lines(report))
            output.keep(repeats=report.as_json())
    return summary.exit_code


def _known(store: Any, addresses: list[str]) -> bool:
    """Whether every member has judged something: a log without answers leaves none of them behind."""
    from judgeboard.store.judgments.judge_versions import list_versions

    with store.reading() as connection:
        return set(addresses) <= {version.fingerprint for version in list_versions(connection)}
