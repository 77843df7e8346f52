"""The scene of student, teacher and reviewer, as the example file plays it."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, completion

EXAMPLE = Path(__file__).parents[3] / "examples" / "supreme_judge.py"


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("supreme_judge_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def test_the_scene_ends_in_precision_and_recall(scene: Any, capsys: pytest.CaptureFixture[str]) -> None:
    report = scene.main(["--runs", "30"])
    turns = [scene.scripted_turn(number) for number in range(30)]
    wrong = [not turn.teacher_is_right for turn in turns]
    marked = [turn.teacher_is_right is not turn.reviewer_is_right for turn in turns]
    assert report.tp == sum(a and b for a, b in zip(wrong, marked, strict=True)) > 0
    assert report.fp == sum(b and not a for a, b in zip(wrong, marked, strict=True)) > 0
    assert report.fn == sum(a and not b for a, b in zip(wrong, marked, strict=True)) > 0
    assert report.graded == 30
    assert report.precision.value == pytest.approx(report.tp / (report.tp + report.fp))
    assert report.recall.value == pytest.approx(report.tp / (report.tp + report.fn))
    assert (report.precision.method, report.recall.method) == ("Wilson", "Wilson")
    printed = capsys.readouterr().out
    assert "precision (marked verdicts that are wrong)" in printed
    assert "recall (wrong verdicts that are marked)" in printed


def test_three_calls_a_run_to_the_models_that_were_named(scene: Any) -> None:
    def reply(request: dict[str, Any], number: int) -> ScriptedReply:
        return completion(scene.scripted_reply(request["messages"], number))

    with RecordingEndpoint(reply) as endpoint:
        models = ["--model", "small", "--reviewer-model", "big", "--base-url", endpoint.base_url]
        scene.main([*models, "--runs", "4"])
        asked = [request.body["model"] for request in endpoint.requests]
    assert sorted(asked) == ["big"] * 4 + ["small"] * 8
    assert endpoint.requests[0].body["temperature"] == 1.0  # a student that always says the same teaches nothing


def test_it_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, EXAMPLE, "--runs", "3"], capture_output=True, text=True, check=True)
    assert "teacher v1 audited by reviewer v1" in done.stdout
