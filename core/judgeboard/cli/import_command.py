"""``judgeboard import``: stores files of answers, grades, verdicts or pairs in the database."""

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

import click

from judgeboard.cli import options
from judgeboard.cli.groups import CommandWithArguments
from judgeboard.domain import Rejected
from judgeboard.errors import BadInput, MissingDatabase
from judgeboard.formats.files import AUTO, FORMATS
from judgeboard.imports.dates import DateOrder
from judgeboard.imports.fields import parse_mapping
from judgeboard.imports.kinds import DEFAULT_SOURCE, KINDS, kind_class
from judgeboard.imports.values import parse_constants, parse_values
from judgeboard.registry.plugins import has_plugins
from judgeboard.registry.tools import IMPORTS
from judgeboard.reports.terminal import progress
from judgeboard.text import counted, shown_name

if TYPE_CHECKING:
    from judgeboard.imports.importing import ImportSummary
    from judgeboard.imports.mapping import FileMapping
    from judgeboard.imports.reading import ImportRequest
    from judgeboard.store.engine import Store
    from judgeboard.store.tables import ImportBatch


ALL_IN, SOME_REJECTED, NOTHING_USABLE = 0, 1, 2
MAX_COLUMNS = 30  # names of columns in one line
MAX_ROWS = 3  # rejected rows in the output
MAX_KEPT = 20  # ids of answers that stay


def mapping_option(help_text: str) -> Callable[[options.F], options.F]:
    """Return the option ``--map`` of a command that imports."""
    return click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="THEIRS=ours",
        callback=lambda _context, _option, pairs: parse_mapping(pairs),
        help=help_text,
    )


dates_option = click.option(
    "--dates",
    type=click.Choice([order.value for order in DateOrder]),
    help="Order of day and month in dates with the year last, such as 03/04/2026. By default, a date of the file with "
    "a day above 12 shows the order.",
)


class _ImportCommand(CommandWithArguments):
    """The command whose whole help also names the exports that other packages read."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does."""
        super().format_help_text(ctx, formatter)
        if not has_plugins("judgeboard.imports"):
            return
        titles = [export.title for tool in IMPORTS.values() for export in tool.exports]
        if titles:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(f"Other packages recognise: {', '.join(titles)}.")


def kind_lines() -> str:
    """Return one line per kind of file, for the help."""
    width = max(map(len, KINDS)) + 1
    return "\n".join(f"{name:{width}} {kind.help}" for name, kind in KINDS.items())


