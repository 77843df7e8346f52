"""The project file: `init` writes it for a log, and commands take judges and sources from it."""

import json
import re
import resource
import shutil
from contextlib import closing

import pytest

from command_lines import run_line
from judgeboard.cli.app import run
from judgeboard.judges.rubric_file import default_rubric
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, completion, verdict
from judgeboard.settings.model import load_settings
from judgeboard.store.opening import open_store
from judgeboard.store.overview import count_open_flags
from judgeboard.store.queues import queue_named

ROWS = 30
QUESTION, ANSWER, PASSAGE = (
    "How do I reset password {0}?",
    "Press reset {0} in settings.",
    "Reset is in settings.",
)


def lines(row):
    return "".join(json.dumps(row(number), ensure_ascii=False) + "\n" for number in range(ROWS))


def csv(header, row):
    return "".join(
        f"{line}\n" for line in (header, *(row.format(number) for number in range(ROWS)))
    )


def flat(question, answer, context):
    return lambda number: {
        question: QUESTION.format(number),
        answer: ANSWER.format(number),
        context: [PASSAGE],
    }


def chat(number):
    turns = [("user", QUESTION), ("assistant", ANSWER)]
    return {"messages": [{"role": role, "content": text.format(number)} for role, text in turns]}


def spans(number):
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
    "bot.csv": csv(
        "id,ts,user_message,bot_reply", "{0},03/04/2026 10:00," + QUESTION + "," + ANSWER
    ),
    "tabs.tsv": csv("query\tresponse", f"{QUESTION}\t{ANSWER}"),
    "nested.jsonl": lines(
        lambda n: {
            "input": {"question": QUESTION.format(n)},
            "output": {"answer": ANSWER.format(n)},
        }
    ),
    "chat.jsonl": lines(chat),
    "spans.jsonl": lines(spans),
    "made_up.jsonl": lines(flat("x1", "x2", "x3")),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGEBOARD_CONFIG", "")  # what --config sets is taken back
    return tmp_path


@pytest.fixture
def project(folder):
    """The path of the project file, in a folder with a log."""
    (folder / "flat.jsonl").write_text(LOGS["flat.jsonl"])
    return folder / "judgeboard.toml"


@pytest.mark.parametrize("name", LOGS)
def test_init_writes_a_file_with_which_a_log_is_imported_and_judged(folder, shell, name):
    (folder / name).write_text(LOGS[name], encoding="utf-8")
    shell(f"init {name}")
    # Init stores nothing.
    assert not (folder / "judgeboard.db").exists()
    shell(f"import {name}")
    assert f"{ROWS} asked = {ROWS} ok" in shell("judge")
    assert (folder / "judgeboard.db").exists()
    assert "judgeboard.toml exists already" in shell(f"init {name}", code=2)


def test_init_writes_its_file_whole_or_not_at_all(folder, capsys):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (100, limits[1])
    )  # as on a disk with room for 100 bytes
    try:
        assert run_line("init") == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "judgeboard.toml" in capsys.readouterr().err
    assert list(folder.iterdir()) == []
    assert run_line("init") == 0
    assert load_settings().judges["lexical"].kind == "lexical"


def test_init_writes_to_the_path_of_config(folder, capsys, shell):
    (folder / "flat.jsonl").write_text(LOGS["flat.jsonl"], encoding="utf-8")
    path = folder / "team.toml"
    assert run_line("init flat.jsonl --config team.toml") == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{path}: written. `judgeboard config --config {path}`")
    assert not (folder / "judgeboard.toml").exists()
    commands = [line.removeprefix("next: judgeboard ") for line in err.splitlines()]
    assert commands == [f"import flat.jsonl --config {path}", f"judge --config {path}"]
    for command in commands:
        assert run(command.split()) == 0
    assert "team.toml exists already" in shell("init --config team.toml", code=2)


