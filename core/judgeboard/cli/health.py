"""The commands `health`, `audit` and `control-answers`, which find faults of a judge."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import asking, options
from judgeboard.errors import BadInput, MissingOption
from judgeboard.stats.estimates import percent, percent_words
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.health.report import HealthReport
    from judgeboard.methods.audit_report import AuditReport


@options.command("judgeboard health --judge-version rag", "judgeboard health --judge-version 'rag v3' --json")
@options.judge_version(required=True, help="Judge version: name (newest version), 'name v3' or fingerprint.")
@click.option(
    "--families",
    type=options.FILE,
    help="TOML file with the families of your models, and their sizes or order by size (default: JUDGEBOARD_FAMILIES).",
)
@click.option("--gate", is_flag=True, help="Exit with code 1 if any check warns.")
def health_command(judge_version: str, families: Path | None, gate: bool) -> int:
    """Check a judge for typical faults, from stored judgments only.

    The checks: family, size, score collapse, control answers, verbosity, position bias, confidence, self-consistency,
    user feedback, unusable verdicts, cost. A check without data shows the command that measures it. Makes no model
    calls. Exit code 0; with `--gate`, 1 if any check warns.
    """
    from judgeboard.health.report import measure_health

    report = measure_health(options.seen(options.open_store()), judge_version, families=families)
    options.show(report, _lines(report))
    return int(gate and report.warnings > 0)


def _lines(report: "HealthReport") -> Iterator[str]:
    from judgeboard.health.record import State

    yield report.judge
    order = (State.WARNING, State.NOT_CONCLUSIVE, State.OK, State.NOT_MEASURED)
    for check in sorted(report.checks, key=lambda check: (not check.applies, order.index(check.state))):
        name = check.name.replace("_", " ")
        if not check.applies:
            yield f"-  {name}: {check.sentence}"
            continue
        yield f"{check.state.value.replace('_', ' ')}  {name}: {check.sentence}"
        if check.state is not State.OK and check.command:
            yield f"    {options.completed(check.command)}"


_kinds = click.option(
    "--kinds",
    metavar="KIND,…",
    help="passages_removed, other_answer, truncated, numbers_changed (known-bad); passages_reordered, hedges_removed "
    "(neutral). Default: all.",
)


@options.group(
    "judgeboard control-answers make",
    "judgeboard control-answers judge --judge rag --model gpt-4o-mini",
    "judgeboard health --judge-version rag",
    no_args_is_help=True,
)
def control_answers_command() -> None:
    """Make and judge control answers: changed copies of logged answers, known to be worse or equally good.

    They show what a judge does not notice. They do not appear in queues, trends or agreement.
    """


@options.command(
    "judgeboard control-answers make --kinds truncated,hedges_removed --n 100", group=control_answers_command
)
@_kinds
@options.with_default("--n", type=click.IntRange(1), default=50, help="Number of control answers per kind.")
@options.with_default("--seed", type=int, default=0, help="Seed of the selection. Another seed selects other answers.")
@options.where
def make(kinds: str | None, n: int, seed: int, where: RowFilter) -> None:
    """Make control answers from logged answers. Running it twice adds nothing."""
    from judgeboard.methods.control_answers import make_control_answers

    made = make_control_answers(
        options.open_store(), kinds=options.listed(kinds or ""), n=n, seed=seed, where=where, actor=options.actor()
    )
    lines = []
    for each in made:
        fewer = "" if each.made + each.known >= n else f"; suitable answers: {each.made + each.known:,}"
        known = f", {each.known:,} stored before" if each.known else ""
        lines.append(f"{each.kind}: {each.made:,} made{known}{fewer}")
    if any(each.made + each.known for each in made):
        lines.append("To judge them: `judgeboard control-answers judge --judge KIND`")
    options.show({"made": sum(each.made for each in made), "kinds": made}, lines)


@options.command("judgeboard control-answers judge --judge rag --model gpt-4o-mini", group=control_answers_command)
@_kinds
@asking.judge_kind("Kind of judge: rag, rubric, grade, rating or lexical.")
@asking.stored_judge_options
def judge(kinds: str | None, kind: str | None, max_cost: float | None, **chosen: Any) -> int:
    """Judge the control answers, and their originals if this judge has not judged them yet.

    Use the options of your `judgeboard judge` command to get the same judge version. To continue an interrupted run,
    repeat the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.cli.judge import summary_lines
    from judgeboard.methods.control_answers import judge_control_answers
    from judgeboard.runs.judging import make_judge

    kind = asking.chosen_kind(kind, chosen)
    asking.read_few_shot(kind, chosen)
    store = options.open_store()
    last_address = asking.last_address_options(store, partial(make_judge, kind), chosen)
    asked_judge = make_judge(kind, **chosen | last_address)
    with asking.run_options(chosen["concurrency"], max_cost) as how:
        summary = judge_control_answers(store, asked_judge, kinds=options.listed(kinds or ""), **how)
    options.show(summary, summary_lines(summary))
    if summary.ok:
        options.suggest("health", "--judge-version", summary.judge)
    return summary.exit_code


