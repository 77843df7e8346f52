"""The commands for administrators: people, events, the whole database."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from judgeboard.cli import options
from judgeboard.cli.asking import address_options
from judgeboard.domain import ROLES, Role
from judgeboard.errors import BadInput, MissingOption, NotFound
from judgeboard.formats.files import FORMATS
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.store.events import StoredEvent


_ROLE = click.Choice([role.value for role in ROLES])
_ROLE_HELP = "Role of the person. Each role has all permissions of the roles before it."


@options.group(
    "judgeboard people add ann@example.org --role lead",
    "judgeboard people add Mara",
    "judgeboard people role ann@example.org admin",
    "judgeboard people list",
)
def people_command() -> None:
    """Manage the people who review, and those who may sign in. JUDGEBOARD_ADMIN names the first admin."""


@options.command(
    "judgeboard people add ann@example.org --role lead", "judgeboard people add Mara", group=people_command, json=False
)
@click.argument("address", metavar="E-MAIL|NAME")
@options.with_default("--role", type=_ROLE, default="reviewer", help=f"{_ROLE_HELP} A NAME has all permissions.")
def people_add(address: str, role: str) -> None:
    """Allow the person with this e-mail address to sign in, or add a NAME where nobody signs in.

    A person without an address enters the NAME on the pages. Removed people can be added again.
    """
    from judgeboard.people.permissions import ENTERED, SIGNED_IN
    from judgeboard.people.roster import add_person

    origin = SIGNED_IN if "@" in address else ENTERED
    try:
        person = add_person(options.open_store(), address, Role(role), options.actor(), origin=origin)
    except NotFound as error:  # people sign in
        command = options.same_command(instead={address: f"{address.casefold()}@example.org"})
        raise NotFound(f"{error}, for example: `{command}`") from None
    signs_in = f"{person.name} may sign in, as {person.role}"
    options.echo(signs_in if origin == SIGNED_IN else f"{person.name} was added. {comes_words([person.name])}")


def comes_words(names: Sequence[str]) -> str:
    """Return how people without an address open the pages."""
    return f"To review, {' and '.join(names)} {'opens' if len(names) == 1 else 'open'} the pages and " + (
        "enters this name." if len(names) == 1 else "enter their names."
    )


@options.command("judgeboard people role ann@example.org admin", group=people_command, json=False)
@click.argument("address", metavar="E-MAIL")
@click.argument("role", type=_ROLE)
def people_role(address: str, role: str) -> None:
    """Change the role of a person. The new role applies from the person's next action."""
    from judgeboard.people.roster import change_role

    person = change_role(options.open_store(), address, Role(role), options.actor())
    click.echo(f"{person.name} is now {person.role}")


@options.command(
    "judgeboard people remove ann@example.org", "judgeboard people remove Mara", group=people_command, json=False
)
@click.argument("name", metavar="E-MAIL|NAME")
def people_remove(name: str) -> None:
    """Remove a person: they may no longer sign in. Their reviews are kept, under their name.

    A NAME is one that a person entered on a page before people signed in.
    """
    from judgeboard.people.roster import remove_person

    person = remove_person(options.open_store(), name, options.actor())
    click.echo(f"{person.name} was removed; their reviews are kept")


@options.command(
    "judgeboard people link ann@example.org",
    "judgeboard people link ann@example.org --annotator ann",
    "judgeboard people link --remove",
    group=people_command,
    json=False,
)
@click.argument("person", required=False)
@click.option("--annotator", metavar="NAME", help="Annotator of imported files to link (default: the terminal's user).")
@click.option("--remove", is_flag=True, help="Remove the link. Later reviews are stored under the user's own name.")
def people_link(person: str | None, annotator: str | None, remove: bool) -> None:
    """Link a user of the terminal to PERSON: a name or an e-mail address that is used on the pages.

    By default, the command links later reviews in this terminal. With --annotator NAME, it links grades by NAME in
    files that you import later. Earlier reviews keep their name.
    """
    from judgeboard.people.roster import link_person

    if (person is None) != remove:
        raise click.UsageError("give either PERSON or --remove")
    user, origin = (options.actor(), "cli") if annotator is None else (annotator, "import")
    linked = link_person(options.open_store(), user, person, options.actor(), origin=origin)
    click.echo(f"{user} reviews as {linked.name}")


