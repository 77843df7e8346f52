"""OpenTelemetry: files of a Collector."""

import json
from pathlib import Path

from judgeboard.domain import Response
from tool_files import records

QUESTION = "At what temperature does Dyneema melt, and nylon?"


def test_the_log_records_of_a_file_belong_to_its_spans(shared: Path, tmp_path: Path) -> None:
    requests = [path.read_text() for path in sorted((shared / "captures" / "v2_legacy").glob("*[a-z].json"))]
    requests = [json.dumps(json.loads(text)) for text in requests if "resource" in text]
    file = tmp_path / "collector.jsonl"
    file.write_text("\n".join(requests))
    _, items = records(file)
    questions = [item.query for item in items if isinstance(item, Response)]
    assert sorted(questions) == ["And nylon?", QUESTION, QUESTION, "What is the weather in Bergen?"]
