"""The group `compare`: a judge compares pairs of answers, and people's labels compare judge versions."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asked_judge import named_judge, use_named_judge
from judgeboard.cli.asking import (
    at_last_address,
    check_pairs,
    model_options,
    nobody_asked,
    prompt_option,
    run_options,
    stopped_lines,
)
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.measure.pair_report import PairReport

_aspects: Callable[[options.F], options.F] = click.option(
    "--aspect",
    "aspects",
    multiple=True,
    help="Aspect to compare (default: overall). Repeat for more aspects.",
)
_judge: Callable[[options.F], options.F] = options.decorator(
    options.judge_name(
        "Name of the judge (default: pairwise). Each name has its own version numbers."
    ),
    click.option(
        "--domain",
        help="Field of expertise for the judge's prompt, for example 'climbing knowledge'.",
    ),
    model_options,
    prompt_option,
    named_judge,
)


@options.group(
    "judgeboard compare --a shop-v1 --b shop-v2 --model gpt-4o-mini",
    "judgeboard compare versions 'rag v1' 'rag v2'",
    "judgeboard compare judges lexical 'rag v2'",
    default="pairs",
)
def compare_command() -> None:
    """Compare answers, judge versions or judges.

    Without a command, a judge compares pairs of answers: `compare strict` runs `compare pairs
    strict`.
    """


@options.command(
    "judgeboard compare --a shop-v1 --b shop-v2 --model gpt-4o-mini",
    "judgeboard compare --pairs pairs.jsonl --model gpt-4o-mini --aspect overall --aspect style",
    "judgeboard compare --recorded --judge-version GPT-4 --by query_type --json",
    group=compare_command,
)
@click.option(
    "--a",
    "source_a",
    metavar="SOURCE",
    help="First source. With --b, compare the logged answers of two sources; answers to the same question are a pair.",
)
@click.option("--b", "source_b", metavar="SOURCE", help="Second source, for --a.")
@click.option(
    "--pairs", "file", type=options.FILE, help="Import this file of pairs and compare them."
)
@click.option(
    "--recorded",
    is_flag=True,
    help="Measure the stored comparisons of a judge version; make no model calls.",
)
@options.judge_version(
    help="With --recorded: the judge version to measure (default: the newest that compared pairs)."
)
@click.option("--source", help="With --pairs: name of the set, if the file has none.")
@click.option(
    "--by", type=click.Choice(["query_type"]), help="Also show the figures per query type."
)
@options.where
@_aspects
@options.pair_verdicts
@click.option(
    "--rejudge", type=click.Choice(["failed"]), help="Repeat the calls without a usable verdict."
)
@_judge
@click.pass_context
def pairs(
    context: click.Context,
    /,
    named: str | None,
    source_a: str | None,
    source_b: str | None,
    file: Path | None,
    recorded: bool,
    judge_version: str | None,
    source: str | None,
    by: str | None,
    where: RowFilter,
    aspects: tuple[str, ...],
    unusable: str,
    inconsistent: str,
    rejudge: str | None,
    max_cost: float | None,
    **judge_fields: object,
) -> int:
    """Let a judge compare pairs of answers, in both orders. This takes two calls per pair.

    NAME is a judge of judgeboard.toml, whose model and address are used.

    A pair is inconsistent if the verdicts in the two orders differ. To continue an interrupted run,
    repeat the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.measure.pair_report import measure_pairs
    from judgeboard.runs.pairwise import (
        compare_pairs,
        make_pairwise_judge,
        pairs_between,
        pairs_in_file,
    )
    from judgeboard.store.comparisons import versions_that_compared
    from judgeboard.store.judge_versions import choose_version
    from judgeboard.store.pairs import matching_pairs

    ways = (source_a is not None or source_b is not None, file is not None, recorded)
    if sum(ways) != 1 or (source_a is None) != (source_b is None):
        why = "choose the pairs: --a SOURCE with --b SOURCE, or --pairs FILE, or --recorded"
        command = options.same_command(
            *([] if recorded else ["--recorded"]), without=["--a", "--b", "--pairs"]
        )
        raise BadInput(f"{why}, for example: `{command}`")
    if judge_version is not None and not recorded:
        why = "--judge-version needs --recorded. To ask a judge, give --model"
        command = options.same_command("--recorded", without=["--model"])
        raise BadInput(f"{why}, for example: `{command}`")
    if recorded and named is not None:
        why = f"--recorded asks no judge, so {named!r} has no effect"
        command = options.same_command("--judge-version", named, instead={named: ""})
        raise BadInput(f"{why}, for example: `{command}`")
    use_named_judge(named, judge_fields, as_kind="pairwise")
    if recorded:
        nobody_asked(context, "domain", "source")
    if file is not None:
        check_pairs(file, source)
    figures: dict[str, Any] = {"by_query_type": by is not None, "aspects": aspects, "where": where}
    figures |= {"unusable": unusable, "inconsistent": inconsistent}
    store = options.open_store(create=file is not None)
    if recorded:
        with store.reading() as connection:
            versions = versions_that_compared(connection)
            if judge_version is None and not versions:
                raise NotFound(
                    "no judge version has compared pairs. To import recorded comparisons: "
                    "`judgeboard import --kind comparisons FILE`"
                )
            version = (
                versions[0]
                if judge_version is None
                else choose_version(connection, judge_version, versions, "compared pairs")
            )
        report = measure_pairs(options.seen(store), version.id, **figures)
        options.show(report, comparison_lines(report))
        return 0
    make = partial(make_pairwise_judge, aspects)
    judge = make(**at_last_address(store, make, judge_fields))
    if file is not None:
        pair_set = pairs_in_file(store, file, source=source, actor=options.actor())
    else:
        pair_set = pairs_between(store, source_a or "", source_b or "", actor=options.actor())
    with store.reading() as connection:
        matching = matching_pairs(connection, where)
    pair_ids = [id_ for id_ in pair_set.pair_ids if matching is None or id_ in matching]
    with run_options(judge_fields, max_cost) as run:
        comparison = compare_pairs(store, judge, pair_ids, again=rejudge is not None, **run)
    version_id = comparison.version.id
    report = measure_pairs(
        store, version_id, pair_ids=pair_ids, account=comparison.account, **figures
    )
    left_out = f", {pair_set.left_out:,} left out" if pair_set.left_out else ""
    counts = {"pairs": len(pair_ids), "left_out": pair_set.left_out}
    options.show(
        report,
        [
            f"{pair_set.words}: {counted(len(pair_ids), 'pair')}{left_out}",
            *comparison_lines(report),
        ],
        counts,
    )
    options.suggest("serve")
    return report.account.exit_code


