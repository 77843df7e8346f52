"""Grades, an audit, a jury and repeats with a real model, one answer each: all is accounted for, whatever it says."""

from typing import Any

import pytest
from sqlalchemy import func, select

from graded_log import GOOD, GradedLog
from judgeboard.cli.app import run
from judgeboard.domain import Status
from judgeboard.store.engine import Store
from judgeboard.store.tables import JUDGMENT, JUDGMENT_REVIEW, VERSION
from judging_log import address

REVIEWED = JUDGMENT_REVIEW
pytestmark = pytest.mark.llm


@pytest.fixture
def log(sqlite_store: Store) -> GradedLog:
    log = GradedLog(sqlite_store)
    log.say_all(log.version("teacher"), log.answers(1), label=GOOD)
    return log


def asked(log: GradedLog, small_model: str, *words: str) -> int:
    """Run a command against the model; 0 or 1 is its exit code: everything came back."""
    model = ["--base-url", small_model, "--max-output", "8", "--timeout", "120", "--db", address(log.store)]
    code = run([*words, *model])
    assert code in {0, 1}
    return code


def statuses(log: GradedLog, table: Any) -> list[Any]:
    with log.store.reading() as connection:
        return list(connection.execute(select(table.c.status).where(table.c.run_id.is_not(None))).scalars())


def test_a_grade_its_repeat_an_audit_and_a_jury(log: GradedLog, small_model: str) -> None:
    asked(log, small_model, "judge", "--judge", "grade", "--model", "smollm2")
    asked(log, small_model, "judge", "--judge", "grade", "--model", "smollm2", "--repeats", "2")
    asked(log, small_model, "audit", "--judge-version", "teacher", "--supreme-model", "smollm2", "--sample", "1")
    assert run(["jury", "--recorded", "--members", "teacher,grade", "--db", address(log.store)]) == 0
    said = [*statuses(log, JUDGMENT), *statuses(log, REVIEWED)]
    assert len(said) == 3
    assert set(said) <= {Status.OK.value, Status.UNPARSABLE.value}
    with log.store.reading() as connection:
        row = connection.execute(select(REVIEWED)).one()
        of_kind = select(func.count()).select_from(JUDGMENT).join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
        for kind in ("jury", "repeats"):
            assert connection.execute(of_kind.where(VERSION.c.kind == kind)).scalar_one() == 1
    assert (row.correct is not None) == (row.status == Status.OK.value)
    assert row.raw
