"""What an import came to, in lines for a terminal."""

from collections.abc import Sequence

from judgeboard.domain import Rejected
from judgeboard.importers.kind_meant import OfAnotherKind
from judgeboard.importers.kinds import NAMES_ANSWERS, ROWS
from judgeboard.importing import ImportSummary

MOST_NAMED = 30
MOST_ROWS = 3


def summary_lines(summary: ImportSummary) -> list[str]:
    """Return what became of a file: its rows, its columns, and why rows could not come in."""
    return [_counts(summary), *_columns(summary), *_rejected(summary), *_conflicts(summary), *_files(summary)]


def _counts(summary: ImportSummary) -> str:
    would = "would be " if summary.dry_run else ""
    if summary.usable and not summary.new and not summary.rejected and not summary.feedback_added:
        since = "" if summary.before is None else f" since {summary.before.day} {summary.before:%B %Y}"
        return f"{summary.file}: nothing new, all {summary.unchanged:,} rows are here{since}"
    return (
        f"{summary.file}: {summary.rows:,} rows of {summary.importer}: {summary.new:,} {would}new, "
        f"{summary.unchanged:,} unchanged, {summary.rejected:,} rejected ({summary.conflicts:,} conflicts)"
        + (f", {summary.feedback_added:,} feedback added" if summary.feedback_added else "")
    )


def _columns(summary: ImportSummary) -> list[str]:
    """Say which column was read as which field, which were not, and how to name them.

    Nothing where no row could be read: what a header means is decided on its rows.
    """
    if not summary.names:
        return []
    taken: dict[str, list[str]] = {}
    for use in summary.columns:
        if use.ours and use.theirs:
            taken.setdefault(use.ours, []).append(use.theirs)
    read = [f"{ours} from {_one_or_several(theirs)}" for ours, theirs in taken.items()]
    lines = [f"  read: {', '.join(read)}" if read else "  read: no column was recognised"]
    if not _of_another_kind(summary):
        lines += _unread(summary)
    if summary.id_from_content and summary.new and summary.not_read:
        lines.append("  no id: it is made of a row's content, so with another --map these rows come in once more")
    return [*lines, *(f"  not sure: {use.theirs!r}: {use.how}" for use in summary.columns if not use.sure)]


def _unread(summary: ImportSummary) -> list[str]:
    if not summary.usable and summary.not_found and summary.names:
        example = " ".join(f"--map THEIRS={ours}" for ours in summary.not_found)
        fields = " or ".join(summary.not_found)
        return [
            f"  no column is taken for {fields}; the file has {_named(summary.names)} (say which with {example})",
        ]
    if summary.not_read:
        fate = ROWS[summary.kind].left_over
        return [f"  not read: {_named(summary.not_read)} ({fate}; name one with --map THEIRS=ours)"]
    return []


def _of_another_kind(summary: ImportSummary) -> bool:
    """Whether rows say so themselves: their columns then need another kind, not other names."""
    return any(isinstance(row, OfAnotherKind) for row in summary.first_rejected)


def _rejected(summary: ImportSummary) -> list[str]:
    rows = [row for row in summary.first_rejected if not row.conflict]
    return _first(rows, summary.rejected - summary.conflicts)


def _conflicts(summary: ImportSummary) -> list[str]:
    if not summary.conflicts:
        return []
    lines = _first(summary.first_conflicts, summary.conflicts)
    if summary.kind in NAMES_ANSWERS:
        lines.append("  what is stored stays as it is; --source NAME brings the file in beside it, as another log")
    return lines


def _first(rows: Sequence[Rejected], total: int) -> list[str]:
    """Return a line for each of the first rows; ``total`` may be more than are kept."""
    lines = [
        f"  line {row.line}: {'conflict: ' if row.conflict else ''}{f'{row.field}: ' if row.field else ''}{row.reason}"
        for row in rows[:MOST_ROWS]
    ]
    if total > len(lines):
        kind = " conflicts" if rows and rows[0].conflict else ""
        lines.append(f"  and {total - len(lines):,} more{kind}")
    return lines


def _files(summary: ImportSummary) -> list[str]:
    lines = []
    if summary.rejected_file:
        lines.append(f"  rejected rows, with reasons: {summary.rejected_file}")
    if summary.rejected_problem:
        lines.append(f"  {summary.rejected_problem}")
    if summary.unreadable:
        lines.append(f"  {summary.unreadable}")
    return lines


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(_plain(name) for name in names[:MOST_NAMED]) + more


def _plain(name: str) -> str:
    """Return a column's name as a terminal may be given it: the file's words alone, on one line, none of its codes."""
    if not name:
        return "(no name)"
    return name if name.isprintable() else repr(name)


def _one_or_several(names: list[str]) -> str:
    more = f" or {len(names) - 3:,} more" if len(names) > 3 else ""
    return " or ".join(repr(name) for name in names[:3]) + more
