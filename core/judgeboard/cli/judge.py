"""``judgeboard judge``: ask a judge for verdicts on stored answers."""

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, model_options, run_options
from judgeboard.cli.few_shot import few_shot_options, reviewed_examples
from judgeboard.cli.judge_output import JudgeOutput
from judgeboard.cli.several import judge_by_models, judge_repeatedly, several_options
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.judging import JudgingSummary
    from judgeboard.store.engine import Store


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
@several_options
@as_json
@options.database
def command(
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
    from judgeboard.filters import parse_where
    from judgeboard.judge_choice import make_judge
    from judgeboard.judging import judge_pending
    from judgeboard.store.engine import open_store

    if kind is None and jury is None:
        raise click.UsageError("Missing option '--judge'.")
    kind = kind or "rag"
    if repeats and (jury or rejudge):
        raise BadInput("--repeats asks one judge, each repeat once: it takes no --jury and no --rejudge")
    if examples_from_reviews:
        chosen |= reviewed_examples(db, kind, examples_from_reviews, chosen)
    output = JudgeOutput(as_json=as_json)
    if jury or repeats:
        several: dict[str, Any] = {"where": where, "limit": limit, "max_cost": max_cost, "chosen": chosen}
        code = (
            judge_by_models(db, kind, jury, mode=rejudge or "plain", output=output, **several)
            if jury
            else judge_repeatedly(db, kind, repeats or 0, output=output, **several)
        )
        output.end()
        return code
    judge = make_judge(kind, **chosen)
    with closing(open_store(db)) as store, run_options(chosen["concurrency"], max_cost) as how:
        summary = judge_pending(store, judge, where=parse_where(where), mode=rejudge or "plain", limit=limit, **how)
        output.say([*summary_lines(summary), *(expected_lines(store, summary) if chosen["logprobs"] else [])])
    output.keep(**summary.as_json())
    output.end()
    return summary.exit_code


def expected_lines(store: "Store", summary: "JudgingSummary") -> list[str]:
    """Say on how many verdicts of a run the endpoint gave what an expected score needs."""
    from judgeboard.store.judgments.expected_scores import count_expected

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
    from judgeboard.cli.amounts import cost_text

    if summary.selected == 0:
        return [f"{summary.judge}: nothing to ask: no answer matches, or all that do are judged by this version."]
    lines = [
        f"{summary.judge}, run {summary.run_id}: {summary.asked:,} asked = {summary.ok:,} ok + "
        f"{summary.unparsable:,} unparsable + {summary.refused:,} refused + {summary.error:,} error"
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
