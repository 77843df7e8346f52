"""The command that measures agreement, as somebody in a terminal meets it."""

import shlex

import pytest

from command_lines import run_line
from graded_log import BAD, GOOD, labels_in
from judgeboard.cli.app import run
from judgeboard.formats.label_schema import schema_in
from judgeboard.reviews.queues import add_schema, create_queue
from judgeboard.store.queues import new_queue
from judging_log import address
from queue_case import CONFIRM, queue_case


@pytest.fixture
def graded(sqlite_log):
    """A log in which a judge and two people labelled 40 answers."""
    log = sqlite_log
    ids = log.answers(40, query_type="sql")
    labels = labels_in(ids, ids[::4])
    log.say(log.version(), labels | {ids[0]: {"label": GOOD}})
    for reviewer in ("mara", "jon"):
        log.reviews(labels, reviewer)
    return log


def test_too_few_grades_are_said_once_with_the_command_that_gets_more(sqlite_log, capsys):
    ids = sqlite_log.answers(20)
    sqlite_log.say_all(sqlite_log.version(), ids, label=GOOD)
    sqlite_log.review_all(ids[:2], label=GOOD)
    db = address(sqlite_log.store)
    assert run_line(f"agreement --where source=log --db {db}") == 0
    printed, suggested = capsys.readouterr()
    assert "2 graded answers" in printed
    assert "too few" not in printed
    command = "judgeboard queue create labels --plan rate --n 8 --where source=log"
    assert suggested == f"next: {command} --db {db}\n"
    # The command works as it is printed.
    assert run([*shlex.split(command)[1:], "--db", db]) == 0
    assert run_line(f"agreement --of people --db {db}") == 0
    assert "--n 10 --needed 2" in capsys.readouterr().err


def test_where_no_judge_is_named_the_others_are(graded, sqlite_log, typed):
    def others(words=""):
        steps = typed(f"agreement {words} --json")["next"]
        return [each["values"] for each in steps if each["code"] == "other_versions"]

    assert others() == []
    ids = sqlite_log.answers(2)
    sqlite_log.review_all(ids, label=GOOD)
    sqlite_log.say_all(sqlite_log.version("nli"), ids, label=GOOD)
    assert others() == [{"title": "rag v1", "others": ["nli v1"]}]
    assert others("--judge-version 'nli v1'") == []


def test_the_report_is_written_beside_what_is_said(graded, tmp_path, typed):
    report = tmp_path / "agreement.html"
    assert f"written to {report}" in typed(f"agreement --report {report}")
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    over_it = f"agreement --report {tmp_path / 'judgeboard.db'}"
    assert "SQLite database" in typed(over_it, code=2)
    typed("agreement")


def test_the_command_in_the_sentence_has_the_filter(sqlite_log, capsys):
    """Without it, the queue would hold answers that the figure is not about."""
    ids = [*sqlite_log.answers(60, query_type="sql"), *sqlite_log.answers(60, query_type="prose")]
    bad = ids[2::3]
    sqlite_log.say(sqlite_log.version(), labels_in(ids, bad))
    sqlite_log.reviews(labels_in({*bad, *ids[4::5]}, bad))
    db = address(sqlite_log.store)
    assert run_line(f"agreement --where query_type=sql --db {db}") == 0
    command = capsys.readouterr().err.removeprefix("next: ")
    assert "--where query_type=sql" in command
    # The command works as it is printed.
    assert run(shlex.split(command)[1:]) == 0


def test_tied_answers_alone_are_said_to_be_tied(sqlite_log, typed):
    ids = sqlite_log.answers(12)
    sqlite_log.say_all(sqlite_log.version(), ids, label=GOOD)
    for reviewer, label in (("mara", GOOD), ("jon", BAD)):
        sqlite_log.review_all(ids, reviewer, label=label)
    assert "page Conflicts" in typed("agreement", code=2)


@pytest.mark.parametrize(
    ("words", "said"),
    {
        "--epsilon 0.2": "--epsilon needs --alt-test",
        "--small wilcoxon": "--small needs --alt-test",
        "--judge-version nobody": "no judge version 'nobody'",
        "--grade style": "there is no grade 'style'",
        "--unit pairs": "no judge version has a verdict on pairs that people graded",
        "--of repeats": "no judge has repeats",
        "--schema support --by source --of people": "remove --of, --by",
    }.items(),
)
def test_what_cannot_be_measured_is_one_line_and_exit_code_2(graded, words, said, typed):
    error = typed(f"agreement {words}", code=2)
    assert said in error
    assert error.count("\n") == 1


def test_a_label_schema_is_measured_on_the_answers_of_a_filter(sqlite_store, typed):
    case = queue_case(sqlite_store)
    case.flagged(0.1, 0.1)
    case.flagged(0.1, query_type="Summary")
    add_schema(
        sqlite_store, schema_in("name: s\nfields: [{name: safe, type: yes_no}]"), by=case.lead
    )
    create_queue(
        sqlite_store,
        new_queue("q", needed=2, blind_people=True),
        by=case.lead,
        assigned=case.people,
        schema="s",
        now=case.now,
    )
    for who in (case.mara, case.jon) * 3:
        case.say(case.lease(who), who, CONFIRM, choices={"safe": True})
    words = "agreement --schema s --where query_type=QA"
    assert typed(words).startswith("Filter: QA.")
    output = typed(f"{words} --json")
    assert output["where"] == {"query_types": ["QA"]}
    assert [each["n"] for each in output["fields"]] == [2]
