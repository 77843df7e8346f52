"""The commands that work on the whole database: migrate, index, flag, stats, export, forget, config, doctor."""

import sys
from pathlib import Path
from typing import BinaryIO

import click

from judgeboard.cli import options
from judgeboard.cli.asking import address_options
from judgeboard.errors import BadInput
from judgeboard.formats.files import FORMATS

TABLES = (
    *("responses", "judgments", "flags", "reviews"),
    *("comments", "pairs", "comparisons", "preferences", "samples", "refinements", "audits"),
    *("failure_modes", "issues", "label_schemas"),
)


@options.command(
    "judgeboard export responses -o answers.jsonl",
    "judgeboard export comparisons -o - | judgeboard import - --kind comparisons --db other.db",
    "judgeboard export all --format parquet -o export/",
    json=False,
)
@click.argument("table", type=click.Choice([*TABLES, "all"]))
@click.option(
    "--format",
    "format_",
    type=click.Choice([*FORMATS]),
    help="File format (default: from the ending of the output file, else jsonl). CSV escapes cells that a spreadsheet "
    "would run as formulas; the other formats are exact.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Output file; - for standard output. For `export all`: a folder.",
)
def export_command(table: str, format_: str | None, output: str) -> None:
    """Export one table, or all of them. Each row names its response or pair by source and id.

    A file is complete or not written at all. Exported responses, pairs, comparisons and samples can be imported again.
    """
    from judgeboard.formats.files import format_by_ending
    from judgeboard.store.export import export_tables

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
        if output == "-" and sys.stdout is None:
            raise BadInput("standard output is closed: use -o FILE")
        targets = {table: sys.stdout.buffer if output == "-" else Path(output)}
    for name, count in export_tables(store, targets, format=format_, viewer=options.seen(store).viewer).items():
        click.echo(f"{count:,} {name} written to {output if output == '-' else targets[name]}", err=output == "-")


@options.command("judgeboard migrate --db data/judgeboard.db", json=False)
def migrate_command() -> None:
    """Migrate the database to the schema of this version. Creates the database if it is missing."""
    from judgeboard.store.engine import Store, connect, database_url, upgrade
    from judgeboard.store.migrations import HEAD

    store = Store(connect(database_url(options.chosen_database()), create=True))
    before = upgrade(store)
    click.echo(f"{store.shown_url}: {'created' if before is None else f'was at {before}'}, now at {HEAD}")
    store.close()


@options.command("judgeboard config", "JUDGEBOARD_LOW_GROUNDEDNESS=0.6 judgeboard config", json=False)
def config_command() -> int:
    """Show every setting with its origin, and the database in use. Secrets are masked.

    Exit code 2: the database exists but cannot be opened.
    """
    from judgeboard.errors import JudgeboardError, MissingDatabase
    from judgeboard.llm.endpoint import PROVIDERS
    from judgeboard.settings import config_lines, load_settings
    from judgeboard.store.settings import setting_origins

    for line in config_lines(load_settings(), PROVIDERS):
        click.echo(f"{line.variable} = {line.value}" if line.is_set else f"{line.variable} is not set")
    try:
        store = options.open_store()
    except JudgeboardError as error:
        click.echo(f"database: {error}")
        return 0 if isinstance(error, MissingDatabase) else error.exit_code  # before the first import, there is none
    click.echo(f"database: {store.shown_url}")
    with store.reading() as connection:
        for setting in setting_origins(connection):
            click.echo(f"  {setting.key} = {setting.value} ({setting.origin})")
    return 0


@options.command(
    "judgeboard doctor", "judgeboard doctor --model gpt-4o-mini --base-url http://localhost:8000/v1", json=False
)
@click.option("--model", help="Name of the judge's chat model (default: JUDGEBOARD_MODEL).")
@address_options
def doctor_command(model: str | None, provider: str | None, base_url: str | None) -> int:
    """Check the database and the endpoint. Exit code 0: no problem was found; 1: something must be fixed."""
    from judgeboard.health.checkup import check_database, check_endpoint

    findings = [*check_database(options.chosen_database(), options.seen), check_endpoint(model, provider, base_url)]
    for finding in findings:
        click.echo(
            f"{'ok ' if finding.ok else 'fix'}  {finding.what}" + (f"\n     {finding.fix}" if finding.fix else "")
        )
    return 0 if all(finding.ok for finding in findings) else 1


@options.command("judgeboard forget chat-4711 --source shop", json=False)
@click.argument("response")
@click.option("--source", help="Source of the answer, if several sources use this id.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def forget_command(response: str, source: str | None, yes: bool) -> None:
    """Delete all texts of an answer. Scores and decisions are kept.

    RESPONSE is the external id of the answer. Deletes its texts, all texts about it (reasons, notes, comments), and
    the texts derived from it: control answers, regenerated answers, attempts, and pairs that contain it.
    This cannot be undone. An event records who did it and when.
    """
    from judgeboard.store.forgetting import forget_response, truncate_write_ahead_log

    store = options.open_store()
    if not yes:
        click.confirm(f"Delete every text of {response} in {store.shown_url}? This cannot be undone", abort=True)
    with store.writing() as connection:
        ids = forget_response(connection, response, source=source, actor=options.actor())
    emptied = truncate_write_ahead_log(store)
    more = f" and {len(ids) - 1:,} derived from it" if len(ids) > 1 else ""
    click.echo(f"forgotten: {response}{more}")
    if not emptied:
        click.echo(
            "another program is reading the database: the file keeps the old texts until it has finished", err=True
        )


@options.command("judgeboard index", "judgeboard index metadata.tenant metadata.user.plan")
@click.argument("fields", nargs=-1, metavar="[metadata.KEY]...")
@click.option("--drop", is_flag=True, help="Drop the indexes of these fields instead.")
def index_command(fields: tuple[str, ...], drop: bool) -> None:
    """Index metadata fields, so that filters and orders by them stay fast in a large log.

    Without a field: list the fields that occur in the newest and oldest answers, with frequent values.
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


@options.command("judgeboard flag", json=False)
def flag_command() -> None:
    """Apply the flag rules to all answers again.

    Run it after a threshold or the primary judge has changed. Running it twice adds nothing. Flags that people have
    decided stay decided.
    """
    from judgeboard.people.roster import raise_flags

    with options.progress("flags") as update:
        summary = raise_flags(
            options.open_store(),
            actor=options.actor(),
            progress=lambda done, total: update(completed=done, total=total),
        )
    others = summary.responses - summary.logged
    more = f" and {others:,} of pairs, suites, control answers or attempts" if others else ""
    click.echo(
        f"{summary.logged:,} answers of the log{more}: "
        f"{summary.raised:,} flags raised, {summary.superseded:,} superseded"
    )
    options.suggest("queue", "create", "flagged", "--where", "state=open")


@options.command("judgeboard stats", "judgeboard stats --json | jq .agreement")
def stats_command() -> None:
    """Show counts, and how far each judge agrees with people.

    Counts responses, reviews, judgments and flags. The same data gives the same JSON, byte for byte.
    """
    from judgeboard.reports.output import text_lines
    from judgeboard.reports.stats import agreement_table, flags_table, judgments_table, measure

    stats = measure(options.seen(options.open_store()))
    tables = (judgments_table(stats), flags_table(stats), agreement_table(stats))
    lines = [f"{stats.responses:,} responses, {stats.reviews:,} reviews"]
    options.show(stats, [*lines, *(line for table in tables if table.rows for line in ("", *text_lines(table)))])
