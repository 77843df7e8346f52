"""Judges: the checks of one judge version as a list, its scores, answers that show a fault."""

import json

import pytest
from sqlalchemy import update

from aligned_log import CAREFUL, KIND, STRONG, kind_judge, measured_routes, numbers_of, script
from app_pages import (
    charts,
    check_shown,
    click,
    keys,
    labels,
    markup,
    press,
    shown,
    table,
    table_rows,
    text_with,
    texts,
    with_label,
)
from graded_log import GradedLog, labels_in
from job_steps import ended, working
from judgeboard.domain import JudgeVersion, Status, Verdict
from judgeboard.health import record
from judgeboard.health.report import CHECKS
from judgeboard.llm.recording_endpoint import GOOD_VERDICT, RecordingEndpoint, completion
from judgeboard.measure.notes import paragraph
from judgeboard.methods.alignment.run import align
from judgeboard.methods.anchors.report import make_anchors, stored_anchors
from judgeboard.methods.control_answers.run import (
    CONTROL_KINDS,
    judge_control_answers,
    make_control_answers,
)
from judgeboard.methods.juries.run import judge_by_jury
from judgeboard.runs.jobs import recent_jobs
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.alignments import EvidenceRole
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version, list_versions
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.runs import AskMode
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import ANCHOR_JUDGMENT, RESPONSE, RUN
from judging_log import number_in, rag, store_answers
from stored_rows import read, rows_of, values_of, write_to

HOSTILE = "<script>alert(1)</script> **bold** $x$"


def flat_judge(store):
    """A judge that says 4 of everything, under a name that is markup."""
    log = GradedLog(store)
    ids = log.answers(34, generator_model=HOSTILE)
    log.say_all(log.version(HOSTILE), ids, quality=4, groundedness=0.9)
    return log


def test_every_check_stands_in_the_list_with_its_figure_or_its_command(open_page, sqlite_store):
    flat_judge(sqlite_store)
    app = open_page("judges")
    checks = texts(app, "jb-check")
    assert len(checks) == len(CHECKS)
    own_model, collapse = texts(app, "jb-check jb-warns")
    figure = "100 % [90, 100], n = 34"
    assert f"generator{figure}{HOSTILE} judges" in own_model
    assert collapse.startswith(f"Score collapse{figure}")
    (sentence,) = texts(app, "jb-say")
    assert all(name in sentence for name in ("generator", "score collapse"))
    commands = [element.value for element in app.code]
    # None for what is sound, nor for scores and length, where more equal scores do not help; one
    # for all controls.
    assert len(commands) == len(CHECKS) - len({kind.check for kind in CONTROL_KINDS.values()}) - 1
    # The collapse check names one too.
    assert sum("test controls make" in command for command in commands) == 2
    assert all(command.startswith("judgeboard ") for command in commands)
    # The name of a model is shown as it is.
    assert any(HOSTILE in text for text in checks)


def test_every_run_of_the_page_uses_the_same_kept_records(open_page, sqlite_store, monkeypatch):
    flat_judge(sqlite_store)
    reads = []

    def counted(*given):
        reads.append(given)
        return read_record(*given)

    read_record = record.read_record
    monkeypatch.setattr(record, "read_record", counted)
    open_page("judges").run().run()
    assert len(reads) == 1


def test_the_scores_are_drawn_by_level_and_open_their_answers(open_page, sqlite_store):
    flat_judge(sqlite_store)
    assert len(charts(open_page("judges"))) == 1
    app = open_page("judges", score="quality", tables="true")
    assert charts(app) == []
    levels = table(app, "Level")
    assert dict(zip(levels["Level"], levels["Answers"], strict=True)) == {
        "1": 0,
        "2": 0,
        "3": 0,
        "4": 34,
    }


def test_the_answers_that_show_a_fault_are_listed(open_page, sqlite_store):
    GradedLog(sqlite_store).answers_of(
        {"answer": f"I think it is {number} times as long.", "passages": (f"It is {number}.",)}
        for number in range(40)
    )
    judge_pending(sqlite_store, make_judge("lexical"))
    make_control_answers(sqlite_store, kinds=["hedges_removed"])
    judge_control_answers(sqlite_store, make_judge("lexical"))
    listed = table(open_page("judges"), "Check")
    [check] = {*listed["Check"]}
    assert "confident" in check
    assert all(each.startswith("query on ") for each in listed["Question"])


