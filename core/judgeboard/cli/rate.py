"""The command `rate`: how many of all answers are bad."""

from typing import Any

import click

from judgeboard.cli import options
from judgeboard.store.filters import RowFilter, parse_where


@options.command(
    "judgeboard rate --by query_type",
    "judgeboard rate --judge-version 'rag v3' --target these --json",
    "judgeboard rate --grade groundedness --where source=app",
    "judgeboard rate --where from=2026-03-01 --labels-from to=2026-02-28",
)
@options.judge_version(
    help="Judge version: a fingerprint, 'rag v1', or a name for its newest version (default: the primary judge)."
)
@click.option(
    "--by",
    metavar="query_type|source|generator|time|length|rule|metadata.KEY",
    help="Also measure each slice separately (default: all answers together).",
)
@options.with_default(
    "--target",
    type=click.Choice(["app", "these"]),
    default="app",
    help="What the rate describes. app: all answers of the app; the logged answers are a sample of them. these: "
    "only the logged answers; if all of them are labelled, the rate is exact.",
)
@options.where
@options.with_default(
    "--grade",
    type=click.Choice(["label", "groundedness", "quality"]),
    default="label",
    help="label: the share of bad answers. groundedness, quality: the mean grade.",
)
@click.option(
    "--labels-from",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Use the labels of other answers, for example of an earlier month. Written like --where. The result is "
    "right only if the judge's error rates on both sets of answers are equal (default: labels of the same answers).",
)
@options.with_default(
    "--implied-labels/--no-implied-labels", default=True, help="Count labels that a decision on a flag implies."
)
def rate_command(where: RowFilter, labels_from: tuple[str, ...], **chosen: Any) -> None:
    """Estimate how many of all answers are bad.

    People's labels of a random sample correct the judge's verdicts on all answers. A label counts if its answer is
    from the random sample, a queue in random order, or a group in which people labelled every answer.
    """
    from judgeboard.agreement.rates import measure_rate
    from judgeboard.reports.rates import rate_lines

    elsewhere = parse_where(labels_from) if labels_from else None
    result = measure_rate(options.seen(options.open_store()), where=where, labels_from=elsewhere, **chosen)
    options.show(result, rate_lines(result))
