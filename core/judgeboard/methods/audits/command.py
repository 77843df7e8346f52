"""The command `test audit`: a supreme judge reviews the verdicts of a judge."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import click

from judgeboard.cli import asked_judge, asking, options
from judgeboard.errors import BadInput, MissingOption
from judgeboard.stats.estimates import percent
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.methods.audits.report import AuditReport


LIVE_SAMPLE, RECORDED_SAMPLE = 0.1, 1.0
SHOWN = 5  # maximum number of answers per list


@options.command(
    "judgeboard test audit rag --model gpt-4o --sample 0.1",
    "judgeboard test audit fast --by strict",
    "judgeboard test audit rag --model gpt-4o --approach 2 --judge rag",
    "judgeboard test audit rag --model gpt-4o --controls",
    "judgeboard test audit 'rag v2' --recorded --by nli --json",
)
@click.argument("judge_version", metavar="JUDGE")
@click.option(
    "--by",
    metavar="NAME",
    help="Name of a judge in judgeboard.toml: the supreme judge uses its model. With --recorded: a judge version.",
)
@click.option(
    "--model",
    "model",
    metavar="MODEL",
    help="Name of the supreme judge's model, as its endpoint spells it.",
)
@click.option(
    "--recorded",
    is_flag=True,
    help="Compare with the stored verdicts of --by; make no model calls.",
)
@click.option(
    "--approach",
    type=click.Choice(["1", "2"]),
    help="How the supreme judge finds wrong verdicts. 1: it reviews each verdict (default). 2: it scores the answers "
    "itself, and marks verdicts that are far from its own scores as wrong.",
)
@click.option(
    "--judge",
    "kind",
    metavar="KIND",
    help="With --approach 2: kind of the supreme judge (default: the kind of the audited judge).",
)
@click.option(
    "--controls",
    is_flag=True,
    help="Audit the verdicts on control answers of the kind injected, and on their originals. `judgeboard test health` "
    "then shows whether the supreme judge obeys texts in what it reviews.",
)
@options.judge_name("Name of the supreme judge (default: supreme).")
@click.option(
    "--sample",
    "share",
    type=options.FiniteRange(0, 1, min_open=True),
    help=f"Share of the verdicts to audit (default: {LIVE_SAMPLE:g}; with --recorded or --controls 1).",
)
@options.with_default("--seed", type=int, default=0, help="The same seed selects the same answers.")
@click.option(
    "--rejudge", type=click.Choice(["failed"]), help="Repeat reviews that were not usable."
)
@asking.endpoint_options
@asking.asking_options
@options.where
@click.pass_context
def audit_command(
    context: click.Context,
    /,
    judge_version: str,
    by: str | None,
    recorded: bool,
    approach: str | None,
    kind: str | None,
    controls: bool,
    rejudge: str | None,
    share: float | None,
    seed: int,
    where: RowFilter,
    max_cost: float | None,
    **fields: object,
) -> int:
    """Let a supreme judge review the verdicts of JUDGE. People's grades show whether the supreme judge is right.

    A verdict that the supreme judge marks as wrong gets the flag supreme_disagrees. Precision and
    recall measure how well the marks find verdicts that differ from people's labels. To continue an
    interrupted audit, repeat the command.
    """
    from judgeboard.judges.injections import Asks, Place, injected_kind
    from judgeboard.methods.audits.report import AuditSample
    from judgeboard.methods.audits.run import (
        audit,
        audit_recorded,
        audited_version,
        make_independent,
        make_supreme,
    )
    from judgeboard.store.health import controls_of

    if recorded:
        if by is None:
            raise BadInput("--recorded needs --by NAME: the judge whose stored verdicts are used")
        asking.nobody_asked(context, "kind")
    else:
        asked_judge.use_named_judge(by, fields, as_kind="supreme")
    from judgeboard.settings.model import load_settings

    if not recorded and not (fields["model"] or fields["replies"] or load_settings().model):
        why = "the supreme judge needs a model: give --model NAME, or recorded replies with --replies FILE"
        raise MissingOption(why, "--model", "gpt-4o")
    if kind is not None and approach != "2":
        why = "--judge needs --approach 2: it is the kind of a supreme judge that scores the answers itself"
        raise MissingOption(why, "--approach", "2")
    store = options.open_store()
    if controls:
        kinds = [injected_kind(*each) for each in product(Place, Asks)]
        with store.reading() as connection:
            chosen_controls = controls_of(connection, kinds)
        where = replace(
            where, response_ids=chosen_controls.response_ids, kinds=chosen_controls.kinds
        )
    default = RECORDED_SAMPLE if recorded or controls else LIVE_SAMPLE
    sample = AuditSample(default if share is None else share, seed, where)
    by_scores = approach == "2"
    if recorded and by is not None:
        report = audit_recorded(
            store,
            by,
            judge_version,
            sample=sample,
            by="thresholds" if by_scores else None,
            actor=options.actor(),
        )
    else:
        with store.reading() as connection:
            audited_version(connection, judge_version)
        make = partial(make_independent, store, judge_version, kind) if by_scores else make_supreme
        supreme = make(**asking.at_last_address(store, make, fields))
        with asking.run_options(fields, max_cost) as how:
            report = audit(
                store, supreme, judge_version, sample=sample, again=rejudge is not None, **how
            )
    options.show(report, report_lines(report))
    options.suggest("queue", "create", "audited", "--where", "rule=supreme_disagrees")
    return report.account.exit_code


def report_lines(report: "AuditReport") -> Iterator[str]:
    """Yield the report on an audit in lines for a terminal."""
    from judgeboard.formats.output import text_lines
    from judgeboard.methods.audits.report import rates_table

    audited, supreme = report.about.judges
    yield from asking.account_lines(
        f"{audited} audited by {supreme}, {percent(report.sample)} of its verdicts", report.account
    )
    yield from report.lines(("n",))
    yield from ("", *text_lines(rates_table(report)))
    for name, answers in (
        ("caught", report.caught),
        ("missed", report.missed),
        ("accused", report.accused),
    ):
        if answers:
            more = [f"{len(answers) - SHOWN:,} more"] if len(answers) > SHOWN else []
            yield f"{name}: {', '.join([*(each.external_id for each in answers[:SHOWN]), *more])}"
