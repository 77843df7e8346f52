"""One judge asked the same several times: what is asked, what is kept, what it comes to."""

import json
from collections import Counter
from contextlib import closing

import pytest
from sqlalchemy import select

from engines import on_sqlite
from graded_log import BAD, GOOD, GradedLog
from judgeboard.cli.app import run
from judgeboard.domain import DimensionScore, JudgeVersion, ResponseKind, Status, Verdict
from judgeboard.errors import BadInput, NotFound
from judgeboard.health.report import measure_health
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    always,
    completion,
    failure,
    verdict,
)
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.notes import note
from judgeboard.measure.result import ALL, Row
from judgeboard.methods.repeats.command import repeats_lines
from judgeboard.methods.repeats.run import judge_repeats, repeats_report
from judgeboard.runs.judging import judge_pending
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import FLAG, JUDGMENT, VERSION
from judging_log import address, asked, judgments, number_in, rag, runs, store_answers
from killed_command import AT_ONCE, killed_then_repeated, stored
from stored_rows import read, write_to


def repeat(store, script, times=3, **options):
    with RecordingEndpoint(script) as endpoint:
        return judge_repeats(store, rag(endpoint), times, **{"concurrency": 2} | options), endpoint


def version(store, name, **params):
    return write_to(store, ensure_version, JudgeVersion(name, "rubric", params=params))


def add(store, of, response_id, *verdicts):
    write_to(
        store,
        store_judgments,
        of,
        None,
        [NewJudgment(response_id, 0, number, each) for number, each in enumerate(verdicts)],
    )


def scored(value):
    return Verdict(Status.OK, scores=(DimensionScore("score", value, "1-5"),))


def by_name(rows, store):
    with store.reading() as connection:
        names = {
            row.id: row.name for row in connection.execute(select(VERSION.c.id, VERSION.c.name))
        }
    return {
        name: [row for row in rows if names[row["judge_version_id"]] == name]
        for name in names.values()
    }


@on_sqlite
def test_each_answer_is_asked_so_often_and_one_verdict_is_made_of_it(store):
    store_answers(store, 4)
    qualities = iter([1, 4, 4] * 4)
    summary, endpoint = repeat(
        store, lambda _request, _number: verdict(quality=next(qualities)), concurrency=1
    )
    assert (summary.selected, summary.ok, len(endpoint.requests)) == (12, 12, 12)
    assert set(asked(endpoint).values()) == {3}
    rows = by_name(judgments(store), store)
    assert Counter((row["id"], row["repeat"]) for row in rows["rag"]) == Counter(
        (str(answer), number) for answer in range(4) for number in range(3)
    )
    assert [(row["repeat"], row["quality"]) for row in rows["rag x3"]] == [(0, 4)] * 4
    again, endpoint = repeat(store, always(verdict()))
    assert (again.selected, endpoint.requests) == (0, [])
    assert len(runs(store)) == 1


def test_what_was_asked_before_is_repeat_0_and_more_repeats_are_filled_up(sqlite_store):
    store_answers(sqlite_store, 3)
    with RecordingEndpoint() as endpoint:
        judge_pending(sqlite_store, rag(endpoint))
    assert len(repeat(sqlite_store, always(verdict()))[1].requests) == 6
    assert len(repeat(sqlite_store, always(verdict()), 5)[1].requests) == 6
    assert {row["repeat"] for row in judgments(sqlite_store)} == {0, 1, 2, 3, 4}


def test_a_stopped_run_of_repeats_goes_on_though_answers_were_made_and_have_been_stored(store):
    store_answers(store, 2)
    first, endpoint = repeat(
        store,
        lambda _request, number: verdict() if number < 4 else failure(401, "no"),
        concurrency=1,
    )
    assert (first.state, len(endpoint.requests)) == ("stopped", 5)
    store_answers(store, 1, first=5, kind=ResponseKind.CONTROL)
    store_answers(store, 1, first=6)
    second, endpoint = repeat(store, always(verdict()))
    assert (second.asked, len(endpoint.requests), len(runs(store))) == (6, 2, 1)
    third, endpoint = repeat(store, always(verdict()))
    assert (asked(endpoint), len(runs(store)), third.ok) == ({6: 3}, 2, 3)


