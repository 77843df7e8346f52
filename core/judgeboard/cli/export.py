"""The command `export`: tables, and datasets of other tools."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput, MissingOption
from judgeboard.formats.files import FORMATS, format_by_ending
from judgeboard.registry.methods import Dataset, with_methods
from judgeboard.reports.terminal import progress
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.store.engine import Store
    from judgeboard.store.export import ExportTable

WITHOUT_SUBJECT = ("failure_modes", "issues", "label_schemas")
"""The tables whose rows are not about an answer or a pair."""
_OTHER = ("ratings", "all")
_OURS = (
    *("responses", "judgments", "flags", "reviews"),
    *("comments", "pairs", "comparisons", "preferences", "audits", *WITHOUT_SUBJECT),
)
TABLES = tuple(
    with_methods("table", dict.fromkeys(_OURS, ""), lambda each: each.exports, reserved=_OTHER)
)
_SHAPES = ("ragas", "deepeval", "phoenix", "label-studio", "openai-evals", "dpo")
_DATASETS = with_methods(
    "dataset", dict[str, Dataset](), lambda each: each.datasets, reserved=_SHAPES
)
SHAPES = (*_SHAPES, *_DATASETS)


@options.command(
    "judgeboard export responses -o answers.jsonl",
    "judgeboard export comparisons -o - | judgeboard import - --kind comparisons --db other.db",
    "judgeboard export ratings --judge-version 'rag v2' --since 2026-04-01 --until 2026-06-30 -o ratings.csv",
    "judgeboard export reviews --where source=shop --text question --text answer -o reviews.csv",
    "judgeboard export all --format parquet -o export/",
    "judgeboard export --as ragas --where source=shop -o reviewed.jsonl",
    json=False,
)
@click.argument("table", type=click.Choice([*TABLES, *_OTHER]), required=False)
@click.option(
    "--as",
    "shape",
    type=click.Choice(SHAPES),
    help="Write the reviewed answers as a dataset for another tool, instead of a table. Labels are gold labels: the "
    "label of the adjudication if there is one, otherwise the label on which the reviewers agree. "
    f"{''.join(f'{name}: {each.rows}. ' for name, each in _DATASETS.items())}dpo: corrected answers beside the "
    "logged answers, in the preference format of TRL.",
)
@options.where
@options.judge_version(
    help="Judge version of the table ratings: name (newest version), 'name v3' or fingerprint (default: the primary "
    "judge)."
)
@click.option(
    "--text",
    "texts",
    type=click.Choice(["question", "answer", "context"]),
    multiple=True,
    help="Add this text of the answer to each row of a table. In a table of pairs, `answer` adds both answers. "
    "Repeat it to add more texts.",
)
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
    table: str | None,
    shape: str | None,
    where: RowFilter,
    judge_version: str | None,
    texts: tuple[str, ...],
    format_: str | None,
    output: str | None,
) -> None:
    """Export one table, or all of them. Each row names its response or pair by source and id.

    The table `ratings` is for analysis: one row per answer and person, with the verdict of one
    judge version beside the grades. An answer that nobody reviewed has one row, with the verdict
    alone.

    A file is complete or not written at all. These tables can be imported into another database, in
    this order: responses, pairs, samples, judgments, comparisons, audits, reviews and preferences.
    For `import`, each name is the --kind, except judgments (--kind verdicts), and reviews and
    preferences (--kind grades). --where selects the answers or pairs whose rows are exported.
    With --as, the answers that people reviewed are exported as a dataset.
    """
    from judgeboard.store.export import export_tables

    output = _output_of(table, shape, output)
    if output == "-" and sys.stdout is None:
        raise BadInput("standard output is closed: use -o FILE")
    if shape is not None:
        if format_ is not None or texts:
            needless = "--text" if format_ is None else "--format"
            command = options.same_command(without=[needless])
            raise BadInput(
                f"{needless} is for tables, and every dataset has its own form: `{command}`"
            )
        _export_dataset(shape, where, output)
        return
    row_filter = None if where == RowFilter() else where
    if (row_filter or texts) and table in WITHOUT_SUBJECT:
        option = "--where" if row_filter else "--text"
        command = options.same_command(without=[option])
        raise BadInput(
            f"{option} is for tables about answers or pairs; export {table} whole: `{command}`"
        )
    store = options.open_store()
    tables = _known_tables(store, table, judge_version)
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
        targets = {name: folder / f"{name}.{format_}" for name in TABLES if name in tables}
    else:
        targets = {str(table): sys.stdout.buffer if output == "-" else Path(output)}
    viewer = options.seen(store).viewer
    with progress("exporting") as update:
        counts = export_tables(
            store,
            targets,
            format=format_,
            viewer=viewer,
            where=row_filter,
            texts=texts,
            on_rows=lambda rows: update(completed=rows),
            known=tables,
        )
    if (
        row_filter is not None
        and (row_filter.day_from is not None or row_filter.day_to is not None)
        and table != "responses"
    ):
        click.echo(
            "--since and --until select by the day of the answers. A row may be of another day.",
            err=True,
        )
    for name, count in counts.items():
        click.echo(
            f"{count:,} {name} written to {output if output == '-' else targets[name]}",
            err=output == "-",
        )


def _known_tables(
    store: "Store", table: str | None, judge_version: str | None
) -> "Mapping[str, ExportTable]":
    """Return the tables that can be exported; the table of ratings is about one judge version."""
    from judgeboard.measure.samples import scored_version
    from judgeboard.store.export import RATINGS, exports, ratings_table

    if table == RATINGS:
        with store.reading() as connection:
            return {**exports(), RATINGS: ratings_table(scored_version(connection, judge_version))}
    if judge_version is not None:
        command = options.same_command(without=["--judge-version"])
        raise BadInput(f"--judge-version is for the table {RATINGS}: `{command}`")
    return exports()


def _output_of(table: str | None, shape: str | None, output: str | None) -> str:
    """Return the output; raise BadInput, with the command that works, without an output or one thing to export."""
    if (table is None) == (shape is None):
        why = "give either a table to export, or --as with the shape of a dataset"
        if table is not None:
            raise BadInput(f"{why}, for example: `{options.same_command(without=['--as'])}`")
        more = ["responses"] if output else ["responses", "-o", "responses.jsonl"]
        raise MissingOption(why, *more)
    if output is not None:
        return output
    suggested = table if table == "all" else f"{table or shape}.jsonl"
    raise MissingOption(
        "name the output file with -o, or write to standard output with -o -", "-o", str(suggested)
    )


def _export_dataset(shape: str, where: RowFilter, output: str) -> None:
    from judgeboard.reports.datasets import shapes, write_dataset

    target = sys.stdout.buffer if output == "-" else Path(output)
    dataset = write_dataset(options.seen(options.open_store()), shape, target, where)
    empty = shapes()[shape].empty
    if empty is not None and not dataset.rows:
        raise BadInput(empty)
    reasons = f". Left out: {dataset.words}" if dataset.words else ""
    click.echo(f"{counted(dataset.rows, 'row')} written to {output}{reasons}", err=output == "-")
