"""promptfoo: failed calls, and rows without an answer."""

from judgeboard.domain import Rejected
from tool_files import opened, written


def test_a_failed_call_is_a_rejected_row_with_the_reason(shared):
    _, items = opened(shared / "captures" / "promptfoo" / "results.json")
    (rejected,) = [item for item in items if isinstance(item, Rejected)]
    assert "Rate limit exceeded" in rejected.reason
    assert rejected.row["vars"] == {"question": "FAIL429 please", "context": "x"}


def test_a_row_without_the_column_of_the_answer_is_rejected_alone(tmp_path):
    row = {
        "question": "q",
        "[openai:m] {{question}}": "a",
        "Status": "PASS",
        "Score": 1,
        "Named Scores": "{}",
    }
    file = written(
        tmp_path,
        row,
        {name: row[name] for name in row if not name.startswith("[")},
        row | {"question": "r"},
    )
    _, items = opened(file)
    assert [isinstance(item, Rejected) for item in items] == [False, True, False]
