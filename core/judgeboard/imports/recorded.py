"""Judgments that were recorded elsewhere: the judge versions, runs and comparisons that keep them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Preference, RunState
from judgeboard.imports.kind import ImportKind, Record, RowOutcomes
from judgeboard.judges.judge import replay_version
from judgeboard.store.comparisons import (
    ComparisonKey,
    NewComparison,
    add_aspects,
    key_of,
    store_comparisons,
    stored_comparisons,
)
from judgeboard.store.judge_versions import StoredVersion, ensure_version, find_version
from judgeboard.store.runs import finish_run, is_run_of, start_import_run


@dataclass(frozen=True, slots=True)
class RecordedJudge:
    """A judge as a file names it; ``version`` is the fingerprint that an export of Judgeboard gives beside."""

    name: str
    version: str | None = None


def recorded_version(connection: Connection, judge: RecordedJudge, now: datetime) -> StoredVersion:
    """Return the version of a recorded judge: the stored one of its fingerprint, else that of its name."""
    known = None if judge.version is None else find_version(connection, judge.version)
    return known or ensure_version(connection, replay_version(judge.name, recorded=judge.version), now)


class RecordedImport(ImportKind[Record]):
    """A kind whose records are of judges: one run per judge version and file, begun with the first new record."""

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._runs: dict[int, int] = {}

    def run(self, connection: Connection, version: StoredVersion, now: datetime) -> int:
        """Return the run of a judge version."""
        begun = self._runs.get(version.id)
        # A batch that brought nothing new, or a dry run, was rolled back with the runs that it began.
        if begun is None or not is_run_of(connection, begun, version.id):
            begun = self._runs[version.id] = start_import_run(connection, version, self.actor, now).id
        return begun

    def finish(self, connection: Connection, now: datetime) -> int:
        """Mark the runs as done."""
        for version_id, run_id in self._runs.items():
            if is_run_of(connection, run_id, version_id):
                finish_run(connection, run_id, RunState.DONE, now=now)
        return 0


@dataclass(slots=True)
class _Said:
    """What is said under one key: stored already (``id``), or coming in with this batch (``item``)."""

    status: str
    preferences: dict[str, Preference]
    id: int | None = None
    item: NewComparison | None = None

    def contradicts(self, item: NewComparison) -> bool:
        return self.status != item.record.status or any(
            self.preferences.get(aspect, said) is not said for aspect, said in item.preferences.items()
        )


def store_recorded(
    connection: Connection,
    version: StoredVersion,
    kind: RecordedImport[Any],
    given: Mapping[int, list[NewComparison]],
    rows: RowOutcomes,
    now: datetime,
) -> None:
    """Store the comparisons of one judge version, by the index of their row.

    The same verdict again is unchanged, one on further aspects is added, another one is a conflict of its row.
    """
    pair_ids = {item.pair_id for items in given.values() for item in items}
    said = {
        key: _Said(one.status, {aspect: Preference(each) for aspect, each in one.preferences.items()}, one.id)
        for key, one in stored_comparisons(connection, version.id, pair_ids).items()
    }
    more: dict[int, dict[str, Preference]] = {}
    for index, items in given.items():
        wrong = [item for item in items if (known := said.get(key_of(item))) and known.contradicts(item)]
        if wrong:
            rows.refuse(index, None, _contradiction(version, wrong[0]), conflict=True)
            continue
        for item in items:
            if _adds(said, more, item):
                rows.new.add(index)
    new = [replace(one.item, preferences=one.preferences) for one in said.values() if one.item is not None]
    if new:
        store_comparisons(connection, version, kind.run(connection, version, now), new, now)
    add_aspects(connection, more)


def _adds(said: dict[ComparisonKey, _Said], more: dict[int, dict[str, Preference]], item: NewComparison) -> bool:
    """Take over what an item says beyond what is known; return whether it says more."""
    known = said.get(key_of(item))
    if known is None:
        said[key_of(item)] = _Said(item.record.status, dict(item.preferences), item=item)
        return True
    further = {aspect: each for aspect, each in item.preferences.items() if aspect not in known.preferences}
    known.preferences.update(further)
    if further and known.id is not None:
        more.setdefault(known.id, {}).update(further)
    return bool(further)


def _contradiction(version: StoredVersion, item: NewComparison) -> str:
    return f"{version.name} has another verdict on this pair in the order {item.shown}"
