"""Controls judged by a real model."""

import pytest

from judgeboard.domain import Response, Status, Verdict
from judgeboard.health.record import State
from judgeboard.health.report import CHECKS, measure_health
from judgeboard.llm.recording_endpoint import RecordingEndpoint, forward_to
from judgeboard.methods.control_answers import judge_control_answers, make_control_answers
from judgeboard.runs.judging import make_judge
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments, store_responses


@pytest.mark.llm
def test_whatever_a_real_model_says_of_a_control_is_accounted_for(small_model: str, sqlite_store: Store) -> None:
    answer = Response("log", "a", "When does Dyneema melt?", "Dyneema melts at 145 degrees.", ("It melts at 145.",))
    with sqlite_store.writing() as connection:
        (original,) = store_responses(connection, [answer]).new
    assert [each.made for each in make_control_answers(sqlite_store, kinds=["passages_removed"])] == [1]
    with RecordingEndpoint(forward_to(small_model)) as endpoint:
        judge = make_judge(
            "rag", model="smollm2", base_url=endpoint.base_url, max_output=24, timeout_s=120, concurrency=2
        )
        # The original has its verdict already: the model is slow, and one answer shows as much as two.
        with sqlite_store.writing() as connection:
            judgment = NewJudgment(original, 0, 0, Verdict(Status.OK, groundedness=1.0, quality=4))
            store_judgments(connection, ensure_version(connection, judge.version), None, [judgment])
        asked = judge_control_answers(sqlite_store, judge, concurrency=2)
    assert asked.selected == asked.asked == 1
    assert asked.asked == asked.ok + asked.unparsable + asked.refused + asked.error
    assert len(endpoint.requests) >= 1
    checks = measure_health(sqlite_store, "rag").checks
    assert len(checks) == len(CHECKS)
    assert {check.state for check in checks} <= {State.NOT_MEASURED, State.OK}, "one control is no evidence"
