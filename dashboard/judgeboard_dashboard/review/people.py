"""The queues and the agreement of a person, on the pages My reviews and People."""

from judgeboard.formats.output import Column, Table
from judgeboard.reports.people import SAME, share_words
from judgeboard.reviews.person_work import PersonWork
from judgeboard_dashboard.session import stacking_columns
from judgeboard_dashboard.widgets.tables import show_rows
from judgeboard_dashboard.widgets.texts import caption

_QUEUE_COLUMNS = (
    Column("Queue", width=200),
    Column("Done", "count", width=60),
    Column("Left", "count", width=60),
)
_FIGURE_COLUMNS = (Column("Reviews agree", width=200, help=f"{SAME}."), Column("Share", width=200))


def queues_and_agreement(work: PersonWork) -> None:
    """Show a person's assigned queues, and how far the person's reviews agree with others."""
    left, right = stacking_columns("person", 2)
    with left:
        rows = tuple((each.queue.name, each.done, each.left) for each in work.queues)
        if rows:
            show_rows(
                Table(_QUEUE_COLUMNS, rows), key=f"queues_{work.person.id}_{len(rows)}", most=4
            )
        else:
            caption("No open queue is assigned.")
    compared = {
        "with gold labels (adjudicated)": work.gold,
        "with their own (repeated items)": work.own,
        "with other people": work.others,
        "with gold labels (training)": work.training,
    }
    shares = tuple(
        (name, share_words(estimate))
        for name, estimate in compared.items()
        if estimate.value is not None
    )
    with right:
        if shares:
            show_rows(Table(_FIGURE_COLUMNS, shares), key=f"agreement_{work.person.id}")
        else:
            caption(
                "Agreement is shown after items have been adjudicated, repeated, or reviewed by others."
            )
