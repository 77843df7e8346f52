"""Who types is a reviewer too: whatever a terminal reads leaves out what they are to review blind."""

import json
import re

import pytest

from command_lines import run_line
from graded_log import GradedLog
from judgeboard.cli.options import actor
from judgeboard.measure.trend import trend
from judgeboard.people.roster import ensure_reviewer
from judgeboard.store.filters import RowFilter
from judgeboard.store.tables import RESPONSE
from judging_log import address
from marked_answer import mark_answer
from queue_case import queue_case
from recording_tool import FakeLangfuse
from stored_rows import read, values_of


def blind_case(store):
    case = queue_case(store)
    mark_answer(store, case.ada)
    me = ensure_reviewer(store, "cli", actor())
    case.queue(where=RowFilter(ids=("marked",)), blind_judge=True, order="oldest", assigned=(me,))
    return case


def test_an_export_leaves_out_what_its_user_reviews_blind_and_says_how_many(
    sqlite_store, tmp_path, capsys
):
    blind_case(sqlite_store)
    assert run_line(f"export all -o {tmp_path / 'out'} --db {address(sqlite_store)}") == 0
    assert "hidden: 1 answer " in capsys.readouterr().err
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()}
    assert [name for name, text in files.items() if "mark-" in text] == []
    assert "plain-reasoning" in files["judgments.jsonl"]


def test_a_push_sends_nothing_that_its_user_reviews_blind(sqlite_store, monkeypatch, capsys):
    blind_case(sqlite_store)
    monkeypatch.setattr("judgeboard.tools.langfuse.trace_id_of", lambda _item: "ab" * 16)
    with FakeLangfuse() as tool:
        for name, key in tool.environment.items():
            monkeypatch.setenv(name, key)
        push = f"push langfuse --with-notes --url {tool.address}"
        assert run_line(f"{push} --db {address(sqlite_store)}") == 0
        sent = json.dumps([request.body for request in tool.requests])
    assert "plain-reasoning" in sent
    assert "mark-" not in sent
    assert "hidden: 1 answer" in capsys.readouterr().err


def test_figures_count_the_others(sqlite_store, typed):
    blind_case(sqlite_store)
    assert typed("stats --json")["responses"] == 1


def test_no_change_is_named_where_answers_are_hidden(sqlite_store, typed):
    case = blind_case(sqlite_store)
    sentence = read(sqlite_store, trend).changes.sentence
    assert sentence not in typed("trends")
    case.close()
    assert sentence in typed("trends")


READING = (
    "db events --json",
    "db events --response marked",
    "stats --json",
    "doctor",
    "agreement --of judge --grade quality --judge-version rag",
    "agreement --of people",
    "test health rag --json",
    "compare --recorded --judge-version two",
)


@pytest.mark.parametrize("command", READING)
def test_what_reads_tells_as_much_whatever_was_said_of_the_hidden_answer_and_says_that_it_is_left_out(
    sqlite_store, capsys, command
):
    case, log = blind_case(sqlite_store), GradedLog(sqlite_store)

    def told():
        code = run_line(f"{command} --db {address(sqlite_store)}")
        out, err = capsys.readouterr()
        # The time differs by chance.
        return code, re.sub(r"checked in \d+\.\d s", "checked", out), err

    before = told()
    assert "mark" not in before[1]
    assert "hidden: 1 answer " in before[2]
    say_more(sqlite_store, case, log)
    assert told() == before


def say_more(store, case, log):
    """A colleague and a judge say of the hidden answer what had not been said."""
    [response_id] = values_of(store, RESPONSE.c.id, RESPONSE.c.external_id == "marked")
    case.grade(response_id, case.jon, quality=4)
    version = log.version()
    log.asks[version.id, response_id] = 8
    log.say(version, {response_id: {"groundedness": 0.01}})