@options.command(
    "judgeboard people work",
    "judgeboard people work --over-time",
    "judgeboard people work --json",
    group=people_command,
)
@click.option(
    "--over-time",
    is_flag=True,
    help="Also print each person's agreement with gold labels and with themselves over time. Weeks are joined until "
    "they have 10 comparisons.",
)
def people_work(over_time: bool) -> None:
    """Show how much, how fast and how well each person reviews."""
    from judgeboard.reports.output import text_lines
    from judgeboard.reports.people import over_time_table, work_table
    from judgeboard.reviews.person_work import everybodys_work

    with options.open_store().reading() as connection:
        everybody = everybodys_work(connection)
    lines = ["no reviews in queues yet"]
    if everybody:
        lines = [*text_lines(work_table(everybody, words=True).without_empty())]
    if over_time and everybody:
        lines += text_lines(over_time_table(everybody))
    figures = (
        *("reviews", "left", "leased", "seconds", "gold", "others", "own", "tests", "training", "drift"),
        *("gold_over_time", "own_over_time"),
    )
    people = [
        {"name": work.person.name, "queues": [each.queue.name for each in work.queues]}
        | {name: getattr(work, name) for name in figures}
        for work in everybody
    ]
    options.show({"people": people}, lines)


@options.command("judgeboard people list --json", group=people_command)
def people_list() -> None:
    """List all people who have ever used this database, with role and last visit."""
    from judgeboard.people.roster import list_people

    with options.open_store().reading() as connection:
        people = list_people(connection)
    names = ("role", "first_admin", "last_seen", "last_review")
    rows = [
        {"name": line.person.name, "origin": line.person.origin} | {name: getattr(line, name) for name in names}
        for line in people
    ]
    lines = [
        f"{line.person.name}  {line.person.origin}  {line.role}  "
        + (f"last seen {line.last_seen:%Y-%m-%d %H:%M} UTC" if line.last_seen else "never seen")
        for line in people
    ]
    options.show({"people": rows}, lines or ["There are no people yet. To add one: `judgeboard people add NAME`"])


@options.command(
    "judgeboard events --actor ann@example.org --since 2026-03-01",
    "judgeboard events --kind refused --json | jq .events[].actor",
)
@click.option("--kind", help="Only events of this kind, for example decide, set_setting or refused.")
@click.option("--actor", help="Only events of this actor: a person, a terminal (cli:USER) or a worker.")
@click.option("--response", metavar="ID", help="Only events about the answer with this external id.")
@options.since("Only events from this day or time on (UTC if no time zone is given).")
@click.option(
    "--before", type=options.ROW_ID, metavar="N", help="Only events with a number below N, for the next page."
)
@options.with_default("--limit", type=click.IntRange(1, 10_000), default=50, help="Maximum number of events.")
def events_command(
    kind: str | None,
    actor: str | None,
    response: str | None,
    since: datetime | None,
    before: int | None,
    limit: int,
) -> None:
    """Show who did what, newest first. Events contain names, ids and numbers, but no texts of the log.

    Events about an answer in a blind queue are hidden from its reviewers until they have graded it.
    """
    from judgeboard.store.events import EventFilter, latest_events

    event_filter = EventFilter(kind, actor, response, since)
    with options.seen(options.open_store()).reading() as connection:
        newest = latest_events(connection, event_filter, limit=limit + 1, before_id=before)
    events, more = newest[:limit], len(newest) > limit
    names = ("id", "kind", "actor", "at", "response", "details")
    rows = [{name: getattr(event, name) for name in names} for event in events]
    options.show({"events": rows, "next": events[-1].id if more else None}, map(_event_line, events))
    if more and not options.as_json():
        click.echo(f"for older events, add --before {events[-1].id}", err=True)


def _event_line(event: "StoredEvent") -> str:
    about = f"  {event.response}" if event.response is not None else ""
    details = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in event.details.items())
    return f"{event.id}  {event.at:%Y-%m-%d %H:%M:%S}  {event.actor}  {event.kind}{about}  {details}".rstrip()


TABLES = (
    *("responses", "judgments", "flags", "reviews"),
    *("comments", "pairs", "comparisons", "preferences", "samples", "refinements", "audits"),
    *("failure_modes", "issues", "label_schemas"),
)
SHAPES = ("ragas", "deepeval", "phoenix", "label-studio", "openai-evals", "dpo", "suite")


