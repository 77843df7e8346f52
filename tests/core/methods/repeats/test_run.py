"""One judge asked the same several times: what is asked, what is kept, what it comes to."""

from contextlib import closing

import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD, GradedLog
from judgeboard.domain import DimensionScore, ResponseKind, Status, Verdict
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
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import FLAG, JUDGMENT, VERSION
from judging_log import asked, judgments, number_in, rag, runs, store_answers
from killed_command import AT_ONCE, killed_then_repeated, stored
from result_fields import check_fields
from stored_rows import read, values_of, write_to


def repeat(store, script=None, times=3, **options):
    with RecordingEndpoint(script or always(verdict())) as endpoint:
        return judge_repeats(store, rag(endpoint), times, **{"concurrency": 2} | options), endpoint


def add(store, of, response_id, *verdicts):
    judgments = [NewJudgment(response_id, 0, number, each) for number, each in enumerate(verdicts)]
    write_to(store, store_judgments, of, None, judgments)


def scored(value):
    return Verdict(Status.OK, scores=(DimensionScore("score", value, "1-5"),))


def judgments_of(store, name):
    """The judgments of a judge, in the order of storing."""
    (version,) = values_of(store, VERSION.c.id, VERSION.c.name == name)
    return [row for row in judgments(store) if row["judge_version_id"] == version]


@on_sqlite
def test_each_answer_is_asked_so_often_and_one_verdict_is_made_of_it(store):
    store_answers(store, 4)
    qualities = iter([1, 4, 4] * 4)
    summary, endpoint = repeat(
        store, lambda _request, _number: verdict(quality=next(qualities)), concurrency=1
    )
    assert summary.selected == summary.ok == len(endpoint.requests) == 12
    assert set(asked(endpoint).values()) == {3}
    assert sorted((row["id"], row["repeat"]) for row in judgments_of(store, "rag")) == [
        (str(answer), number) for answer in range(4) for number in range(3)
    ]
    combined = judgments_of(store, "rag x3")
    assert [(row["repeat"], row["quality"]) for row in combined] == [(0, 4)] * 4
    again, endpoint = repeat(store)
    assert (again.selected, endpoint.requests) == (0, [])
    assert len(runs(store)) == 1


def test_what_was_asked_before_is_repeat_0_and_more_repeats_are_filled_up(sqlite_store):
    store_answers(sqlite_store, 3)
    with RecordingEndpoint() as endpoint:
        judge_pending(sqlite_store, rag(endpoint))
    assert len(repeat(sqlite_store)[1].requests) == 6
    assert len(repeat(sqlite_store, times=5)[1].requests) == 6
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
    second, endpoint = repeat(store)
    assert (second.asked, len(endpoint.requests), len(runs(store))) == (6, 2, 1)
    third, endpoint = repeat(store)
    assert (asked(endpoint), len(runs(store)), third.ok) == ({6: 3}, 2, 3)


def test_only_complete_answers_are_combined_and_a_limit_takes_the_first(sqlite_store):
    store_answers(sqlite_store, 5)
    summary, endpoint = repeat(sqlite_store, limit=2)
    assert sorted(asked(endpoint)) == [0, 1]
    assert summary.ok == 6
    assert len(judgments_of(sqlite_store, "rag x3")) == 2


def test_repeats_are_no_second_opinion_and_repeat_0_is_current(sqlite_store):
    store_answers(sqlite_store, 1)
    scores = iter([1.0, 0.1, 0.0])
    repeat(
        sqlite_store, lambda _request, _number: verdict(groundedness=next(scores)), concurrency=1
    )
    assert "judges_disagree" not in values_of(sqlite_store, FLAG.c.rule)
    (combined,) = judgments_of(sqlite_store, "rag x3")
    assert combined["groundedness"] == 0.1


def test_self_consistency_beside_accuracy(sqlite_store):
    log = GradedLog(sqlite_store)
    rag_, ids = log.version("rag", temperature=0.7), log.answers(16)
    for place, id_ in enumerate(ids):
        labels = (GOOD, GOOD, GOOD) if place > 3 else (GOOD, BAD, GOOD)
        add(sqlite_store, rag_, id_, *(Verdict(Status.OK, label=label) for label in labels))
    log.review_all(ids[:12], label=BAD)
    report = read(sqlite_store, repeats_report, version="rag")
    check_fields(report, repeats=3, temperature=0.7)
    check_fields(report.main, measure="label", items=16)
    check_fields(report.main.self_consistency, value=0.75, method="Wilson")
    agreement = measure_agreement(sqlite_store, judge_versions=["rag"])
    assert Row.of("agreement", ALL, report.main.accuracy).estimate == agreement.figure("agreement")
    assert report.main.accuracy.value == 0.0
    assert report.main.accuracy_answers is agreement.answers is None
    assert "12 graded answers" in " ".join(repeats_lines(report))
    log.review_all(ids[12:], label=GOOD)
    report = read(sqlite_store, repeats_report, version="rag")
    assert report.main.accuracy_answers == 16
    assert report.main.spread.value == 0.25
    assert report.caveats == (note("temperature", temperature=0.7),)


