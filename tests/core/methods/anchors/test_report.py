"""Anchors from draw to report: the same answers are judged again, no figure changes, and drift becomes visible."""

import json
import re
from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from aligned_log import CAREFUL, QUESTION, STRONG, asked_of, kind_judge, measured_routes, script
from engines import on_sqlite
from graded_log import GOOD, GradedLog, labels_in, labels_where, read
from judgeboard.domain import Response, Role, RunState
from judgeboard.errors import BadInput, NotFound
from judgeboard.llm.recording_endpoint import GOOD_VERDICT, RecordingEndpoint, completion, failure
from judgeboard.measure.agreement import every_judge
from judgeboard.measure.alarms import acknowledge, open_alarms, watch
from judgeboard.measure.notes import note
from judgeboard.measure.rates import measure_rate
from judgeboard.methods.alignment.run import align
from judgeboard.methods.anchors.queries import anchor_candidates, newest_anchors
from judgeboard.methods.anchors.report import anchor_report, make_anchors, stored_anchors
from judgeboard.methods.anchors.tables import ANCHOR_SET
from judgeboard.runs.judging import judge_pending
from judgeboard.store.filters import RowFilter
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.runs import AskMode
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import ANCHOR_JUDGMENT, CURRENT, FLAG, JUDGMENT
from judging_log import address, number_in, rag
from result_fields import check_fields
from stored_rows import rows_of, write_to

# How alarms name changes of the model: there, there a second time, and back.
BACK_AND_FORTH = (
    "rag v1 from m-1 to m-2",
    "rag v1 again from m-1 to m-2",
    "rag v1 from m-2 to m-1",
)

ANSWERS = 120


def saying(is_bad, model="m-1"):
    """A judge whose verdict depends on the number of the answer."""

    def script(request, _number):
        score = 0.1 if is_bad(number_in(request)) else 0.9
        return completion(json.dumps({**GOOD_VERDICT, "groundedness": score}), model=model)

    return script


def every_third(number):
    return number % 3 == 0


@pytest.fixture
def log(graded_once):
    """A log that the judge judged as people do; half of the answers have labels."""
    return graded_once("judged as people do", fill)[0]


