"""The commands `jury` and `repeats`: several judges, or one judge asked again."""

from contextlib import closing
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, show_json
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.methods.jury import JuryReport
    from judgeboard.methods.repeats import RepeatsReport


@click.command(
    epilog=options.example(
        "judgeboard judge --judge rag --model gpt-4o-mini --repeats 3",
        "judgeboard repeats --judge-version 'rag v2' --json",
        "judgeboard repeats --name gpt-4",
    )
)
@click.option("--judge-version", metavar="NAME|FINGERPRINT", help="Judge version: name, 'name v3' or fingerprint.")
@click.option(
    "--name", metavar="NAME", help="Measure all versions of this judge together, for example several rubrics."
)
@as_json
@options.database
def repeats_command(judge_version: str | None, name: str | None, as_json: bool, db: str | None) -> int:
    """Measure how far repeats of a judge agree with each other and with people.

    Makes no model calls. `judgeboard judge --repeats 3` makes repeats, `judgeboard import --kind repeats` imports them.
    """
    from judgeboard.cli.options import seen
    from judgeboard.methods.repeats import repeats_report
    from judgeboard.store.engine import open_store

    if (judge_version is None) == (name is None):
        raise BadInput("choose a judge: --judge-version NAME|FINGERPRINT, or --name NAME for all its versions")
    with closing(open_store(db)) as store, seen(store).reading() as connection:
        report = repeats_report(connection, version=judge_version, name=name)
    if as_json:
        show_json(report)
    else:
        for line in repeats_lines(report):
            click.echo(line)
    return report.account.exit_code


def repeats_lines(report: "RepeatsReport") -> list[str]:
    """Return the report on repeats in lines for a terminal."""
    from judgeboard.stats.estimates import number_words, percent_words

    account = report.account
    failed = f"{account.unparsable:,} unparsable + {account.refused:,} refused + {account.error:,} error"
    lines = [f"{report.judge}, {report.repeats} repeats: {account.asked:,} asked = {account.ok:,} ok + {failed}"]
    for each in report.measures:
        left_out = f" ({each.incomplete:,} incomplete left out)" if each.incomplete else ""
        lines.append(
            f"{each.measure}: all repeats equal on {percent_words(each.self_consistency)} of {each.items:,} "
            f"answers{left_out}, alpha {number_words(each.krippendorff_alpha)}, "
            f"mean spread {number_words(each.spread)}; agreement with people: {percent_words(each.accuracy)}"
        )
    return [*lines, *report.notes]


@click.command(
    epilog=options.example(
        "judgeboard jury --recorded --members nli,'rag v2',lexical --json",
        "judgeboard judge --jury llama-3.1-8b,qwen-2.5-7b,gpt-4o-mini --judge rag",
    )
)
@click.option("--recorded", is_flag=True, help="Combine the stored verdicts of the members (required; no model calls).")
@click.option(
    "--members", required=True, metavar="A,B,C", help="Judge versions: names (newest version), titles or fingerprints."
)
@click.option("--name", help="Name of the jury (default: jury).")
@options.where
@as_json
@options.database
def jury_command(
    recorded: bool, members: str, name: str | None, where: tuple[str, ...], as_json: bool, db: str | None
) -> int:
    """Combine the stored verdicts of several judges, and measure their agreement with each other and with people.

    Groundedness is the median, quality the lower median, the label the majority. A tie of labels gives no verdict. The
    jury's verdicts are stored as a judge version of its own.
    """
    from judgeboard.cli.options import actor
    from judgeboard.methods.jury import judge_by_jury
    from judgeboard.store.engine import open_store
    from judgeboard.store.filters import parse_where

    if not recorded:
        raise BadInput("add --recorded to combine stored verdicts. To ask a jury: judgeboard judge --jury m1,m2,m3")
    with closing(open_store(db)) as store:
        report = judge_by_jury(store, options.listed(members), name=name, where=parse_where(where), actor=actor())
    if as_json:
        show_json(report)
    else:
        for line in jury_lines(report):
            click.echo(line)
    return report.account.exit_code


def jury_lines(report: "JuryReport") -> list[str]:
    """Return the report on a jury in lines for a terminal."""
    from judgeboard.stats.estimates import number_words, percent_words

    account = report.account
    heads = f"{report.jury.judge_version} of {', '.join(each.judge_version for each in report.members)}"
    unanimous = f"unanimous on {report.unanimous_items:,} of {report.labelled:,} answers"
    lines = [
        f"{heads}: {report.items:,} answers = {account.ok:,} ok + {account.unparsable:,} without a verdict "
        f"({report.split:,} split)"
        + (f"; {account.not_reached:,} not judged by every member" if account.not_reached else ""),
        (
            f"with people: accuracy {percent_words(report.jury.accuracy)}, kappa {number_words(report.jury.kappa)}, "
            f"n {report.jury.accuracy.n:,}"
        ),
        f"among the judges: Fleiss' kappa {number_words(report.fleiss_kappa)}, {unanimous}",
        f"unanimous but wrong according to people: {percent_words(report.wrong_together)}",
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