@options.group(
    "judgeboard import may-log.jsonl.gz",
    "judgeboard import log.csv --map Frage=query --map Antwort=answer --source shop",
    "judgeboard import --kind grades grades.jsonl",
    "judgeboard import --kind grades grades.csv --map-value label:ok=grounded --map-value label:nok=hallucinated",
    "judgeboard import --kind pairs arena.jsonl.gz",
    "judgeboard import list",
    "judgeboard import undo",
    cls=_ImportCommand,
    json=False,
    help=f"""Import answers, verdicts or grades from files. Files may be gzipped; - is standard input.

Kinds of files:

\b
{kind_lines()}

Exports of other tools are recognised by their content: Phoenix, Langfuse, MLflow, LangSmith, TruLens, OTLP in JSON,
ragas, DeepEval, promptfoo, Inspect, Label Studio, Argilla and OpenAI chat logs. Their answers are imported first, then
their scores and grades.

If it is not certain which column is which field, `judgeboard import` shows the columns, each with two values as they
would be stored. In a terminal, press Enter to take them, or choose another column first. In a script, nothing is stored
and the command that takes them is printed. Verdicts and grades beside the answers are imported too.

Importing the same file again changes nothing. Exit code 0: all rows are stored; 1: some rows were rejected; 2: no row
could be used, the columns or dates are not clear, or a file could not be read to its end.
""",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--kind", type=click.Choice([*KINDS]), help="Kind of file (default: as its columns show)."
)
@options.with_default(
    "--format", type=click.Choice([AUTO, *FORMATS]), default=AUTO, help="File format."
)
@mapping_option(
    "Map a column of the file to a field (COLUMN=FIELD), for example Frage=query. Dots name a value inside an object "
    "or a list: input.question=query, contexts.0.text=context. In conversations, the keys of messages are columns. "
    "If the file has several scores, map each to scores.NAME, for example fluency=scores.fluency. Repeat for more "
    "columns. Fields of answers: query, answer, context, external_id, asked_at, ...",
)
@click.option(
    "--map-value",
    "values",
    multiple=True,
    metavar="FIELD:WORD=VALUE",
    callback=lambda _context, _option, texts: parse_values(texts),
    help="Replace a word of a field by a value: label:inconsistent=hallucinated. Repeat for more words. A label is "
    "grounded (good) or hallucinated (bad). Words known without this option: consistent or inconsistent, correct or "
    "incorrect, faithful or unfaithful, supported or unsupported, pass or fail, yes or no, true or false, 1 or 0. If "
    "you leave out VALUE, the word stands for a missing value, for example quality:-1=",
)
@click.option(
    "--set",
    "constants",
    multiple=True,
    metavar="FIELD=VALUE",
    callback=lambda _context, _option, texts: parse_constants(texts),
    help="Give a field the same value in all rows, for example judge=gpt-4o, annotator=mara or scale=1-5. Repeat for "
    "more fields.",
)
@dates_option
@click.option(
    "--label-set",
    metavar="NAME",
    help="Read the labels of grades or verdicts as classes that you define, for example supports, refutes, unclear. "
    "The classes become options of the label schema NAME. To compare them: `judgeboard agreement --schema NAME`. "
    "Without --label-set, a label is either good or bad.",
)
@click.option(
    "--source",
    help="Name of the log (default: `default`; for an export, the name of its tool). For grades, verdicts and "
    "comparisons: the log with the answers they refer to (default: all logs).",
)
@click.option(
    "--dry-run", is_flag=True, help="Check the file and print the result, but store nothing."
)
@click.option(
    "--rejected",
    type=options.FILE,
    help="File for rejected rows (default: FILE.rejected.jsonl in the same folder).",
)
def import_command(files: tuple[str, ...], **request: "Unpack[ImportRequest]") -> int:
    """Import the files; return the highest exit code."""
    if request["rejected"] is not None and len(files) > 1:
        raise BadInput("--rejected works with one file: import the files one by one")
    from judgeboard.settings.model import load_settings

    # Without --map and --dates, the settings of the source count.
    about = load_settings().sources.get(request["source"] or DEFAULT_SOURCE)
    if about is not None and request["kind"] in {None, "responses"}:
        request["mapping"] = request["mapping"] or dict(about.map)
        request["dates"] = request["dates"] or about.dates
    store = open_target(files, request)
    ends = [import_one(store, file, request) for file in files]
    code = max(end.code for end in ends)
    if code < NOTHING_USABLE and not request["dry_run"]:
        # Print a warning if the primary judge does not exist: the stored rows have no flags for low
        # scores.
        from judgeboard.store.settings import check_primary_judge

        with store.reading() as connection:
            try:
                check_primary_judge(connection)
            except BadInput as error:
                options.echo(f"warning: {error}", err=True)
        # Suggest the command that uses the stored rows.
        from judgeboard.tools import teacher_records

        kind, exports = ends[-1].kind, {end.export for end in ends}
        next_step = _NEXT.get(kind, ("stats",))
        if request["label_set"] is not None:
            next_step = ("agreement", "--schema", request["label_set"])
        elif teacher_records.EXPORT.title in exports and kind in {"responses", "verdicts"}:
            from judgeboard.store.judge_versions import list_versions

            with store.reading() as connection:
                names = {version.name for version in list_versions(connection)}
            next_step = teacher_records.audit_command(names)
        options.suggest(*next_step)
    return code


@options.command(
    "judgeboard import undo", "judgeboard import undo 12 --with-reviews", group=import_command
)
@click.argument("number", type=options.ROW_ID, required=False, metavar="[N]")
@click.option(
    "--with-reviews",
    is_flag=True,
    help="Also withdraw answers and pairs on which people decided, with their reviews (default: these stay).",
)
def import_undo(number: int | None, with_reviews: bool) -> int:
    """Undo the import with number N (default: the latest).

    Its answers are withdrawn with all that was derived from them: verdicts, flags, feedback,
    comments, queue items. Nothing of this appears anywhere any more. The ids of the answers are
    free, so the file can be imported again. After an import of verdicts, grades or feedback, only
    these rows are withdrawn, and the answers stay. Answers on which people decided also stay; the
    command lists them. An import that `import list` shows as not finished may still be running:
    stop it before you undo it.

    Exit code 0: the import is undone; 1: some answers or pairs stay, because people decided on
    them.
    """
    from judgeboard.imports.importing import undo_import

    undone_import = undo_import(
        options.open_store(), number, with_reviews=with_reviews, actor=options.actor()
    )
    batch = undone_import.batch
    lines = [f"import {batch.id} ({batch.file}): withdrawn: {undone_import.words or 'nothing'}"]
    if undone_import.kept:
        more = len(undone_import.kept) - MAX_KEPT
        ids = ", ".join(undone_import.kept[:MAX_KEPT]) + (f" and {more:,} more" if more > 0 else "")
        lines.append(f"  because people decided on them, these stay: {ids}")
        if not with_reviews and kind_class(batch.kind).brings_answers:
            lines.append(
                f"  to withdraw them too: `judgeboard import undo {batch.id} --with-reviews`"
            )
    options.show(undone_import, lines)
    return SOME_REJECTED if undone_import.kept else ALL_IN


