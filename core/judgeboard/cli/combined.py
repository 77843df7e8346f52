"""The commands `jury` and `repeats`: several judges, or one judge asked again."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput
from judgeboard.stats.estimates import number_words, percent_words
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.methods.jury import JuryReport
    from judgeboard.methods.repeats import RepeatsReport


@options.command(
    "judgeboard judge --judge rag --model gpt-4o-mini --repeats 3",
    "judgeboard repeats --judge-version 'rag v2' --json",
    "judgeboard repeats --name gpt-4",
)
@click.option("--judge-version", metavar="NAME|FINGERPRINT", help="Judge version: name, 'name v3' or fingerprint.")
@click.option(
    "--name", metavar="NAME", help="Measure all versions of this judge together, for example several rubrics."
)
def repeats_command(judge_version: str | None, name: str | None) -> int:
    """Measure how far repeats of a judge agree with each other and with people.

    Makes no model calls. `judgeboard judge --repeats 3` makes repeats, `judgeboard import --kind repeats` imports them.
    """
    from judgeboard.methods.repeats import repeats_report

    if (judge_version is None) == (name is None):
        raise BadInput("choose a judge: --judge-version NAME|FINGERPRINT, or --name NAME for all its versions")
    with options.seen(options.open_store()).reading() as connection:
        report = repeats_report(connection, version=judge_version, name=name)
    options.show(report, repeats_lines(report))
    return report.account.exit_code


def repeats_lines(report: "RepeatsReport") -> Iterator[str]:
    """Yield the report on repeats in lines for a terminal."""
    yield f"{report.judge}, {report.repeats} repeats: {report.account.words()}"
    for each in report.measures:
        left_out = f" ({each.incomplete:,} incomplete left out)" if each.incomplete else ""
        yield (
            f"{each.measure}: all repeats equal on {percent_words(each.self_consistency)} of {each.items:,} "
            f"answers{left_out}, alpha {number_words(each.krippendorff_alpha)}, "
            f"mean spread {number_words(each.spread)}; agreement with people: {percent_words(each.accuracy)}"
        )
    yield from report.notes


@options.command(
    "judgeboard jury --recorded --members nli,'rag v2',lexical --json",
    "judgeboard judge --jury llama-3.1-8b,qwen-2.5-7b,gpt-4o-mini --judge rag",
)
@click.option("--recorded", is_flag=True, help="Combine the stored verdicts of the members (required; no model calls).")
@click.option(
    "--members", required=True, metavar="A,B,C", help="Judge versions: names (newest version), titles or fingerprints."
)
@options.judge_name("Name of the jury (default: jury).")
@options.where
def jury_command(recorded: bool, members: str, name: str | None, where: RowFilter) -> int:
    """Combine the stored verdicts of several judges, and measure their agreement with each other and with people.

    Groundedness is the median, quality the lower median, the label the majority. A tie of labels gives no verdict. The
    jury's verdicts are stored as a judge version of its own.
    """
    from judgeboard.methods.jury import judge_by_jury

    if not recorded:
        raise BadInput("add --recorded to combine stored verdicts. To ask a jury: judgeboard judge --jury m1,m2,m3")
    store = options.open_store()
    report = judge_by_jury(store, options.listed(members), name=name, where=where, actor=options.actor())
    options.show(report, jury_lines(report))
    return report.account.exit_code


def jury_lines(report: "JuryReport") -> Iterator[str]:
    """Yield the report on a jury in lines for a terminal."""
    account, jury = report.account, report.jury
    counts = f"{account.ok:,} ok + {account.unparsable:,} without a verdict ({report.split:,} split)"
    missing = f"; {account.not_reached:,} not judged by every member" if account.not_reached else ""
    members = ", ".join(member.judge_version for member in report.members)
    yield f"{jury.judge_version} of {members}: {report.items:,} answers = {counts}{missing}"
    kappa = f"kappa {number_words(jury.kappa)}, n {jury.accuracy.n:,}"
    yield f"with people: accuracy {percent_words(jury.accuracy)}, {kappa}"
    unanimous = f"unanimous on {report.unanimous_items:,} of {report.labelled:,} answers"
    yield f"among the judges: Fleiss' kappa {number_words(report.fleiss_kappa)}, {unanimous}"
    yield f"unanimous but wrong according to people: {percent_words(report.wrong_together)}"
    for measure, estimate in report.spread.items():
        if estimate.value is not None:
            yield f"mean distance of the highest and the lowest {measure}: {number_words(estimate)}"
    for member in report.members:
        yield f"{member.judge_version} alone: accuracy {percent_words(member.accuracy)}, n {member.accuracy.n:,}"
    yield from report.notes
