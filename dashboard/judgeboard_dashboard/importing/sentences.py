"""What the Import page says of a dry run and of an import that is done."""

from judgeboard.importing import ImportSummary
from judgeboard_dashboard.importing.fields import NOUNS
from judgeboard_dashboard.words import count, day

MOST_NAMED = 6


def dry_lead(summary: ImportSummary) -> str:
    """Return how many rows can come in: "4,980 of 5,000 rows can come in."."""
    if not summary.rows:
        return "There is no row in this file."
    if not summary.new and not summary.feedback_added and not summary.rejected:
        since = f" since {day(summary.before)}" if summary.before is not None else ""
        return f"Nothing new: all {count(summary.rows, 'row')} are here{since}."
    if not summary.new and not summary.feedback_added:
        return f"None of {count(summary.rows, 'row')} can come in." if not summary.unchanged else "Nothing new."
    if not summary.new:
        return f"{summary.feedback_added:,} of {count(summary.rows, 'row')} bring new feedback on known answers."
    return f"{summary.new:,} of {count(summary.rows, 'row')} can come in."


def dry_details(summary: ImportSummary) -> str:
    """Return what becomes of the others, and that nothing is written yet."""
    parts = []
    plain = summary.rejected - summary.conflicts
    if plain:
        parts.append(f"{plain:,} {'is' if plain == 1 else 'are'} rejected")
    if summary.conflicts:
        verb = "conflicts" if summary.conflicts == 1 else "conflict"
        parts.append(f"{summary.conflicts:,} {verb} with what is here")
    if summary.unchanged and (summary.new or summary.rejected):
        parts.append(f"{summary.unchanged:,} {'is' if summary.unchanged == 1 else 'are'} here already")
    if summary.new and summary.feedback_added:
        parts.append(f"{summary.feedback_added:,} carry user feedback")
    said = f"{', '.join(parts)}. " if parts else ""
    if has_news(summary):
        return f"{said}Nothing is written before you press Import."
    unclear = any(not use.sure for use in summary.columns)
    return f"{said}Say what the columns mean: they are not sure." if unclear and plain else said.strip()


def not_read_words(summary: ImportSummary) -> str:
    """Name the columns that are taken for no field, and say what a row without an id is known by."""
    names = summary.not_read
    if not names or not summary.new:
        return ""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    said = f"Not read: {', '.join(names[:MOST_NAMED])}{more}."
    if not summary.id_from_content:
        return said
    return f"{said} No id: it is made of what is read of a row, so with another column these rows come in once more."


def has_news(summary: ImportSummary) -> bool:
    """Whether an import would change anything."""
    return bool(summary.new or summary.feedback_added)


def done_lead(summary: ImportSummary) -> str:
    """Return what came in: "4,980 answers are in."."""
    what = count(summary.new, NOUNS[summary.kind])
    said = f"{what} {'is' if summary.new == 1 else 'are'} in." if summary.new else "No new row came in."
    if summary.feedback_added:
        said += f" {summary.feedback_added:,} with user feedback."
    return said


def button_words(summary: ImportSummary) -> str:
    """Return what the button does."""
    return f"Import {count(summary.new, 'row')}" if summary.new else "Add the feedback"
