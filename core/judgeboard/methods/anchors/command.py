"""The group `test anchors`: does a judge drift?"""

from functools import partial

import click

from judgeboard.cli import options
from judgeboard.cli.asked_judge import judge_kind, judge_of_options, named_judge
from judgeboard.cli.asking import at_last_address, run_options, stored_judge_options
from judgeboard.cli.judge import summary_lines


@options.group(
    "judgeboard test anchors make",
    "judgeboard test anchors judge --judge rag --model gpt-4o-mini",
    "judgeboard test anchors report --json",
)
def anchors_command() -> None:
    """Judge a fixed set of answers again to find drift. The set is called the anchors."""


@options.command(
    "judgeboard test anchors make",
    "judgeboard test anchors make --n 150 --replace",
    group=anchors_command,
)
@options.with_default(
    "--n",
    type=click.IntRange(1, 100_000),
    default=60,
    help="Number of anchors. It is approximate, because whole evidence groups are drawn.",
)
@options.with_default("--seed", default="anchors", help="Seed of the draw.")
@click.option(
    "--replace", is_flag=True, help="Replace the current anchors. Their verdicts stay stored."
)
def anchors_make(n: int, seed: str, *, replace: bool) -> None:
    """Draw the anchors at random, and store their ids.

    The command draws whole evidence groups. An evidence group has the answers to one question from
    the same passages. Groups with labels are drawn first. The anchors have about the same shares of
    query types and of bad answers as all labelled answers. The draw leaves out groups with an
    answer that is an example in a judge's prompt. It also leaves out groups whose labels
    `judgeboard align` used.
    """
    from judgeboard.methods.anchors.report import make_anchors

    result = make_anchors(options.open_store(), n=n, seed=seed, replace=replace, by=options.actor())
    options.show(result, result.lines())
    options.suggest("test", "anchors", "judge", "--judge", "KIND")


@options.command(
    "judgeboard test anchors judge --judge lexical",
    "judgeboard test anchors judge --judge rag --model gpt-4o-mini --max-cost 0.5",
    group=anchors_command,
)
@named_judge
@judge_kind()
@stored_judge_options
def anchors_judge(
    named: str | None,
    kind: str | None,
    max_cost: float | None,
    **fields: object,
) -> int:
    """Judge the anchors, a fixed set of answers, once more. Only `test anchors report` uses these verdicts.

    Give the NAME of the judge in judgeboard.toml, or the same options that you gave `judgeboard
    judge`. If a run stops early, repeat the command to continue it. The exit codes are those of
    `judgeboard judge`.
    """
    from judgeboard.methods.anchors.report import stored_anchors
    from judgeboard.runs.judging import judge_pending, make_judge
    from judgeboard.runs.named_judges import judge_keywords
    from judgeboard.store.filters import RowFilter
    from judgeboard.store.runs import AskMode

    kind = judge_of_options(named, kind, fields)
    keywords = judge_keywords(options.open_store, kind, fields)
    store = options.open_store()
    judge = make_judge(kind, **at_last_address(store, partial(make_judge, kind), keywords))
    with store.reading() as connection:
        where = RowFilter(response_ids=stored_anchors(connection))
    with run_options(fields, max_cost) as run:
        summary = judge_pending(store, judge, where=where, mode=AskMode.ANCHORS, **run)
    options.show(summary, summary_lines(summary))
    options.suggest("test", "anchors", "report", "--judge-version", summary.judge)
    return summary.exit_code


@options.command(
    "judgeboard test anchors report",
    "judgeboard test anchors report --judge-version 'rag v1' --json",
    group=anchors_command,
)
@options.judge_version(
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the version that judged the anchors "
    "last)."
)
@options.with_default(
    "--looks",
    type=click.IntRange(1, 10_000),
    default=52,
    help="Number of reports that you plan to make. If the judge does not drift, the probability that any of them shows "
    "drift is at most 5 %.",
)
def anchors_report(judge_version: str | None, looks: int) -> int:
    """Show whether a judge's verdicts on the anchors changed. If they did, the judge drifts.

    The command compares the newest verdicts on the anchors with the first verdicts, and with those
    of the previous run. Makes no model calls. Exit code 1 if drift is shown, otherwise 0.
    """
    from judgeboard.methods.anchors.report import anchor_report

    with options.reading() as connection:
        result = anchor_report(connection, judge_version=judge_version, looks=looks)
    options.show(result, result.lines(()))
    return int(result.drift)
