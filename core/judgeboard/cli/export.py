"""The command `export`: tables, and datasets of other tools."""

import sys
from pathlib import Path
from typing import BinaryIO

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput, MissingOption
from judgeboard.formats.files import FORMATS
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted

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

    A file is complete or not written at all. These tables can be imported again, in this order: responses, pairs,
    samples, judgments (--kind verdicts), comparisons, reviews and preferences (--kind grades). With --as, export the
    reviewed answers that --where selects as a dataset.
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
