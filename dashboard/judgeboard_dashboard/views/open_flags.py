"""The view Open flags: answers with an open flag, and the queues of the person."""

from dataclasses import fields

from judgeboard.flags.rules import LOW_GROUNDEDNESS
from judgeboard.formats.output import Column, Columns, Format, Table
from judgeboard.reviews.bulk import MOST_ANSWERS
from judgeboard.store.filters import RowFilter
from judgeboard.store.metadata import metadata_fields
from judgeboard.store.open_flags import QueueLine, listed_answers, queue_facets, queue_page
from judgeboard_dashboard.evidence import show_div, tag
from judgeboard_dashboard.review.queues import your_queues
from judgeboard_dashboard.session import ButtonLooks, current_reviewer, in_row, page, read, reading
from judgeboard_dashboard.widgets.bulk import (
    Selectable,
    bulk_outcome,
    select_button,
    selecting_rows,
)
from judgeboard_dashboard.widgets.filters import (
    FIELDS,
    Choices,
    Chosen,
    filter_row,
    filter_sentence,
    query_of,
    write_address,
)
from judgeboard_dashboard.widgets.first_steps import no_open_flags
from judgeboard_dashboard.widgets.navigation import Rows, filter_buttons, follow, start_button
from judgeboard_dashboard.widgets.tables import (
    LOG_COLUMNS,
    PAGE_SIZE,
    all_lines,
    current_page,
    one_line,
    show_rows,
    sorts_by_header,
    turning_foot,
)
from judgeboard_dashboard.widgets.texts import (
    RULES_HELP,
    SORTS,
    WORST_HELP,
    ago,
    count,
    rules_words,
)


def why_words(line: QueueLine) -> str:
    """Return what raised the flags of an answer; a judge without a score raised a flag by a label."""
    by_label = line.groundedness is None
    names = ("bad_label" if by_label and rule == LOW_GROUNDEDNESS else rule for rule in line.rules)
    return rules_words(names, 42)


COLUMNS: Columns[QueueLine] = {
    Column("Why", width=220, help=RULES_HELP): why_words,
    Column("Severity", "number", width=70, help=WORST_HELP): lambda line: line.severity,
    Column(
        "Groundedness", "number", width=105, help="Score of the primary judge (0 to 1)", bar=True
    ): lambda line: line.groundedness,
    Column(
        "Quality", width=70, help="Score of the primary judge (1 to 4)", right=True
    ): lambda line: f"{line.quality} / 4" if line.quality else None,
    Column("Question", width=240): lambda line: one_line(line.question),
    Column("Answer", width=280): lambda line: one_line(line.answer),
    Column("User", width=92, help="Feedback of the assistant's user"): lambda line: (
        line.user_feedback
    ),
    Column("Type", width=85): lambda line: line.query_type,
    Column("Asked", width=85): lambda line: ago(line.asked_at) if line.asked_at else None,
    **LOG_COLUMNS,
    Column("Id", width=125): lambda line: line.external_id,
}


def open_flags() -> None:
    """Show the person's queues and the answers with an open flag."""
    follow("open_flags", own=(*FIELDS, "sort"))
    reviewer = current_reviewer()
    reviewer_id = reviewer.id if reviewer else None
    bulk_outcome()
    with reading() as connection:
        facets = queue_facets(connection)
        metadata = metadata_fields(connection)
        choices = Choices(facets.rules, facets.parts, facets.judges, sorts=SORTS, metadata=metadata)
        listing = filter_row("open_flags", choices)
        list_page = current_page("open_flags", listing.query)
        flags = queue_page(
            connection,
            listing.where,
            listing.sort,
            after=list_page.after,
            before=list_page.before,
            limit=PAGE_SIZE,
            reviewer_id=reviewer_id,
        )
    write_address("open_flags", listing.query)
    has_queues = your_queues(reviewer)
    if not flags.total:
        if listing.where == RowFilter():
            if not has_queues:
                no_open_flags()
        else:
            show_div("jb-empty", "No answer with an open flag matches.")
        return
    which = "" if listing.where == RowFilter() else f" in {filter_sentence(listing.where)}"
    with in_row("queue_start"):
        words = f" with open flags{which} · {SORTS[listing.sort]}"
        show_div("jb-say jb-line", tag("b", count(flags.total, "answer")), words)
        looks: ButtonLooks = {"type": "secondary", "shortcut": None} if has_queues else {}
        start_button(
            "Start reviewing",
            _item_rows(flags.lines[0], listing),
            key="queue_start_button",
            **looks,
        )
        selecting = select_button("open_flags")
    rows = Table.of(flags.lines, COLUMNS)
    if selecting:
        selectable = Selectable(
            "open_flags",
            flags,
            lambda: read(
                listed_answers,
                listing.where,
                listing.sort,
                most=MOST_ANSWERS,
                reviewer_id=reviewer_id,
            ),
            lambda: _export(listing),
            query_of(listing.where),
            "open",
        )
        selecting_rows(rows, selectable)
    else:
        show_rows(
            rows,
            key=f"queue_table_{flags.lines[0].flag_id}_{flags.first}",
            targets=[_item_rows(line, listing) for line in flags.lines],
            sort=sorts_by_header(
                "open_flags",
                {"Severity": ("worst",), "Groundedness": ("lowest",), "Asked": ("oldest",)},
            ),
        )
    turning_foot(
        "open_flags",
        flags,
        "answer",
        lambda: _export(listing),
        query=listing.query,
        beside=lambda: filter_buttons("open_flags", "open", listing.query, flags.total),
    )


def _item_rows(line: QueueLine, listing: Chosen) -> Rows:
    return Rows("item", {"flag": str(line.flag_id), **listing.query})


def _export(listing: Chosen) -> Table:
    """Return all answers of the list for a file, with all reasons and ids; texts have at most 300 characters."""
    names = [
        column.name for column in fields(QueueLine) if column.name not in {"flag_id", "response_id"}
    ]
    formats: dict[str, Format] = {
        "severity": "number",
        "groundedness": "number",
        "asked_at": "time",
    }
    with reading() as connection:
        lines = all_lines(
            lambda key, size: queue_page(
                connection, listing.where, listing.sort, after=key, limit=size
            )
        )
    columns = tuple(Column(name, formats.get(name, "text")) for name in names)
    rows = ([getattr(line, name) for name in names] for line in lines)
    return Table(
        columns,
        tuple(
            tuple("; ".join(cell) if isinstance(cell, tuple) else cell for cell in row)
            for row in rows
        ),
    )


with page():
    open_flags()
