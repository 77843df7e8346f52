"""DeepEval: scores of metrics, and passages of saved datasets."""

import json

import pytest

from tool_files import only, opened, written


def test_scores_on_an_unknown_scale_are_kept_and_not_counted(tmp_path):
    case = {"input": "q", "actualOutput": "a", "retrievalContext": ["p"]}
    scores = [
        {"name": "Length", "score": 37.0},
        {"name": "Faithfulness", "score": None, "error": "timed out"},
    ]
    _, (verdict,) = opened(written(tmp_path, case | {"metricsData": scores}), "verdicts")
    assert verdict.verdict.status == "error"
    assert verdict.verdict.error == "timed out"
    assert verdict.verdict.scores == ()
    assert json.loads(verdict.verdict.raw) == {"Length": 37.0}


@pytest.mark.parametrize("cell", ['["a|b", "c"]', "['a|b', 'c']"])
def test_passages_of_a_saved_dataset_may_be_a_list_with_bars_in_its_texts(tmp_path, cell):
    row = {"input": "q", "actual_output": "a", "retrieval_context": cell, "source_file": ""}
    _, response = only(written(tmp_path, row))
    assert response.passages == ("a|b", "c")
