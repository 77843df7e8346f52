"""The commands `compare versions` and `compare sources`: which judge version, or which source, is better?"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import click

from judgeboard.cli import options
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.measure.ab import SourcesCompared
    from judgeboard.measure.versus import VersionsCompared
    from judgeboard.stats.paired import PairedShares


def _within(equally_good: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    words = f"{equally_good} by at most this number, from 0 to 1."
    return options.with_default("--within", type=options.FiniteRange(0, 1), default=0.02, help=words)


@options.command(
    "judgeboard compare versions 'rag v1' 'rag v2'",
    "judgeboard compare versions large small --within 0.03 --json",
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@_within("B counts as equally good if its share of right verdicts is lower")
def versions_command(first: str, second: str, within: float) -> int:
    """Show whether judge version B is better than A.

    A and B are names (the newest version), titles ('rag v3') or fingerprints. The command compares both versions with
    the labels of people, on the answers that both versions judged. If answers were more or less likely to get a label,
    their labels have weights that correct this. Answers with the same passages count as one unit in the intervals. Exit
    code 0: B is better, or worse by at most --within; 1: B is worse; 2: there are too few labels to decide, and the
    output says how many are needed.
    """
    from judgeboard.measure.versus import compare_versions

    with options.seen(options.open_store()).reading() as connection:
        result = compare_versions(connection, first, second, within=within)
    options.show(result, _version_lines(result))
    return result.exit_code


@options.command(
    "judgeboard compare sources app-v1 app-v2",
    "judgeboard compare sources gpt-3.5-turbo gpt-4 --by query_type --json",
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@options.judge_version(
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the newest version of "
    "the primary judge)."
)
@click.option(
    "--by",
    type=click.Choice(["query_type"]),
    help="Also compare each query type. With 95 % confidence, the intervals of all query types are right at "
    "the same time.",
)
@_within("B counts as equally good if its share of bad answers is higher")
def sources_command(a: str, b: str, judge_version: str | None, by: Literal["query_type"] | None, within: float) -> int:
    """Show whether the answers of source B are better than A's. A and B can also be models.

    Compares the shares of bad answers on questions that both sources answered. Labels count if they are a random
    sample, or if all answers to these questions are labelled. The judge's verdicts narrow the interval, but without
    labels they decide nothing. Exit code 0: B is better, or worse by at most --within; 1: B is worse; 2: there are too
    few labels to decide.
    """
    from judgeboard.measure.ab import compare_sources

    with options.seen(options.open_store()).reading() as connection:
        result = compare_sources(connection, a, b, judge_version=judge_version, by=by, within=within)
    options.show(result, _source_lines(result))
    return result.exit_code


_CHANGES = {  # name, and which labels n counts
    "kappa": ("Cohen's kappa", " labelled answers"),
    "sensitivity": ("recall of bad answers", " that people call bad"),
    "specificity": ("specificity", " that people call good"),
}


def _version_lines(result: "VersionsCompared") -> Iterator[str]:
    from judgeboard.stats.estimates import number_words

    yield from (each.text for each in (result.headline, *result.caveats, *result.next))
    if result.left_out_sentence is not None:
        yield result.left_out_sentence
    if not result.counts.n:
        return
    yield _counts_line(result, result.counts)
    if result.changes:
        where = f" in all {counted(result.answers, 'answer')}, from labels that stand for all" if result.alone else ""
        yield f"change{where}: " + ", ".join(
            f"{_CHANGES[name][0]} {number_words(each, sign=True)} (n = {each.n:,}{_CHANGES[name][1]})"
            if each.value is not None
            else f"{_CHANGES[name][0]} not available ({each.reason})"
            for name, each in result.changes.items()
        )
    if any(result.unusable.values()):
        yield "unusable verdicts: " + ", ".join(f"{title} {n:,}" for title, n in result.unusable.items())
    if result.as_wrong is not None:
        yield f"with unusable verdicts as wrong: {_counts_line(result, result.as_wrong)}"


def _counts_line(result: "VersionsCompared", counts: "PairedShares") -> str:
    ps = (("p = {:.2g} by evidence group", counts.p), ("McNemar p = {:.2g}", counts.p_mcnemar))
    p = ", ".join(words.format(value) for words, value in ps if value is not None)
    both_wrong = counts.n - counts.first_right - counts.only_second
    return (
        f"both right {counts.first_right - counts.only_first:,}, only {result.first} right {counts.only_first:,}, "
        f"only {result.second} right {counts.only_second:,}, both wrong {both_wrong:,} "
        f"({p})"
    )


def _source_lines(result: "SourcesCompared") -> Iterator[str]:
    from judgeboard.measure.agreement_notes import p_words
    from judgeboard.stats.estimates import points_words

    yield from (each.text for each in (result.headline, *result.caveats, *result.next))
    if result.change.value is not None:  # otherwise the figure of the judge alone would be taken for one of labels
        yield f"labels without the judge: {points_words(result.labels_only, sign=True)}"
        alone = points_words(result.judge_alone, sign=True)
        yield f"By {result.judge} alone: {alone} bad answers. This decides nothing: it leaves out the judge's errors."
    for each in result.types:
        line = f"{each.query_type}: {each.conclusion.value}: {points_words(each.change, sign=True)}"
        if each.change.value is not None:
            line += "" if each.p_holm is None else f", p {p_words(each.p_holm)} (Holm)"
            line += f", from {counted(each.questions, 'question')}, {each.labelled:,} with labels on both answers"
        yield line
