"""``judgeboard judge``: ask a judge for verdicts on stored answers."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, few_shot_options, model_options, reviewed_examples, run_options, show_json
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.judges.judge import Judge
    from judgeboard.methods.jury import JuryReport
    from judgeboard.runs.judging import JudgingSummary
    from judgeboard.store.engine import Store
    from judgeboard.store.filters import RowFilter


@click.command(
    epilog=options.example(
        "judgeboard judge --judge lexical",
        "judgeboard judge --judge rag --model llama-3.1-8b-instruct --base-url http://localhost:8000/v1",
        "judgeboard judge --judge rag --model gpt-4o-mini --where query_type=complex --rejudge all --max-cost 5",
        "judgeboard judge --judge rubric --rubric house.yaml --model gpt-4o-mini",
    )
)
@click.option(
    "--judge",
    "kind",
    metavar="KIND",
    help="rag (groundedness, quality), rubric (1 to 5 on dimensions), grade (correct or not), rating (1 to 4, that "
    "of refine) or lexical (offline).",
)
@click.option("--name", help="What people call this judge; its kind by default. Versions count within a name.")
@model_options
@click.option("--limit", type=click.IntRange(1), help="Ask for this many answers at most.")
@options.where
@click.option(
    "--rejudge", type=click.Choice(["all", "failed"]), help="Ask again: all, or those without a usable verdict."
)
@click.option("--domain", help="What the judge is an expert of, for its prompt: 'climbing knowledge'.")
@click.option("--claims", is_flag=True, help="Also ask for each claim of the answer with its quotes.")
@click.option("--logprobs", is_flag=True, help="Also keep the expected score, by the probabilities of its digit.")
@few_shot_options
@click.option("--jury", metavar="M1,M2,M3", help="Ask each of these models, and store the verdict combined of theirs.")
@click.option("--repeats", type=click.IntRange(2), help="Ask the same this many times, to see how stable the judge is.")
@as_json
@options.database
def judge_command(
    kind: str | None,
    examples_from_reviews: int | None,
    where: tuple[str, ...],
    rejudge: str | None,
    limit: int | None,
    max_cost: float | None,
    jury: str | None,
    repeats: int | None,
    as_json: bool,
    db: str | None,
    **chosen: Any,
) -> int:
    """Ask a judge for verdicts on the answers it has not judged yet.

    The same command again goes on where an earlier one ended. Exit code 0: every selected answer has a judgment and
    none is an error; 1: some are errors; 2: stopped (key, address, cost limit, a bad option); 130: Ctrl-C.
    """
    from judgeboard.store.engine import open_store
    from judgeboard.store.filters import parse_where

    if kind is None and jury is None:
        raise click.UsageError("Missing option '--judge'.")
    kind = kind or "rag"
    if repeats and (jury or rejudge):
        raise BadInput("--repeats asks one judge, each repeat once: it takes no --jury and no --rejudge")
    if examples_from_reviews:
        chosen |= reviewed_examples(db, kind, examples_from_reviews, chosen)
    asked = Asked(kind, parse_where(where), rejudge or "plain", limit, max_cost, chosen)
    judges = _jury_judges(asked, jury) if jury else [_judge(kind, chosen)]
    with closed_if_unasked(judges) as to_ask, closing(open_store(db)) as store:
        if jury:
            return _judge_by_jury(store, to_ask, judges, asked, as_json=as_json)
        if repeats:
            return _judge_repeatedly(store, next(to_ask), repeats, asked, as_json=as_json)
        summary = _judge_once(store, next(to_ask), asked, max_cost)
        if as_json:
            show_json(summary)
        else:
            _echo([*summary_lines(summary), *(expected_lines(store, summary) if chosen["logprobs"] else [])])
    return summary.exit_code


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command is to ask, and how."""

    kind: str
    where: "RowFilter"
    mode: str
    limit: int | None
    max_cost: float | None
    chosen: dict[str, Any]


@dataclass(frozen=True, slots=True)
class JuryRun:
    """What ``judge --jury`` gives as JSON: the run of each member, and the jury where all of them were asked."""

    members: list["JudgingSummary"]
    jury: "JuryReport | None"


def _judge(kind: str, chosen: dict[str, Any]) -> "Judge":
    from judgeboard.runs.judging import make_judge

    return make_judge(kind, **chosen)


def _judge_once(store: "Store", judge: "Judge", asked: Asked, max_cost: float | None) -> "JudgingSummary":
    from judgeboard.runs.judging import judge_pending

    with run_options(asked.chosen["concurrency"], max_cost) as how:
        return judge_pending(store, judge, where=asked.where, mode=asked.mode, limit=asked.limit, **how)