@options.command(
    "judgeboard import list",
    "judgeboard import list --json",
    group=import_command,
    rows="imports",
)
def import_list() -> None:
    """List the 50 latest imports, newest first. Each has its number, time, file, kind, rows, and when it was undone.

    `judgeboard import undo N` takes the number.
    """
    from judgeboard.store.storing import list_batches

    with options.open_store().reading() as connection:
        batches = list_batches(connection)
    none = ["There are no imports yet. To import a file: `judgeboard import FILE`"]
    options.show({"imports": batches}, map(_batch_line, batches) if batches else none)


def _batch_line(batch: "ImportBatch") -> str:
    """Return an import as a line. An import that is not finished is running, or was interrupted."""
    counts = batch.counts or {}
    parts = [f"{counts[name]:,} {name}" for name in ("new", "rejected") if name in counts]
    if batch.finished_at is None:
        parts.append("not finished")
    undo = "" if batch.undone_at is None else f"; undone {batch.undone_at:%Y-%m-%d %H:%M} UTC"
    start = f"{batch.id}  {batch.at:%Y-%m-%d %H:%M} UTC  {shown_name(batch.file)}"
    return f"{start}  {batch.kind}: {', '.join(parts)}; by {batch.actor}{undo}"


# Kind of file -> the command that uses such rows.
_NEXT: Mapping[str, tuple[str, ...]] = {
    "responses": ("judge", "--judge", "lexical"),
    "grades": ("agreement",),
    "verdicts": ("agreement",),
    "pairs": ("compare", "pairs", "--help"),
    "comparisons": ("compare", "--recorded"),
    "samples": ("compare", "ssr", "--recorded"),
}


class FileEnd(NamedTuple):
    """The exit code of a file, the kind of the file, and the recognised export of another tool, if any."""

    code: int
    kind: str = "responses"
    export: str | None = None


def import_one(store: "Store", file: str, request: "ImportRequest") -> FileEnd:
    """Import one file, and print what was stored."""
    from judgeboard.imports.importing import import_file, requests_beside
    from judgeboard.imports.reading import UnclearFile
    from judgeboard.imports.rejected_rows import rejected_path

    kind = request.get("kind")
    if kind not in {None, "responses"} and Path(file).is_file() and not Path(file).stat().st_size:
        options.echo(
            f"{file}: no rows"
        )  # `judgeboard export all` writes such a file for an empty table
        return FileEnd(ALL_IN, str(kind))
    try:
        with progress(Path(file).name, "{task.fields[units]:,} rows", units=0) as update:
            summary = import_file(
                store,
                file,
                on_progress=lambda rows, share: update(completed=share or 0, total=1, units=rows),
                **request | {"actor": options.actor()},
            )
    except UnclearFile as unclear:
        answer = _ask(unclear.mapping, file, request)
        return FileEnd(NOTHING_USABLE) if answer is None else import_one(store, file, answer)
    except BadInput as error:  # the other files are still imported
        options.echo(f"judgeboard: {error}", err=True)
        return FileEnd(NOTHING_USABLE)
    options.show_lines(summary_lines(summary, file))
    if summary.unreadable or not (
        summary.usable or (summary.others and summary.kind == "responses")
    ):
        return FileEnd(NOTHING_USABLE)
    code = SOME_REJECTED if summary.rejected else ALL_IN
    if further := requests_beside(summary, request):
        if file != "-" and Path(file).is_file():
            # Import the rows of other kinds; a file whose answers are stored is no failure as a whole.
            for each in further:
                rejected = rejected_path(f"{each.get('rejected') or file}.{each['kind']}")
                end = import_one(store, file, each | {"rejected": rejected})
                code = max(code, min(SOME_REJECTED, end.code))
        else:
            nouns = " and ".join(f"{KINDS[kind].noun}s" for kind in summary.others)
            options.echo(
                f"  a pipe can be read only once: to import its {nouns} too, save it as a file"
            )
    return FileEnd(code, summary.kind, summary.export)


