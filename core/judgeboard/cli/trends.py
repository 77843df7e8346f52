"""The command `trends`: groundedness, quality and flags over time."""

from typing import Any

import click

from judgeboard.cli import options


@options.command(
    "judgeboard trends",
    "judgeboard trends --measure flagged_share --period day --last 30",
    "judgeboard trends --by metadata.tenant --json",
)
@options.with_default(
    "--measure",
    type=click.Choice(["groundedness", "quality", "low_share", "flagged_share"]),
    default="groundedness",
    help="Mean groundedness, mean quality, share of low groundedness, or share of flagged answers.",
)
@options.with_default("--period", type=click.Choice(["week", "day"]), default="week", help="UTC periods.")
@options.with_default(
    "--by",
    default="query_type",
    metavar="query_type|metadata.KEY",
    help="One line per query type, or per frequent value of a metadata field.",
)
@click.option("--last", type=click.IntRange(1), help="Number of periods, up to the newest (default: all).")
@click.option(
    "--judge-version",
    metavar="NAME|FINGERPRINT",
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: current verdicts of the primary "
    "judge).",
)
def trends_command(judge_version: str | None, **chosen: Any) -> None:
    """Show whether answers become better or worse over time.

    The first line says what changed beyond its 95 % interval. Every period has its number of answers.
    """
    from judgeboard.reports.trends import trend_lines
    from judgeboard.store.judge_versions import get_version
    from judgeboard.trends import trend

    with options.seen(options.open_store()).reading() as connection:
        judge = None if judge_version is None else get_version(connection, judge_version).id
        result = trend(connection, judge=judge, **chosen)
    options.show(result, trend_lines(result))
