"""The answers that a judge version was asked about, loaded once for all figures and brought up to date by changes.

Tables of columns are kept per database, for readers from whom nothing is hidden. Whoever may not see some answers, or
changes them, gets a table of their own, which is not kept.
"""

from dataclasses import replace
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sqlalchemy import Connection, Engine

from judgeboard.settings.model import Cuts
from judgeboard.stats.arrays import BoolArray, IntArray
from judgeboard.store.changes import Changes
from judgeboard.store.engine import is_reading, kept_while_reading
from judgeboard.store.filters import RowFilter
from judgeboard.store.settings import thresholds
from judgeboard.store.sql_compiler import hides_rows
from judgeboard.store.statements import NO_DAY
from judgeboard.store.strata import JudgedAnswers, judged_answers
from judgeboard.store.verdicts import matching_answers

MOST_KEPT = 4  # tables of a database
MOST_REPLACED = 20_000  # answers; if more have changed, all are loaded again


def answers_of(connection: Connection, version_id: int | None, where: RowFilter | None = None) -> JudgedAnswers:
    """Return the answers that match and that a judge version was asked about, by ascending id.

    Without a version, these are all logged answers that match.
    """
    answers = _all_answers(connection, version_id)
    if where in {None, RowFilter()}:
        return answers
    matching = answers.at(_matches(connection, answers, where or RowFilter()))
    return replace(matching, query_types=matching.query_types.without_unused())


def log_revision(connection: Connection) -> tuple[int, ...]:
    """Return a mark; as long as it is unchanged, the figures of answers are unchanged."""
    kept = _kept_of(connection.engine)
    with kept.lock:
        kept.follow(connection)
        return (kept.revision,)


@kept_while_reading
def _all_answers(connection: Connection, version_id: int | None) -> JudgedAnswers:
    cuts = thresholds(connection).cuts
    if hides_rows(connection) or not is_reading(connection):
        return judged_answers(connection, version_id, cuts)
    kept = _kept_of(connection.engine)
    with kept.lock:
        return kept.answers(connection, _Meaning(version_id, cuts.default, tuple(sorted(cuts.by_type.items()))))


def _matches(connection: Connection, answers: JudgedAnswers, where: RowFilter) -> BoolArray:
    if replace(where, query_types=(), day_from=None, day_to=None) != RowFilter():
        return np.isin(answers.response_ids, matching_answers(connection, where))
    types, days = answers.query_types, answers.days
    matches = np.isin(types.names, where.query_types or types.names)[types.codes]
    if where.day_from is not None:
        matches &= (days >= where.day_from) & (days != NO_DAY)
    if where.day_to is not None:
        matches &= (days <= where.day_to) & (days != NO_DAY)
    return matches


class _Meaning(NamedTuple):
    """What decides the verdicts of a table: the judge version and the cuts of its scores."""

    version_id: int | None
    cut: float
    by_type: tuple[tuple[str, float], ...]

    def read(self, connection: Connection, ids: IntArray | None = None) -> JudgedAnswers:
        """Read the table, or its rows of the answers with these ids."""
        return judged_answers(connection, self.version_id, Cuts(self.cut, dict(self.by_type)), ids=ids)


class _KeptAnswers:
    """The kept tables of a database, for whoever has the ``lock``; ``revision`` counts the looks that found changes."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.revision = 0
        self._changes = Changes()
        self._tables: dict[_Meaning, JudgedAnswers] = {}

    def follow(self, connection: Connection) -> bool:
        """Bring the tables up to date; return False if the connection reads an older state than they have."""
        changed = self._changes.new(connection)
        if not changed:
            return changed is not None
        self.revision += 1
        tables, self._tables = self._tables, {}  # an error leaves no table that is out of date
        if None in changed or len(changed) > MOST_REPLACED:
            return True
        ids = np.array(sorted(each for each in changed if each), dtype=np.int64)
        for meaning, answers in tables.items():
            now = answers.with_answers(ids, meaning.read(connection, ids)) if len(ids) else answers
            self._tables[meaning] = now
        return True

    def answers(self, connection: Connection, meaning: _Meaning) -> JudgedAnswers:
        """Return a table as it is now."""
        is_newest = self.follow(connection)
        answers = self._tables.pop(meaning, None)
        if answers is None:
            answers = meaning.read(connection)
            if not is_newest:
                return answers
        self._tables[meaning] = answers  # the last is the one that was used last
        if len(self._tables) > MOST_KEPT:
            del self._tables[next(iter(self._tables))]
        return answers


_KEPT: WeakKeyDictionary[Engine, _KeptAnswers] = WeakKeyDictionary()
_KEPT_LOCK = Lock()


def _kept_of(engine: Engine) -> _KeptAnswers:
    with _KEPT_LOCK:
        return _KEPT.setdefault(engine, _KeptAnswers())