def _ask(mapping: "FileMapping", file: str, request: "ImportRequest") -> "ImportRequest | None":
    """Show a mapping. In a terminal, return the request with this mapping or a changed one; otherwise None."""
    _show_mapping(mapping)
    dates = [None] if mapping.asks_dates is None else [*DateOrder]
    if not sys.stdin.isatty() or file == "-":
        if mapping.reads_some:
            options.echo("To import it like this, run:", err=True)
            typed_names = {*(request.get("mapping") or ()), *(request.get("constants") or ())}
            words = mapping.words(typed_names, kind=request.get("kind") is None)
            for order in dates:
                options.echo(
                    _command(file, *words, *(() if order is None else ("--dates", order))),
                    err=True,
                    verbatim=True,
                )
        return None
    from judgeboard.imports.reading import read_records

    changes: ImportRequest = {
        "kind": mapping.kind,
        "mapping": mapping.columns,
        "constants": mapping.constants,
    }
    while answer := click.prompt(
        "Enter: import. COLUMN=FIELD: change. q: stop", default="", show_default=False
    ):
        if answer.strip() == "q":
            return None
        theirs, _, ours = answer.strip().rpartition("=")
        columns = {name: each for name, each in mapping.columns.items() if each != ours} | {
            theirs: ours
        }
        try:
            with read_records(file, **request | changes | {"mapping": columns}) as reading:
                mapping = reading.mapping or mapping
        except BadInput as error:
            options.echo(f"judgeboard: {error}", err=True)
        changes |= {"mapping": mapping.columns, "constants": mapping.constants}
        _show_mapping(mapping)
    if mapping.asks_dates is not None:
        order = click.prompt(
            "Which comes first in the dates?", type=click.Choice([each.value for each in DateOrder])
        )
        changes |= {"dates": order}
    return request | changes


def _show_mapping(mapping: "FileMapping") -> None:
    for line in mapping_lines(mapping):
        options.echo(line, err=True, verbatim=True)


def mapping_lines(mapping: "FileMapping") -> list[str]:
    """Return a mapping as a table: each field with the column and two values in the stored form."""
    lines = [f"judgeboard: {mapping.file}: {mapping.unclear}. Nothing was stored."]
    if mapping.other_step is not None:
        return lines
    rows = [("field", "column", "values as they would be stored")]
    rows += [
        (
            each.ours,
            shown_name(each.theirs) if each.theirs else "(all rows)",
            " | ".join(each.values),
        )
        for each in mapping.fields
    ]
    rows += [(ours, "?", "no column fits") for ours in mapping.missing]
    widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
    lines += [
        f"  {ours:{widths[0]}}  {theirs:{widths[1]}}  {values}" for ours, theirs, values in rows
    ]
    if mapping.left_over:
        lines.append(f"  left over: {', '.join(map(shown_name, mapping.left_over[:MAX_COLUMNS]))}")
    if mapping.asks_dates is not None:
        lines.append(
            f"Is {mapping.asks_dates.example} a date with the day or the month first? Choose one."
        )
    return lines


def open_target(files: Iterable[str], request: "ImportRequest") -> "Store":
    """Open the database. A missing one is created for a readable file; otherwise, a temporary database is used."""
    from judgeboard.store.opening import open_store

    try:
        return options.open_store()
    except MissingDatabase:
        if not request.get("dry_run") and any(_is_readable(file, request) for file in files):
            return options.open_store(create=True)
        context = click.get_current_context()
        folder = context.with_resource(tempfile.TemporaryDirectory())
        return context.with_resource(closing(open_store(Path(folder) / "dry-run.db", create=True)))


def _is_readable(file: str, request: "ImportRequest") -> bool:
    from judgeboard.imports.reading import UnclearFile, clear_records

    try:
        if file != "-":  # standard input can be read only once
            clear_records(file, request).close()
    except UnclearFile:
        return sys.stdin.isatty()
    except BadInput:
        return False
    return True


def _command(file: str, *more: str) -> str:
    """Return the command that the user typed for this file alone, with more options."""
    others = {*click.get_current_context().params.get("files", ())} - {file}
    return f"  {options.same_command(*more, instead=dict.fromkeys(others, ''))}"


