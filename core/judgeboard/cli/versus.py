"""The commands `versus` and `ab`: is a judge version, or a version of the assistant, better than another?"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.agreement.ab import SourcesCompared
    from judgeboard.agreement.versus import VersionsCompared
    from judgeboard.stats.paired import PairedShares


def _within(equally_good: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    words = f"{equally_good} by at most this number, from 0 to 1."
    return options.with_default("--within", type=options.FiniteRange(0, 1), default=0.02, help=words)


@options.command(
    "judgeboard versus --judge-version 'rag v1' --judge-version 'rag v2'",
    "judgeboard versus --judge-version large --judge-version small --within 0.03 --json",
)
@options.judge_version(
    "judge_versions",
    multiple=True,
    required=True,
    help="Judge version: name (newest version), 'name v3' or fingerprint. Give it twice: first the old one, "
    "then the new one.",
)
@_within("The new version counts as equally good if its share of right verdicts is lower")
def versus_command(judge_versions: tuple[str, ...], within: float) -> int:
    """Show whether a judge version is better than another one.

    Compares both with the labels of people, on the answers that both judged. Answers with the same passages
    count as one unit. Exit code 0: the new version is better, or worse by at most --within; 1: worse; 2: too few labels
    to decide. The output then has the number of labels that are still needed.
    """
    from judgeboard.agreement.versus import compare_versions

    if len(judge_versions) != 2:
        raise BadInput("versus compares two judge versions: give --judge-version twice")
    with options.seen(options.open_store()).reading() as connection:
        result = compare_versions(connection, *judge_versions, within=within)
    options.show(result, _version_lines(result))
    change = result.counts.change.value
    if result.exit_code == 2 and change is not None and 0.0005 <= abs(change) < 1:
        named = (word for title in (result.first, result.second) for word in ("--judge-version", title))
        options.suggest("plan", "--for", "judges", "--reach", f"{abs(change):.3f}", *named)
    return result.exit_code


@options.command(
    "judgeboard ab --a app-v1 --b app-v2",
    "judgeboard ab --a gpt-3.5-turbo --b gpt-4 --by query_type --json",
)
@click.option("--a", required=True, metavar="SOURCE|MODEL", help="Source of the first answers, or their model.")
@click.option("--b", required=True, metavar="SOURCE|MODEL", help="Source of the second answers, or their model.")
@options.judge_version(
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the newest version of "
    "the primary judge)."
)
@click.option(
    "--by", type=click.Choice(["query_type"]), help="Also compare each query type. The intervals are simultaneous."
)
@_within("B counts as equally good if its share of bad answers is higher")
def ab_command(a: str, b: str, judge_version: str | None, by: Literal["query_type"] | None, within: float) -> int:
    """Show whether one source of answers is better than another one.

    Compares the shares of bad answers on questions that both sources answered. People must label both answers of some
    randomly drawn questions. The judge's verdicts narrow the interval, but never decide alone. Exit code 0: B is
    better, or worse by at most --within; 1: worse; 2: too few labels to decide.
    """
    from judgeboard.agreement.ab import compare_sources

    with options.seen(options.open_store()).reading() as connection:
        result = compare_sources(connection, a, b, judge_version=judge_version, by=by, within=within)
    options.show(result, _source_lines(result))
    return result.exit_code


def _version_lines(result: "VersionsCompared") -> Iterator[str]:
    from judgeboard.stats.estimates import number_words

    yield result.sentence
    yield from result.warnings
    if not result.counts.n:
        return
    yield _counts_line(result, result.counts)
    named = {"kappa": "Cohen's kappa", "sensitivity": "recall of bad answers", "specificity": "specificity"}
    yield "change: " + ", ".join(
        f"{named[name]} {number_words(each, sign=True)}" for name, each in result.changes.items()
    )
    if any(result.unusable.values()):
        yield "unusable verdicts: " + ", ".join(f"{title} {n:,}" for title, n in result.unusable.items())
    if result.as_wrong is not None:
        yield f"with unusable verdicts as wrong: {_counts_line(result, result.as_wrong)}"


def _counts_line(result: "VersionsCompared", counts: "PairedShares") -> str:
    p = "" if counts.p is None else f"p = {counts.p:.2g}, "
    both_wrong = counts.n - counts.first_right - counts.only_second
    return (
        f"both right {counts.first_right - counts.only_first:,}, only {result.first} {counts.only_first:,}, "
        f"only {result.second} {counts.only_second:,}, both wrong {both_wrong:,} "
        f"({p}McNemar p = {counts.p_mcnemar:.2g})"
    )


def _source_lines(result: "SourcesCompared") -> Iterator[str]:
    from judgeboard.agreement.versus import points

    yield result.sentence
    yield from result.warnings
    yield f"labels without the judge: {points(result.labels_only)}"
    yield f"{result.judge} alone (does not decide): {points(result.judge_alone)}"
    for each in result.types:
        p = "" if each.p_holm is None else f", p = {each.p_holm:.2g} (Holm)"
        name = each.conclusion.value.replace("_", " ")
        yield f"{each.query_type}: {name}, {points(each.change)}{p}, {each.labelled:,} of {each.questions:,} labelled"
