"""The command `compare`: a judge compares pairs of answers in both orders."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, check_pairs, model_options, nobody_asked, run_options, show_json
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.methods.pair_report import PairReport
    from judgeboard.methods.pairwise import PairSet
    from judgeboard.store.engine import Store


@click.command(
    epilog=options.example(
        "judgeboard compare --a shop-v1 --b shop-v2 --model gpt-4o-mini",
        "judgeboard compare --pairs pairs.jsonl --model gpt-4o-mini --aspect overall --aspect style",
        "judgeboard compare --recorded --judge-version GPT-4 --by query_type --json",
    )
)
@click.option(
    "--a", "source_a", metavar="SOURCE", help="With --b: compare the logged answers of two sources, paired by question."
)
@click.option("--b", "source_b", metavar="SOURCE", help="The second source.")
@click.option("--pairs", "file", type=click.Path(path_type=Path), help="Import this file of pairs and compare them.")
@click.option(
    "--recorded", is_flag=True, help="Measure the stored comparisons of --judge-version; make no model calls."
)
@click.option("--judge-version", metavar="NAME|FINGERPRINT", help="With --recorded: the judge version.")
@click.option("--source", help="With --pairs: name of the set, if the file has none.")
@click.option("--by", type=click.Choice(["query_type"]), help="Also show the figures per query type.")
@click.option("--aspect", "aspects", multiple=True, help="Aspect to compare (default: overall). Repeatable.")
@click.option(
    "--unusable",
    type=click.Choice(["drop", "tie", "wrong"]),
    default="drop",
    show_default=True,
    help="How an unusable verdict counts for agreement with gold or people.",
)
@click.option("--rejudge", type=click.Choice(["failed"]), help="Repeat the calls without a usable verdict.")
@click.option("--name", help="Name of the judge (default: pairwise). Each name has its own version numbers.")
@click.option("--domain", help="Field of expertise for the judge's prompt, for example 'climbing knowledge'.")
@model_options
@as_json
@options.database
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
    as_json: bool,
    db: str | None,
    **chosen: Any,
) -> int:
    """Compare pairs of answers in both orders (two calls per pair).

    A pair has a verdict if both orders agree; other pairs count as inconsistent. To continue an interrupted run, repeat
    the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.cli.options import seen
    from judgeboard.methods.pair_report import measure_pairs
    from judgeboard.methods.pairwise import make_pairwise_judge
    from judgeboard.reports.json_output import to_plain
    from judgeboard.store.engine import open_store

    ways = (source_a is not None or source_b is not None, file is not None, recorded)
    if sum(ways) != 1 or (source_a is None) != (source_b is None):
        raise BadInput("choose the pairs: --a SOURCE with --b SOURCE, or --pairs FILE, or --recorded")
    if recorded != (judge_version is not None):
        raise BadInput("give --recorded and --judge-version together, or --model")
    if recorded:
        nobody_asked(context, "domain", "source")
    if file is not None:
        check_pairs(file, source)
    how: dict[str, Any] = {"by_query_type": by is not None, "aspects": aspects, "unusable": unusable}
    made: PairSet | None = None
    with closing(open_store(db, create=file is not None)) as store:
        if recorded:
            report = measure_pairs(seen(store), _chosen_version_id(store, judge_version or ""), **how)
        else:
            judge = make_pairwise_judge(aspects=aspects, **chosen)
            made = _pairs(store, source_a, source_b, file, source)
            report = _asked(store, judge, made, how, chosen)
    if as_json:
        pairs = {} if made is None else {"pairs": len(made.pair_ids), "left_out": made.left_out}
        show_json(to_plain(report) | pairs)
    else:
        for line in _lines(report, made):
            click.echo(line)
    return report.account.exit_code if made is not None else 0


def _chosen_version_id(store: "Store", judge_version: str) -> int:
    from judgeboard.store.comparisons import versions_that_compared
    from judgeboard.store.judge_versions import choose_version

    with store.reading() as connection:
        return choose_version(connection, judge_version, versions_that_compared(connection), "compared pairs").id


def _pairs(store: "Store", a: str | None, b: str | None, file: Path | None, source: str | None) -> "PairSet":
    from judgeboard.cli.options import actor
    from judgeboard.methods.pairwise import pairs_between, pairs_in_file

    if file is not None:
        return pairs_in_file(store, file, source=source, actor=actor())
    return pairs_between(store, a or "", b or "", actor=actor())


def _asked(store: "Store", judge: Any, made: "PairSet", how: dict[str, Any], chosen: dict[str, Any]) -> "PairReport":
    from judgeboard.methods.pair_report import measure_pairs
    from judgeboard.methods.pairwise import compare_pairs

    again = chosen["rejudge"] is not None
    with run_options(chosen["concurrency"], chosen["max_cost"]) as options_of_run:
        compared = compare_pairs(store, judge, made.pair_ids, again=again, **options_of_run)
    return measure_pairs(store, compared.version.id, pair_ids=made.pair_ids, account=compared.account, **how)


def _lines(report: "PairReport", made: "PairSet | None") -> list[str]:
    from judgeboard.cli.options import cost_text
    from judgeboard.methods.pair_report import group_lines, report_sentence

    account = report.account
    lines = []
    if made is not None:
        left_out = f", {made.left_out:,} left out" if made.left_out else ""
        lines.append(f"{made.words}: {len(made.pair_ids):,} pairs{left_out}")
    lines.append(report_sentence(report))
    if account.run_id is not None:
        lines.append(f"run {account.run_id}, {account.not_reached:,} not reached, cost {cost_text(account.cost_micro)}")
    if account.why_stopped:
        lines.append(f"stopped: {account.why_stopped}. Repeat the command to continue.")
    return [*lines, *(line for group in report.groups for line in group_lines(group))]