def summary_lines(summary: "ImportSummary", file: str) -> list[str]:
    """Return the result of an import as lines: rows, columns, and why rows were rejected.

    ``file`` is the file as typed by the user.
    """
    from judgeboard.imports.labels import in_other_words, other_way

    rejected_rows = [row for row in summary.first_rejected if not row.differs]
    other_labels = other_way(summary.labels) if in_other_words(summary.labels) else None
    counts = {"new": summary.new, "unchanged": summary.unchanged, "rejected": summary.rejected}
    rare = {"differing": summary.differing, "feedback added": summary.feedback_added}
    counts |= {name: n for name, n in rare.items() if n}
    rows = counted(summary.rows, "row" if summary.kind == "responses" else KINDS[summary.kind].noun)
    numbers = ", ".join(f"{n:,} {name}" for name, n in counts.items())
    # Rows that are stored with other content, and how to replace these.
    differing = _first(summary.first_differing, summary.differing)
    if summary.differing and kind_class(summary.kind).brings_answers:
        otherwise = (
            "" if summary.of_traces else "; to import the file as another log, add --source NAME"
        )
        if len(summary.earlier) == 1:  # undoing several imports would lose other rows
            (number,) = summary.earlier
            undo = f"`judgeboard import undo {number}`, then `{_command(file).strip()}` again"
            otherwise = f"; to replace them, run {undo}{otherwise}"
        differing.append(f"  stored rows are unchanged{otherwise}")
    return [
        *(["dry run: nothing is stored"] if summary.dry_run else []),
        f"{summary.file}: {rows} of {summary.format}: {numbers}",
        *(f"  {label}: {value}" for label, value in summary.facts.items()),
        *_columns(summary, file),
        *(f"  {message}" for message in summary.messages),
        *([f"  if these words mean the other label: {other_labels}"] if other_labels else []),
        *([f"  flags: {summary.flags:,}"] if summary.flags else []),
        *_first(rejected_rows, summary.rejected - summary.differing),
        *differing,
        *([f"  rejected rows: {summary.rejected_file}"] if summary.rejected_file else []),
        *([f"  earlier import: {summary.older_file}"] if summary.older_file else []),
        *(f"  {problem}" for problem in (summary.rejected_problem, summary.unreadable) if problem),
    ]


def _columns(summary: "ImportSummary", file: str) -> list[str]:
    """Return which column was read as which field, and which columns were ignored."""
    beside = summary.mapping is not None and summary.mapping.kind != summary.kind
    if beside or not summary.names:  # without a readable row, the columns are unknown
        return []
    columns_of: dict[str, list[str]] = {}
    constants = {} if summary.mapping is None else summary.mapping.constants
    for use in summary.columns:
        if use.ours and use.theirs and use.ours not in constants:
            columns_of.setdefault(use.ours, []).append(use.theirs)
    parts = [f"{ours} from {_one_or_several(theirs)}" for ours, theirs in columns_of.items()]
    parts += [f"{ours} is {value}" for ours, value in constants.items()]
    lines = [f"  read: {', '.join(parts)}" if parts else "  read: no column was recognised"]
    if summary.mapping is not None and summary.mapping.further is not None:
        label, ours = summary.mapping.further
        again = _command(
            file, "--map", f"{label}={ours}", "--set", "grades.annotator=human"
        ).strip()
        lines.append(
            f"  {label} may be a person's label of each answer: to read it too, run `{again}`"
        )
    for use in summary.columns:
        if not use.sure:
            choices = " or ".join(
                f"--map {f'{use.theirs}={scale}'!r}" for scale in ("thumbs", "stars")
            )
            lines.append(f"  not sure: {use.theirs!r}: {use.how} Use {choices}")
    return lines


def _first(rows: Sequence[Rejected], total: int) -> list[str]:
    """Return a line for each of the first rows, and the number of the others out of ``total``."""
    lines = [
        f"  line {row.line}: {f'{row.field}: ' if row.field else ''}{row.reason}"
        for row in rows[:MAX_ROWS]
    ]
    if total > len(lines):
        kind = " differing rows" if rows and rows[0].differs else ""
        lines.append(f"  and {total - len(lines):,} more{kind}")
    return lines


def _one_or_several(names: list[str]) -> str:
    more = f" or {len(names) - 3:,} more" if len(names) > 3 else ""
    return " or ".join(repr(name) for name in names[:3]) + more
