"""The command `compare judges`, which combines the verdicts of several judges."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.domain import JURY
from judgeboard.stats.estimates import number_words, percent_words
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.measure.agreed_with_people import AgreedWithPeople
    from judgeboard.methods.juries.run import JuryReport


@options.command(
    "judgeboard compare judges nli 'rag v2' lexical --json",
    "judgeboard compare judges gpt-4 claude llama --unit pairs",
    "judgeboard judge --jury llama-3.1-8b,qwen-2.5-7b,gpt-4o-mini --judge rag",
)
@click.argument("members", nargs=-1, required=True, metavar="A B C...")
@options.with_default(
    "--unit",
    type=click.Choice(["responses", "pairs"]),
    default="responses",
    help="What the members judged: answers, or pairs of answers.",
)
@options.judge_name("Name of the jury (default: jury).")
@options.where
def judges_command(members: tuple[str, ...], unit: str, name: str | None, where: RowFilter) -> int:
    """Compare judges with each other, with people, and as a jury.

    The jury combines the stored verdicts of the judges.

    A, B and C are judge versions: names (the newest version), titles ('rag v3') or fingerprints. Makes no model calls.
    The verdict of the jury has the median of groundedness, the lower median of quality, and the label of the majority.
    If the labels tie, the jury has no verdict. With --unit pairs, the preference with the most votes counts, for each
    order of the answers separately. The verdicts of a jury are stored under a separate judge version.
    """
    from judgeboard.cli.compare import comparison_lines
    from judgeboard.methods.juries.run import compare_by_jury, judge_by_jury
    from judgeboard.store.settings import check_primary_judge

    members = tuple(name for each in members for name in options.listed(each))
    store = options.open_store()
    if unit == "pairs":
        pairs = compare_by_jury(store, members, name=name, where=where, actor=options.actor())
        options.show(pairs, comparison_lines(pairs))
        options.suggest("agreement", "--unit", "pairs", "--judge-version", pairs.judge or "")
        return 0
    with store.reading() as connection:
        check_primary_judge(connection, name or JURY)
    seen = options.seen(store)
    report = judge_by_jury(store, members, name=name, where=where, actor=options.actor(), seen=seen)
    options.show(report, jury_lines(report))
    if len(report.members) == 2:
        options.suggest("compare", "versions", *(each.judge_version for each in report.members))
    options.suggest("agreement", "--judge-version", report.jury.judge_version)
    return report.account.exit_code


def jury_lines(report: "JuryReport") -> Iterator[str]:
    """Yield the report on a jury in lines for a terminal."""
    from judgeboard.measure.agreed_with_people import described_words
    from judgeboard.measure.agreement_result import left_out_words

    account, jury = report.account, report.jury
    counts = f"{account.ok:,} ok + {account.unparsable:,} without a verdict ({counted(report.split, 'tie')})"
    members = ", ".join(member.judge_version for member in report.members)
    yield f"{jury.judge_version} of {members}: {counted(report.items, 'answer')} = {counts}"
    if left_out := left_out_words(report.left_out.items()):
        yield f"{account.ok:,} of {counted(report.answers, 'answer')} have a verdict of the jury. {left_out}"
    yield f"with people{jury.described}: {_with_people(jury)}"
    unlabelled = report.items - report.labelled
    unanimous = f"unanimous on {report.unanimous_items:,} of {counted(report.labelled, 'answer')} judged by all members"
    if unlabelled:
        have = "has" if unlabelled == 1 else "have"
        unanimous += f"; {counted(unlabelled, 'answer')} {have} no label from some member"
    yield f"among the judges: Fleiss' kappa {number_words(report.fleiss_kappa)}, {unanimous}"
    wrong, described = report.wrong_together, described_words(report.wrong_together, report.wrong_together_answers)
    yield f"unanimous but wrong according to people{described}: {percent_words(wrong)}, n {wrong.n:,}"
    for measure, estimate in report.spread.items():
        if estimate.value is not None:
            yield f"mean distance of the highest and the lowest {measure}: {number_words(estimate)}"
    for member in report.members:
        same = " on the same answers" if member.answers == jury.answers else member.described
        yield f"{member.judge_version} alone{same}: {_with_people(member)}"
    yield from report.without_interval
    yield from report.notes


def _with_people(judge: "AgreedWithPeople") -> str:
    return f"accuracy {percent_words(judge.accuracy)}, kappa {number_words(judge.kappa)}, n {judge.accuracy.n:,}"
