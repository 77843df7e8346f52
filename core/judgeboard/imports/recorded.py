"""Judgments that were recorded elsewhere: the judge versions, runs and comparisons that keep them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Preference, RunState
from judgeboard.imports.kinds import ImportKind, Record, RowOutcomes
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
    """Imports records of judges: each judge version of a file has one run, which starts with its first new record."""

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


def store_recorded(
    connection: Connection,
    version: StoredVersion,
    kind: RecordedImport[Any],
    comparisons: Mapping[int, list[NewComparison]],
    rows: RowOutcomes,
    now: datetime,
) -> None:
    """Store the comparisons of one judge version, by the index of their row.

    The same verdict again is unchanged, one on further aspects is added, another one is rejected.
    """
    pair_ids = {item.pair_id for items in comparisons.values() for item in items}
    stored = stored_comparisons(connection, version.id, pair_ids)
    statuses: dict[ComparisonKey, str] = {key: comparison.status for key, comparison in stored.items()}
    preferences = {
        key: {aspect: Preference(value) for aspect, value in comparison.preferences.items()}
        for key, comparison in stored.items()
    }
    new: dict[ComparisonKey, NewComparison] = {}
    further: dict[int, dict[str, Preference]] = {}

    def contradicts(item: NewComparison) -> bool:
        known = preferences.get(key_of(item), {})
        return statuses.get(key_of(item), item.record.status) != item.record.status or any(
            known.get(aspect, value) is not value for aspect, value in item.preferences.items()
        )

    for index, items in comparisons.items():
        if wrong := next(filter(contradicts, items), None):
            reason = f"{version.name} has another verdict on this pair in the order {wrong.shown}"
            rows.refuse(index, None, reason, differs=True)
            continue
        for item in items:
            key = key_of(item)
            known = preferences.setdefault(key, {})
            added = {aspect: value for aspect, value in item.preferences.items() if aspect not in known}
            known |= added
            if key not in statuses:
                statuses[key], new[key] = item.record.status, item
            elif not added:
                continue
            elif key in stored:
                further.setdefault(stored[key].id, {}).update(added)
            rows.new.add(index)
    if new:
        items = [replace(item, preferences=preferences[key]) for key, item in new.items()]
        store_comparisons(connection, version, kind.run(connection, version, now), items, now)
    add_aspects(connection, further)
