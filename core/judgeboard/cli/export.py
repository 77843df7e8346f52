"""``judgeboard export``: write tables to files."""

import sys
from pathlib import Path
from typing import BinaryIO

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput
from judgeboard.formats.table import FORMATS

TABLES = (
    *("responses", "judgments", "flags", "reviews"),
    *("comments", "pairs", "comparisons", "preferences", "samples", "refinements", "audits"),
)


@click.command(
    epilog=options.example(
        "judgeboard export responses -o answers.jsonl",
        "judgeboard export comparisons -o - | judgeboard import - --kind comparisons --db other.db",
        "judgeboard export all --format parquet -o export/",
    )
)
@click.argument("table", type=click.Choice([*TABLES, "all"]))
@click.option(
    "--format",
    "format_",
    type=click.Choice([*FORMATS]),
    default="jsonl",
    show_default=True,
    help="JSON lines, JSON and Parquet are exact; CSV defuses formulas for spreadsheets.",
)
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="Where to; a folder for all, - for standard output."
)
@options.database
def command(table: str, format_: str, output: str, db: str | None) -> None:
    """Write one table or all of them; each line names its response, or its pair, by source and id.

    A file appears whole or not at all; a pipe is written as it comes. Exported responses, pairs, comparisons and
    samples can be imported again.
    """
    from judgeboard.cli.terminal import seen
    from judgeboard.exporting import export_tables
    from judgeboard.store.engine import open_store

    targets: dict[str, Path | BinaryIO]
    if table == "all":
        if output == "-":
            raise BadInput("export all writes a folder: name it with -o FOLDER")
        folder = Path(output)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{folder} cannot be a folder: {error.strerror}") from error
        targets = {name: folder / f"{name}.{format_}" for name in TABLES}
    else:
        if output == "-" and sys.stdout is None:
            raise BadInput("standard output is closed: name a file with -o")
        targets = {table: sys.stdout.buffer if output == "-" else Path(output)}
    store = open_store(db)
    for name, count in export_tables(store, targets, format=format_, viewer=seen(store).viewer).items():
        click.echo(f"{count:,} {name} written to {output if output == '-' else targets[name]}", err=output == "-")
    store.close()
