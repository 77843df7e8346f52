"""The command `audit`: a supreme judge reviews another judge's verdicts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import account_lines, endpoint_options, nobody_asked, run_options
from judgeboard.errors import BadInput
from judgeboard.stats.estimates import percent, percent_words
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.methods.audit_report import AuditReport


LIVE_SAMPLE, RECORDED_SAMPLE = 0.1, 1.0
SHOWN = 5  # answers of each list


@options.command(
    "judgeboard audit --supreme-model gpt-4o --judge-version rag --sample 0.1",
    "judgeboard audit --supreme-model gpt-4o --judge-version rag --approach 2 --judge rag",
    "judgeboard audit --recorded --supreme-version nli --judge-version 'rag v2' --json",
)
@click.option("--judge-version", required=True, metavar="NAME|FINGERPRINT", help="The audited judge.")
@click.option(
    "--supreme-model", "model", metavar="MODEL", help="Name of the supreme judge's model, as its endpoint spells it."
)
@click.option(
    "--recorded", is_flag=True, help="Compare with the stored verdicts of --supreme-version; make no model calls."
)
@click.option("--supreme-version", metavar="NAME|FINGERPRINT", help="With --recorded: the judge that audits.")
@click.option(
    "--approach",
    type=click.Choice(["1", "2"]),
    help="1: the supreme judge reviews each verdict (default). 2: it scores the answers itself; verdicts far from its "
    "own are marked as wrong.",
)
@click.option(
    "--judge",
    "kind",
    metavar="KIND",
    help="With --approach 2: kind of the supreme judge (default: the kind of the audited judge).",
)
@options.judge_name("Name of the supreme judge (default: supreme).")
@click.option(
    "--sample",
    "share",
    type=options.FiniteRange(0, 1, min_open=True),
    help=f"Share of the verdicts to audit (default: {LIVE_SAMPLE:g}; with --recorded 1).",
)
@options.with_default("--seed", type=int, default=0, help="The same seed selects the same answers.")
@click.option("--rejudge", type=click.Choice(["failed"]), help="Repeat reviews that were not usable.")
@endpoint_options
@options.where
@click.pass_context
def audit_command(
    context: click.Context,
    /,
    recorded: bool,
    share: float | None,
    seed: int,
    where: RowFilter,
    **chosen: Any,
) -> int:
    """Let a supreme judge review another judge's verdicts, and compare its marks with people's grades.

    A verdict that the supreme judge marks as wrong gets the flag supreme_disagrees. Precision and recall tell how well
    the marks find the verdicts that are wrong by people's labels. To continue an interrupted audit, repeat the command.
    """
    from judgeboard.methods.audit import audit, audit_recorded, audited_version, make_independent, make_supreme
    from judgeboard.methods.audit_report import AuditSample

    _check(recorded=recorded, chosen=chosen)
    if recorded:
        nobody_asked(context, "kind")
    default = RECORDED_SAMPLE if recorded else LIVE_SAMPLE
    sample = AuditSample(default if share is None else share, seed, where)
    store = options.open_store()
    audited, by_scores, rejudge = chosen["judge_version"], chosen["approach"] == "2", chosen["rejudge"] is not None
    if recorded:
        report = audit_recorded(
            store,
            chosen["supreme_version"],
            audited,
            sample=sample,
            by="thresholds" if by_scores else None,
            actor=options.actor(),
        )
    else:
        with store.reading() as connection:
            audited_version(connection, audited)
        supreme = make_independent(store, audited, **chosen) if by_scores else make_supreme(**chosen)
        with run_options(chosen["concurrency"], chosen["max_cost"]) as how:
            report = audit(store, supreme, audited, sample=sample, again=rejudge, **how)
    options.show(report, report_lines(report))
    return report.account.exit_code


def _check(*, recorded: bool, chosen: dict[str, Any]) -> None:
    from judgeboard.settings import load_settings

    if recorded != (chosen["supreme_version"] is not None):
        raise BadInput("give --recorded and --supreme-version together, or --supreme-model")
    if not recorded and not (chosen["model"] or chosen["replies"] or load_settings().model):
        raise BadInput(
            "the supreme judge needs a model: give --supreme-model NAME, or recorded replies with --replies FILE"
        )
    if chosen["kind"] is not None and chosen["approach"] != "2":
        raise BadInput("--judge needs --approach 2: it is the kind of a supreme judge that scores the answers itself")


def report_lines(report: "AuditReport") -> Iterator[str]:
    """Yield an audit in lines for a terminal."""
    from judgeboard.methods.audit_report import rates

    head = f"{report.judge_version} audited by {report.supreme_version}, {percent(report.sample)} of its verdicts"
    yield from account_lines(head, report.account)
    audited = f"{report.audited:,} audited, {report.marked:,} marked wrong, {report.graded:,} graded by people"
    yield f"{audited}; {report.flags_raised:,} flags"
    right = f"accused {report.fp:,} (right and marked), right and not marked {report.tn:,}"
    yield f"caught {report.tp:,} (wrong and marked), missed {report.fn:,}, {right}"
    for name, estimate, meaning in rates(report):
        yield f"{name.lower()} ({meaning}): {percent_words(estimate)}"
    for name, answers in (("caught", report.caught), ("missed", report.missed), ("accused", report.accused)):
        shown = ", ".join(answer.external_id for answer in answers[:SHOWN])
        if answers:
            yield f"{name}: {shown}" + (f" and {len(answers) - SHOWN:,} more" if len(answers) > SHOWN else "")
    yield from report.notes