def test_the_examples_that_init_writes_count_once_their_marks_are_removed(folder, project):
    (folder / "suite.yaml").write_text("name: shop")
    run_line("init")
    text = project.read_text()
    settings = load_settings()
    sections = ("queues", "suites", "alerts", "judging_rules", "checks")
    assert not any(getattr(settings, section) for section in sections)
    examples = text[text.index("# [[checks]]") :]
    marks_removed = [line.removeprefix("# ") for line in examples.splitlines()]
    project.write_text(text[: text.index("# [[checks]]")] + "\n".join(marks_removed))
    settings = load_settings()
    assert settings.queues["medical"].reviews_needed == 2
    assert settings.suites["release"].threshold == 4
    assert settings.alerts["old"].after == "2d"
    assert settings.judging_rules["live"].rate == ("0.1",)
    assert "short enough" in (settings.checks or "")
    assert len(examples.splitlines()) < 30


def test_judges_by_name_bring_their_settings_and_a_typed_option_takes_precedence(
    project, capsys, shell
):
    with RecordingEndpoint(always(verdict())) as endpoint:
        project.write_text(
            f'[judges.strict]\nmodel = "big"\nbase_url = "{endpoint.base_url}"\ntemperature = 0.4\n'
            "price = {input = 1, output = 2}\nrequests_per_minute = 60000\n\n"
            '[judges.offline]\nkind = "lexical"\n'
        )
        run_line("config --confirm")
        run_line("import flat.jsonl")
        assert run_line("judge strict --limit 2") == 0
        assert run_line("judge strict --limit 1 --temperature 0.9") == 0
        assert run_line("judge offline") == 0
        asked = [
            (request.body["model"], request.body["temperature"]) for request in endpoint.requests
        ]
        assert asked == [("big", 0.4)] * 2 + [("big", 0.9)]
        out = capsys.readouterr().out
        asked_in_runs = re.findall(r"(\S+) v(\d), run (\d): (\d+) asked", out)
        assert asked_in_runs == [
            ("strict", "1", "1", "2"),
            ("strict", "2", "2", "1"),
            ("offline", "1", "3", "30"),
        ]
        # The price of the file counts.
        assert "cost $ 0 " not in out.splitlines()[-3]
        assert run_line("test audit offline --by strict --sample 0.1") in (0, 1)
        assert endpoint.requests[-1].body["model"] == "big"
    for other in ("--judge lexical", "--jury a,b"):
        assert "judge 'strict'" in shell(f"judge strict {other}", code=2)
    err = shell("judge nobody", code=2)
    assert "'nobody': judgeboard.toml has strict, offline;" in err


def test_the_primary_judge_of_the_file_is_no_member_of_a_jury(project):
    with RecordingEndpoint(always(verdict())) as endpoint:
        project.write_text('primary_judge = "main"\n[judges.main]\nmodel = "big"\n')
        run_line("import flat.jsonl")
        assert run_line(f"judge --jury small,other --base-url {endpoint.base_url} --limit 1") in (
            0,
            1,
        )
        assert {request.body["model"] for request in endpoint.requests} == {"small", "other"}


def test_a_judge_of_the_database_is_asked_again_by_its_name(project, shell):
    run_line("import flat.jsonl --db log.db")
    run_line("judge first --judge lexical --limit 3 --db log.db")
    assert f" {ROWS - 3} asked " in shell("judge first --db log.db")


def test_config_shows_the_place_of_each_value(folder, shell):
    (folder / "team.toml").write_text("random_share = 0.25\n\n[judges.strict]\nmodel = 'm'\n")
    out = shell("config --config team.toml")
    (share,) = (line for line in out.splitlines() if line.startswith("random_share  "))
    assert share.endswith("0.25  (team.toml, line 1)")
    assert load_settings().random_share == 0.25
    schema = json.loads(shell("config --schema"))
    assert schema["properties"]["random_share"]["maximum"] == 1
    assert "model" in schema["$defs"]["JudgeSettings"]["properties"]


