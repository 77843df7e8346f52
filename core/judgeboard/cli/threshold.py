"""The commands `threshold` and `stand`: what a judge's scores are good for."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput, MissingOption
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.measure.result import Result
    from judgeboard.settings.model import Cuts
    from judgeboard.store.engine import Readable

SHARE = options.FiniteRange(0, 1, min_open=True, max_open=True)
HOW_OFTEN = "Maximum probability that the goal is missed, between 0 and 1."
DEFAULT_JUDGE = (
    "Judge version: name (newest version), 'name v3' or fingerprint (default: "
    "the newest version of the primary judge)."
)
REVIEW_THE_REST = (
    "To flag the other verdicts: set this confidence as “Uncertain verdict below” on the page Flag rules, or as "
    "JUDGEBOARD_UNCERTAIN_VERDICT. Then run `judgeboard flags apply`."
)


@options.command(
    "judgeboard labels threshold --recall 0.8",
    "judgeboard labels threshold --precision 0.8 --by query_type",
    "judgeboard labels threshold --false-omission 0.05",
    "judgeboard labels threshold --cost 5 --judge-version 'rag v3' --json",
)
@click.option(
    "--recall", type=SHARE, help="Minimum share of the bad answers to flag, between 0 and 1."
)
@click.option(
    "--precision",
    type=SHARE,
    help="Minimum share of bad answers among the flagged answers, between 0 and 1. It says nothing about the answers "
    "without a flag.",
)
@click.option(
    "--false-omission",
    type=SHARE,
    metavar="X",
    help="Maximum share of bad answers among the answers without a flag, between 0 and 1. For example, 0.05 allows 1 "
    "bad answer in 20.",
)
@click.option(
    "--cost",
    type=options.FiniteRange(0, min_open=True),
    help="Cost of a missed bad answer, at most 1000000. A review costs 1. The command finds the threshold with the "
    "lowest total cost.",
)
@click.option(
    "--by",
    type=click.Choice(["query_type"]),
    help="Find one threshold per query type (default: one for all).",
)
@options.with_default("--delta", type=SHARE, default=0.05, help=HOW_OFTEN)
@options.judge_version(help=DEFAULT_JUDGE)
def threshold_command(
    delta: float, by: str | None, judge_version: str | None, **aims: float | None
) -> None:
    """Find the groundedness threshold that reaches a goal.

    The goal is a recall, a precision, a false omission rate or the lowest cost. One half of the
    labels chooses the threshold, the other half measures it. Labels count if they are a random
    sample, or if people labelled a whole group of answers, for example all flagged answers. The
    number of flags that a threshold raises is exact. If the threshold in force reaches the goal,
    the first line says so. The command changes nothing.
    """
    from judgeboard.formats.output import text_lines
    from judgeboard.measure.thresholds import Goal, measure_threshold
    from judgeboard.reports.thresholds import thresholds_table
    from judgeboard.store.settings import thresholds

    typed_aims = {aim: value for aim, value in aims.items() if value is not None}
    if len(typed_aims) != 1:
        why = "give exactly one of --recall, --precision, --false-omission and --cost"
        if not typed_aims:
            raise MissingOption(why, "--recall", "0.9")
        surplus = [f"--{aim.replace('_', '-')}" for aim in list(typed_aims)[1:]]
        raise BadInput(f"{why}, for example: `{options.same_command(without=surplus)}`")
    ((aim, value),) = typed_aims.items()
    goal = Goal(aim, value, delta)  # type: ignore[arg-type]  # the options are named like the aims
    store = options.seen(options.open_store())
    with store.reading() as connection:
        results = measure_threshold(
            connection, goal, by_query_type=by is not None, judge_version=judge_version
        )
        cuts = thresholds(connection).cuts
    lines = [f"{results[0].about.judges[0]}, {goal.words}"]
    for each in results:
        query_type = each.about.where.get("query_type")
        lines.append(f"{query_type}: {each.sentence}" if query_type else each.sentence)
    table = thresholds_table(results, goal.aim)
    if table.rows:
        lines += ("", *text_lines(table))
    lines += _last_lines(results)
    # With --json, the next lines are not needed: these read the flags.
    all_lines = chain(lines, _next_lines(store, results, cuts))
    options.show({"goal": goal, "thresholds": results}, all_lines)


@options.command(
    "judgeboard labels stand --agreement 0.9",
    "judgeboard labels stand --agreement 0.9 --jury 'rag v2,nli,lexical'",
    "judgeboard labels stand --agreement 0.85 --delta 0.1 --judge-version 'rag v3' --json",
)
@options.with_default(
    "--agreement",
    type=SHARE,
    default=0.9,
    help="Minimum share of right verdicts among those that get no review, between 0 and 1.",
)
@options.with_default("--delta", type=SHARE, default=0.05, help=HOW_OFTEN)
@click.option(
    "--jury",
    metavar="NAME,NAME,...",
    help="Use the mean score of these judge versions, at least two, separated by commas (default: one judge).",
)
@options.judge_version(help=DEFAULT_JUDGE)
def stand_command(
    agreement: float, delta: float, jury: str | None, judge_version: str | None
) -> None:
    """Find the verdicts that need no review. These are the verdicts of which the judge is sure enough.

    The command finds a threshold of confidence: verdicts at or above it need no review. The
    confidence of a verdict is the larger of groundedness and 1 - groundedness. One half of the
    labels chooses this threshold, the other half measures it. The command changes nothing.
    """
    from judgeboard.formats.output import text_lines
    from judgeboard.measure.thresholds import measure_confident_verdicts

    members = () if jury is None else options.listed(jury)
    if jury is not None and len(members) < 2:
        raise BadInput(
            f"--jury {jury!r} names {counted(len(members), 'judge')}: separate at least two by commas"
        )
    with options.reading() as connection:
        result = measure_confident_verdicts(
            connection, agreement, delta=delta, judge_version=judge_version, jury=members
        )
    lines = [f"{result.about.judges[0]}: {result.sentence}"]
    if result.rows:
        lines += text_lines(result.table("no_review_share", "agreement"))
    lines += _last_lines([result])
    if jury is None and result.rows:
        lines.append(REVIEW_THE_REST)
    options.show(result, lines)


def _last_lines(results: "Sequence[Result]") -> Iterator[str]:
    """Yield each caveat and next step once, and what was left out."""
    from judgeboard.measure.agreement_result import left_out_sentence
    from judgeboard.reports.thresholds import limits_and_next

    yield from limits_and_next(results)
    if (sentence := left_out_sentence(results[0].about.left_out)) is not None:
        yield sentence


def _next_lines(store: "Readable", results: "Sequence[Result]", cuts: "Cuts") -> Iterator[str]:
    """Yield how to use the advised thresholds, and what `flags apply` then changes, or why the command is refused."""
    from judgeboard.measure.notes import note
    from judgeboard.measure.thresholds import advised_setting
    from judgeboard.people.roster import flags_to_supersede

    settings = ((each.about.where.get("query_type"), advised_setting(each)) for each in results)
    advised = {query_type: setting for query_type, setting in settings if setting is not None}
    if not advised:
        return
    others = {name: value for name, value in cuts.by_type.items() if name not in advised}
    texts = tuple(f"{name}={value}" for each in (others, advised) for name, value in each.items())
    changes = (
        {"low_groundedness": advised[None]}
        if None in advised
        else {"low_groundedness_by_type": texts}
    )
    try:
        superseded = flags_to_supersede(store, **changes)
    except BadInput as error:
        applied = note("threshold_not_applied", error=str(error))
    else:
        code = "threshold_apply_and_supersede" if superseded else "threshold_apply"
        applied = note(code, **({"n": superseded} if superseded else {}))
    yield from (note("threshold_use").text, applied.text)
