"""The commands `refine` and `reflect`: new answers from a judge's feedback."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import (
    as_json,
    chosen_generator,
    endpoint_options,
    generator_options,
    model_options,
    run_options,
    show_json,
)
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.methods.refine_run import RefinedPrompt, RefineSummary
    from judgeboard.methods.reflect import ReflectSummary
    from judgeboard.runs.method import RunAccount


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
    help="Chat model that rates, different from the generator (default: JUDGEBOARD_MODEL).",
)
@click.option("--name", help="Name of the judge (default: refine).")
@endpoint_options
@click.option(
    "--prompts",
    type=click.Path(path_type=Path),
    help="Prompt file instead of logged questions: one prompt per line, as text or JSON (id, prompt or messages).",
)
@click.option(
    "--success-rating", type=click.IntRange(1, 4), default=4, show_default=True, help="Minimum rating of a good answer."
)
@click.option(
    "--max-repeats",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Maximum number of attempts after the first.",
)
@click.option(
    "--keep",
    type=click.Choice(["last", "best"]),
    default="last",
    show_default=True,
    help="Answer to keep if none is good enough.",
)
@options.where
@as_json
@options.database
def refine_command(
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
    """Answer questions, rate each answer, and answer again with the feedback until the rating is good enough.

    Every attempt is stored; the item page shows them. To continue an interrupted run, repeat the command. If no run is
    unfinished, it skips logged questions that are done, but answers all prompts of a file again, at full cost.

    For exit codes see `judgeboard judge`. An answer that is never good enough is no error. A file for --replies has one
    line per attempt, and response_id is the prompt's id.
    """
    from judgeboard.judges.rating import KIND, RatingJudge
    from judgeboard.methods.generation import read_prompts
    from judgeboard.methods.refine import RefineRule, with_recorded_ratings
    from judgeboard.methods.refine_run import refine_pending
    from judgeboard.runs.judging import make_judge
    from judgeboard.store.engine import open_store
    from judgeboard.store.filters import parse_where

    if (prompts is None) == (not where):
        raise BadInput("give either --where FIELD=VALUE (logged questions) or --prompts FILE")
    origins = None if prompts is None else read_prompts(prompts)
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
        summary = refine_pending(store, judge, generator, where=parse_where(where), prompts=origins, rule=rule, **how)
    if as_json:
        show_json(summary)
    else:
        for line in refine_lines(summary):
            click.echo(line)
    return summary.account.exit_code


def refine_lines(summary: "RefineSummary") -> list[str]:
    """Return a run in lines for a terminal."""
    from judgeboard.cli.options import cost_text

    if summary.account.run_id is None:
        return [f"{summary.judge}: nothing to do. No question matches, or all are already refined with these settings."]
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
        lines.append(f"  and {len(summary.items) - 20:,} more (--json lists all)")
    return [*lines, *_stopped_lines(summary.account)]


def _stopped_lines(account: "RunAccount") -> list[str]:
    if not account.why_stopped:
        return []
    return [
        f"stopped: {account.why_stopped}; {account.not_reached:,} not reached",
        "Repeat the command to continue.",
    ]


def _not_passed(item: "RefinedPrompt") -> str:
    last = item.attempts[-1] if item.attempts else None
    why = "" if last is None or last.error is None else f": {last.status.value}, {last.error}"
    return f"  not passed{why}"


@click.command(
    epilog=options.example(
        "judgeboard reflect --generator gpt-4o --judge rag --model gpt-4o-mini",
        "judgeboard reflect --generator my-model --generator-base-url http://localhost:8000/v1 --judge lexical",
        "judgeboard reflect --generator gpt-4o --model gpt-4o-mini --query-type complex --query-type QA "
        "--rebuild-messages",
    )
)
@generator_options
@click.option(
    "--judge", "kind", default="rag", show_default=True, metavar="KIND", help="Kind of judge, for both answers."
)
@click.option("--name", help="Name of the judge (default: its kind).")
@model_options
@click.option("--domain", help="Field of expertise for the judge's prompt.")
@click.option("--claims", is_flag=True, help="Also ask for the claims of the answer.")
@click.option(
    "--max-quality", type=click.IntRange(1, 4), default=2, show_default=True, help="Highest quality to improve."
)
@click.option(
    "--min-chars",
    type=click.IntRange(0),
    default=50,
    show_default=True,
    help="Shortest answer to improve, in characters.",
)
@click.option(
    "--query-type",
    "query_types",
    multiple=True,
    default=("complex",),
    show_default=True,
    help="Query type of the answers to improve. Repeat for more types.",
)
@click.option("--rebuild-messages", is_flag=True, help="Use query and passages if no messages were logged.")
@options.where
@as_json
@options.database
def reflect_command(
    kind: str,
    max_quality: int,
    min_chars: int,
    query_types: tuple[str, ...],
    rebuild_messages: bool,
    where: tuple[str, ...],
    max_cost: float | None,
    as_json: bool,
    db: str | None,
    **chosen: Any,
) -> int:
    """Regenerate bad answers once, judge the new answers, and keep the better grounded answer of the two.

    Both answers and both judgments are stored; the item page shows them. Answers without a judgment of this judge are
    judged first. To continue an interrupted run, repeat the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.judges.kinds import OFFLINE
    from judgeboard.methods.reflect import ReflectRule, reflect_pending
    from judgeboard.runs.judging import make_judge
    from judgeboard.store.engine import open_store
    from judgeboard.store.filters import parse_where

    generator = chosen_generator(chosen)
    if kind in OFFLINE:  # then these are options of the generator only
        chosen |= {"prices": None, "timeout_s": None}
    judge = make_judge(kind, **chosen)
    with closing(open_store(db)) as store, run_options(chosen["concurrency"], max_cost) as how:
        summary = reflect_pending(
            store,
            judge,
            generator,
            where=parse_where(where),
            rule=ReflectRule(max_quality, min_chars, query_types),
            rebuild_messages=rebuild_messages,
            **how,
        )
    if as_json:
        show_json(summary)
    else:
        for line in reflect_lines(summary):
            click.echo(line)
    return summary.account.exit_code


def reflect_lines(summary: "ReflectSummary") -> list[str]:
    """Return a run in lines for a terminal."""
    from judgeboard.cli.options import cost_text

    no_messages = (
        f"{summary.no_messages:,} eligible answers have no logged messages. To use query and passages instead, add "
        "--rebuild-messages."
    )
    lines = []
    if summary.account.run_id is None:
        lines.append(f"{summary.judge}: nothing to do. No bad answer of these types is left.")
    else:
        lines += [
            (
                f"{summary.judge}, run {summary.account.run_id}: {summary.eligible:,} eligible, "
                f"{summary.regenerated:,} regenerated: {summary.kept_new:,} new answers kept, "
                f"{summary.kept_original:,} originals kept ({summary.second_failed:,} second judgments failed)"
            ),
            (
                f"{summary.identical:,} new answers identical, {summary.no_answer:,} calls without an answer; "
                f"{summary.calls:,} calls, cost {cost_text(summary.account.cost_micro)}"
            ),
        ]
    if summary.no_messages:
        lines.append(no_messages)
    return [*lines, *_stopped_lines(summary.account)]
