"""The command `test repeats` and the option `--repeats` of `judge`: does a judge agree with itself and with people?"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput, MissingOption
from judgeboard.stats.estimates import no_interval_sentences
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.cli.judge import Judging
    from judgeboard.methods.repeats.run import RepeatsReport


@options.command(
    "judgeboard judge --judge rag --model gpt-4o-mini --repeats 3",
    "judgeboard test repeats --judge-version 'rag v2' --json",
    "judgeboard test repeats --name gpt-4",
)
@options.judge_version(help="Judge version: name, 'name v3' or fingerprint.")
@click.option(
    "--name",
    metavar="NAME",
    help="Measure all versions of this judge together, for example several rubrics.",
)
@options.where
def repeats_command(judge_version: str | None, name: str | None, where: RowFilter) -> int:
    """Measure how far repeats of a judge agree. The repeats are compared with each other and with people.

    Makes no model calls. `judgeboard judge --repeats 3` makes repeats, `judgeboard import --kind
    repeats` imports them.
    """
    from judgeboard.methods.repeats.run import repeats_report
    from judgeboard.store.judge_versions import versions_asked_again

    if (judge_version is None) == (name is None):
        why = (
            "choose a judge: --judge-version NAME|FINGERPRINT, or --name NAME for all its versions"
        )
        if name is not None:
            raise BadInput(
                f"{why}, for example: `{options.same_command(without=['--judge-version'])}`"
            )
        with options.open_store().reading() as connection:
            versions = versions_asked_again(connection)
        if not versions:
            raise BadInput(
                "no judge has repeats yet. To make some: `judgeboard judge --judge lexical --repeats 3`"
            )
        raise MissingOption(why, "--judge-version", versions[0].title)
    with options.reading() as connection:
        report = repeats_report(connection, version=judge_version, name=name, where=where)
    options.show(report, repeats_lines(report))
    return report.account.exit_code


def judge_repeatedly(repeats: int, judging: "Judging") -> int:
    """Judge each answer ``repeats`` times, then measure how far the repeats agree."""
    from judgeboard.cli.judge import summary_lines
    from judgeboard.judges.judge import fingerprint
    from judgeboard.methods.repeats.run import judge_repeats, repeats_report

    if judging.rejudge or len(judging.options) > 1:
        raise BadInput(
            "--repeats works with one judge and new judgments: remove --jury and --rejudge"
        )
    (judge,) = judging.make_judges([judging.asked])
    summary = judging.ask(judge, judging.max_cost, partial(judge_repeats, repeats=repeats))
    more: dict[str, Any] = dict(judging.warnings)
    lines = summary_lines(summary)
    if summary.ok:
        with judging.store.reading() as connection:
            more["repeats"] = report = repeats_report(
                connection, version=fingerprint(judge.version)
            )
        lines += repeats_lines(report)
    options.show(summary, lines, more)
    return summary.exit_code


def repeats_lines(report: "RepeatsReport") -> Iterator[str]:
    """Yield the report on repeats in lines for a terminal."""
    from judgeboard.formats.output import text_lines
    from judgeboard.measure.agreement_result import left_out_words

    yield f"{report.judge}, {report.repeats} repeats: {report.account.words()}"
    yield from text_lines(report.table())
    for each in report.measures:
        if left_out := left_out_words(each.left_out.items()):
            yield f"{each.measure}: {left_out}"
    yield from no_interval_sentences((each.measure, each.accuracy) for each in report.measures)
    yield from (each.text for each in report.caveats)
