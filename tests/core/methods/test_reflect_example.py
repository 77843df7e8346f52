"""The weather scene, as the example file plays it."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, completion
from refining_log import judged, rated

EXAMPLE = Path(__file__).parents[3] / "examples" / "weather.py"


@pytest.fixture
def weather() -> Any:
    spec = importlib.util.spec_from_file_location("weather_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_scene_runs_as_its_docstring_says() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True, env=os.environ | {"PYTHONUTF8": "1"}
    )
    attempts = re.findall(r"attempt \d: It is (-?\d+) °C in Paris\.\n  rated (\d)", done.stdout)
    assert attempts == [("-255", "1"), ("-125", "1"), ("15", "4")]
    assert done.stdout.endswith("passed: It is 15 °C in Paris.\n")


@pytest.mark.parametrize("seed", range(8))
def test_impossible_temperatures_fail_and_15_passes_whenever_it_comes(weather: Any, seed: int) -> None:
    result = weather.main(["--seed", str(seed)])
    assert (result.passed, result.answer) == (True, "It is 15 °C in Paris.")
    assert all("15" not in one.answer for one in result.attempts[:-1])
    assert all(one.rating.rating == 1 for one in result.attempts[:-1])


def test_a_limit_ends_the_scene_without_an_exception(weather: Any) -> None:
    result = weather.main(["--seed", "6", "--max-repeats", "1"])
    assert (result.passed, len(result.attempts), result.answer) == (False, 2, "It is -125 °C in Paris.")


def test_models_at_an_endpoint_play_the_scene_with_a_real_tool_call(weather: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}

    def script(request: dict[str, Any], _number: int) -> ScriptedReply:
        messages = request["messages"]
        if request["model"] == "reader":
            return rated(4 if " 15 °C" in judged(request) else 1, "ask again")
        if messages[-1]["role"] == "tool":
            return completion(f"It is {messages[-1]['content']} in Paris.")
        reply = json.loads(json.dumps(completion("").body))
        reply["choices"][0]["message"] |= {"content": None, "tool_calls": [call]}
        reply["choices"][0]["finish_reason"] = "tool_calls"
        return ScriptedReply(reply)

    with RecordingEndpoint(script) as endpoint:
        result = weather.main(["--model", "writer", "--judge-model", "reader", "--base-url", endpoint.base_url])
    assert (result.passed, result.answer, len(result.attempts)) == (True, "It is 15 °C in Paris.", 3)