def test_a_queue_and_rules_of_the_file_need_their_name_alone(folder, project, shell):
    guidelines = "Read the passages first."
    (folder / "rules.md").write_text(guidelines)
    project.write_text(
        "random_share = 1\n"
        '[queues.legal]\nwhere = {rule = "random_sample"}\nneeded = 2\norder = "random"\nblind_judge = true\n'
        'assign = ["Mara", "Jon"]\ngrades = ["label"]\nguidelines = "rules.md"\nlimit = 7\nimplied_labels = false\n'
        '[alerts.old]\nwhen = "old_flags"\nafter = "2d"\nto = "slack:env:SLACK_URL"\n'
        '[judges.strict]\nmodel = "big"\nbase_url = "http://localhost:1/v1"\ntemperature = 0.4\n'
        '[judging_rules.live]\njudge = "strict"\nrate = [0.1, "QA=0.5"]\nmax_calls = 10\n'
    )
    shell("config --confirm")
    run_line("import flat.jsonl")
    shell("queue create legal")
    # The file has no table for this one.
    shell("queue create other --needed 1")
    with closing(open_store(None)) as store, store.reading() as connection:
        queue = queue_named(connection, "legal")
        assert queue.reviews_needed == 2
        assert queue.sort == "random"
        assert queue.max_items == 7
        assert queue.blind_judge
        assert queue.grades == ("label",)
        assert queue.guidelines == guidelines
        assert queue.implied_labels is False
        assert queue.filter.rules == ("random_sample",)
    assert " old_flags > 0," in shell("rule add alert old")
    out = shell("rule add judge live --max-calls 20")
    assert "10 % (QA: 50" in out
    # What is typed takes precedence.
    assert " 20 calls" in out
    out = shell("config")
    assert "queues.legal              limit: 7, order: random, needed: 2" in out
    # The line of the alert.
    assert "(judgeboard.toml, line 12)" in out
    project.write_text('[alerts.bad]\nto = "command"\nwhen = "old"\n')
    (bad,) = (
        line for line in shell("doctor", code=1).splitlines() if "judgeboard.toml, line 3: " in line
    )
    assert "alerts.bad.when" in bad
    assert "'old'" in bad


def test_a_primary_judge_that_does_not_exist_is_named_before_it_removes_flags(
    folder, project, capsys, shell
):
    project.write_text(
        'low_groundedness = 1\nprimary_judge = "strict"\n[judges.strict]\nkind = "lexical"\n'
    )
    assert run_line("import flat.jsonl") == 0
    # The file describes this judge, which has not judged yet.
    assert run_line("config") == 0
    assert run_line("judge strict") == 0
    capsys.readouterr()
    project.write_text('low_groundedness = 1\nprimary_judge = "strcit"\n')
    fault = (
        f"{project}, line 2: primary_judge names the judge 'strcit', which does not "
        f"exist, so no answer is flagged for "
    )
    jury = "judge --jury a,b --base-url http://localhost:1/v1", "compare judges strict nli"
    for command in ("config", "flags apply --yes", "judge lexical", *jury):
        assert fault in shell(command, code=2)
    assert fault in shell("doctor", code=1)
    with closing(open_store(None)) as store, store.reading() as connection:
        # The flags of the low scores stay.
        assert count_open_flags(connection) == ROWS
    (folder / "more.jsonl").write_text(LOGS["chat.jsonl"])
    assert run_line("import more.jsonl --source chat") == 0
    assert f"warning: {fault}" in capsys.readouterr().err
    # A new judge gets this name.
    assert run_line("judge strcit --judge lexical") == 0
    assert run_line("config") == 0
    project.write_text('primary_judge = "lexical"\n')
    # Before the first judge, a kind is a name.
    assert run_line("config --db none.db") == 0


