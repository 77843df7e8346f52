"""The group `flags`: apply the flag rules, list the flagged answers, and define checks of logged answers."""

import shutil
import sys
from pathlib import Path

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput
from judgeboard.formats.output import to_plain
from judgeboard.reports.terminal import progress
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted, file_text, shortened


@options.group(
    "judgeboard flags apply", "judgeboard flags list --where rule=low_groundedness --limit 20"
)
def flags_command() -> None:
    """Apply flag rules, list flagged answers, set checks.

    A flag is a reason to look at an answer. It is raised by a rule, or by a deterministic check of
    your own. People confirm or dismiss flags on the page Review.
    """


@options.command("judgeboard flags apply", "judgeboard flags apply --yes", group=flags_command)
@click.option("--yes", is_flag=True, help="Skip the confirmation before open flags are superseded.")
def apply(*, yes: bool) -> None:
    """Apply the flag rules to all answers again.

    Run it after a threshold or the primary judge has changed. Running it twice adds nothing.
    People's decisions on flags are kept. An open flag is superseded if its reason no longer holds;
    the command asks first. If you change the threshold back and run the command again, the
    superseded flags are raised again.
    """
    from judgeboard.people.roster import flags_to_supersede, raise_flags
    from judgeboard.store.overview import count_open_flags

    store = options.open_store()
    if not yes and (superseded := flags_to_supersede(store)):
        question = (
            f"{counted(superseded, 'open flag')} would be superseded: the reason no longer holds."
        )
        if not sys.stdin.isatty():
            raise BadInput(
                f"{question} Nothing was changed. To apply the rules: `{options.same_command('--yes')}`"
            )
        click.confirm(f"{question} Apply the rules?", abort=True, err=True)
    with progress("flags") as update:
        summary = raise_flags(
            store,
            actor=options.actor(),
            progress=lambda done, total: update(completed=done, total=total),
        )
    others = summary.responses - summary.logged
    more = f" and {others:,} of pairs, suites, control answers or attempts" if others else ""
    with options.seen(store).reading() as connection:
        is_open = count_open_flags(connection)
    line = (
        f"{counted(summary.logged, 'answer')} of the log{more}: {counted(summary.raised, 'new flag')}, "
        f"{summary.superseded:,} superseded, {is_open:,} open"
    )
    options.show(
        summary,
        [line, *(["To list the flagged answers: `judgeboard flags list`"] if is_open else [])],
    )
    queue = ("queue", "create", "flagged", "--where", "state=open")
    options.suggest(*(queue if summary.responses else options.FIRST_STEP))


@options.command(
    "judgeboard flags list --where rule=low_groundedness --limit 20",
    "judgeboard flags list --json",
    group=flags_command,
    rows="flags",
)
@options.where
@options.with_default(
    "--limit", type=click.IntRange(1, 10_000), default=50, help="Maximum number of answers."
)
def list_(where: RowFilter, limit: int) -> None:
    """List the answers with open flags, the most doubtful first.

    `judgeboard export flags --where state=confirmed` writes flags in another state.

    If JUDGEBOARD_URL is set to the address of the server, each answer has a link to its page.
    """
    from judgeboard.reviews.queues import check_open_flags
    from judgeboard.settings.model import load_settings
    from judgeboard.store.open_flags import queue_page

    with options.reading() as connection:
        check_open_flags(connection, where, of="this list")
        page = queue_page(connection, where, limit=limit)
    address = (load_settings().url or "").rstrip("/")
    pages = {
        line.flag_id: f"{address}/item?flag={line.flag_id}" if address else None
        for line in page.lines
    }
    width = shutil.get_terminal_size().columns
    lines = []
    for line in page.lines:
        scores = {"groundedness": line.groundedness, "quality": line.quality}
        words = (
            ", ".join(f"{name} {value:.3g}" for name, value in scores.items() if value is not None)
            or "no score"
        )
        question = " ".join((line.question or "").split())
        lines.append(shortened(f"{line.external_id}  {words}  {question}", width))
        lines.append(f"    {'; '.join(why.rstrip('.') for why in line.why)}")
        if address:
            lines.append(f"    {pages[line.flag_id]}")
    if not lines:
        matching = "" if where == RowFilter() else " that matches"
        lines = [f"No answer{matching} has an open flag."]
    flags = [to_plain(line) | {"address": pages[line.flag_id]} for line in page.lines]
    options.show({"flags": flags, "total": page.total}, lines, verbatim=True)
    if page.total > len(page.lines) and not options.as_json():
        click.echo(f"{page.total - len(page.lines):,} more: add --limit {page.total}", err=True)


@options.command(
    "judgeboard flags checks examples/checks.yaml",
    "judgeboard flags apply",
    "judgeboard flags checks --json",
    group=flags_command,
    rows="checks",
)
@click.argument("file", type=options.FILE, required=False)
def checks(file: Path | None) -> None:
    """List or replace the deterministic checks of answers. FILE is a YAML file with the new checks.

    A check is of one of these kinds: text, pattern, length, JSON schema, refusal or citations.
    The list shows how many answers fail each check. An answer that fails a check gets a flag of the
    rule failed_check. New answers are checked when they are stored; `judgeboard flags apply` checks
    the stored answers. A file without a check removes all checks. examples/checks.yaml has a check
    of each kind. Cases of suites can have the same checks.
    """
    from judgeboard.flags.checks import named_checks
    from judgeboard.people.roster import change_settings
    from judgeboard.settings.model import LONGEST_CHECKS
    from judgeboard.store.flags import failing_answers
    from judgeboard.store.settings import thresholds

    if file is not None:
        text = file_text(file, most=LONGEST_CHECKS)
        change_settings(options.open_store(), {"checks": text}, options.actor())
        names = [each.name for each in named_checks(text)]
        options.show(
            {"checks": names},
            [f"{counted(len(names), 'check')} in force. Next: `judgeboard flags apply`"],
        )
        return
    with options.reading() as connection:
        checks = named_checks(thresholds(connection).checks, stored=True)
        failing = failing_answers(connection)
    rows = []
    lines = []
    for each in checks:
        n = failing.get(each.check.fingerprint, 0)
        rows.append(
            {
                "name": each.name,
                "kind": each.check.kind,
                "wanted": each.check.wanted,
                "query_types": each.query_types,
                "failing": n,
            }
        )
        lines.append(f"{each.name} ({each.check.kind}): {counted(n, 'answer')} failing")
    options.show(
        {"checks": rows},
        lines or ["There are no checks yet. To define some: `judgeboard flags checks FILE`"],
    )
