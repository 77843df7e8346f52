"""A database with answers of two sources, of which one has a marker in everything that is stored of it."""

import re
import zlib
from dataclasses import dataclass

from sqlalchemy import JSON, Enum, Float, func, select

from judgeboard.domain import QueueOrder, Response
from judgeboard.people.roster import ensure_reviewer, set_sources
from judgeboard.reviews.changes import comment
from judgeboard.reviews.queues import create_queue
from judgeboard.store.columns import JsonTuple, row_of
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.queues import new_queue
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import METADATA, Reviewer
from marked_answer import MarkedAnswer, insert_row, mark_answer

MARKED = "mark-source"
MINE = ("log", "plain-pair-source")
MARKERS = re.compile(r"(?<![\w-])mark-[a-z_]+")


@dataclass(frozen=True, slots=True)
class TwoSources:
    """The marked answer of the source ``mark-source``, and Mara, who sees the source ``log`` alone."""

    store: Store
    marked: MarkedAnswer
    mara: Reviewer
    comment_id: int


def two_sources(store):
    """Fill a database: an answer of each source with all that can be stored of it, and a marked row in every table."""
    mara, ada = (ensure_reviewer(store, "page", name) for name in ("Mara", "Ada"))
    marked = mark_answer(store, ada, MARKED)
    with store.writing() as connection:
        new = [
            Response(MARKED, f"mark-id-{n}", f"mark-question {n}?", "mark-answer", (), "mark-type")
            for n in range(7)
        ]
        store_responses(connection, new)
    for name, where in (("mark-queue", RowFilter(sources=(MARKED,))), ("mark-mixed", RowFilter())):
        options = new_queue(name, where, order=QueueOrder.OLDEST, flagged_only=False, max_items=50)
        create_queue(store, options, by=ada)
    queue = new_queue("mine", RowFilter(sources=MINE), order=QueueOrder.OLDEST, max_items=50)
    create_queue(store, queue, by=ada, assigned=(mara, ada))
    comment_id = comment(
        store,
        reviewer=ada,
        text="mark-comment for @Mara",
        request_key="mark",
        response_id=marked.response_id,
    )
    _mark_tables(store, marked)
    set_sources(store, "Mara", MINE, "lead", origin="page")
    return TwoSources(store, marked, mara, comment_id)


# What a row of a table needs beside texts and numbers: columns with checks, and ids that are texts.
_CHECKED = {
    "alert_delivery": {"state": "sent"},
    "alert_rule": {"condition": "open_flags"},
    "issue": {"filter": RowFilter()},
    "job": {"id": "mark-job", "kind": "mark-kind", "filter": {"mark-json": {}}},
    "judging_rule": {"filter": RowFilter()},
    "push_target": {"every_s": 60.0},
    "pushed": {"target": "mark-target", "what": "judge", "author": "mark-author", "sent": True},
    "review_failure_mode": {"mode": "mark-mode"},
    "span": {"kind": "span", "body": zlib.compress(b"{}")},
    "trace": {"source": MARKED, "state": "waiting", "owner": ""},
    "user_feedback": {"kind": "stars", "value": 4.0},
    "waiting_feedback": {"kind": "stars", "value": 4.0},
}


def _tells_nothing(table):
    """Whether no row tells anything of answers. A row of an account would also turn on sign-in."""
    return row_of(table).is_shared or table.name in {"account", "account_session"}


def _mark_tables(store, marked):
    """Store a row with markers in every table that tells something of answers, unless it has rows."""
    with store.writing() as connection:
        for table in METADATA.sorted_tables:
            if _tells_nothing(table) or connection.scalar(select(1).select_from(table).limit(1)):
                continue
            values = {"response_id": marked.response_id, "run_id": marked.run_id}
            for column in table.c:
                if column.foreign_keys and not column.nullable:
                    referred = next(iter(column.foreign_keys)).column
                    values.setdefault(column.name, connection.scalar(select(func.max(referred))))
                elif column.primary_key and column.name != "id":
                    values[column.name] = f"mark-{table.name}"
                elif isinstance(column.type, Enum):
                    values[column.name] = column.type.enums[0]
                elif isinstance(column.type, Float):
                    values[column.name] = 0.5
                elif not column.nullable and isinstance(column.type, JsonTuple | JSON):
                    values[column.name] = ["mark-json"]
            known = {name: value for name, value in values.items() if name in table.c}
            insert_row(connection, table.name, "mark", **known | _CHECKED.get(table.name, {}))
        empty = [
            table.name
            for table in METADATA.sorted_tables
            if not _tells_nothing(table)
            and not connection.scalar(select(1).select_from(table).limit(1))
        ]
    assert empty == []
