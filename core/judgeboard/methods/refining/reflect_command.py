"""The command `refine reflect`: write bad answers once more, and keep the better one."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from judgeboard.cli import asking, options
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.methods.refining.reflect import ReflectSummary


@options.command(
    "judgeboard refine reflect --generator gpt-4o --judge rag --model gpt-4o-mini",
    "judgeboard refine reflect --generator my-model --generator-base-url http://localhost:8000/v1 --judge lexical",
    "judgeboard refine reflect --generator gpt-4o --model gpt-4o-mini --query-type complex --rebuild-messages",
)
@asking.generator_options
@options.with_default(
    "--judge", "kind", default="rag", metavar="KIND", help="Kind of judge, for both answers."
)
@options.judge_name(
    "Name of the judge (default: its kind). Each judge name has its own version numbers."
)
@asking.judge_options
@options.with_default(
    "--max-quality",
    type=click.IntRange(1, 4),
    default=2,
    help="Improve only answers with at most this quality.",
)
@options.with_default(
    "--min-chars",
    type=click.IntRange(0),
    default=50,
    help="Shortest answer to improve, in characters.",
)
@click.option(
    "--query-type",
    "query_types",
    multiple=True,
    default=("complex",),
    show_default=False,
    help="Query type of the answers to improve (default: complex). Repeat for more types; `all` means all types.",
)
@click.option(
    "--rebuild-messages",
    is_flag=True,
    help="If no messages were logged, build them from query and passages.",
)
@options.where
def reflect_command(
    kind: str,
    max_quality: int,
    min_chars: int,
    query_types: tuple[str, ...],
    rebuild_messages: bool,
    where: RowFilter,
    max_cost: float | None,
    **fields: object,
) -> int:
    """Regenerate bad answers once, and select the better ones. The better answer has the higher groundedness.

    Both answers and both judgments are stored; the item page shows them. Answers without a judgment
    of this judge are judged first. To continue an interrupted run, repeat the command. For exit
    codes see `judgeboard judge`.
    """
    from judgeboard.health.family import family_warning
    from judgeboard.methods.refining.reflect import ReflectRule, reflect_pending
    from judgeboard.registry.judge_kinds import asks_model
    from judgeboard.runs.judging import make_judge

    store = options.open_store()
    judge_fields = asking.judge_part(fields)
    if not asks_model(kind):  # an offline judge refuses these options; the generator has them
        judge_fields |= {"prices": None, "timeout_s": None}
    else:
        judge_fields = asking.at_last_address(store, partial(make_judge, kind), judge_fields)
    generator = asking.chosen_generator(fields, judge_fields)
    judge = make_judge(kind, **judge_fields)
    warnings = asking.warned([family_warning(judge.version.model, {generator.endpoint.model: 0})])
    rule = ReflectRule(max_quality, min_chars, () if "all" in query_types else query_types)
    with asking.run_options(fields, max_cost) as how:
        summary = reflect_pending(
            store,
            judge,
            generator,
            where=where,
            rule=rule,
            rebuild_messages=rebuild_messages,
            **how,
        )
    options.show(summary, reflect_lines(summary), warnings)
    options.suggest("serve")
    return summary.account.exit_code


def reflect_lines(summary: "ReflectSummary") -> Iterator[str]:
    """Yield a run in lines for a terminal."""
    from judgeboard.formats.output import Column, Table, text_lines
    from judgeboard.measure.notes import note

    if summary.account.run_id is None:
        yield note("nothing_to_regenerate", judge=summary.judge).text
    else:
        yield from asking.account_lines(
            f"{summary.judge}, run {summary.account.run_id}", summary.account
        )
        counts = {
            "eligible": summary.eligible,
            "regenerated": summary.regenerated,
            "new answer kept": summary.kept_new,
            "original kept": summary.kept_original,
            "second judgment failed": summary.second_failed,
            "new answer identical": summary.identical,
            "no new answer": summary.no_answer,
            "calls": summary.calls,
        }
        yield from text_lines(
            Table((Column("Answers"), Column("Number", "count")), tuple(counts.items()))
        )
    if summary.no_messages:
        yield note("no_logged_messages", n=summary.no_messages).text
