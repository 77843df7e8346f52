"""With a judge version that has judged few of the graded answers, the next step is to judge them."""

import json
import shlex

from engines import on_sqlite
from graded_log import GOOD
from judgeboard.cli.app import run
from judgeboard.domain import RECORDED, JudgeVersion
from judgeboard.measure.agreement import measure_agreement
from judgeboard.runs.judging import make_judge
from judgeboard.store.judge_versions import ensure_version
from judging_log import address
from stored_rows import write_to


@on_sqlite
def test_labels_that_only_lack_a_verdict_are_judged_and_not_asked_for_again(log, capsys):
    earlier, ids = log.version("lexical", earlier=True), log.answers(20)
    log.review_all(ids[:15], label=GOOD)
    log.say_all(earlier, ids, label=GOOD)
    trial = write_to(log.store, ensure_version, make_judge("lexical").version)
    log.say_all(trial, ids[:1], label=GOOD)
    db = address(log.store)
    words = ["agreement", "--judge-version", "lexical v2", "--where", "source=log", "--db", db]
    assert run(words) == 0
    suggested = capsys.readouterr().err
    assert run([*words, "--json"]) == 0
    notes = {each["code"]: each["values"] for each in json.loads(capsys.readouterr().out)["next"]}
    assert notes["judge_graded"] == {"title": "lexical v2", "n": 14}
    assert notes["choose_version"] == {"title": "lexical v1", "n": 15}
    command = "judgeboard judge --judge lexical --where source=log --where graded=yes"
    assert suggested == f"next: {command} --db {db}\n"
    assert run([*shlex.split(command)[1:], "--db", db]) == 0
    assert capsys.readouterr().out.split().count("14") == 2
    assert run([*words, "--json"]) == 0
    assert "judge_graded" not in capsys.readouterr().out


@on_sqlite
def test_a_judge_that_cannot_judge_leads_to_another_one(log):
    ids = log.answers(12)
    log.review_all(ids, label=GOOD)
    recorded = write_to(log.store, ensure_version, JudgeVersion("old", RECORDED))
    log.say_all(recorded, ids[:2], label=GOOD)
    result = measure_agreement(log.store, judge_versions=["old"])
    assert result.unjudged is None
    assert (result.headline.code, result.next) == ("few_graded", ())
    log.say_all(log.version("nli"), ids, label=GOOD)
    result = measure_agreement(log.store, judge_versions=["old"])
    assert result.unjudged.command is None
    assert [each.values for each in result.next] == [
        {"title": "old v1", "n": 10},
        {"title": "nli v1", "n": 12},
    ]
