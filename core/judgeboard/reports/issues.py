"""Issues as a table, for pages, commands and files."""

from collections.abc import Sequence

from judgeboard.reports.output import Column, Table
from judgeboard.reviews.issues import IssueFigures
from judgeboard.store.issues import Issue
from judgeboard.text import day_words

COLUMNS = (
    Column("Issue", "count", width=60),
    Column("State", width=70),
    Column("Title", width=280),
    Column("Owner", width=110),
    Column("Answers", "count", width=80, help="Answers with the problem"),
    Column("Open flags", "count", width=90),
    Column(
        "Share", "share estimate", width=130, help="Share of answers with the problem; if it is fixed, before the fix"
    ),
    Column("After the fix", "share estimate", width=130, help="The same share from the day of the fix on"),
    Column("Last seen", width=130, help="Day of the latest answer with the problem"),
)


def issue_table(issues: Sequence[Issue], figures: Sequence[IssueFigures]) -> Table:
    """Return one row for each issue with its figures."""
    rows = (
        (
            issue.number,
            issue.state.value,
            issue.title,
            issue.owner,
            measured.answers,
            measured.flags["open"],
            measured.before,
            None if issue.fixed_day is None else measured.after,
            None if measured.last_day is None else day_words(measured.last_day),
        )
        for issue, measured in zip(issues, figures, strict=True)
    )
    return Table(COLUMNS, tuple(rows))