def _judge_repeatedly(store: "Store", judge: "Judge", repeats: int, asked: Asked, *, as_json: bool) -> int:
    """Ask one judge several times about each answer, then say how stable it is."""
    from judgeboard.cli.combined import repeats_lines
    from judgeboard.judges.judge import fingerprint
    from judgeboard.methods.repeats import judge_repeats, repeats_report
    from judgeboard.reports.json_output import to_plain

    with run_options(asked.chosen["concurrency"], asked.max_cost) as how:
        summary = judge_repeats(store, judge, repeats, where=asked.where, limit=asked.limit, **how)
    report = None
    if summary.ok:
        with store.reading() as connection:
            report = repeats_report(connection, version=fingerprint(judge.version))
    if as_json:
        show_json(to_plain(summary) | ({} if report is None else {"repeats": report}))
    else:
        _echo([*summary_lines(summary), *([] if report is None else repeats_lines(report))])
    return summary.exit_code


def _jury_judges(asked: Asked, jury: str) -> list["Judge"]:
    models = options.listed(jury)
    if len(set(models)) < 2:
        raise BadInput(f"--jury needs two different models at least, not {jury!r}")
    if asked.chosen.get("model"):
        raise BadInput("--jury names the models: leave --model out")
    # Names of their own: within one name a later member would count as the earlier one's next version.
    return [_judge(asked.kind, asked.chosen | {"model": model, "name": f"{asked.kind} {model}"}) for model in models]


def _judge_by_jury(
    store: "Store", to_ask: Iterator["Judge"], judges: Sequence["Judge"], asked: Asked, *, as_json: bool
) -> int:
    """Ask every model of a jury in turn, as judges of their own, then combine.

    Where one is stopped nothing is combined yet: the same command goes on there.
    """
    from judgeboard.cli.combined import jury_lines
    from judgeboard.cli.options import actor
    from judgeboard.judges.judge import fingerprint
    from judgeboard.methods.jury import judge_by_jury
    from judgeboard.runs.method import STOPPED, require_price
    from judgeboard.store.judge_versions import list_versions

    for judge in judges:  # before the first of them is asked
        require_price(asked.max_cost, priced=judge.priced, model=judge.version.model)
    result, code, spent = JuryRun([], None), 0, 0
    for judge in to_ask:
        left = None if asked.max_cost is None else asked.max_cost - spent / 1_000_000
        summary = _judge_once(store, judge, asked, left)
        result.members.append(summary)
        code, spent = max(code, summary.exit_code), spent + (summary.cost_micro or 0)
        if not as_json:
            _echo(summary_lines(summary))
        if code >= STOPPED:
            break
        if asked.max_cost is not None and spent / 1_000_000 >= asked.max_cost and len(result.members) < len(judges):
            if not as_json:
                _echo(["stopped: the cost limit is reached", "The same command goes on where this one ended."])
            code = STOPPED
            break
    members = [fingerprint(judge.version) for judge in judges]
    with store.reading() as connection:
        known = {version.fingerprint for version in list_versions(connection)}
    if code < STOPPED and known.issuperset(members):  # a log without answers leaves none of them behind
        report = judge_by_jury(store, members, name=asked.chosen.get("name"), where=asked.where, actor=actor())
        result = JuryRun(result.members, report)
        if not as_json:
            _echo(jury_lines(report))
    if as_json:
        show_json(result)
    return code


@contextmanager
def closed_if_unasked(judges: Sequence["Judge"]) -> Iterator[Iterator["Judge"]]:
    """Give out judges one after another; who asks one closes it, and the rest is closed at the end."""
    waiting = list(judges)

    def give_out() -> Iterator["Judge"]:
        while waiting:
            yield waiting.pop(0)

    async def close() -> None:
        for judge in waiting:
            await judge.aclose()

    try:
        yield give_out()
    finally:
        if waiting:
            asyncio.run(close())


def _echo(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(line)


def expected_lines(store: "Store", summary: "JudgingSummary") -> list[str]:
    """Say on how many verdicts of a run the endpoint gave what an expected score needs."""
    from judgeboard.store.judgments import count_expected

    if summary.run_id is None or summary.ok == 0:
        return []
    with store.reading() as connection:
        scored = count_expected(connection, summary.run_id)
    if scored == summary.ok:
        return [f"expected score: kept with all {scored:,} usable verdicts"]
    rest = "the others came without token probabilities" if scored else "the endpoint gives no token probabilities"
    return [f"expected score: kept with {scored:,} of {summary.ok:,} usable verdicts; {rest}"]


def summary_lines(summary: "JudgingSummary") -> list[str]:
    """Return what a run came to, in lines for a terminal."""
    from judgeboard.cli.options import cost_text

    if summary.selected == 0:
        return [f"{summary.judge}: nothing to ask: no answer matches, or all that do are judged by this version."]
    lines = [
        f"{summary.judge}, run {summary.run_id}: {summary.words()}"
        + (f"; {summary.not_reached:,} not reached" if summary.not_reached and summary.state != "done" else "")
        + f"; cost {cost_text(summary.cost_micro)}"
    ]
    if summary.why_stopped:
        lines.append(f"stopped: {summary.why_stopped}")
    if summary.not_reached and summary.state == "done":
        lines.append(f"{summary.not_reached:,} of them got their verdict from another run meanwhile.")
    elif summary.not_reached:
        lines.append("The same command goes on where this one ended.")
    elif summary.asked - summary.ok:
        lines.append("Ask those without a usable verdict again: the same command with --rejudge failed.")
    return lines
