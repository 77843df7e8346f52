"""The commands `flag` and `checks`: apply the flag rules, and define deterministic checks of logged answers."""

import sys
from pathlib import Path

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput
from judgeboard.text import counted


@options.command("judgeboard flag", json=False)
@click.option("--yes", is_flag=True, help="Skip the confirmation before open flags are superseded.")
def flag_command(*, yes: bool) -> None:
    """Apply the flag rules to all answers again.

    Run it after a threshold or the primary judge has changed. Running it twice adds nothing. People's decisions on
    flags are kept. An open flag is superseded if its reason no longer holds; the command asks first. If you change the
    threshold back and run it again, these flags are raised again.
    """
    from judgeboard.people.roster import flags_to_supersede, raise_flags

    store = options.open_store()
    if not yes and (superseded := flags_to_supersede(store)):
        question = f"{counted(superseded, 'open flag')} would be superseded: the reason no longer holds."
        if not sys.stdin.isatty():
            raise BadInput(f"{question} Nothing was changed. To apply the rules: `{options.same_command('--yes')}`")
        click.confirm(f"{question} Apply the rules?", abort=True, err=True)
    with options.progress("flags") as update:
        summary = raise_flags(
            store,
            actor=options.actor(),
            progress=lambda done, total: update(completed=done, total=total),
        )
    others = summary.responses - summary.logged
    more = f" and {others:,} of pairs, suites, control answers or attempts" if others else ""
    click.echo(
        f"{counted(summary.logged, 'answer')} of the log{more}: "
        f"{counted(summary.raised, 'flag')} raised, {summary.superseded:,} superseded"
    )
    queue = ("queue", "create", "flagged", "--where", "state=open")
    options.suggest(*(queue if summary.responses else options.FIRST_STEP))


@options.group("judgeboard checks set examples/checks.yaml", "judgeboard flag", "judgeboard checks list")
def checks_command() -> None:
    """Define deterministic checks of logged answers: patterns, length, JSON schema, refusal, language, citations.

    An answer that fails a check gets a flag of the rule failed_check. Suites have the same checks in their cases.
    """


@options.command("judgeboard checks set examples/checks.yaml", group=checks_command)
@click.argument("file", type=options.FILE)
def set_(file: Path) -> None:
    """Replace the checks by those of FILE, a YAML file. A file without a check removes all of them.

    New answers are checked when they are stored. `judgeboard flag` checks the stored answers. examples/checks.yaml has
    a check of each kind.
    """
    from judgeboard.flags.checks import named_checks
    from judgeboard.people.roster import change_settings
    from judgeboard.store.settings import LONGEST_CHECKS
    from judgeboard.text import file_text

    text = file_text(file, most=LONGEST_CHECKS)
    change_settings(options.open_store(), {"checks": text}, options.actor())
    names = [each.name for each in named_checks(text)]
    options.show({"checks": names}, [f"{counted(len(names), 'check')} in force. Next: `judgeboard flag`"])


@options.command("judgeboard checks list --json", group=checks_command)
def list_() -> None:
    """List the checks in force, each with the number of answers that fail it."""
    from judgeboard.flags.checks import named_checks
    from judgeboard.store.flags import failing_answers
    from judgeboard.store.settings import thresholds

    with options.seen(options.open_store()).reading() as connection:
        checks, failing = named_checks(thresholds(connection).checks), failing_answers(connection)
    rows = [
        {
            "name": each.name,
            "kind": each.check.kind,
            "wanted": each.check.wanted,
            "query_types": each.query_types,
            "failing": failing.get(each.check.fingerprint, 0),
        }
        for each in checks
    ]
    lines = [f"{row['name']} ({row['kind']}): {counted(int(str(row['failing'])), 'answer')} failing" for row in rows]
    options.show({"checks": rows}, lines or ["There are no checks yet. To define some: `judgeboard checks set FILE`"])