def test_a_schema_with_a_dot_is_a_file_of_any_kind(folder, project, shell):
    file = folder / "fields.csv"
    file.write_text("name\nlabel\n")
    project.write_text('[queues.legal]\nschema = "fields.csv"\n')
    run_line("import flat.jsonl")
    for words in ("legal", "other --schema fields.csv"):
        assert f"{file.name}, line 1" in shell(f"queue create {words}", code=2)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            '[judges.a]\nkind = "rga"',
            "line 2: judges.a.kind 'rga' is unknown; known: rag, .*lexical",
        ),
        (
            '[judges.a]\nprovider = "opnai"',
            "line 2: judges.a.provider 'opnai' is unknown; known: openai, anthropic",
        ),
        (
            '[queues.a]\nneeded = 2\nwhere = {rule = "low"}',
            "line 3: queues.a.where there is no rule 'low'; rules: low_groundedness, ",
        ),
        (
            "[queues.a]\nwhere = {min_score = 7}",
            "line 2: queues.a.where min_score must be a number from 0",
        ),
        (
            '[alerts.a]\nto = "command"\nwhen = "spent"',
            "line 3: alerts.a.when is not usable: no condition 'spent'; the conditions are ",
        ),
        (
            '[alerts.a]\nto = "fax"\nwhen = "alarm"',
            "line 1: alerts.a is not usable: unknown destination: write ",
        ),
        (
            '[judging_rules.a]\nwhere = {colour = "red"}',
            "line 2: judging_rules.a.where .*one of the fields",
        ),
    ],
)
def test_an_unknown_name_in_a_table_of_the_file_is_an_error_with_its_place(
    project, sqlite_template, capsys, shell, text, fault
):
    project.write_text(text)
    assert run_line("config") == 2
    output = capsys.readouterr()
    assert re.search(f"^judgeboard: {re.escape(str(project))}, {fault}", output.err)
    assert "database in use" in output.out
    for _ in ("without a database", "with one"):
        assert re.search(f"{re.escape(str(project))}, {fault}", shell("doctor --db log.db", code=1))
        shutil.copyfile(sqlite_template, "log.db")


SUITE = """
name: shop
candidate: source:default
cases:
- query: Is it open?
  reference: It is open until six.
"""


def test_a_suite_of_the_file_brings_its_judge_and_thresholds(folder, project, shell):
    (folder / "tests").mkdir()
    (folder / "tests" / "shop.yaml").write_text(SUITE)
    (folder / "log.csv").write_text("question,answer\nIs it open?,Until six.\n")
    scores = {name: {"reasoning": "Fine.", "score": 4} for name in default_rubric().weights}
    with RecordingEndpoint(always(completion(json.dumps(scores)))) as endpoint:
        project.write_text(
            f'[judges.strict]\nmodel = "big"\nbase_url = "{endpoint.base_url}"\ntemperature = 0.4\n'
            '[suites.shop]\nfile = "tests/shop.yaml"\nby = "strict"\nthreshold = 4.5\n'
        )
        run_line("config --confirm")
        run_line("import log.csv")
        # 4 is below the threshold of the file.
        assert "threshold 4.5" in shell("suite run shop", code=1)
        assert {(each.body["model"], each.body["temperature"]) for each in endpoint.requests} == {
            ("big", 0.4)
        }
        shell("suite run shop --threshold 3")
    assert "'shops', and judgeboard.toml has shop" in shell("suite run shops", code=2)


def test_checks_of_the_file_flag_answers_and_a_mistake_names_its_line(project, shell):
    checks = '# Checks.\n[[checks]]\nname = "short"\nlength = {max_words = 3}\n\n[[checks]]\nname = "no link"\n'
    project.write_text(f'{checks}not_regex = "http"\n')
    run_line("import flat.jsonl")
    out = shell("flags checks")
    assert "short" in out
    assert f"{ROWS}" in out
    assert "no link" in out
    project.write_text(f"{checks}lenght = {{max_words = 3}}\n")
    err = shell("flags checks", code=2)
    assert "judgeboard.toml, line 6: checks[1]: " in err
    assert len(err.splitlines()) == 1
