"""Who types is a reviewer too: whatever a terminal reads leaves out what they are to review blind."""

import json
import re

import pytest
from sqlalchemy import select, update

from command_lines import run_line
from judgeboard.cli.options import actor
from judgeboard.domain import Grade, JudgeVersion, QueueOrder, Status, Verdict
from judgeboard.measure.trend import trend
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import QUEUE, RESPONSE
from marked_answer import mark_answer
from queue_case import queue_case
from recording_tool import FakeLangfuse
from stored_rows import read


def blind_case(store):
    case = queue_case(store)
    mark_answer(store, case.ada)
    me = ensure_reviewer(store, "cli", actor())
    case.queue(
        where=RowFilter(ids=("marked",)), blind_judge=True, order=QueueOrder.OLDEST, assigned=(me,)
    )
    return str(store.engine.url.database)


def test_an_export_leaves_out_what_its_user_reviews_blind_and_says_how_many(
    sqlite_store, tmp_path, capsys
):
    db = blind_case(sqlite_store)
    assert run_line(f"export all -o {tmp_path / 'out'} --db {db}") == 0
    assert "hidden: 1 answer " in capsys.readouterr().err
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()}
    assert [name for name, text in files.items() if "mark-" in text] == []
    assert "plain-reasoning" in files["judgments.jsonl"]


def test_a_push_sends_nothing_that_its_user_reviews_blind(sqlite_store, monkeypatch, capsys):
    db = blind_case(sqlite_store)
    monkeypatch.setattr("judgeboard.tools.langfuse.trace_id_of", lambda _item: "ab" * 16)
    with FakeLangfuse() as tool:
        for name, key in tool.environment.items():
            monkeypatch.setenv(name, key)
        assert run_line(f"push langfuse --with-notes --url {tool.address} --db {db}") == 0
        sent = json.dumps([request.body for request in tool.requests])
    assert "plain-reasoning" in sent
    assert "mark-" not in sent
    assert "hidden: 1 answer" in capsys.readouterr().err


def test_figures_count_the_others(sqlite_store, shell):
    db = blind_case(sqlite_store)
    assert json.loads(shell(f"stats --json --db {db}"))["responses"] == 1


def test_no_change_is_named_where_answers_are_hidden(sqlite_store, shell):
    db = blind_case(sqlite_store)
    sentence = read(sqlite_store, trend).changes.sentence
    assert sentence not in shell(f"trends --db {db}")
    with sqlite_store.writing() as connection:
        connection.execute(update(QUEUE).values(state="closed"))
    assert sentence in shell(f"trends --db {db}")


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
    db = blind_case(sqlite_store)

    def told():
        code = run_line(f"{command} --db {db}")
        said = capsys.readouterr()
        return (
            code,
            re.sub(r"checked in \d+\.\d s", "checked", said.out),
            said.err,
        )  # the time differs by chance

    before = told()
    assert "mark" not in before[1]
    assert "hidden: 1 answer " in before[2]
    say_more(sqlite_store)
    assert told() == before


def say_more(store):
    """A colleague and a judge say of the hidden answer what had not been said."""
    jon = ensure_reviewer(store, "page", "Jon")
    with store.reading() as connection:
        response_id = connection.execute(
            select(RESPONSE.c.id).where(RESPONSE.c.external_id == "marked")
        ).scalar_one()
    submit(
        store,
        Submission(
            response_id=response_id, reviewer=jon, grade=Grade(quality=4), request_key="more"
        ),
    )
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        store_judgments(
            connection,
            version,
            None,
            [NewJudgment(response_id, 9, 0, Verdict(Status.OK, groundedness=0.01))],
        )
