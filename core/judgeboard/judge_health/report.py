"""The report on a judge version's own faults."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Status
from judgeboard.judge_health.check import Check, State
from judgeboard.judge_health.checks import CHECKS
from judgeboard.judge_health.kept_records import KeptRecords
from judgeboard.judge_health.model_table import model_table
from judgeboard.judge_health.reading import read_record
from judgeboard.judge_health.record import JudgeRecord
from judgeboard.settings import load_settings
from judgeboard.store.engine import Readable
from judgeboard.store.health.version_account import not_reached
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Every check of one judge version, in the order of ``CHECKS``, and what they were made of.

    ``not_reached`` is what its unfinished runs have still to ask.
    """

    version: StoredVersion
    checks: tuple[Check, ...]
    record: JudgeRecord
    not_reached: int = 0

    @property
    def warnings(self) -> tuple[Check, ...]:
        """The checks that warn."""
        return tuple(check for check in self.checks if check.state is State.WARNING)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "judge": self.version.title,
            "fingerprint": self.version.fingerprint,
            "model": self.version.model,
            "asked": sum(self.record.asked.values()),
            **{status.value: self.record.asked.get(status.value, 0) for status in Status},
            "not_reached": self.not_reached,
            "warnings": len(self.warnings),
            "checks": [check.as_json() for check in self.checks],
        }


def health(store: Readable, judge_version: int | str, *, families: Path | None = None) -> HealthReport:
    """Look for a judge's own faults in what is stored; nobody is asked anything.

    Args:
        store: Where its verdicts are.
        judge_version: Name (its newest version), "name v3", fingerprint or id.
        families: The user's own table of models (TOML, as ``models.toml``); JUDGEBOARD_FAMILIES by default.

    Raises:
        NotFound: There is no such judge version.
        BadInput: The table of models cannot be used.
    """
    with store.reading() as connection:
        return health_of(connection, get_version(connection, judge_version), families=families)


def health_of(
    connection: Connection,
    version: StoredVersion,
    *,
    families: Path | None = None,
    records: KeptRecords | None = None,
) -> HealthReport:
    """Return the same of a version that was read already, in the caller's transaction; ``records`` may hold it."""
    models = model_table(families or load_settings().families)
    read = read_record if records is None else records.read
    report = report_on(read(connection, version, models))
    return replace(report, not_reached=not_reached(connection, version.id))


def report_on(record: JudgeRecord) -> HealthReport:
    """Return every check of what is known of a judge version."""
    return HealthReport(record.version, tuple(check(record) for check in CHECKS.values()), record)
