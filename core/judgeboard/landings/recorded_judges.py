"""The judge versions and runs under which what was recorded elsewhere is kept."""

from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import RunState
from judgeboard.judges.replay import replay_version
from judgeboard.pair_records import RecordedJudge
from judgeboard.store.judgments.judge_versions import StoredVersion, ensure_version, find_version
from judgeboard.store.runs.runs import finish_run, is_run_of, start_import_run


def recorded_version(connection: Connection, judge: RecordedJudge, now: datetime) -> StoredVersion:
    """Return the version of a recorded judge: the stored one of its fingerprint, else that of its name."""
    known = None if judge.version is None else find_version(connection, judge.version)
    return known or ensure_version(connection, replay_version(judge.name, recorded=judge.version), now)


class RecordedJudges:
    """The runs of one file: one per judge version, begun when it brings the first new verdict."""

    def __init__(self, actor: str) -> None:
        self._actor = actor
        self._runs: dict[int, int] = {}

    def run(self, connection: Connection, version: StoredVersion, now: datetime) -> int:
        """Return the run of a judge version."""
        begun = self._runs.get(version.id)
        # A batch that brought nothing new, or a dry run, was rolled back with the runs that it began.
        if begun is None or not is_run_of(connection, begun, version.id):
            begun = self._runs[version.id] = start_import_run(connection, version, self._actor, now).id
        return begun

    def finish(self, connection: Connection, now: datetime) -> None:
        """Mark the runs as done."""
        for version_id, run_id in self._runs.items():
            if is_run_of(connection, run_id, version_id):
                finish_run(connection, run_id, RunState.DONE, now=now)