LIVE_SAMPLE, RECORDED_SAMPLE = 0.1, 1.0
SHOWN = 5  # maximum number of answers per list


@options.command(
    "judgeboard audit --supreme-model gpt-4o --judge-version rag --sample 0.1",
    "judgeboard audit fast --by strict",
    "judgeboard audit --supreme-model gpt-4o --judge-version rag --approach 2 --judge rag",
    "judgeboard audit --recorded --supreme-version nli --judge-version 'rag v2' --json",
)
@click.argument("audited", metavar="JUDGE", required=False)
@options.judge_version(help="The audited judge version, if JUDGE does not name it.")
@click.option("--by", metavar="NAME", help="The supreme judge: a judge of judgeboard.toml, whose model is used.")
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
    help="1: the supreme judge reviews each verdict (default). 2: it scores the answers itself, and verdicts that are "
    "far from its own verdicts are marked as wrong.",
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
@asking.endpoint_options
@asking.asking_options
@options.where
@click.pass_context
def audit_command(
    context: click.Context,
    /,
    audited: str | None,
    by: str | None,
    recorded: bool,
    share: float | None,
    seed: int,
    where: RowFilter,
    **chosen: Any,
) -> int:
    """Let a supreme judge review the verdicts of JUDGE, and compare its marks with people's grades.

    A verdict that the supreme judge marks as wrong gets the flag supreme_disagrees. Precision and recall measure how
    well the marks find verdicts that differ from people's labels. To continue an interrupted audit, repeat the command.
    """
    from judgeboard.methods.audit import audit, audit_recorded, audited_version, make_independent, make_supreme
    from judgeboard.methods.audit_report import AuditSample

    audited = audited or chosen["judge_version"]
    if audited is None:
        option = next(each for each in context.command.params if each.name == "judge_version")
        raise click.MissingParameter(ctx=context, param=option)
    chosen["judge_version"] = audited
    asking.use_named_judge(by, chosen, as_kind="supreme")
    _check(recorded=recorded, chosen=chosen)
    if recorded:
        asking.nobody_asked(context, "kind")
    default = RECORDED_SAMPLE if recorded else LIVE_SAMPLE
    sample = AuditSample(default if share is None else share, seed, where)
    store = options.open_store()
    by_scores, rejudge = chosen["approach"] == "2", chosen["rejudge"] is not None
    warnings = asking.warned([])
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
        make = partial(make_independent, store, audited) if by_scores else make_supreme
        supreme = make(**chosen | asking.last_address_options(store, make, chosen))
        warnings = asking.warned([asking.prompt_warning(supreme)])
        with asking.run_options(chosen["concurrency"], chosen["max_cost"]) as how:
            report = audit(store, supreme, audited, sample=sample, again=rejudge, **how)
    options.show(report, report_lines(report), warnings)
    options.suggest("queue", "create", "audited", "--where", "rule=supreme_disagrees")
    return report.account.exit_code


def _check(*, recorded: bool, chosen: dict[str, Any]) -> None:
    from judgeboard.settings.model import load_settings

    if recorded != (chosen["supreme_version"] is not None):
        raise BadInput("give --recorded and --supreme-version together, or --supreme-model")
    if not recorded and not (chosen["model"] or chosen["replies"] or load_settings().model):
        why = "the supreme judge needs a model: give --supreme-model NAME, or recorded replies with --replies FILE"
        raise MissingOption(why, "--supreme-model", "gpt-4o")
    if chosen["kind"] is not None and chosen["approach"] != "2":
        why = "--judge needs --approach 2: it is the kind of a supreme judge that scores the answers itself"
        raise MissingOption(why, "--approach", "2")


def report_lines(report: "AuditReport") -> Iterator[str]:
    """Yield the report on an audit in lines for a terminal."""
    from judgeboard.methods.audit_report import rates

    head = f"{report.judge_version} audited by {report.supreme_version}, {percent(report.sample)} of its verdicts"
    yield from asking.account_lines(head, report.account)
    audited = f"{report.audited:,} audited, {report.marked:,} marked wrong, {report.graded:,} graded by people"
    yield f"{audited}; {counted(report.flags_raised, 'flag')}"
    right = f"accused {report.fp:,} (right and marked), right and not marked {report.tn:,}"
    yield f"caught {report.tp:,} (wrong and marked), missed {report.fn:,}, {right}"
    for name, estimate, meaning in rates(report):
        yield f"{name.lower()} ({meaning}): {percent_words(estimate)}"
    for name, answers in (("caught", report.caught), ("missed", report.missed), ("accused", report.accused)):
        shown = ", ".join(answer.external_id for answer in answers[:SHOWN])
        if answers:
            yield f"{name}: {shown}" + (f" and {len(answers) - SHOWN:,} more" if len(answers) > SHOWN else "")
    yield from report.notes
