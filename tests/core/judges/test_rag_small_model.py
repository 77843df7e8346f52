"""The RAG judge with a real model behind a real wire protocol."""

import pytest

from judgeboard.domain import JudgeInput, Status
from judgeboard.judges.judge import JudgeOptions
from judgeboard.judges.kinds import JUDGES
from judgeboard.llm.recording_endpoint import RecordingEndpoint, forward_to
from judging_log import judge_once

ITEM = JudgeInput(
    response_id=1,
    query="How long is the rope for the wall at Sonnstein?",
    answer="A rope of 70 metres is enough.",
    passages=("Sonnstein: routes up to 34 m. A rope of 70 m is enough for all of them.",),
)


@pytest.mark.llm
def test_whatever_a_real_model_says_is_kept_whole(small_model: str) -> None:
    with RecordingEndpoint(forward_to(small_model)) as endpoint:
        options = JudgeOptions(model="smollm2", base_url=endpoint.base_url, max_output=96, timeout_s=120)
        verdict = judge_once(JUDGES["rag"](options), ITEM)
    assert verdict.status in {Status.OK, Status.UNPARSABLE}, verdict.error
    assert verdict.raw
    assert verdict.model_reported
    assert (verdict.prompt_tokens or 0) > 100
    assert 0 < (verdict.completion_tokens or 0) <= 96 * len(verdict.attempts)
    assert (verdict.latency_ms or 0) > 0
    assert verdict.cost_micro is None
    assert len(verdict.attempts) == len(endpoint.requests)
    assert all(attempt.raw for attempt in verdict.attempts)
