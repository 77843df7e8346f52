"""ragas: its metrics, and ids of passages."""

from tool_files import opened, written


def test_ids_of_passages_are_kept_beside_them(shared):
    _, (first, _) = opened(shared / "captures" / "ragas" / "dataset.csv")
    assert first.metadata["context_details"] == [{"id": "slings-07"}, {"id": "ropes-02"}]


def test_only_metrics_of_ragas_are_scores(tmp_path):
    sample = {"user_input": "q", "response": "a", "retrieved_contexts": ["p"]}
    metrics = {
        "factual_correctness(mode=f1)": 0.25,
        "harmfulness": 1,
        "temperature": 0.5,
        "is_test": True,
    }
    file = written(tmp_path, sample | metrics)
    _, (verdict,) = opened(file, "verdicts")
    assert {score.dimension: score.value for score in verdict.verdict.scores} == {
        "factual_correctness(mode=f1)": 0.25,
        "harmfulness": 1,
    }
    _, (response,) = opened(file)
    assert response.metadata["temperature"] == 0.5
    assert response.metadata["is_test"] is True
