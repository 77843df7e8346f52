"""The command `compare`: a judge compares pairs of answers in both orders."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import check_pairs, model_options, nobody_asked, run_options, stopped_lines
from judgeboard.errors import BadInput
from judgeboard.text import money

if TYPE_CHECKING:
    from judgeboard.methods.pair_report import PairReport


@options.command(
    "judgeboard compare --a shop-v1 --b shop-v2 --model gpt-4o-mini",
    "judgeboard compare --pairs pairs.jsonl --model gpt-4o-mini --aspect overall --aspect style",
    "judgeboard compare --recorded --judge-version GPT-4 --by query_type --json",
)
@click.option(
    "--a", "source_a", metavar="SOURCE", help="With --b: compare the logged answers of two sources, paired by question."
)
@click.option("--b", "source_b", metavar="SOURCE", help="The second source.")
@click.option("--pairs", "file", type=options.FILE, help="Import this file of pairs and compare them.")
@click.option(
    "--recorded", is_flag=True, help="Measure the stored comparisons of --judge-version; make no model calls."
)
@click.option("--judge-version", metavar="NAME|FINGERPRINT", help="With --recorded: the judge version.")
@click.option("--source", help="With --pairs: name of the set, if the file has none.")
@click.option("--by", type=click.Choice(["query_type"]), help="Also show the figures per query type.")
@click.option("--aspect", "aspects", multiple=True, help="Aspect to compare (default: overall). Repeatable.")
@options.with_default(
    "--unusable",
    type=click.Choice(["drop", "tie", "wrong"]),
    default="drop",
    help="How an unusable verdict counts for agreement with gold or people.",
)
@click.option("--rejudge", type=click.Choice(["failed"]), help="Repeat the calls without a usable verdict.")
@options.judge_name("Name of the judge (default: pairwise). Each name has its own version numbers.")
@click.option("--domain", help="Field of expertise for the judge's prompt, for example 'climbing knowledge'.")
@model_options
@click.pass_context
def compare_command(
    context: click.Context,
    /,
    source_a: str | None,
    source_b: str | None,
    file: Path | None,
    recorded: bool,
    judge_version: str | None,
    source: str | None,
    by: str | None,
    aspects: tuple[str, ...],
    unusable: str,
    **chosen: Any,
) -> int:
    """Compare pairs of answers in both orders (two calls per pair).

    A pair has a verdict if both orders agree; other pairs count as inconsistent. To continue an interrupted run, repeat
    the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.methods.pair_report import measure_pairs
    from judgeboard.methods.pairwise import compare_pairs, make_pairwise_judge, pairs_between, pairs_in_file
    from judgeboard.reports.output import to_plain
    from judgeboard.store.comparisons import versions_that_compared
    from judgeboard.store.judge_versions import choose_version

    ways = (source_a is not None or source_b is not None, file is not None, recorded)
    if sum(ways) != 1 or (source_a is None) != (source_b is None):
        raise BadInput("choose the pairs: --a SOURCE with --b SOURCE, or --pairs FILE, or --recorded")
    if recorded != (judge_version is not None):
        raise BadInput("give --recorded and --judge-version together, or --model")
    if recorded:
        nobody_asked(context, "domain", "source")
    if file is not None:
        check_pairs(file, source)
    figures: dict[str, Any] = {"by_query_type": by is not None, "aspects": aspects, "unusable": unusable}
    store = options.open_store(create=file is not None)
    if recorded:
        with store.reading() as connection:
            known = versions_that_compared(connection)
            version_id = choose_version(connection, judge_version or "", known, "compared pairs").id
        report = measure_pairs(options.seen(store), version_id, **figures)
        options.show(report, _lines(report))
        return 0
    judge = make_pairwise_judge(aspects=aspects, **chosen)
    if file is not None:
        made = pairs_in_file(store, file, source=source, actor=options.actor())
    else:
        made = pairs_between(store, source_a or "", source_b or "", actor=options.actor())
    with run_options(chosen["concurrency"], chosen["max_cost"]) as run:
        compared = compare_pairs(store, judge, made.pair_ids, again=chosen["rejudge"] is not None, **run)
    version_id = compared.version.id
    report = measure_pairs(store, version_id, pair_ids=made.pair_ids, account=compared.account, **figures)
    left_out = f", {made.left_out:,} left out" if made.left_out else ""
    result = to_plain(report) | {"pairs": len(made.pair_ids), "left_out": made.left_out}
    options.show(result, [f"{made.words}: {len(made.pair_ids):,} pairs{left_out}", *_lines(report)])
    return report.account.exit_code


def _lines(report: "PairReport") -> Iterator[str]:
    from judgeboard.methods.pair_report import group_lines, report_sentence

    account = report.account
    yield report_sentence(report)
    if account.run_id is not None:
        cost = money(account.cost_micro)
        yield f"run {account.run_id}, {account.not_reached:,} not reached, cost {cost}"
    yield from stopped_lines(account)
    for group in report.groups:
        yield from group_lines(group)
