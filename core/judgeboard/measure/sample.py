"""The answers about which a judge version was asked, loaded once for all figures and brought up to date by changes.

Tables of columns are kept per database, and per set of sources that a reader may see. A reader who
has to review some answers blind, or who changes answers, gets a separate table, which is not kept.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace
from itertools import count
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from sqlalchemy import Connection, Engine

from judgeboard.judges.evidence_alignment import NOTICE, SERVED, Level
from judgeboard.stats.arrays import IntArray, among
from judgeboard.store.changes import Changes
from judgeboard.store.engine import is_reading, kept_while_reading
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import ReviewedForFlags, read_reviewed_for_flags
from judgeboard.store.grades import GradedReviews, graded_reviews
from judgeboard.store.overview import count_log
from judgeboard.store.settings import thresholds
from judgeboard.store.sql_compiler import hides_blind_rows, row_limits
from judgeboard.store.statements import NO_DAY
from judgeboard.store.strata import JudgedAnswers, judged_answers
from judgeboard.store.tables import RESPONSE
from judgeboard.store.verdicts import (
    CurrentVerdicts,
    ServedNotices,
    graded_answers,
    matching_answers,
    read_notices,
    read_verdicts,
)

Table = TypeVar(
    "Table", JudgedAnswers, GradedReviews, CurrentVerdicts, ServedNotices, ReviewedForFlags
)
Part = TypeVar("Part")

MOST_KEPT = 4  # tables of a kind, for each set of sources; and sets of sources, for each database
MOST_REPLACED = 20_000  # answers; if more have changed, all are loaded again


@kept_while_reading
def answers_of(
    connection: Connection, version_id: int | None, where: RowFilter | None = None
) -> JudgedAnswers:
    """Return the answers that match and about which a judge version was asked, by ascending id.

    Without a version, these are all logged answers that match.
    """
    cuts = thresholds(connection).cuts
    key = "answers", version_id, cuts.default, *sorted(cuts.by_type.items())
    answers = _table(
        connection,
        key,
        lambda connection, ids: judged_answers(connection, version_id, cuts, ids=ids),
    )
    if where is None or where == RowFilter():
        return answers
    if replace(where, query_types=(), day_from=None, day_to=None) != RowFilter():
        matches = np.isin(answers.response_ids, matching_answers(connection, where))
    else:  # query types and days are loaded already
        types, days = answers.query_types, answers.days
        matches = np.isin(types.names, where.query_types or types.names)[types.codes]
        if where.day_from is not None:
            matches &= (days >= where.day_from) & (days != NO_DAY)
        if where.day_to is not None:
            matches &= (days <= where.day_to) & (days != NO_DAY)
    matching = answers.at(matches)
    return replace(matching, query_types=matching.query_types.without_unused())


def count_logged(connection: Connection, where: RowFilter | None = None) -> int:
    """Return the number of logged answers that match, kept until something changes."""
    where = where or RowFilter()
    return kept_until_changed(connection, ("logged", where), lambda: count_log(connection, where))


def log_revision(connection: Connection) -> tuple[int, ...]:
    """Return a mark; as long as it is unchanged, the figures of answers are unchanged."""
    tables = _kept_of(connection)
    with tables.lock:
        tables.follow(connection)
        return (tables.revision,)


def reviews_of(connection: Connection, *, implied_labels: bool = True) -> GradedReviews:
    """Return what `graded_reviews` returns without a dimension."""

    def read(connection: Connection, ids: IntArray | None) -> GradedReviews:
        of_answers = None if ids is None else tuple(ids.tolist())
        return graded_reviews(connection, implied_labels=implied_labels, ids=of_answers)

    return _table(connection, ("reviews", implied_labels), read)


def verdicts_of_reviewed(connection: Connection) -> CurrentVerdicts:
    """Return the current verdicts on reviewed answers, also on answers with which a prompt was made."""

    def read(connection: Connection, ids: IntArray | None) -> CurrentVerdicts:
        return read_verdicts(connection, of_reviewed=True, ids=ids)

    return _table(connection, ("verdicts",), read)


def graded_of(
    connection: Connection, *, implied_labels: bool = True
) -> tuple[GradedReviews, CurrentVerdicts]:
    """Return the reviews of logged answers and the current verdicts on these, except answers that made a prompt."""
    return kept_until_changed(
        connection,
        ("graded", implied_labels),
        lambda: graded_answers(
            connection,
            reviews_of(connection, implied_labels=implied_labels),
            verdicts_of_reviewed(connection),
        ),
    )


def served_notices(connection: Connection) -> ServedNotices:
    """Return the reviewed answers that `serve_answer` returned with a notice."""
    notice, kinds = RESPONSE.c.extra[(SERVED, NOTICE)].as_string(), [level.value for level in Level]
    return _table(
        connection,
        ("notices",),
        lambda connection, ids: read_notices(connection, notice, kinds, ids),
    )


def reviewed_for_flags(connection: Connection) -> IntArray:
    """Return the ids, ascending, of answers with a review of a flag of a selective rule."""
    return _table(connection, ("flags",), read_reviewed_for_flags).response_ids


def kept_until_changed(
    connection: Connection, key: tuple[Hashable, ...], read: Callable[[], Part]
) -> Part:
    """Return a part of figures, kept as long as no figure of answers changes; ``key`` identifies the part."""
    if hides_blind_rows(connection) or not is_reading(connection):
        return read()
    tables = _kept_of(connection)
    with tables.lock:
        is_newest, revision = tables.follow(connection), tables.revision
        if is_newest and key in tables.parts:
            kept_part: Part = tables.parts[key]
            return kept_part
    part = read()
    with tables.lock:
        if is_newest and revision == tables.revision:
            _keep(tables.parts, key, part)
    return part


def _table(
    connection: Connection,
    key: tuple[Hashable, ...],
    read: Callable[[Connection, IntArray | None], Table],
) -> Table:
    if hides_blind_rows(connection) or not is_reading(connection):
        return read(connection, None)
    tables = _kept_of(connection)
    with tables.lock:
        return tables.table(connection, key, read)


class _KeptTables:
    """The kept tables of a database, for the owner of the ``lock``.

    Each look that finds changes has its own ``revision``. ``parts`` of figures are kept until the
    next revision.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.revision = next(_REVISIONS)
        self.parts: dict[tuple[Hashable, ...], Any] = {}
        self._changes = Changes()
        self._tables: dict[tuple[Hashable, ...], tuple[Callable[..., Any], Any]] = {}

    def follow(self, connection: Connection) -> bool:
        """Bring the tables up to date; return False if the connection reads an older state than the tables."""
        changed_ids = self._changes.new(connection)
        if not changed_ids:
            return changed_ids is not None
        self.revision = next(_REVISIONS)
        self.parts.clear()
        tables, self._tables = self._tables, {}  # an error leaves no table that is out of date
        if None in changed_ids or len(changed_ids) > MOST_REPLACED:
            return True
        ids = np.array(sorted(each for each in changed_ids if each), dtype=np.int64)
        for key, (read, table) in tables.items():
            self._tables[key] = (
                read,
                _replaced(table, ids, read(connection, ids)) if len(ids) else table,
            )
        return True

    def table(
        self,
        connection: Connection,
        key: tuple[Hashable, ...],
        read: Callable[[Connection, IntArray | None], Table],
    ) -> Table:
        """Return a table in its present state."""
        is_newest = self.follow(connection)
        kept_table: Table | None = self._tables[key][1] if key in self._tables else None
        table = read(connection, None) if kept_table is None else kept_table
        if is_newest or kept_table is not None:
            _keep(self._tables, key, (read, table))
        return table


