"""The group `refine`: write new answers to questions until a judge accepts them, or bad answers once more."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgeboard.cli import asking, options
from judgeboard.cli.groups import CommandWithArguments
from judgeboard.errors import BadInput
from judgeboard.store.filters import RowFilter
from judgeboard.text import shortened

if TYPE_CHECKING:
    from judgeboard.methods.refining.refine import RefineSummary
    from judgeboard.methods.refining.reflect import ReflectSummary

_ANSWER = 100
"""Characters of an answer in a line for a terminal."""
_QUESTIONS = 20
"""Questions of a run that a terminal shows."""


@options.group(
    "judgeboard refine --prompts prompts.jsonl --generator gpt-4o-mini --model gpt-4o --json",
    "judgeboard refine --where query_type=complex --where judge_side=low --generator gpt-4o --model o4-mini",
    cls=CommandWithArguments,
)
@asking.generator_options
@click.option(
    "--model",
    metavar="MODEL",
    help="Chat model that rates the answers (default: JUDGEBOARD_MODEL). Choose another model than the generator's.",
)
@options.judge_name("Name of the judge (default: refine).")
@asking.endpoint_options
@asking.asking_options
@asking.rating_word_option
@click.option(
    "--prompts",
    type=options.FILE,
    help="Prompt file instead of logged questions: one prompt per line, as text or JSON (id, prompt or messages).",
)
@options.with_default(
    "--success-rating",
    type=click.IntRange(1, 4),
    default=4,
    help="Minimum rating of a good answer.",
)
@options.with_default(
    "--max-repeats",
    type=click.IntRange(0),
    default=3,
    help="Maximum number of attempts after the first.",
)
@options.with_default(
    "--keep",
    type=click.Choice(["last", "best"]),
    default="last",
    help="Answer to keep if none is good enough.",
)
@options.where
def refine_command(
    prompts: Path | None,
    success_rating: int,
    max_repeats: int,
    keep: str,
    where: RowFilter,
    max_cost: float | None,
    **fields: object,
) -> int:
    """Answer questions again until the rating is good. Each answer is rated, and the next attempt gets the feedback.

    The item page shows every attempt. To continue an interrupted run, repeat the command. A new run
    skips logged questions that a finished run has done with the same models and settings. With
    --prompts, a new run answers all prompts of the file again.

    For exit codes see `judgeboard judge`. A question without a good answer is not an error. Files
    for --generator-replies and --replies have one line per attempt. The response_id of a line is
    the id of the prompt and the number of the attempt, for example a7/1.
    """
    from judgeboard.health.family import family_warning
    from judgeboard.judges.rating import KIND, RatingJudge
    from judgeboard.methods.refining.refine import RefineRule, refine_pending
    from judgeboard.runs.generation import read_prompts
    from judgeboard.runs.judging import make_judge

    if (prompts is None) == (where == RowFilter()):
        raise BadInput("give either --where FIELD=VALUE (logged questions) or --prompts FILE")
    origins = None if prompts is None else read_prompts(prompts)
    store = options.open_store(create=prompts is not None)
    judge_fields = asking.at_last_address(
        store, partial(make_judge, KIND), asking.judge_part(fields)
    )
    generator = asking.chosen_generator(fields, judge_fields)
    judge = make_judge(KIND, **judge_fields)
    if not isinstance(judge, RatingJudge):
        raise BadInput(f"the judge of kind {KIND} gives no feedback")
    rule = RefineRule(success_rating, max_repeats, "best" if keep == "best" else "last")
    warnings = asking.warned([family_warning(judge.version.model, {generator.endpoint.model: 0})])
    with asking.run_options(fields, max_cost) as how:
        summary = refine_pending(
            store, judge, generator, where=where, prompts=origins, rule=rule, **how
        )
    options.show(summary, refine_lines(summary), warnings)
    options.suggest("serve")
    return summary.account.exit_code


def refine_lines(summary: "RefineSummary") -> Iterator[str]:
    """Yield a run in lines for a terminal."""
    from judgeboard.formats.output import Column, Table, text_lines
    from judgeboard.measure.notes import note

    if summary.account.run_id is None:
        yield note("nothing_to_refine", judge=summary.judge).text
        return
    yield from asking.account_lines(
        f"{summary.judge}, run {summary.account.run_id}", summary.account
    )
    yield note("refined", prompts=summary.prompts, passed=summary.passed, calls=summary.calls).text
    rows = (
        (
            item.id,
            number,
            attempt.rating,
            shortened(" ".join((attempt.answer or "").split()), _ANSWER),
            attempt.error,
        )
        for item in summary.items[:_QUESTIONS]
        for number, attempt in enumerate(item.attempts, start=1)
    )
    columns = (
        Column("Question"),
        Column("Attempt", "count"),
        Column("Rating", "count"),
        Column("Answer"),
        Column("Error"),
    )
    yield from text_lines(Table(columns, tuple(rows)).without_empty({"Error"}))
    if len(summary.items) > _QUESTIONS:
        yield "To list all: --json"


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
