"""The command `audit`: a supreme judge reviews another judge's verdicts."""

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, endpoint_options, nobody_asked, run_options, show_json
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.methods.audit_report import AuditReport, AuditSample
    from judgeboard.store.engine import Store


LIVE_SAMPLE, RECORDED_SAMPLE = 0.1, 1.0
SHOWN = 5  # answers of each list


@click.command(
    epilog=options.example(
        "judgeboard audit --supreme-model gpt-4o --judge-version rag --sample 0.1",
        "judgeboard audit --supreme-model gpt-4o --judge-version rag --approach 2 --judge rag",
        "judgeboard audit --recorded --supreme-version nli --judge-version 'rag v2' --json",
    )
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
@click.option("--name", help="Name of the supreme judge (default: supreme).")
@click.option(
    "--sample",
    "share",
    type=options.FiniteRange(0, 1, min_open=True),
    help=f"Share of the verdicts to audit (default: {LIVE_SAMPLE:g}; with --recorded 1).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed selects the same answers.")
@click.option("--rejudge", type=click.Choice(["failed"]), help="Repeat reviews that were not usable.")
@endpoint_options
@options.where
@as_json
@options.database
@click.pass_context
def audit_command(
    context: click.Context,
    /,
    recorded: bool,
    share: float | None,
    seed: int,
    where: tuple[str, ...],
    as_json: bool,
    db: str | None,
    **chosen: Any,
) -> int:
    """Let a supreme judge review another judge's verdicts, and compare its marks with people's grades.

    A verdict that the supreme judge marks as wrong gets the flag supreme_disagrees. Precision and recall tell how well
    the marks find the verdicts that are wrong by people's labels. To continue an interrupted audit, repeat the command.
    """
    from judgeboard.methods.audit_report import AuditSample
    from judgeboard.store.engine import open_store
    from judgeboard.store.filters import parse_where

    _check(recorded=recorded, chosen=chosen)
    if recorded:
        nobody_asked(context, "kind")
    default = RECORDED_SAMPLE if recorded else LIVE_SAMPLE
    sample = AuditSample(default if share is None else share, seed, parse_where(where))
    with closing(open_store(db)) as store:
        report = _recorded(store, sample, chosen) if recorded else _asked(store, sample, chosen)
    if as_json:
        show_json(report)
    else:
        for line in report_lines(report):
            click.echo(line)
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


def _recorded(store: "Store", sample: "AuditSample", chosen: dict[str, Any]) -> "AuditReport":
    from judgeboard.cli.options import actor
    from judgeboard.methods.audit import audit_recorded

    return audit_recorded(
        store,
        chosen["supreme_version"],
        chosen["judge_version"],
        sample=sample,
        by="thresholds" if chosen["approach"] == "2" else None,
        actor=actor(),
    )


def _asked(store: "Store", sample: "AuditSample", chosen: dict[str, Any]) -> "AuditReport":
    from judgeboard.methods.audit import audit, audited_version, make_independent, make_supreme

    audited = chosen["judge_version"]
    with run_options(chosen["concurrency"], chosen["max_cost"]) as how:
        with store.reading() as connection:
            audited_version(connection, audited)
        supreme = make_independent(store, audited, **chosen) if chosen["approach"] == "2" else make_supreme(**chosen)
        return audit(store, supreme, audited, sample=sample, again=chosen["rejudge"] is not None, **how)


def report_lines(report: "AuditReport") -> list[str]:
    """Return an audit in lines for a terminal."""
    from judgeboard.cli.options import cost_text
    from judgeboard.methods.audit_report import rates
    from judgeboard.stats.estimates import percent, percent_words

    account = report.account
    share = percent(report.sample)
    asked = f"{report.judge_version} audited by {report.supreme_version}, {share} of its verdicts: {account.words()}"
    asked += f"; {account.not_reached:,} not reached" if account.not_reached else ""
    asked += f"; cost {cost_text(account.cost_micro)}" if account.run_id else ""
    audited = f"{report.audited:,} audited, {report.marked:,} marked wrong, {report.graded:,} graded by people"
    wrong = f"caught {report.tp:,} (wrong and marked), missed {report.fn:,}"
    right = f"accused {report.fp:,} (right and marked), right and not marked {report.tn:,}"
    lines = [asked, f"{audited}; {report.flags_raised:,} flags", f"{wrong}, {right}"]
    lines += [f"{name.lower()} ({meaning}): {percent_words(estimate)}" for name, estimate, meaning in rates(report)]
    for name in ("caught", "missed", "accused"):
        answers = getattr(report, name)
        shown = ", ".join(each.external_id for each in answers[:SHOWN])
        if answers:
            lines.append(f"{name}: {shown}" + (f" and {len(answers) - SHOWN:,} more" if len(answers) > SHOWN else ""))
    lines += report.notes
    if account.why_stopped:
        lines += [f"stopped: {account.why_stopped}", "Repeat the command to continue."]
    return lines