def _keep(
    entries: dict[tuple[Hashable, ...], Any], key: tuple[Hashable, ...], value: object
) -> None:
    """Keep a value as the last one used, with the last few of the same kind. The key begins with the kind."""
    entries.pop(key, None)
    entries[key] = value
    for each in [each for each in entries if each[0] == key[0]][:-MOST_KEPT]:
        del entries[each]


def _replaced(table: Table, ids: IntArray, new: Table) -> Table:
    """Return a table, by ascending id, with the rows of the answers ``ids`` replaced by ``new`` ones."""
    replaces = among(table.response_ids, ids)
    if not len(new.response_ids) and not replaces.any():
        return table
    stay = np.flatnonzero(~replaces)
    places = np.searchsorted(table.response_ids[stay], new.response_ids)
    order = np.insert(
        stay, places, len(table.response_ids) + np.arange(len(places))
    )  # faster than a sort
    rows = table.plus(new).at(order)
    if isinstance(rows, GradedReviews | ReviewedForFlags):
        return rows
    return replace(rows, query_types=rows.query_types.without_unused())


_KEPT: WeakKeyDictionary[Engine, dict[tuple[Hashable, ...], _KeptTables]] = WeakKeyDictionary()
_KEPT_LOCK = Lock()
_REVISIONS = count()  # never the same twice, also if tables are no longer kept and read again


def _kept_of(connection: Connection) -> _KeptTables:
    """Return the kept tables of all readers who may see the same rows as a connection."""
    limits = row_limits(connection)
    # The tables of all sources are always kept, and the tables of the last few sets of sources.
    key = "some sources" if limits else "all sources", limits
    with _KEPT_LOCK:
        of_database = _KEPT.setdefault(connection.engine, {})
        tables = of_database.get(key) or _KeptTables()
        _keep(of_database, key, tables)
        return tables
