"""``judgeboard reflect``: have bad answers made anew once and keep the better grounded."""

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, model_options, run_options, show_json
from judgeboard.cli.generator import chosen_generator, generator_options

if TYPE_CHECKING:
    from judgeboard.methods.reflect_run import ReflectSummary


@click.command(
    epilog=options.example(
        "judgeboard reflect --generator gpt-4o --judge rag --model gpt-4o-mini",
        "judgeboard reflect --generator my-model --generator-base-url http://localhost:8000/v1 --judge lexical",
        "judgeboard reflect --generator gpt-4o --model gpt-4o-mini --query-type complex --query-type QA "
        "--rebuild-messages",
    )
)
@generator_options
@click.option("--judge", "kind", default="rag", show_default=True, metavar="KIND", help="Judges both answers.")
@click.option("--name", help="What people call this judge; its kind by default.")
@model_options
@click.option("--domain", help="What the judge is an expert of, for its prompt.")
@click.option("--claims", is_flag=True, help="The judge also gives the claims of the answer.")
@click.option("--max-quality", type=click.IntRange(1, 4), default=2, show_default=True, help="Of at most this quality.")
@click.option("--min-chars", type=click.IntRange(0), default=50, show_default=True, help="Of at least this length.")
@click.option(
    "--query-type", "query_types", multiple=True, default=("complex",), show_default=True, help="Of these types."
)
@click.option("--rebuild-messages", is_flag=True, help="Ask from query and passages where no messages were logged.")
@options.where
@as_json
@options.database
def command(
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
    """Have bad answers made anew once, judge them again, and keep the better grounded of the two.

    Both answers and both judgments stay; the item page shows them. An answer without a judgment of this judge is judged
    first. The same command again goes on where an earlier one ended. Exit codes as `judgeboard judge`.
    """
    from judgeboard.filters import parse_where
    from judgeboard.judge_choice import make_judge
    from judgeboard.judges.kinds import OFFLINE
    from judgeboard.methods.reflect import ReflectRule
    from judgeboard.methods.reflect_run import reflect_pending
    from judgeboard.store.engine import open_store

    generator = chosen_generator(chosen)
    if kind in OFFLINE:  # these then concern the generator alone
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
        for line in summary_lines(summary):
            click.echo(line)
    return summary.account.exit_code


def summary_lines(summary: "ReflectSummary") -> list[str]:
    """Return what a run came to, in lines for a terminal."""
    from judgeboard.cli.amounts import cost_text

    no_messages = (
        f"{summary.no_messages:,} eligible answers have no logged messages: --rebuild-messages asks from query and "
        "passages."
    )
    lines = []
    if summary.account.run_id is None:
        lines.append(f"{summary.judge}: nothing to do: no answer of these types is bad and not yet reflected on.")
    else:
        lines += [
            (
                f"{summary.judge}, run {summary.account.run_id}: {summary.eligible:,} eligible, "
                f"{summary.regenerated:,} made anew: {summary.kept_new:,} new ones kept, "
                f"{summary.kept_original:,} originals kept ({summary.second_failed:,} second judgments failed)"
            ),
            (
                f"{summary.identical:,} came back identical, {summary.no_answer:,} gave no answer; "
                f"{summary.calls:,} calls, cost {cost_text(summary.account.cost_micro)}"
            ),
        ]
    if summary.no_messages:
        lines.append(no_messages)
    if summary.account.why_stopped:
        lines.append(f"stopped: {summary.account.why_stopped}; {summary.account.not_reached:,} not reached")
        lines.append("The same command goes on where this one ended.")
    return lines
