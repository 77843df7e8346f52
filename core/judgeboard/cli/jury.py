"""``judgeboard jury``: one verdict of several stored judges, and how far they agree."""

from contextlib import closing
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, show_json
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.methods.jury import JuryReport


@click.command(
    epilog=options.example(
        "judgeboard jury --recorded --members nli,'rag v2',lexical --json",
        "judgeboard judge --jury llama-3.1-8b,qwen-2.5-7b,gpt-4o-mini --judge rag",
    )
)
@click.option("--recorded", is_flag=True, help="Combine what is stored of the members; this command asks nobody.")
@click.option(
    "--members", required=True, metavar="A,B,C", help="Judge versions: names (the newest), titles, fingerprints."
)
@click.option("--name", help="What people call the jury ('jury').")
@options.where
@as_json
@options.database
def command(
    recorded: bool, members: str, name: str | None, where: tuple[str, ...], as_json: bool, db: str | None
) -> int:
    """Combine the stored verdicts of several judges, and measure them against each other and against people.

    Groundedness is the median (the mean of the middle two), quality the lower median, the label the majority; a tie
    of labels is no verdict. The jury's verdicts are kept as a judge version that names its members.
    """
    from judgeboard.cli.terminal import actor
    from judgeboard.filters import parse_where
    from judgeboard.methods.jury import judge_by_jury
    from judgeboard.store.engine import open_store

    if not recorded:
        raise BadInput("this combines what is stored: say --recorded. To ask a jury: judgeboard judge --jury m1,m2,m3")
    with closing(open_store(db)) as store:
        report = judge_by_jury(store, options.listed(members), name=name, where=parse_where(where), actor=actor())
    if as_json:
        show_json(report)
    else:
        for line in report_lines(report):
            click.echo(line)
    return report.account.exit_code


def report_lines(report: "JuryReport") -> list[str]:
    """Return what a jury came to, in lines for a terminal."""
    from judgeboard.stats.words import number_words, percent_words

    account = report.account
    heads = f"{report.jury.judge_version} of {', '.join(each.judge_version for each in report.members)}"
    unanimous = f"unanimous on {report.unanimous_items:,} of {report.labelled:,} answers"
    lines = [
        f"{heads}: {report.items:,} answers = {account.ok:,} ok + {account.unparsable:,} without a verdict "
        f"({report.split:,} split)"
        + (f"; {account.not_reached:,} that not every member was asked about" if account.not_reached else ""),
        (
            f"with people: accuracy {percent_words(report.jury.accuracy)}, kappa {number_words(report.jury.kappa)}, "
            f"n {report.jury.accuracy.n:,}"
        ),
        f"among the judges: Fleiss' kappa {number_words(report.fleiss_kappa)}, {unanimous}",
        f"unanimous and wrong by people's grades: {percent_words(report.wrong_together)}",
    ]
    lines += [
        f"mean distance of the highest and the lowest {measure}: {number_words(estimate)}"
        for measure, estimate in report.spread.items()
        if estimate.value is not None
    ]
    lines += [
        f"{each.judge_version} alone: accuracy {percent_words(each.accuracy)}, n {each.accuracy.n:,}"
        for each in report.members
    ]
    return [*lines, *report.notes]