def fill(log):
    store = log.store
    answers = [
        Response(
            "log", str(number), f"Question {number}?", f"It is number-{number}.", (f"{number}.",)
        )
        for number in range(ANSWERS)
    ]
    ids = write_to(store, store_responses, answers).new
    with RecordingEndpoint(saying(every_third)) as endpoint:
        judge_pending(store, rag(endpoint, api_key="k"))
    log.reviews(labels_where(ids[: ANSWERS // 2], every_third))


def draw(store, **options):
    return make_anchors(store, by="cli:mara", **options)


def anchors(store):
    return read(store, stored_anchors)


def watched(store):
    """The alarms of a later day."""
    return watch(store, by="cli:mara", now=datetime(2030, 1, 1, tzinfo=UTC))


def again(store, script, **options):
    where = RowFilter(response_ids=anchors(store))
    with RecordingEndpoint(script) as endpoint:
        judge = rag(endpoint, api_key="k")
        return judge_pending(store, judge, where=where, mode=AskMode.ANCHORS, **options)


def report(store):
    return read(store, anchor_report)


def figures(store):
    return read(store, every_judge), measure_rate(store, judge_version="rag v1")


def stored(store):
    with store.reading() as connection:
        current = connection.execute(select(CURRENT).order_by(CURRENT.c.response_id)).all()
    return rows_of(store, JUDGMENT), current, rows_of(store, FLAG)


@on_sqlite
def test_labelled_answers_are_drawn_first_and_the_draw_can_be_repeated(log):
    made = draw(log.store, n=30)
    assert made.about.counts == {"anchors": 30, "labelled": 30, "bad": 10, "evidence_groups": 30}
    first = anchors(log.store)
    with pytest.raises(BadInput, match="--replace"):
        draw(log.store, n=30)
    draw(log.store, n=30, replace=True)
    assert anchors(log.store) == first
    draw(log.store, n=30, seed="other", replace=True)
    assert anchors(log.store) != first


@on_sqlite
def test_evidence_groups_are_drawn_whole(store):
    log = GradedLog(store)
    groups = [group for group in range(30) for _ in range(4)]
    ids = log.answers_of({"group": group} for group in groups)
    log.reviews(labels_in(ids, bad=ids[4::8]))
    made = draw(store, n=40)
    check_fields(made.about.counts, anchors=40, evidence_groups=10)


@on_sqlite
def test_an_answer_in_a_prompt_is_no_anchor(store):
    log = GradedLog(store)
    ids = log.answers(20)
    log.review_all(ids, label=GOOD)
    log.version("taught", examples=[{"response": ids[0]}])
    draw(store, n=20)
    assert anchors(store) == tuple(ids[1:])


@on_sqlite
def test_labels_that_align_used_make_no_anchors_and_anchors_stay_out_of_align(store, tmp_path):
    _, ids = measured_routes(store, 80)
    with RecordingEndpoint(script([CAREFUL] * 2)) as endpoint:
        kind_judge(store, endpoint, tmp_path)
        draw(store, n=10)
        first = anchors(store)
        local = {"base_url": endpoint.base_url}
        model = {"model": STRONG, **local}
        aligned = align(store, "rag v1", candidates=1, model=model, judge=local)
        asked = "\n".join(asked_of(endpoint, STRONG))
    assert aligned.left_out == {"anchors": 10}
    assert sum(aligned.labelled.values()) == 70
    assert not {*first} & {*aligned.mended, *aligned.broken}
    assert not any(QUESTION.format(ids.index(anchor)) in asked for anchor in first)
    draw(store, n=10, replace=True)
    assert anchors(store) == first
    answers = [Response("log", f"new-{n}", f"{n}?", "a") for n in range(5)]
    unlabelled = write_to(store, store_responses, answers).new
    made = draw(store, n=15, replace=True)
    check_fields(made.about.counts, anchors=15, labelled=10)
    assert note("not_drawn_align", n=70) in made.caveats
    assert anchors(store) == (*first, *unlabelled)


@on_sqlite
def test_judging_the_anchors_again_changes_no_figure(log):
    store = log.store
    draw(store)
    before = figures(store), stored(store)
    summary = again(store, saying(lambda _number: True))
    check_fields(summary, selected=60, ok=60, state=RunState.DONE)
    assert len(rows_of(store, ANCHOR_JUDGMENT)) == 60
    assert (figures(store), stored(store)) == before


@on_sqlite
def test_a_judge_that_stays_shows_no_drift_and_the_report_says_what_it_would_have_seen(log):
    draw(log.store)
    again(log.store, saying(every_third))
    drift = report(log.store)
    check_fields(drift, drift=False, changed=())
    assert drift.headline.code == "no_drift"
    assert 0.1 < drift.figure("seen").value < 0.5
    (first,) = drift.slices
    assert (drift.figure("n", first).n, drift.figure("right_change", first).n) == (60, 60)


@on_sqlite
def test_a_judge_that_becomes_strict_drifts_from_the_first_and_from_the_last_judging(log):
    draw(log.store)
    again(log.store, saying(every_third))
    again(log.store, saying(lambda _number: True))
    drift = report(log.store)
    check_fields(drift, drift=True, headline=note("drift_to_bad", judge="rag v1"))
    names = ("to_bad", "to_good", "tests_shown")
    for since in drift.slices:
        assert [drift.figure(name, since).value for name in names] == [40, 0, 3]
    assert {each.code for each in drift.caveats} >= {"drift_worse", "drift_lower"}
    assert [
        (every_third(int(each.external_id)), each.now, each.people) for each in drift.changed
    ] == [(False, "bad", "good")] * 40
    again(log.store, saying(lambda _number: True))
    same = report(log.store)
    assert [same.figure("tests_shown", since).value for since in same.slices] == [3, 0]


def test_a_stopped_run_goes_on_where_it_stopped(log):
    draw(log.store)

    def refused_after_20(request, number):
        return saying(every_third)(request, number) if number < 20 else failure(401, "no key")

    first = again(log.store, refused_after_20, concurrency=1)
    assert first.state is RunState.STOPPED
    asked = len(rows_of(log.store, ANCHOR_JUDGMENT))
    second = again(log.store, saying(every_third), concurrency=1)
    check_fields(second, run_id=first.run_id, asked=60, state=RunState.DONE)
    assert 0 < asked < 60


@on_sqlite
def test_without_anchors_or_verdicts_the_report_says_what_to_do(log):
    with pytest.raises(NotFound, match="anchors make"):
        report(log.store)
    draw(log.store)
    with pytest.raises(NotFound, match="anchors judge"):
        report(log.store)


@on_sqlite
def test_another_model_behind_the_same_name_raises_one_alarm(log):
    store = log.store
    assert watched(store).new == ()
    draw(store)
    again(store, saying(every_third, model="m-2"))
    result = watched(store)
    (alarm,) = (each.alarm for each in result.alarms)
    assert result.new == (alarm.id,)
    check_fields(alarm, measure="model_changed", evidence=60, rate_after=pytest.approx(1 / 3))
    assert alarm.direction == BACK_AND_FORTH[0]
    assert watched(store).new == ()


@on_sqlite
def test_a_model_that_changes_back_is_said_in_the_open_alarm_and_else_raises_another(log):
    store = log.store
    lead = write_to(store, store_reviewer, "page", "Lia", role=Role.LEAD)
    draw(store)

    def changed(model):
        """Judge the anchors with this model, and return what the new and the open alarms say."""
        again(store, saying(every_third, model=model))
        result = watched(store)
        changes = {
            each.alarm.id: (each.alarm.direction, each.later_model) for each in result.alarms
        }
        return [changes[each] for each in result.new], list(changes.values())

    def acknowledged():
        (alarm,) = (each.alarm for each in read(store, open_alarms))
        acknowledge(store, alarm.id, "The provider did it.", by=lead)

    there, there_again, back = BACK_AND_FORTH
    assert changed("m-2")[0] == [(there, None)]
    assert changed("m-1") == ([], [(there, "m-1")])
    acknowledged()
    # The alarm has said so.
    assert changed("m-1") == ([], [])
    assert changed("m-2")[0] == [(there_again, None)]
    acknowledged()
    assert changed("m-1")[0] == [(back, None)]


def test_the_commands_go_from_draw_to_report(log, shell):
    db = f"--db {address(log.store)}"
    drawn = shell(f"test anchors make --n 40 {db}").splitlines()[0]
    assert re.findall(r"\d+", drawn) == ["40"] * 3  # anchors, evidence groups, labels
    shell(f"judge --judge lexical {db}")
    shell(f"test anchors judge --judge lexical {db}")
    shown = json.loads(shell(f"test anchors report --json {db}"))
    assert shown["about"]["judges"] == ["lexical v1"]
    assert (shown["about"]["counts"]["anchors"], shown["drift"]) == (40, False)
    assert [row["n"] for row in shown["rows"] if row["figure"] == "n"] == [40]
    assert read(log.store, newest_anchors) is not None


def test_anchors_that_another_process_drew_in_the_meantime_are_kept(log, monkeypatch):
    def drawn_meanwhile(*arguments):
        monkeypatch.undo()
        make_anchors(log.store, n=20, by="first")
        return anchor_candidates(*arguments)

    monkeypatch.setattr("judgeboard.methods.anchors.report.anchor_candidates", drawn_meanwhile)
    with pytest.raises(BadInput, match="20 anchors"):
        make_anchors(log.store, n=30, by="second")
    assert [row["by"] for row in rows_of(log.store, ANCHOR_SET)] == ["first"]
