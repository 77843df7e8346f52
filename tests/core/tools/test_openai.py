"""OpenAI chat logs: what is one, and its last reply."""

import pytest

from tool_files import only, opened, written


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]},
        {
            "request": {"model": "m", "messages": [{"role": "user", "content": "q"}]},
            "response": {
                "id": "c1",
                "model": "m",
                "choices": [{"message": {"role": "assistant", "content": "a"}}],
            },
        },
        {
            "object": "response",
            "model": "m",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "q"}]}],
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
            ],
        },
        {
            "custom_id": "r1",
            "body": {"model": "m", "messages": [{"role": "user", "content": "q"}]},
            "response": {
                "status_code": 200,
                "body": {"choices": [{"message": {"content": "a"}}], "model": "m"},
            },
        },
    ],
)
def test_openai_chat_logs_give_the_last_question_and_its_reply(tmp_path, row):
    title, response = only(written(tmp_path, row))
    assert title == "OpenAI chat logs"
    assert response.query == "q"
    assert response.answer == "a"


def test_a_log_with_its_own_question_and_answer_is_no_chat_log(tmp_path):
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    reading, (response,) = opened(
        written(tmp_path, {"question": "q", "answer": "a", "messages": turns})
    )
    assert reading.export is None
    assert response.query == "q"
    assert response.answer == "a"