@options.command("judgeboard compare controls --model gpt-4o-mini", group=compare_command)
@_aspects
@_judge
def controls(
    named: str | None, aspects: tuple[str, ...], max_cost: float | None, **judge_fields: object
) -> int:
    """Let a judge compare control answers with their originals. This takes one call per control answer.

    `judgeboard test health` then shows what the judge does not notice, and whether it prefers an
    answer because the answer orders it. For exit codes see `judgeboard judge`.
    """
    from judgeboard.cli.judge import summary_lines
    from judgeboard.runs.pairwise import compare_controls, make_pairwise_judge

    use_named_judge(named, judge_fields, as_kind="pairwise")
    store = options.open_store()
    make = partial(make_pairwise_judge, aspects)
    judge = make(**at_last_address(store, make, judge_fields))
    with run_options(judge_fields, max_cost) as run:
        summary = compare_controls(store, judge, **run)
    options.show(summary, summary_lines(summary))
    options.suggest("test", "health", summary.judge)
    return summary.exit_code


_OF_VERSIONS = (
    ("n", "change", "first_right", "second_right", "only_first", "only_second", "p", "p_mcnemar"),
    ("kappa_change", "sensitivity_change", "specificity_change"),
    ("unusable",),
)


@options.command(
    "judgeboard compare versions 'rag v1' 'rag v2'",
    "judgeboard compare versions large small --within 0.03 --json",
    group=compare_command,
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@options.with_default(
    "--within",
    type=options.FiniteRange(0, 1),
    default=0.02,
    help="B counts as equally good if its share of right verdicts is lower by at most this number, from 0 to 1.",
)
def versions(first: str, second: str, within: float) -> int:
    """Show whether judge version B is better than A.

    A and B are names (the newest version), titles ('rag v3') or fingerprints. The command compares
    both versions with the labels of people, on the answers that both versions judged. If answers
    were more or less likely to get a label, their labels have weights that correct this. Answers
    with the same passages count as one unit in the intervals. Exit code 0: B is better, or worse by
    at most --within; 1: B is worse; 2: there are too few labels to decide, and the output says how
    many are needed.
    """
    from judgeboard.measure.versus import compare_versions

    with options.reading() as connection:
        result = compare_versions(connection, first, second, within=within)
    options.show(result, result.lines(*_OF_VERSIONS))
    return result.conclusion.exit_code


def comparison_lines(report: "PairReport") -> Iterator[str]:
    """Yield the figures of a judge on pairs in lines for a terminal."""
    from judgeboard.measure.notes import note
    from judgeboard.measure.pair_report import COUNTS, FIGURES, report_note

    account = report.account
    yield report_note(report).text
    if report.unusable_as != "drop":
        yield note(f"unusable_{report.unusable_as}", n=account.unparsable).text
    if account.run_id is not None:
        yield f"run {account.run_id}, cost {account.cost_words}"
    yield from stopped_lines(account)
    for each in report.aspects:
        yield from ("", *each.lines(COUNTS, FIGURES))