def test_the_version_that_was_chosen_is_shown(open_page, sqlite_store):
    log = flat_judge(sqlite_store)
    log.say_all(log.version("second"), log.answers(2), quality=3)
    # The primary judge comes first.
    assert HOSTILE in texts(open_page("judges"), "jb-say")[0]
    assert "second v1" in texts(open_page("judges", version="second v1"), "jb-say")[0]
    log.version("never asked")
    field = with_label(open_page("judges").selectbox, "Judge version")
    assert len(field.options) == 2


def test_where_nobody_has_judged_the_command_is_named(open_page, sqlite_store):
    GradedLog(sqlite_store).answers(3)
    (words,) = texts(open_page("judges"), "jb-empty")
    assert "--judge lexical" in words


def test_a_jury_shows_its_members_beside_people_and_how_far_they_agree(
    open_page, log, sqlite_store
):
    ids = log.answers(12)
    for name, bad in (("one", 2), ("two", 4), (HOSTILE, 6)):
        log.say(log.version(name), labels_in(ids, ids[:bad]))
    log.reviews(labels_in(ids, ids[:4]))
    judge_by_jury(sqlite_store, ["one", "two", HOSTILE])
    app = open_page("judges", version="jury v1")
    assert table(app, "Members")["n"].tolist()[0] == 12
    members = table(app, "Agreement with people")
    assert members["Judge"].tolist() == ["jury v1", f"{HOSTILE} v1", "one v1", "two v1"]


def test_repeats_show_how_often_all_are_the_same_and_else_the_command(open_page, log, sqlite_store):
    shaky = JudgeVersion("shaky", "rag", params={"temperature": 0.7})
    version = write_to(sqlite_store, ensure_version, shaky)
    verdict = [Verdict(Status.OK, quality=value) for value in (4, 3)]
    ids = log.answers(8)
    log.say_all(version, ids, quality=4)
    assert "`" not in " ".join(texts(open_page("judges"), "jb-cap jb-under"))
    options = "judge shaky", "--judge rag", "--temperature 0.7", "--repeats 3"
    assert text_with(open_page("judges"), *options, cls="jb-cap jb-under")
    again = [NewJudgment(each, 0, 1, verdict[place % 4 == 0]) for place, each in enumerate(ids)]
    write_to(sqlite_store, store_judgments, version, None, again)
    app = open_page("judges")
    assert "temperature 0.7" in " ".join(texts(app, "jb-cap jb-under"))
    assert table(app, "All repeats equal")["Answers"].tolist()[0] == 8


FEW = {*numbers_of(EvidenceRole.HELD_OUT, 40)[:2], *numbers_of(EvidenceRole.DEVELOP, 40)[:2]}


@pytest.mark.parametrize(("bad", "better"), [(set(range(0, 40, 2)), True), (FEW, False)])
def test_a_look_shows_its_prompt_and_answers_and_a_better_prompt_is_accepted(
    open_page, sqlite_store, tmp_path, bad, *, better
):
    measured_routes(sqlite_store, 40, bad=bad.__contains__)
    with RecordingEndpoint(script([CAREFUL])) as endpoint:
        kind_judge(sqlite_store, endpoint, tmp_path)
        (command,) = (each.value for each in open_page("judges").code if "align" in each.value)
        assert command == "judgeboard align --judge-version 'rag v1' --model MODEL"
        where = {"base_url": endpoint.base_url}
        result = align(
            sqlite_store, "rag", candidates=1, model={"model": STRONG, **where}, judge=where
        )
    app = open_page("judges", reviewer="Mara")
    assert paragraph(result.notes) in texts(app, "jb-say")
    difference = next(each.value for each in app.code if each.language == "diff").splitlines()
    assert {f"-{KIND}", f"+{CAREFUL}"} <= set(difference)
    check_shown(app, f"Mended, {len(result.mended)}", "Broken, 0")
    assert len(table_rows(app, "Judge's reason")) == len(result.mended)
    if not better:
        assert "Accept prompt" not in labels(app)
        return
    press(app, "align_accept")
    assert "as rag v2" in shown(app)
    versions = [each.title for each in read(sqlite_store, list_versions)]
    assert versions == ["rag v1", "rag v2", "rag candidate v1"]


