"""The page Responses: all answers under any filter. Charts and tables of other pages link to this page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.formats.output import Column, Columns, Format, Table
from judgeboard.reviews.bulk import MOST_ANSWERS
from judgeboard.store.filters import METADATA, RowFilter, describe, metadata_condition
from judgeboard.store.judge_versions import version_titles
from judgeboard.store.label_schemas import own_label_choices
from judgeboard.store.listing import LinePage
from judgeboard.store.metadata import MetadataField, metadata_fields, metadata_of, shown_value
from judgeboard.store.response_pages import (
    DESCENDING,
    ORDERS,
    ResponseLine,
    order_of,
    response_facets,
    response_list,
    response_page,
)
from judgeboard_dashboard.evidence import as_label, show_div, tag
from judgeboard_dashboard.session import current_query, in_row, page, problem, reading
from judgeboard_dashboard.widgets.bulk import (
    Selectable,
    bulk_outcome,
    select_button,
    selecting_rows,
)
from judgeboard_dashboard.widgets.filters import (
    FIELDS,
    MORE_PARTS,
    Choices,
    Chosen,
    chip,
    filter_row,
    without_index,
    write_address,
)
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import (
    CELL_FIELDS,
    Drilled,
    drilled,
    filter_buttons,
    follow,
    item,
)
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
from judgeboard_dashboard.widgets.texts import ago, count, empty

MAX_EXPORTED = 50_000  # rows in one file; `judgeboard export` has no limit
MORE = ("judge", "score", "graded", *MORE_PARTS, "days")


def _of_judge(name: str) -> Callable[[ResponseLine], Any]:
    return lambda line: getattr(line.judged, name, None)


COLUMNS: Columns[ResponseLine] = {
    Column(
        "Groundedness",
        "number",
        width=115,
        help="Score (0 to 1) of the judge in the filter, otherwise of the primary judge",
        bar=True,
    ): _of_judge("groundedness"),
    Column("Quality", width=70, help="Score of this judge (1 to 4)", right=True): lambda line: (
        f"{line.judged.quality} / 4" if line.judged and line.judged.quality else None
    ),
    Column("Label", width=85, help="Label of the same judge, if it gives one"): _of_judge("label"),
    Column("User", width=92, help="Feedback of the user"): lambda line: line.user_feedback,
    Column("Question", width=215): lambda line: one_line(line.question),
    Column("Answer", width=240): lambda line: one_line(line.answer),
    Column("Type", width=85): lambda line: line.query_type,
    Column("Asked", width=85): lambda line: ago(line.asked_at) if line.asked_at else None,
    Column("Judged by", width=100): _of_judge("version_title"),
    Column(
        "Judges", "count", width=60, help="Number of judges with a usable verdict"
    ): lambda line: line.judges,
    Column("Reviews", "count", width=65, help="Number of current reviews by people"): lambda line: (
        line.reviews
    ),
    Column("Flag", width=60, help="Whether the answer has an open flag"): lambda line: (
        "open" if line.flag_id else None
    ),
    **LOG_COLUMNS,
    Column("Id", width=125): lambda line: line.external_id,
}


SHOWN = "column"  # parameter of the address: the metadata fields that have a column
_COLUMNS = "responses_columns"
_COLUMNS_WRITTEN = "responses_columns_written"
HEADERS = {"Groundedness": ("lowest", "highest"), "Asked": ("newest", "oldest")}


def responses() -> None:
    """Show the matching answers, 50 at a time."""
    follow("responses", own=(*FIELDS, *CELL_FIELDS, "sort", SHOWN))
    cell = _cell()
    bulk_outcome()
    with reading() as connection:
        choices = Choices.of_answers(response_facets(connection), metadata_fields(connection))
        titles = version_titles(connection)
        metadata = choices.metadata
        # The chosen metadata columns. If the browser has changed the address, the columns of the
        # address are chosen.
        fields = {each.field for each in metadata}
        column_fields = [field for field in st.query_params.get_all(SHOWN) if field in fields]
        if (
            _COLUMNS not in st.session_state
            or st.session_state.get(_COLUMNS_WRITTEN) != column_fields
        ):
            st.session_state[_COLUMNS] = column_fields
        st.session_state[_COLUMNS_WRITTEN] = st.session_state[_COLUMNS]
        columns = tuple(st.session_state[_COLUMNS])
        sorts = {name: order.words for name, order in ORDERS.items()} | _metadata_orders(
            metadata, columns
        )
        choices = replace(choices, sorts=sorts, own_labels=own_label_choices(connection))
        listing = filter_row("responses", choices, more=MORE, all_chips=True, titles=titles)
        words = [
            *([] if listing.where == RowFilter() else [describe(listing.where, titles)]),
            *([] if cell is None else [cell.words]),
        ]
        listing = _with_cell(listing, cell, columns)
        list_page = current_page("responses", listing.query)
        answers = response_page(
            connection,
            listing.where,
            listing.sort,
            after=list_page.after,
            before=list_page.before,
            limit=PAGE_SIZE,
        )
        order = order_of(connection, listing.where, listing.sort)
        values = metadata_of(connection, [line.response_id for line in answers.lines], columns)
    if cell is not None:
        rest = {name: values for name, values in listing.query.items() if name not in cell.query}
        with in_row("chips_cell", gap="xsmall"):
            label = f"{as_label(cell.words)}: {count(len(cell.response_ids), 'answer')}"
            chip(label, st.query_params.from_dict, rest, key="responses_cell")
    write_address("responses", listing.query)
    if not answers.total:
        if listing.where == RowFilter():
            empty_page()
        else:
            empty("No answer matches.")
        return
    only = ", only answers that have one" if order.name in HEADERS["Groundedness"] else ""
    which = "".join(f" · {part}" for part in (", ".join(words), f"{order.words}{only}") if part)
    with in_row("responses_start"):
        show_div("jb-say jb-line", tag("b", count(answers.total, "answer")), which)
        if metadata:
            with st.popover("Columns", icon=":material/view_column:"):
                names = [each.field for each in metadata]
                st.multiselect(
                    "Metadata columns", names, key=_COLUMNS, placeholder="None", width=300
                )
        selecting = select_button("responses")
    _table(answers, listing, columns, values, selecting=selecting)
    limit = f" · the CSV file has the first {MAX_EXPORTED:,}; judgeboard export writes all"
    turning_foot(
        "responses",
        answers,
        "answer",
        lambda: _export(listing, columns),
        query=listing.query,
        more=limit if answers.total > MAX_EXPORTED else "",
        # A cell of agreement is a list of answers, and the filter of a job cannot contain such a
        # list.
        beside=None
        if listing.where.response_ids is not None
        else lambda: filter_buttons("responses", "match", listing.query, answers.total),
    )
    filtered_fields = {metadata_condition(each).field for each in listing.where.metadata}
    if listing.sort.removeprefix(DESCENDING).startswith(METADATA):
        filtered_fields.add(listing.sort.removeprefix(DESCENDING).removeprefix(METADATA))
    without_index(filtered_fields, metadata)


def _metadata_orders(metadata: Sequence[MetadataField], columns: Sequence[str]) -> dict[str, str]:
    """Return the sort orders by metadata fields that have a column or an index."""
    fields = sorted({*columns, *(each.field for each in metadata if each.indexed)})
    words = {"": "ascending", DESCENDING: "descending"}
    return {
        f"{sign}{METADATA}{field}": f"{field}, {way}"
        for field in fields
        for sign, way in words.items()
    }


def _cell() -> Drilled | None:
    try:
        return drilled(current_query())
    except JudgeboardError as error:
        problem(f"{error}: this part of the address is ignored")
        return None


def _with_cell(listing: Chosen, cell: Drilled | None, columns: Sequence[str]) -> Chosen:
    """Return the listing with a cell of agreement. The address also names the metadata columns."""
    query = {**listing.query, **({SHOWN: list(columns)} if columns else {})}
    if cell is None:
        return replace(listing, query=query)
    where = replace(listing.where, response_ids=cell.response_ids)
    return replace(listing, where=where, query={**query, **cell.query})


def _table(
    answers: LinePage[ResponseLine],
    listing: Chosen,
    columns: Sequence[str],
    values: Mapping[int, tuple[Any, ...]],
    *,
    selecting: bool,
) -> None:
    titles = [column.title for column in COLUMNS]
    # If a column of the page has the same title, the metadata field is shown with the full name.
    names = [METADATA + field if field in titles else field for field in columns]
    orders = [(METADATA + field, f"{DESCENDING}{METADATA}{field}") for field in columns]

    def value_of(place: int) -> Callable[[ResponseLine], str | None]:
        return lambda line: one_line(shown_value(values[line.response_id][place]))

    metadata = {Column(name, width=120): value_of(place) for place, name in enumerate(names)}
    rows = Table.of(answers.lines, {**COLUMNS, **metadata})
    if selecting:
        rejudged = None if listing.where.response_ids is not None else "match"
        all_of = (lambda: _all_ids(listing), lambda: _export(listing, columns))
        selecting_rows(rows, Selectable("responses", answers, *all_of, listing.query, rejudged))
        return
    show_rows(
        rows,
        key=f"responses_table_{answers.lines[0].response_id}_{answers.first}_{listing.sort}",
        targets=[item(line.response_id) for line in answers.lines],
        sort=sorts_by_header("responses", {**HEADERS, **dict(zip(names, orders, strict=True))}),
    )


def _all_ids(listing: Chosen) -> tuple[int, ...]:
    with reading() as connection:
        return (
            response_list(connection, listing.where, listing.sort)
            .page(None, None, MOST_ANSWERS, tuple)
            .lines
        )


def _export(listing: Chosen, columns: Sequence[str]) -> Table:
    """Return the answers of the filter with ids and plain numbers; texts are cut after 300 characters."""
    names = [
        column.name
        for column in fields(ResponseLine)
        if column.name not in {"judged", "flag_id", "response_id"}
    ]
    verdict = ("version_title", "groundedness", "quality", "label")
    formats: dict[str, Format] = {"groundedness": "number", "asked_at": "time"}
    formats |= dict.fromkeys(("quality", "judges", "reviews"), "count")
    with reading() as connection:
        read = partial(response_page, connection, listing.where, listing.sort)
        lines = all_lines(lambda key, size: read(after=key, limit=size), MAX_EXPORTED)
        values = metadata_of(connection, [line.response_id for line in lines], columns)
    rows = (
        (
            *(getattr(line, name) for name in names),
            *(getattr(line.judged, name, None) for name in verdict),
            *map(shown_value, values[line.response_id]),
        )
        for line in lines
    )
    metadata = (METADATA + field for field in columns)
    return Table(
        tuple(Column(name, formats.get(name, "text")) for name in (*names, *verdict, *metadata)),
        tuple(rows),
    )


with page():
    responses()
