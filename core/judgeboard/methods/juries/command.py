"""The command `compare judges`, and the option `--jury` of `judge`: a jury combines the verdicts of several judges."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.domain import JURY
from judgeboard.errors import BadInput
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.cli.judge import Judging
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


def judge_with_jury(models: str, judging: "Judging") -> int:
    """Judge with each model in turn, then combine the verdicts, unless a run stops early."""
    from judgeboard.cli.judge import summary_lines
    from judgeboard.judges.judge import fingerprint
    from judgeboard.methods.juries.run import judge_by_jury
    from judgeboard.runs.method import STOPPED, require_price
    from judgeboard.store.judge_versions import list_versions
    from judgeboard.store.runs import run_counts

    store, max_cost = judging.store, judging.max_cost
    model_names = options.listed(models)
    if len(set(model_names)) < 2:
        raise BadInput(f"--jury needs at least two different models, not {models!r}")
    if judging.asked.get("model"):
        command = options.same_command(without=["--model"])
        raise BadInput(f"--jury already names the models: remove --model, for example: `{command}`")
    # One name per member: under a shared name, a later member would become the next version of an
    # earlier one.
    names_of_models = [(model, f"{judging.kind} {model}") for model in model_names]
    judges = judging.make_judges(
        [{**judging.asked, "model": model, "name": name} for model, name in names_of_models],
        judging.named or JURY,
    )
    for judge in judges:  # before the first call
        require_price(max_cost, priced=judge.priced, model=judge.version.model)
    summaries, report, code, cost_micro = [], None, 0, 0
    for judge in judges:
        summary = judging.ask(
            judge, None if max_cost is None else max(0.0, max_cost - cost_micro / 1_000_000)
        )
        summaries.append(summary)
        code = max(code, summary.exit_code)
        options.show_lines(summary_lines(summary))
        if code >= STOPPED:
            break
        if summary.run_id is not None:  # calls of unknown cost count as 0, as in the run
            with store.reading() as connection:
                cost_micro += (
                    run_counts(connection, [summary.run_id])[summary.run_id].cost_micro or 0
                )
    members = [fingerprint(judge.version) for judge in judges]
    with store.reading() as connection:
        fingerprints = {version.fingerprint for version in list_versions(connection)}
    if code < STOPPED and fingerprints.issuperset(
        members
    ):  # a judge without answers has no stored version
        readable = options.seen(store)
        report = judge_by_jury(
            store,
            members,
            name=judging.named,
            where=judging.where,
            actor=options.actor(),
            seen=readable,
        )
        options.show_lines(jury_lines(report))
    options.show({"members": summaries, "jury": report} | judging.warnings, ())
    return code


def jury_lines(report: "JuryReport") -> Iterator[str]:
    """Yield the report on a jury in lines for a terminal."""
    from judgeboard.formats.output import text_lines

    members = ", ".join(member.judge_version for member in report.members)
    yield f"{report.jury.judge_version} of {members}: {report.headline().text}"
    yield from ("", *text_lines(report.judges_table()), "", *text_lines(report.figures_table()), "")
    yield from report.without_interval
    yield from (each.text for each in report.notes)