@options.command(
    "judgeboard export responses -o answers.jsonl",
    "judgeboard export comparisons -o - | judgeboard import - --kind comparisons --db other.db",
    "judgeboard export all --format parquet -o export/",
    "judgeboard export --as ragas --where source=shop -o reviewed.jsonl",
    json=False,
)
@click.argument("table", type=click.Choice([*TABLES, "all"]), required=False)
@click.option(
    "--as",
    "shape",
    type=click.Choice(SHAPES),
    help="Write the reviewed answers as a dataset of this tool instead of a table. Labels are people's gold labels: "
    "adjudicated, otherwise agreed. suite: corrected answers as test cases. dpo: corrected answers beside the logged "
    "ones, as TRL reads preferences.",
)
@options.where
@click.option(
    "--format",
    "format_",
    type=click.Choice([*FORMATS]),
    help="File format of a table (default: by the ending of the output file; jsonl if the ending is unknown). CSV "
    "escapes cells that a spreadsheet would run as formulas. The other formats are exact.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Output file; - for standard output. For `export all`: a folder.",
)
def export_command(
    table: str | None, shape: str | None, where: RowFilter, format_: str | None, output: str | None
) -> None:
    """Export one table, or all of them. Each row names its response or pair by source and id.

    A file is complete or not written at all. Exported responses, pairs, comparisons and samples can be imported again.
    With --as, export the reviewed answers that --where selects as a dataset.
    """
    from judgeboard.formats.files import format_by_ending
    from judgeboard.store.export import export_tables

    output = _output_of(table, shape, output)
    if output == "-" and sys.stdout is None:
        raise BadInput("standard output is closed: use -o FILE")
    if shape is not None:
        if format_ is not None:
            command = options.same_command(without=["--format"])
            raise BadInput(f"--format is for tables, and every dataset has its own format: `{command}`")
        _export_dataset(shape, where, output)
        return
    if where != RowFilter():
        command = options.same_command("--as", "ragas", instead={str(table): ""})
        raise BadInput(f"--where selects the answers of a dataset, which needs --as: `{command}`")
    store = options.open_store()
    format_ = format_ or format_by_ending(output) or "jsonl"
    targets: dict[str, Path | BinaryIO]
    if table == "all":
        if output == "-":
            raise BadInput("export all writes a folder: use -o FOLDER")
        folder = Path(output)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"cannot create the folder {folder}: {error.strerror}") from error
        targets = {name: folder / f"{name}.{format_}" for name in TABLES}
    else:
        targets = {str(table): sys.stdout.buffer if output == "-" else Path(output)}
    for name, count in export_tables(store, targets, format=format_, viewer=options.seen(store).viewer).items():
        click.echo(f"{count:,} {name} written to {output if output == '-' else targets[name]}", err=output == "-")


def _output_of(table: str | None, shape: str | None, output: str | None) -> str:
    """Return the output; raise BadInput, with the command that works, without it or without one thing to export."""
    if (table is None) == (shape is None):
        why = "give either a table to export, or --as with the shape of a dataset"
        if table is not None:
            raise BadInput(f"{why}, for example: `{options.same_command(without=['--as'])}`")
        more = ["responses"] if output else ["responses", "-o", "responses.jsonl"]
        raise MissingOption(why, *more)
    if output is not None:
        return output
    suggested = table if table == "all" else f"{table or shape}.jsonl"
    raise MissingOption("name the output file with -o, or write to standard output with -o -", "-o", str(suggested))


def _export_dataset(shape: str, where: RowFilter, output: str) -> None:
    from judgeboard.reports.datasets import NO_CASE, write_dataset

    target = sys.stdout.buffer if output == "-" else Path(output)
    written = write_dataset(options.seen(options.open_store()), shape, target, where)
    if shape == "suite" and not written.rows:
        raise BadInput(NO_CASE)
    reasons = f". Left out: {written.words}" if written.words else ""
    click.echo(f"{counted(written.rows, 'row')} written to {output}{reasons}", err=output == "-")


@options.command("judgeboard migrate --db data/judgeboard.db", json=False)
def migrate_command() -> None:
    """Migrate the database to the schema of this version. Creates the database if it is missing."""
    from judgeboard.store.engine import Store, connect, database_url, upgrade
    from judgeboard.store.migrations import HEAD

    store = Store(connect(database_url(options.chosen_database()), create=True))
    before = upgrade(store)
    click.echo(f"{store.shown_url}: {'created' if before is None else f'was at {before}'}, now at {HEAD}")
    store.close()


