"""Keeps what was read of judge versions as long as nothing was stored since: a page is drawn again at every press."""

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from sqlalchemy import Connection

from judgeboard.judge_health.model_table import ModelTable
from judgeboard.judge_health.reading import read_record
from judgeboard.judge_health.record import JudgeRecord
from judgeboard.store.health.record_mark import RecordMark, record_mark
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.row_filter import hides_rows

MOST = 8
"""Records kept: each holds the arrays of up to 20,000 answers."""
SECONDS = 600.0
"""How long one is kept at most: of two writers on PostgreSQL the one with the lower ids may be the later one."""


class KeptRecords:
    """The records of the versions looked at last, of one database; for all sessions of a server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with none; ``clock`` counts seconds."""
        self._clock = clock
        self._kept: OrderedDict[int, tuple[RecordMark, float, JudgeRecord]] = OrderedDict()
        self._lock = Lock()

    def read(self, connection: Connection, version: StoredVersion, models: ModelTable) -> JudgeRecord:
        """Return the record of a version, read anew only where anything was stored since, or it is too old.

        Nothing is kept of, or from, a connection that may not see everything.
        """
        if hides_rows(connection):
            return read_record(connection, version, models)
        mark, now = record_mark(connection), self._clock()
        with self._lock:
            kept = self._kept.get(version.id)
        if kept is not None:
            known, since, record = kept
            if known == mark and now - since < SECONDS and record.models == models:
                return record
        record = read_record(connection, version, models)
        with self._lock:
            self._kept[version.id] = (mark, now, record)
            self._kept.move_to_end(version.id)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return record
