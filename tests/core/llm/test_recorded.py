"""Recorded replies stand in for a model."""

import asyncio
from pathlib import Path

import pytest

from judgeboard.errors import BadInput
from judgeboard.llm.chat import ChatRequest, NoReply, RecordedChat, Reply, read_replies


def ask(chat: RecordedChat, subject: str, *, repair: bool = False) -> Reply | NoReply:
    request = ChatRequest([], {}, "verdict", 512, subject=subject, repair=repair)
    return asyncio.run(chat.complete(request))


def test_replies_are_found_by_response_and_turn(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text(
        '{"response_id": "a", "raw": "first"}\n\n{"response_id": "a", "raw": "second"}\n'
        '{"response_id": 7, "raw": {"quality": 3}}\n',
        encoding="utf-8",
    )
    chat = RecordedChat(read_replies(file))
    first, second, number = ask(chat, "a"), ask(chat, "a", repair=True), ask(chat, "7")
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert isinstance(number, Reply)
    assert (first.text, second.text, number.text) == ("first", "second", '{"quality": 3}')
    assert ask(chat, "a") == first


def test_a_response_without_a_recording_gets_no_reply() -> None:
    reply = ask(RecordedChat({"a": ["x"]}), "b")
    assert isinstance(reply, NoReply)
    assert reply.reason == "no recorded reply for response 'b'"
    assert reply.attempts == ()


@pytest.mark.parametrize(
    "line", ["{", "[]", "[" * 200_000, '{"response_id": "a"}', '{"response_id": true, "raw": "x"}', '{"raw": "x"}']
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('{"response_id": "a", "raw": "x"}\n' + line, encoding="utf-8")
    with pytest.raises(BadInput, match="line 2"):
        read_replies(file)


def test_a_file_without_a_reply_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text("\ufeff\n", encoding="utf-8")
    with pytest.raises(BadInput, match="contains no reply"):
        read_replies(file)