def test_only_complete_answers_are_combined_and_a_limit_takes_the_first(sqlite_store):
    store_answers(sqlite_store, 5)
    summary, endpoint = repeat(sqlite_store, always(verdict()), limit=2)
    assert sorted(asked(endpoint)) == [0, 1]
    assert summary.ok == 6
    assert len(by_name(judgments(sqlite_store), sqlite_store)["rag x3"]) == 2


def test_repeats_are_no_second_opinion_and_repeat_0_is_current(sqlite_store):
    store_answers(sqlite_store, 1)
    scores = iter([1.0, 0.1, 0.0])
    repeat(
        sqlite_store, lambda _request, _number: verdict(groundedness=next(scores)), concurrency=1
    )
    with sqlite_store.reading() as connection:
        assert "judges_disagree" not in set(connection.execute(select(FLAG.c.rule)).scalars())
    combined = by_name(judgments(sqlite_store), sqlite_store)["rag x3"]
    assert combined[0]["groundedness"] == 0.1


def test_self_consistency_beside_accuracy(sqlite_store):
    log = GradedLog(sqlite_store)
    rag_, ids = log.version("rag", temperature=0.7), log.answers(16)
    for place, id_ in enumerate(ids):
        labels = (GOOD, GOOD, GOOD) if place > 3 else (GOOD, BAD, GOOD)
        add(sqlite_store, rag_, id_, *(Verdict(Status.OK, label=label) for label in labels))
    log.review_all(ids[:12], label=BAD.value)
    report = read(sqlite_store, repeats_report, version="rag")
    assert (report.main.measure, report.main.items, report.repeats, report.temperature) == (
        "label",
        16,
        3,
        0.7,
    )
    assert report.main.self_consistency.value == 0.75
    assert report.main.self_consistency.method == "Wilson"
    agreement = measure_agreement(sqlite_store, judge_versions=["rag"])
    assert Row.of("agreement", ALL, report.main.accuracy).estimate == agreement.figure("agreement")
    assert (
        (report.main.accuracy.value, report.main.accuracy_answers)
        == (0.0, agreement.answers)
        == (0.0, None)
    )
    assert "12 graded answers" in " ".join(repeats_lines(report))
    log.review_all(ids[12:], label=GOOD.value)
    report = read(sqlite_store, repeats_report, version="rag")
    assert report.main.accuracy_answers == 16
    assert report.main.spread.value == 0.25
    assert report.caveats == (note("temperature", temperature=0.7),)


def test_answers_and_those_left_out_add_up_to_all_that_were_judged_repeatedly(sqlite_store, capsys):
    log = GradedLog(sqlite_store)
    rag_, ids = log.version("rag"), log.answers(16)
    for place, id_ in enumerate(ids[:15]):
        add(sqlite_store, rag_, id_, scored(2), scored(2 if place else None))
    add(
        sqlite_store,
        rag_,
        ids[15],
        Verdict(Status.ERROR, error="timeout"),
        Verdict(Status.UNPARSABLE),
    )
    report = read(sqlite_store, repeats_report, version="rag")
    left_out = {"no value in some repeat": 1, "no value in any repeat": 1}
    assert (report.main.items, report.main.left_out, report.answers) == (14, left_out, 16)
    assert all(
        each.items + sum(each.left_out.values()) == report.answers for each in report.measures
    )
    result = measure_agreement(sqlite_store, of="repeats")
    assert result.n + sum(result.about.left_out.values()) == report.answers
    assert result.about.left_out == {"incomplete": 1, "no_value": 1}
    assert run(["test", "repeats", "--judge-version", "rag", "--db", address(sqlite_store)]) == 1
    reasons = ", ".join(f"{reason} ({n})" for reason, n in left_out.items())
    assert f": Left out: {reasons}." in capsys.readouterr().out


def test_all_versions_of_a_name_are_pooled_also_on_answers_of_no_log(sqlite_store):
    log = GradedLog(sqlite_store)
    ids = log.answers(4, kind=ResponseKind.CANDIDATE)
    first, second = (
        version(sqlite_store, "gpt-4", rubric=1),
        version(sqlite_store, "gpt-4", rubric=2),
    )
    add(sqlite_store, first, ids[0], scored(1), scored(1), scored(1))
    add(sqlite_store, first, ids[1], scored(4), scored(4), scored(5))
    add(sqlite_store, second, ids[2], scored(5), scored(5), scored(5))
    add(sqlite_store, second, ids[3], scored(3))  # asked once: no repeat
    with sqlite_store.reading() as connection:
        pooled = repeats_report(connection, name="gpt-4")
        alone = repeats_report(connection, version="gpt-4 v1")
    assert (pooled.main.measure, pooled.main.items, len(pooled.versions)) == ("score", 3, 2)
    assert pooled.main.self_consistency.value == pytest.approx(2 / 3)
    assert pooled.main.krippendorff_alpha.value == pytest.approx(0.9685, abs=1e-4)
    assert pooled.caveats == (note("temperature_unknown"),)
    assert alone.main.items == 2


