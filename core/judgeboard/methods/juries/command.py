"""The command `compare judges`, which combines the verdicts of several judges."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.domain import JURY
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.methods.juries.run import JuryReport


@options.command(
    "judgeboard compare judges nli 'rag v2' lexical --json",
    "judgeboard judge --jury llama-3.1-8b,qwen-2.5-7b,gpt-4o-mini --judge rag",
)
@click.argument("members", nargs=-1, required=True, metavar="A B C...")
@options.judge_name("Name of the jury (default: jury).")
@options.where
def judges_command(members: tuple[str, ...], name: str | None, where: RowFilter) -> int:
    """Compare judges with each other, with people, and as a jury.

    The jury combines the stored verdicts of the judges.

    A, B and C are judge versions: names (the newest version), titles ('rag v3') or fingerprints.
    Makes no model calls. The verdict of the jury has the median of groundedness, the lower median
    of quality, and the label of the majority. If the labels tie, the jury has no verdict. The
    verdicts of a jury are stored under a separate judge version.
    """
    from judgeboard.methods.juries.run import judge_by_jury
    from judgeboard.store.settings import check_primary_judge

    members = tuple(name for each in members for name in options.listed(each))
    store = options.open_store()
    with store.reading() as connection:
        check_primary_judge(connection, name or JURY)
    readable = options.seen(store)
    report = judge_by_jury(
        store, members, name=name, where=where, actor=options.actor(), seen=readable
    )
    options.show(report, jury_lines(report))
    if len(report.members) == 2:
        options.suggest("compare", "versions", *(each.judge_version for each in report.members))
    options.suggest("agreement", "--judge-version", report.jury.judge_version)
    return report.account.exit_code


def jury_lines(report: "JuryReport") -> Iterator[str]:
    """Yield the report on a jury in lines for a terminal."""
    from judgeboard.formats.output import text_lines

    members = ", ".join(member.judge_version for member in report.members)
    yield f"{report.jury.judge_version} of {members}: {report.headline().text}"
    yield from ("", *text_lines(report.judges_table()), "", *text_lines(report.figures_table()), "")
    yield from report.without_interval
    yield from (each.text for each in report.notes)
