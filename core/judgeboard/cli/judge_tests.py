"""The group `test`, and the command `health`: is this judge good?"""

from pathlib import Path

import click

from judgeboard.cli import options


@options.group(
    "judgeboard test health rag",
    "judgeboard test controls make",
    "judgeboard test audit rag --model gpt-4o --sample 0.1",
)
def test_command() -> None:
    """Test a judge for faults and drift.

    `test health` shows which of these tests a judge still needs.
    """


@options.command(
    "judgeboard test health rag",
    "judgeboard test health 'rag v3' --json",
    group=test_command,
    rows="checks",
)
@click.argument("judge_version", metavar="[JUDGE]", required=False)
@click.option(
    "--families",
    type=options.FILE,
    help="TOML file with the families of your models. It also has the sizes of the models, or their order by size "
    "(default: JUDGEBOARD_FAMILIES).",
)
@click.option("--gate", is_flag=True, help="Exit with code 1 if any check warns.")
def health(judge_version: str | None, families: Path | None, gate: bool) -> int:
    """Check a judge for typical faults. This reads stored judgments only.

    JUDGE is a judge version: a name (its newest version), a title ('rag v3') or a fingerprint
    (default: the primary judge). A check without data shows the command that measures it. Makes no
    model calls. Exit code 0; with `--gate`, 1 if any check warns.
    """
    from judgeboard.health.record import State
    from judgeboard.health.report import (
        check_words,
        figure_words,
        health_notes,
        judges_in_use,
        measure_health,
    )
    from judgeboard.measure.notes import paragraph

    store = options.open_store()
    report = measure_health(options.seen(store), judge_version, families=families)
    lines = [paragraph(health_notes(report))]
    order = (State.WARNING, State.NOT_CONCLUSIVE, State.OK, State.NOT_MEASURED)
    for check in sorted(
        report.checks, key=lambda check: (not check.applies, order.index(check.state))
    ):
        name = ", ".join(filter(None, (check_words(check), figure_words(check))))
        state = check.state.value.replace("_", " ") if check.applies else "does not apply"
        lines.append(f"{state}  {name}: {check.sentence}")
        if check.applies and check.state is not State.OK and check.command:
            purpose = "to measure it" if check.state is State.NOT_MEASURED else "for more data"
            lines.append(f"    {purpose}: {options.completed(check.command)}")
    options.show(report, lines)
    if judge_version is None:
        with store.reading() as connection:
            others = [
                each.title for each in judges_in_use(connection) if each.title != report.judge
            ]
        if others:
            options.suggest("test", "health", others[0])
    return int(gate and report.warnings > 0)