@options.command(
    "judgeboard doctor", "judgeboard doctor --model gpt-4o-mini --base-url http://localhost:8000/v1", json=False
)
@click.option("--model", help="Name of the judge's chat model (default: JUDGEBOARD_MODEL).")
@address_options
def doctor_command(model: str | None, provider: str | None, base_url: str | None) -> int:
    """Check the database and the endpoint. Exit code 0: no problem was found; 1: something must be fixed.

    Looks for damage of the database: checks the file of SQLite, and compares answers with their hashes.
    """
    from judgeboard.health.checkup import check_database, check_endpoint

    findings = [*check_database(options.chosen_database(), options.seen), check_endpoint(model, provider, base_url)]
    for finding in findings:
        options.echo(f"{'ok ' if finding.ok else 'fix'}  {finding.what}")
        if finding.fix:
            options.echo(f"     {finding.fix}")
    return 0 if all(finding.ok for finding in findings) else 1


@options.command(
    "judgeboard forget chat-4711 --source shop", "judgeboard forget --unused --source shop --older-than 30", json=False
)
@click.argument("response", required=False)
@click.option("--source", help="Source of the answer, if several sources use this id; source of the unused traces.")
@click.option("--unused", is_flag=True, help="Delete the spans of all traces without an answer.")
@click.option(
    "--older-than",
    metavar="DAYS",
    type=options.FiniteRange(min=0, max=36_500),
    help="With --unused: only traces without a new span for this many days (default: all).",
)
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def forget_command(response: str | None, source: str | None, unused: bool, older_than: float | None, yes: bool) -> None:
    """Delete all texts of an answer or of a trace. Scores and decisions are kept.

    RESPONSE is the external id of the answer. Deletes its texts, all texts about it (reasons, notes, comments), and
    the texts derived from it: control answers, regenerated answers, attempts, and pairs that contain it. RESPONSE can
    also be the id of a trace without an answer; `judgeboard sources --unused` shows these traces.
    This cannot be undone. An event records who did it and when.
    """
    from judgeboard.store.forgetting import forget_response, forget_unused

    if response is None and not unused:
        raise click.UsageError("give the id of an answer or a trace")
    if response is not None and (unused or older_than is not None):
        raise click.UsageError(f"{response} names what is deleted: remove the other options")
    what = f"every text of {response}" if response else "the spans of traces without an answer"
    store = options.open_store()
    if not yes:
        click.confirm(f"Delete {what} in {store.shown_url}? This cannot be undone", abort=True)
    by = options.actor()
    with store.writing() as connection:
        if response is None:
            before = None if older_than is None else utc_now() - timedelta(days=older_than)
            outcome = counted(forget_unused(connection, source=source, before=before, actor=by), "trace")
        else:
            ids = forget_response(connection, response, source=source, actor=by)
            outcome = response + (f" and {len(ids) - 1:,} derived from it" if len(ids) > 1 else "")
    emptied = store.checkpoint()  # the write-ahead log still has the texts
    click.echo(f"forgotten: {outcome}")
    if not emptied:
        click.echo("another program reads the database; until it stops, the file keeps the old texts", err=True)


@options.command("judgeboard index", "judgeboard index metadata.tenant metadata.user.plan")
@click.argument("fields", nargs=-1, metavar="[metadata.KEY]...")
@click.option("--drop", is_flag=True, help="Drop the indexes of these fields instead.")
def index_command(fields: tuple[str, ...], drop: bool) -> None:
    """Index metadata fields, so that filtering and sorting by them stay fast in a large log.

    Without a field: list the fields of the newest and of the oldest answers, with frequent values.
    """
    from judgeboard.store.filters import METADATA
    from judgeboard.store.metadata import index_metadata, metadata_fields

    store = options.open_store()
    lines = []
    for field in fields:
        changed = index_metadata(store, field.removeprefix(METADATA), drop=drop)
        state = ("no longer indexed" if changed else "was not indexed") if drop else "indexed"
        lines.append(f"{field}: {state}{'' if changed or drop else ' already'}")
    with options.seen(store).reading() as connection:
        known = metadata_fields(connection)
    if not fields:
        lines = [
            f"{METADATA}{each.field}{' (indexed)' if each.indexed else ''}  {', '.join(each.values[:5])}".rstrip()
            for each in known
        ]
    options.show({"fields": known}, lines or ["the answers have no metadata"])