ANSWERS = 60


def saying(bad_below):
    def script(request, _number):
        score = 0.1 if number_in(request) < bad_below else 0.9
        return completion(json.dumps({**GOOD_VERDICT, "groundedness": score}))

    return script


def fill_judged(store):
    """Store sixty labelled answers, judged as people do."""
    log = GradedLog(store)
    store_answers(store, ANSWERS)
    with RecordingEndpoint(saying(20)) as endpoint:
        judge_pending(store, rag(endpoint, api_key="k"))
    ids = values_of(store, RESPONSE.c.id)
    log.reviews(labels_in(ids, ids[:20]))


@pytest.fixture
def judged(sqlite_store, fill_once):
    """A log whose judge agrees with people."""
    fill_once("judged", sqlite_store, fill_judged)
    return sqlite_store


def test_the_page_shows_drift_and_the_verdicts_that_changed(judged, open_page):
    assert "anchors make" in markup(open_page("judges"))
    make_anchors(judged, by="cli:mara")
    assert text_with(open_page("judges"), "rag v1", "60 anchors")
    where = RowFilter(response_ids=read(judged, stored_anchors))
    with RecordingEndpoint(saying(60)) as endpoint:
        judge_pending(judged, rag(endpoint, api_key="k"), where=where, mode=AskMode.ANCHORS)
    page = open_page("judges")
    assert "Drift is shown:" in markup(page)
    changed = table(page, "People")
    assert len(changed) == 40
    assert set(zip(changed["Now"], changed["People"], strict=True)) == {("bad", "good")}


def test_the_button_judges_the_anchors_in_a_job(judged, open_page, endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    host = endpoint.url.split("/")[2]
    with judged.writing() as connection:  # the endpoint of the first run is gone
        connection.execute(update(RUN).values(base_url=endpoint.url, endpoint_host=host))
    make_anchors(judged, by="cli:mara")
    page = open_page("judges", reviewer="Mara")
    assert "60 calls" in markup(page)
    assert f"60 answers to {host}" in shown(page)
    click(page, "anchors_judge")
    (job,) = recent_jobs(judged)
    assert job.mode == "anchors"
    assert job.selected == 60
    assert job.judge["model"] == "scripted"
    assert "job is waiting" in markup(open_page("judges"))
    with working(judged):
        ended(judged, job.id)
    assert len(rows_of(judged, ANCHOR_JUDGMENT)) == 60


def test_control_answers_are_made_and_judged_in_a_job_from_the_page(sqlite_store, open_page):
    store_answers(sqlite_store, 40)
    judge_pending(sqlite_store, make_judge("lexical"), limit=20)
    page = open_page("judges", reviewer="Mara")
    # None are made yet.
    assert "controls_judge" not in keys(page)
    page.number_input(key="controls_n").set_value(12)
    press(page.run(), "controls_add")
    assert "Made: " in shown(page)
    made = [each for each in rows_of(sqlite_store, RESPONSE) if each["kind"] == "control"]
    assert made
    calls = next(each for each in texts(page, "jb-cap") if "offline: no cost" in each)
    press(page, "controls_judge")
    (job,) = recent_jobs(sqlite_store)
    # The estimate is of this job.
    assert f"{job.selected} answers" in calls
    # The originals that are not judged yet are judged too.
    assert job.selected > len(made)
    assert "job is waiting" in markup(open_page("judges", reviewer="Mara"))
    with working(sqlite_store):
        ended(sqlite_store, job.id)
    page = open_page("rejudge", job=job.id)
    assert f"{job.selected} answers" in shown(page)
    assert "job_health" in keys(page)
    page = open_page("judges", reviewer="Mara")
    assert "Nothing to judge." in shown(page)
