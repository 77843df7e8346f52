"""``judgeboard repeats``: how far a judge agrees with itself."""

from contextlib import closing
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, show_json
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.methods.repeats import RepeatsReport


@click.command(
    epilog=options.example(
        "judgeboard judge --judge rag --model gpt-4o-mini --repeats 3",
        "judgeboard repeats --judge-version 'rag v2' --json",
        "judgeboard repeats --name gpt-4",
    )
)
@click.option("--judge-version", metavar="NAME|FINGERPRINT", help="One judge version.")
@click.option("--name", metavar="NAME", help="All versions of a judge's name together: one with several rubrics.")
@as_json
@options.database
def command(judge_version: str | None, name: str | None, as_json: bool, db: str | None) -> int:
    """Measure a judge that was asked the same several times: how often it says the same, and how often it is right.

    Asks nobody: `judgeboard judge --repeats 3` does, and `judgeboard import --kind repeats` reads repeats.
    """
    from judgeboard.cli.terminal import seen
    from judgeboard.methods.repeats import repeats_report
    from judgeboard.store.engine import open_store

    if (judge_version is None) == (name is None):
        raise BadInput("say which judge: --judge-version NAME|FINGERPRINT, or --name NAME for all its versions")
    with closing(open_store(db)) as store, seen(store).reading() as connection:
        report = repeats_report(connection, version=judge_version, name=name)
    if as_json:
        show_json(report)
    else:
        for line in report_lines(report):
            click.echo(line)
    return report.account.exit_code


def report_lines(report: "RepeatsReport") -> list[str]:
    """Return what the repeats came to, in lines for a terminal."""
    from judgeboard.stats.words import number_words, percent_words

    account = report.account
    failed = f"{account.unparsable:,} unparsable + {account.refused:,} refused + {account.error:,} error"
    lines = [f"{report.judge}, {report.repeats} repeats: {account.asked:,} asked = {account.ok:,} ok + {failed}"]
    for each in report.measures:
        left_out = f" ({each.incomplete:,} incomplete left out)" if each.incomplete else ""
        lines.append(
            f"{each.measure}: the same every time on {percent_words(each.self_consistency)} of {each.items:,} "
            f"answers{left_out}, alpha {number_words(each.krippendorff_alpha)}, "
            f"mean spread {number_words(each.spread)}; as people say: {percent_words(each.accuracy)}"
        )
    return [*lines, *report.notes]
