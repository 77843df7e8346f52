"""Files of prompts: what counts as a line."""

from pathlib import Path

import pytest

from judgeboard.errors import BadInput
from judgeboard.methods.generation import read_prompts


def test_a_byte_order_mark_is_no_part_of_the_first_prompt(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('\ufeff{"id": "u1", "prompt": "first"}\r\nplain\r\n', encoding="utf-8")
    assert [(one.item.external_id, one.item.query) for one in read_prompts(file)] == [("u1", "first"), ("2", "plain")]


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"id": "a", "prompt": "one\u2028two\u0085three"}\nfive\u2028six', encoding="utf-8")
    assert [one.item.query for one in read_prompts(file)] == ["one\u2028two\u0085three", "five\u2028six"]


def test_a_line_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "one"}\n' + '{"a":' * 100_000, encoding="utf-8")
    with pytest.raises(BadInput, match="line 2: not JSON"):
        read_prompts(file)
