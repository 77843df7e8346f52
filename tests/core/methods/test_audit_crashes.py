"""An audit that is killed: the same command goes on, and repeats the calls in flight at most."""

import pytest

from held_endpoint import HeldEndpoint
from judgeboard.domain import JudgeVersion, Label, Status, Verdict
from judgeboard.llm.recording_endpoint import completion
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import JUDGMENT, JUDGMENT_REVIEW
from judging_log import runs, store_answers
from killed_command import AT_ONCE, killed_then_repeated, stored

REVIEWED = JUDGMENT_REVIEW
ANSWERS = 24


@pytest.mark.parametrize("approach", ["1", "2"])
def test_an_audit_goes_on_after_a_kill(sqlite_store: Store, endpoint: HeldEndpoint, approach: str) -> None:
    endpoint.reply = completion("incorrect 0")
    store_answers(sqlite_store, ANSWERS)
    with sqlite_store.writing() as connection:
        teacher = ensure_version(connection, JudgeVersion("teacher", "grade"))
        verdict = Verdict(Status.OK, label=Label.GROUNDED)
        store_judgments(
            connection, teacher, None, [NewJudgment(number, 0, 0, verdict) for number in range(1, ANSWERS + 1)]
        )
    table = REVIEWED if approach == "1" else JUDGMENT
    words = ["audit", "--judge-version", "teacher", "--supreme-model", "m", "--sample", "1", "--approach", approach]
    killed_then_repeated(sqlite_store, endpoint, table, *words)
    assert stored(sqlite_store, table) == ANSWERS
    assert len(endpoint.asked) == ANSWERS
    assert endpoint.asked.total() <= ANSWERS + AT_ONCE
    assert [row["state"] for row in runs(sqlite_store)] == ["done"]