def test_who_was_not_asked_twice_is_told_how_and_named_those_that_were(sqlite_store):
    log = GradedLog(sqlite_store)
    ids = log.answers(1)
    log.say_all(log.version("rag"), ids, label=GOOD)
    with sqlite_store.reading() as connection:
        with pytest.raises(NotFound, match="--judge rag --repeats 3"):
            repeats_report(connection, version="rag")
        with pytest.raises(NotFound, match="'nobody'; known: rag"):
            repeats_report(connection, name="nobody")
    add(sqlite_store, log.version("nli"), ids[0], scored(2), scored(2))
    with sqlite_store.reading() as connection:
        for of in ({"name": "nobody"}, {"version": "nobody"}):
            with pytest.raises(NotFound, match=r"'nobody'; .*: nli v1$"):
                repeats_report(connection, **of)
    with pytest.raises(BadInput, match="2 or more"):
        repeat(sqlite_store, always(verdict()), 1)


def test_the_commands(sqlite_store, shell):
    store_answers(sqlite_store, 3)
    db = f"--db {address(sqlite_store)}"

    def script(request, number):
        return (
            completion("hm") if number_in(request) == 2 else verdict(quality=4 if number % 2 else 3)
        )

    with RecordingEndpoint(script) as endpoint:
        shell(f"judge --judge rag --model m --base-url {endpoint.base_url} --repeats 3 {db}")
    result = json.loads(shell(f"test repeats --judge-version rag --json {db}"))
    counts = [result["account"][name] for name in ("asked", "ok", "unparsable")]
    assert [*counts, result["main"]["items"], result["temperature"]] == [9, 6, 3, 2, 0]
    assert {each["measure"] for each in result["measures"]} == {"quality", "groundedness"}
    for name in ("self_consistency", "krippendorff_alpha", "spread", "accuracy"):
        assert {"value", "low", "high", "n", "method"} <= set(result["main"][name])
    named = json.loads(shell(f"test repeats --name rag --json {db}"))
    assert named["measures"] == result["measures"]
    for words in ("", "--judge-version a --name b"):
        assert "choose a judge" in shell(f"test repeats {words} {db}", code=2)
    # Elsewhere --judge is a kind.
    assert "No such option" in shell(f"test repeats --judge rag {db}", code=2)


@pytest.mark.shared
def test_prometheus_says_the_same_on_half_of_the_items(public_database):
    with closing(open_store(public_database(("prometheus.samples", "repeats")))) as store:
        with store.reading() as connection:
            (name,) = set(connection.execute(select(VERSION.c.name)).scalars())
            report = repeats_report(connection, name=name)
        checks = measure_health(store, name).checks
    assert (report.main.items, len(report.versions), report.repeats) == (640, 117, 3)
    assert report.main.self_consistency.value == pytest.approx(0.531, abs=5e-4)
    assert report.main.krippendorff_alpha.value == pytest.approx(0.8516, abs=5e-5)
    (same,) = (each for each in checks if each.name == "self_consistency")
    assert same.statistic == report.main.self_consistency


ANSWERS, REPEATS = 8, 3


def test_repeats_go_on_after_a_kill(sqlite_store, endpoint):
    store_answers(sqlite_store, ANSWERS)
    words = ["judge", "--judge", "grade", "--model", "m", "--repeats", str(REPEATS)]
    endpoint.reply = completion("incorrect 0")
    killed_then_repeated(sqlite_store, endpoint, JUDGMENT, *words)
    assert stored(sqlite_store, JUDGMENT) == ANSWERS * REPEATS
    assert endpoint.asked.total() <= ANSWERS * REPEATS + AT_ONCE
    assert [row["state"] for row in runs(sqlite_store)] == ["done"]