def test_answers_and_those_left_out_add_up_to_all_that_were_judged_repeatedly(
    sqlite_store, command
):
    log = GradedLog(sqlite_store)
    rag_, ids = log.version("rag"), log.answers(16)
    for place, id_ in enumerate(ids[:15]):
        add(sqlite_store, rag_, id_, scored(2), scored(2 if place else None))
    failed = Verdict(Status.ERROR, error="timeout"), Verdict(Status.UNPARSABLE)
    add(sqlite_store, rag_, ids[15], *failed)
    report = read(sqlite_store, repeats_report, version="rag")
    left_out = {"no value in some repeat": 1, "no value in any repeat": 1}
    check_fields(report.main, items=14, left_out=left_out)
    assert report.answers == 16
    assert all(
        each.items + sum(each.left_out.values()) == report.answers for each in report.measures
    )
    result = measure_agreement(sqlite_store, of="repeats")
    assert (result.n, result.about.left_out) == (14, {"incomplete": 1, "no_value": 1})
    printed = command("test repeats --judge-version rag", code=1).out
    assert ": Left out: no value in some repeat (1), no value in any repeat (1)." in printed


def test_all_versions_of_a_name_are_pooled_also_on_answers_of_no_log(sqlite_store):
    log = GradedLog(sqlite_store)
    ids = log.answers(4, kind=ResponseKind.CANDIDATE)
    first, second = (log.version("gpt-4", rubric=rubric) for rubric in (1, 2))
    scores = (first, [1, 1, 1]), (first, [4, 4, 5]), (second, [5, 5, 5]), (second, [3])
    for id_, (version, repeats) in zip(ids, scores, strict=True):
        add(sqlite_store, version, id_, *map(scored, repeats))
    pooled = read(sqlite_store, repeats_report, name="gpt-4")
    check_fields(pooled.main, measure="score", items=3)  # the last was asked once: no repeat
    assert len(pooled.versions) == 2
    assert pooled.main.self_consistency.value == pytest.approx(2 / 3)
    assert pooled.main.krippendorff_alpha.value == pytest.approx(0.9685, abs=1e-4)
    assert pooled.caveats == (note("temperature_unknown"),)
    assert read(sqlite_store, repeats_report, version="gpt-4 v1").main.items == 2


def test_who_was_not_asked_twice_is_told_how_and_named_those_that_were(sqlite_store):
    log = GradedLog(sqlite_store)
    ids = log.answers(1)
    log.say_all(log.version("rag"), ids, label=GOOD)
    with pytest.raises(NotFound, match="--judge rag --repeats 3"):
        read(sqlite_store, repeats_report, version="rag")
    with pytest.raises(NotFound, match="'nobody'; known: rag"):
        read(sqlite_store, repeats_report, name="nobody")
    add(sqlite_store, log.version("nli"), ids[0], scored(2), scored(2))
    for of in ({"name": "nobody"}, {"version": "nobody"}):
        with pytest.raises(NotFound, match=r"'nobody'; .*: nli v1$"):
            read(sqlite_store, repeats_report, **of)
    with pytest.raises(BadInput, match="2 or more"):
        repeat(sqlite_store, times=1)


def test_the_commands(sqlite_store, command, json_of):
    store_answers(sqlite_store, 3)

    def script(request, number):
        return (
            completion("hm") if number_in(request) == 2 else verdict(quality=4 if number % 2 else 3)
        )

    with RecordingEndpoint(script) as endpoint:
        command(f"judge --judge rag --model m --base-url {endpoint.base_url} --repeats 3")
    result = json_of("test repeats --judge-version rag")
    check_fields(result["account"], asked=9, ok=6, unparsable=3)
    assert (result["main"]["items"], result["temperature"]) == (2, 0)
    assert {each["measure"] for each in result["measures"]} == {"quality", "groundedness"}
    for name in ("self_consistency", "krippendorff_alpha", "spread", "accuracy"):
        assert result["main"][name].keys() >= {"value", "low", "high", "n", "method"}
    assert json_of("test repeats --name rag")["measures"] == result["measures"]
    for words in ("", "--judge-version a --name b"):
        assert "choose a judge" in command(f"test repeats {words}", code=2).err
    # Elsewhere --judge is a kind.
    assert "No such option" in command("test repeats --judge rag", code=2).err


@pytest.mark.shared
def test_prometheus_says_the_same_on_half_of_the_items(public_database):
    with closing(open_store(public_database(("prometheus.samples", "repeats")))) as store:
        (name,) = {*values_of(store, VERSION.c.name)}
        report = read(store, repeats_report, name=name)
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
