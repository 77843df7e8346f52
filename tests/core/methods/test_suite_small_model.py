"""A suite with a real model as candidate and as judge."""

from pathlib import Path

import pytest

from judgeboard.llm.recording_endpoint import RecordingEndpoint, forward_to
from judgeboard.methods.suite_file import read_suite
from judgeboard.methods.suite_run import make_candidate, run_suite
from judgeboard.runs.judging import make_judge
from judgeboard.store.engine import Store

SUITE = """
name: real
max_unmeasured: 1
rubric:
  name: colours
  dimensions:
    - name: accuracy
      levels: {1: Wrong., 2: Poor., 3: Fair., 4: Good., 5: Right.}
cases: [{query: Name a colour., reference: Red.}]
"""


@pytest.mark.llm
def test_whatever_a_real_model_says_every_case_is_accounted_for(
    small_model: str, sqlite_store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(SUITE)
    suite = read_suite(file)
    with RecordingEndpoint(forward_to(small_model)) as endpoint:
        given = {"base_url": endpoint.base_url, "timeout_s": 120}
        judge = make_judge("rubric", rubric=suite.rubric, model="smollm2", max_output=24, **given)
        candidate = make_candidate("model:smollm2", max_output=16, **given)
        result = run_suite(sqlite_store, suite, candidate, judge=judge)
    account = result.account
    assert account.asked == account.ok + account.unparsable + account.refused + account.error
    assert result.measured + result.unmeasured == 1
    (case,) = result.cases
    assert (case.score is None) == (case.reason is not None)
    assert result.gate.code in {0, 1, 2}
    assert len(endpoint.requests) >= account.asked >= 1
