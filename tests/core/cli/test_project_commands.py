"""The project file: `init` writes it for a log, and commands take judges and sources from it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, verdict
from judgeboard.settings.model import load_settings

ROWS = 30
QUESTION, ANSWER, PASSAGE = (
    "How do I reset password {0}?",
    "Press reset {0} in settings.",
    "Reset is in settings.",
)


def lines(row: Callable[[int], Any]) -> str:
    return "".join(json.dumps(row(number), ensure_ascii=False) + "\n" for number in range(ROWS))


def csv(header: str, row: str) -> str:
    return "".join(f"{line}\n" for line in (header, *(row.format(number) for number in range(ROWS))))


def flat(question: str, answer: str, context: str) -> Callable[[int], Any]:
    return lambda number: {question: QUESTION.format(number), answer: ANSWER.format(number), context: [PASSAGE]}


def chat(number: int) -> Any:
    turns = [("user", QUESTION), ("assistant", ANSWER)]
    return {"messages": [{"role": role, "content": text.format(number)} for role, text in turns]}


def spans(number: int) -> Any:
    texts = {"input.value": QUESTION, "output.value": ANSWER}
    return {
        "name": "answer",
        "context.trace_id": f"{number:032x}",
        "context.span_id": f"{number:016x}",
        "parent_id": None,
        "span_kind": "CHAIN",
        "start_time": "2026-03-01T10:00:00Z",
        "end_time": "2026-03-01T10:00:01Z",
        "status_code": "OK",
        **{f"attributes.{name}": text.format(number) for name, text in texts.items()},
    }


LOGS = {
    "flat.jsonl": lines(flat("question", "answer", "contexts")),
    "german.jsonl": lines(flat("Frage", "Antwort", "Quellen")),
    "bot.csv": csv("id,ts,user_message,bot_reply", "{0},03/04/2026 10:00," + QUESTION + "," + ANSWER),
    "plain.csv": csv("prompt,completion", f'"{QUESTION}","{ANSWER}"'),
    "tabs.tsv": csv("query\tresponse", f"{QUESTION}\t{ANSWER}"),
    "nested.jsonl": lines(
        lambda n: {"input": {"question": QUESTION.format(n)}, "output": {"answer": ANSWER.format(n)}}
    ),
    "chat.jsonl": lines(chat),
    "array.json": json.dumps([flat("q", "a", "docs")(number) for number in range(ROWS)]),
    "spans.jsonl": lines(spans),
    "made_up.jsonl": lines(flat("x1", "x2", "x3")),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGEBOARD_CONFIG", "")  # what --config sets is taken back
    return tmp_path


@pytest.mark.parametrize("name", LOGS)
def test_init_writes_a_file_with_which_a_log_is_imported_and_judged(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (folder / name).write_text(LOGS[name], encoding="utf-8")
    assert run(["init", name]) == 0
    assert not (folder / "judgeboard.db").exists(), "init stores nothing"
    assert run(["import", name]) == 0
    assert run(["judge"]) == 0
    assert f"{ROWS} asked = {ROWS} ok" in capsys.readouterr().out
    assert (folder / "judgeboard.db").exists()
    assert run(["init", name]) == 2
    assert "judgeboard.toml exists already" in capsys.readouterr().err


def test_judges_by_name_bring_their_settings_and_a_typed_option_takes_precedence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "flat.jsonl").write_text(LOGS["flat.jsonl"])
    with RecordingEndpoint(always(verdict())) as endpoint:
        (folder / "judgeboard.toml").write_text(
            f'[judges.strict]\nmodel = "big"\nbase_url = "{endpoint.base_url}"\ntemperature = 0.4\n'
            "price = {input = 1, output = 2}\nrequests_per_minute = 60000\n\n"
            '[judges.offline]\nkind = "lexical"\n'
        )
        run(["import", "flat.jsonl"])
        assert run(["judge", "strict", "--limit", "2"]) == 0
        assert run(["judge", "strict", "--limit", "1", "--temperature", "0.9"]) == 0
        assert run(["judge", "offline"]) == 0
        asked = [(request.body["model"], request.body["temperature"]) for request in endpoint.requests]
        assert asked == [("big", 0.4)] * 2 + [("big", 0.9)]
        out = capsys.readouterr().out
        assert "strict v1, run 1: 2 asked" in out
        assert "strict v2, run 2: 1 asked" in out
        assert "offline v1, run 3: 30 asked" in out
        assert "cost $ 0 " not in out.splitlines()[-3], "the price of the file counts"
        assert run(["test", "audit", "offline", "--by", "strict", "--sample", "0.1"]) in (0, 1)
        assert endpoint.requests[-1].body["model"] == "big"
    for other in (["--judge", "lexical"], ["--jury", "a,b"]):
        assert run(["judge", "strict", *other]) == 2
        assert "NAME already chooses the judge" in capsys.readouterr().err
    assert run(["judge", "nobody"]) == 2
    err = capsys.readouterr().err
    assert "no judge 'nobody': judgeboard.toml has strict, offline; no judge version 'nobody'" in err


def test_the_primary_judge_of_the_file_is_no_member_of_a_jury(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "flat.jsonl").write_text(LOGS["flat.jsonl"])
    with RecordingEndpoint(always(verdict())) as endpoint:
        (folder / "judgeboard.toml").write_text('primary_judge = "main"\n[judges.main]\nmodel = "big"\n')
        run(["import", "flat.jsonl"])
        assert run(["judge", "--jury", "small,other", "--base-url", endpoint.base_url, "--limit", "1"]) in (0, 1)
        assert {request.body["model"] for request in endpoint.requests} == {"small", "other"}


def test_a_judge_of_the_database_is_asked_again_by_its_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "flat.jsonl").write_text(LOGS["flat.jsonl"])
    run(["import", "flat.jsonl", "--db", "log.db"])
    run(["judge", "--judge", "lexical", "--name", "first", "--limit", "3", "--db", "log.db"])
    assert run(["judge", "first", "--db", "log.db"]) == 0
    assert f"first v1, run 2: {ROWS - 3} asked" in capsys.readouterr().out


def test_config_shows_the_place_of_each_value(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "team.toml").write_text("random_share = 0.25\n\n[judges.strict]\nmodel = 'm'\n")
    assert run(["config", "--config", "team.toml"]) == 0
    out = capsys.readouterr().out
    assert "random_share              0.25  (team.toml, line 1)" in out
    assert load_settings().random_share == 0.25
    assert run(["config", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["properties"]["random_share"]["maximum"] == 1
    assert "model" in schema["$defs"]["JudgeSettings"]["properties"]
