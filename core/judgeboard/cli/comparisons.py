"""The commands `compare versions` and `compare sources`: which judge version, or which source, is better?"""

from collections.abc import Callable
from typing import Any, Literal

import click

from judgeboard.cli import options

_OF_VERSIONS = (
    ("n", "change", "first_right", "second_right", "only_first", "only_second", "p", "p_mcnemar"),
    ("kappa_change", "sensitivity_change", "specificity_change"),
    ("unusable",),
)
_OF_SOURCES = ("questions", "labelled", "change", "p", "p_holm", "labels_change", "judge_change")


def _within(equally_good: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    words = f"{equally_good} by at most this number, from 0 to 1."
    return options.with_default(
        "--within", type=options.FiniteRange(0, 1), default=0.02, help=words
    )


@options.command(
    "judgeboard compare versions 'rag v1' 'rag v2'",
    "judgeboard compare versions large small --within 0.03 --json",
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@_within("B counts as equally good if its share of right verdicts is lower")
def versions_command(first: str, second: str, within: float) -> int:
    """Show whether judge version B is better than A.

    A and B are names (the newest version), titles ('rag v3') or fingerprints. The command compares
    both versions with the labels of people, on the answers that both versions judged. If answers
    were more or less likely to get a label, their labels have weights that correct this. Answers
    with the same passages count as one unit in the intervals. Exit code 0: B is better, or worse by
    at most --within; 1: B is worse; 2: there are too few labels to decide, and the output says how
    many are needed.
    """
    from judgeboard.measure.versus import compare_versions

    with options.seen(options.open_store()).reading() as connection:
        result = compare_versions(connection, first, second, within=within)
    options.show(result, result.lines(*_OF_VERSIONS))
    return result.conclusion.exit_code


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
def sources_command(
    a: str, b: str, judge_version: str | None, by: Literal["query_type"] | None, within: float
) -> int:
    """Show whether the answers of source B are better than A's. A and B can also be models.

    Compares the shares of bad answers on questions that both sources answered. Labels count if they
    are a random sample, or if all answers to these questions are labelled. The judge's verdicts
    narrow the interval, but without labels they decide nothing. Exit code 0: B is better, or worse
    by at most --within; 1: B is worse; 2: there are too few labels to decide.
    """
    from judgeboard.measure.ab import compare_sources

    with options.seen(options.open_store()).reading() as connection:
        result = compare_sources(
            connection, a, b, judge_version=judge_version, by=by, within=within
        )
    # Without a figure of the labels, that of the judge alone would be taken for one.
    without_judge = result.figure("change").value is None
    options.show(result, result.lines(_OF_SOURCES[:-2] if without_judge else _OF_SOURCES))
    return result.conclusion.exit_code
