"""``judgeboard import``: bring files of answers, or of what people and judges said of them, into the database."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.importing import ImportSummary
    from judgeboard.store.engine import Store

ALL_IN, SOME_REJECTED, NOTHING_USABLE = 0, 1, 2


@click.command(
    epilog=options.example(
        "judgeboard import may-log.jsonl.gz",
        "judgeboard import log.csv --map Frage=query --map Antwort=answer --source shop",
        "judgeboard import --kind grades grades.jsonl",
        "judgeboard import --kind pairs arena.jsonl.gz",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--kind",
    type=click.Choice(["responses", "grades", "verdicts", "pairs", "comparisons", "samples", "repeats"]),
    default="responses",
    show_default=True,
    help="What is in the file; see above.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["auto", "jsonl", "json", "csv", "parquet"]),
    default="auto",
    show_default=True,
    help="How the file is written.",
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="THEIRS=ours",
    help="A column and the field it holds (of answers: query, answer, context, external_id, asked_at, ...); repeat.",
)
@click.option(
    "--source",
    help="The log's name (default: default); for grades, verdicts and comparisons, where what they name is looked for.",
)
@click.option("--dry-run", is_flag=True, help="Say what would happen; store nothing.")
@click.option(
    "--rejected",
    type=click.Path(path_type=Path),
    help="Where rejected rows go (FILE.rejected.jsonl, beside the file: name another place where its folder cannot be "
    "written).",
)
@options.database
def command(
    files: tuple[str, ...],
    kind: str,
    format_: str,
    mapping: tuple[str, ...],
    source: str | None,
    dry_run: bool,
    rejected: Path | None,
    db: str | None,
) -> int:
    """Bring files into the database; - is standard input, files may be gzipped.

    \b
    responses    logged answers: question, answer, passages, ...
    grades       people's grades, by response_id, or by pair_id with aspects and a scale
    verdicts     a judge's verdicts by response_id; with a scale of their own they are scores
    pairs        two answers to a question, with a judge's verdicts in both orders and people's preferences
    comparisons  a judge's verdicts by pair_id, one order a row
    samples      a question with a model's answers in several tries
    repeats      an answer with a judge's scores in several tries, by a rubric

    The same file again changes nothing. Exit code 0: all rows are in; 1: some were rejected; 2: nothing could be
    used, or a file could not be read to its end.
    """  # noqa: D301 - \b itself, not a backslash, tells click to leave the list as it is
    from judgeboard.cli.terminal import actor
    from judgeboard.importers import parse_mapping

    if rejected is not None and len(files) > 1:
        raise BadInput("--rejected takes one file: import the files one by one")
    choices: dict[str, Any] = {
        "kind": kind,
        "format": format_,
        "mapping": parse_mapping(mapping),
        "source": source,
        "dry_run": dry_run,
        "rejected": rejected,
        "actor": actor(),
    }
    with _store(db, dry_run=dry_run) as store:
        return max(_import_one(store, file, choices) for file in files)


def _import_one(store: "Store", file: str, choices: dict[str, Any]) -> int:
    from judgeboard.cli.import_lines import summary_lines
    from judgeboard.cli.terminal import progress_bar
    from judgeboard.importing import import_file

    try:
        with progress_bar("{task.fields[rows]:,} rows") as bar:
            task = None if bar is None else bar.add_task(Path(file).name, total=1, rows=0)

            def show(rows: int, share: float | None) -> None:
                if bar is not None and task is not None:
                    bar.update(task, completed=share or 0, rows=rows)

            summary = import_file(store, file, on_progress=show, **choices)
    except BadInput as error:  # the other files are imported all the same
        click.echo(f"judgeboard: {error}", err=True)
        return NOTHING_USABLE
    for line in summary_lines(summary):
        click.echo(line)
    return exit_code(summary)


@contextlib.contextmanager
def _store(db: str | None, *, dry_run: bool) -> Iterator["Store"]:
    """Open the database; a dry run where there is none uses one that goes with it."""
    from judgeboard.errors import MissingDatabase
    from judgeboard.store.engine import open_store

    with contextlib.ExitStack() as stack:
        try:
            store = open_store(db, create=not dry_run)
        except MissingDatabase:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            store = open_store(Path(folder) / "dry-run.db", create=True)
        stack.callback(store.close)
        yield store


def exit_code(summary: "ImportSummary") -> int:
    """Return the exit code that the help promises."""
    if summary.unreadable or not summary.usable:
        return NOTHING_USABLE
    return SOME_REJECTED if summary.rejected else ALL_IN
