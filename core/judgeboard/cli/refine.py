"""``judgeboard refine``: answer again on a judge's feedback until it is good enough."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, endpoint_options, run_options, show_json
from judgeboard.cli.generator import chosen_generator, generator_options
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.methods.refine_run import RefinedPrompt, RefineSummary


@click.command(
    epilog=options.example(
        "judgeboard refine --prompts prompts.jsonl --generator gpt-4o-mini --judge-model gpt-4o --json",
        "judgeboard refine --where query_type=complex --where judge_side=low --generator gpt-4o --judge-model o4-mini",
    )
)
@generator_options
@click.option(
    "--judge-model",
    metavar="MODEL",
    help="The chat model that rates; another than the generator. Default: JUDGEBOARD_MODEL.",
)
@click.option("--name", help="What people call the judge; refine by default.")
@endpoint_options
@click.option(
    "--prompts",
    type=click.Path(path_type=Path),
    help="Answer these instead of logged questions: a prompt a line, as text or JSON (id, prompt or messages).",
)
@click.option(
    "--success-rating", type=click.IntRange(1, 4), default=4, show_default=True, help="Good enough from this rating."
)
@click.option("--max-repeats", type=click.IntRange(0), default=3, show_default=True, help="After the first attempt.")
@click.option(
    "--keep", type=click.Choice(["last", "best"]), default="last", show_default=True, help="Where none was good enough."
)
@options.where
@as_json
@options.database
def command(
    judge_model: str | None,
    prompts: Path | None,
    success_rating: int,
    max_repeats: int,
    keep: str,
    where: tuple[str, ...],
    max_cost: float | None,
    as_json: bool,
    db: str | None,
    **chosen: Any,
) -> int:
    """Answer questions, have each answer rated, and answer again on the feedback until it is good enough.

    Every attempt is stored; the item page shows them. The same command again goes on where an earlier one ended.
    Logged questions that are done are not asked again; the prompts of a file are answered (and paid for) anew by every
    call that finds no unfinished run.

    Exit codes as `judgeboard judge`: an answer that is never good enough is no error. Recorded --replies name the
    prompt's id as response_id, a line an attempt.
    """
    from judgeboard.filters import parse_where
    from judgeboard.judge_choice import make_judge
    from judgeboard.judges.rating import KIND, RatingJudge
    from judgeboard.methods.generation import read_prompts
    from judgeboard.methods.refine import RefineRule, with_recorded_ratings
    from judgeboard.methods.refine_run import refine_pending
    from judgeboard.store.engine import open_store

    if (prompts is None) == (not where):
        raise BadInput("say what to answer: --where FIELD=VALUE (logged questions) or --prompts FILE, one of the two")
    asked = None if prompts is None else read_prompts(prompts)
    chosen["model"] = judge_model
    generator = chosen_generator(chosen)
    judge = make_judge(KIND, **chosen)
    if not isinstance(judge, RatingJudge):
        raise BadInput(f"the judge of kind {KIND} gives no feedback")
    if chosen["replies"] is not None:
        judge = with_recorded_ratings(judge, chosen["replies"])
    rule = RefineRule(success_rating, max_repeats, "best" if keep == "best" else "last")
    with (
        closing(open_store(db, create=prompts is not None)) as store,
        run_options(chosen["concurrency"], max_cost) as how,
    ):
        summary = refine_pending(store, judge, generator, where=parse_where(where), prompts=asked, rule=rule, **how)
    if as_json:
        show_json(summary)
    else:
        for line in summary_lines(summary):
            click.echo(line)
    return summary.account.exit_code


def summary_lines(summary: "RefineSummary") -> list[str]:
    """Return what a run came to, in lines for a terminal."""
    from judgeboard.cli.amounts import cost_text

    if summary.account.run_id is None:
        return [f"{summary.judge}: nothing to do: no question matches, or all that do are refined with these settings."]
    lines = [
        (
            f"{summary.judge}, run {summary.account.run_id}: {summary.prompts:,} prompts, {summary.passed:,} passed; "
            f"{summary.calls:,} calls, cost {cost_text(summary.account.cost_micro)}"
        )
    ]
    for item in summary.items[:20]:
        ratings = " → ".join("–" if one.rating is None else str(one.rating) for one in item.attempts)
        lines.append(f"  {item.id}: {ratings}{'' if item.passed else _not_passed(item)}")
    if len(summary.items) > 20:
        lines.append(f"  and {len(summary.items) - 20:,} more (--json has them all)")
    if summary.account.why_stopped:
        lines.append(f"stopped: {summary.account.why_stopped}; {summary.account.not_reached:,} not reached")
        lines.append("The same command goes on where this one ended.")
    return lines


def _not_passed(item: "RefinedPrompt") -> str:
    last = item.attempts[-1] if item.attempts else None
    why = "" if last is None or last.error is None else f": {last.status.value}, {last.error}"
    return f"  not passed{why}"
