"""Two stored judges compared, one auditing the other; on seven recorded detectors the published counts come out."""

from collections import Counter

import pytest

from audit_figures import kinds, many
from engines import on_sqlite
from graded_log import BAD, GOOD
from judgeboard.domain import DimensionScore, Status
from judgeboard.errors import BadInput
from judgeboard.measure.notes import note
from judgeboard.methods.audits.report import AuditSample, audit_report, done_audits
from judgeboard.methods.audits.run import audit_recorded
from judgeboard.people.roster import raise_flags
from judgeboard.stats.estimates import percent_words
from judgeboard.store.tables import JUDGMENT_REVIEW
from query_plans import steps_of
from result_fields import check_fields
from stored_rows import rows_of


def marks(store):
    """The number of the ask and the mark of each review of a verdict, in the order of storing."""
    return [(row["ask"], row["correct"]) for row in rows_of(store, JUDGMENT_REVIEW)]


def test_different_labels_are_a_mark_and_a_score_is_cut(log):
    rag, nli, ids = log.version("rag"), log.version("nli"), log.answers(5)
    said = zip((0.9, 0.9, 0.2, 0.5, 0.9), (GOOD, BAD, GOOD, GOOD, None), strict=True)
    for id_, (groundedness, label) in zip(ids, said, strict=True):
        log.say(rag, {id_: {"groundedness": groundedness}})
        log.say(nli, {id_: {"label": label, "quality": 3}})
    report = audit_recorded(log.store, "nli", "rag")
    assert marks(log.store) == [(0, True), (0, False), (0, False), (0, True)]
    check_fields(report.about.counts, audited=4, marked=2, graded=0)
    assert note("nothing_to_compare", n=1) in report.caveats
    check_fields(report.figure("marks_precision"), value=None, n=0)


def opposed(log, n, opposite=None):
    """Store so many answers that rag calls good; nli calls the first ``opposite`` of them, or all, bad."""
    ids = log.answers(n)
    log.say_all(log.version("rag"), ids, label=GOOD)
    log.say_all(log.version("nli"), ids[:opposite], label=BAD)
    return ids


def test_what_is_compared_is_read_without_keeping_a_writer_out(sqlite_log):
    store = sqlite_log.store
    opposed(sqlite_log, 2)
    first = audit_recorded(store, "nli", "rag")
    with store.writing():  # nothing is new: who only reads never waits for it
        assert audit_recorded(store, "nli", "rag") == first


@on_sqlite
def test_a_second_time_stores_nothing_and_a_changed_mind_one_row(log):
    ids = opposed(log, 3)
    first = audit_recorded(log.store, "nli", "rag")
    assert len(marks(log.store)) == many(first, "flags_raised") == 3
    assert audit_recorded(log.store, "nli", "rag") == first
    assert len(marks(log.store)) == 3
    log.say_all(log.version("nli"), ids[:1], label=GOOD)
    assert many(audit_recorded(log.store, "nli", "rag"), "flags_raised") == 2
    assert marks(log.store)[3] == (1, True)
    assert raise_flags(log.store).raised == 0


@on_sqlite
def test_what_the_supreme_judge_could_not_judge_is_counted(log):
    rag, nli, ids = log.version("rag"), log.version("nli"), log.answers(4)
    log.say_all(rag, ids, label=GOOD)
    log.say(
        nli,
        {
            ids[0]: {"label": GOOD},
            ids[1]: {"status": Status.UNPARSABLE},
            ids[2]: {"status": Status.ERROR},
        },
    )
    report = audit_recorded(log.store, "nli", "rag")
    check_fields(report.account, asked=3, ok=1, unparsable=1, refused=0, error=1, not_reached=1)
    assert (report.account.run_id, many(report)) == (None, 1)


@on_sqlite
def test_by_thresholds_two_scores_need_to_be_far_apart(log):
    rag, nli, ids = log.version("rag"), log.version("nli"), log.answers(2)
    log.say_all(rag, ids, groundedness=0.55)
    log.say(nli, {ids[0]: {"groundedness": 0.45}, ids[1]: {"groundedness": 0.95}})
    assert many(audit_recorded(log.store, "nli", "rag", by="thresholds"), "marked") == 1
    assert many(audit_recorded(log.store, "nli", "rag", by="label"), "marked") == 1
    assert [correct for _, correct in marks(log.store)] == [True, False, False, True]


def test_nobody_audits_himself(sqlite_log):
    opposed(sqlite_log, 1)
    with pytest.raises(BadInput, match="cannot audit itself"):
        audit_recorded(sqlite_log.store, "rag", "rag v1")


def test_scores_of_a_scale_of_its_own_are_verdicts_to_audit_and_failed_asks_are_none(sqlite_log):
    log, ids = sqlite_log, sqlite_log.answers(2)
    log.say_all(log.version("nli"), ids, label=GOOD)
    log.say_all(log.version("rubric"), ids, scores=(DimensionScore("care", 2, "1-5"),))
    log.say_all(log.version("broken"), ids, status=Status.ERROR)
    assert audit_recorded(log.store, "nli", "rubric").account.ok == 2
    with pytest.raises(BadInput, match="broken v1 "):
        audit_recorded(log.store, "nli", "broken")


@pytest.mark.shared
def test_the_published_counts_come_out(ragtruth):
    report = audit_recorded(ragtruth, "track_b_large", "track_a_deberta")
    assert kinds(report) == [155, 77, 115, 997]
    assert report.figure("marks_precision").value == pytest.approx(0.6681, abs=5e-5)
    assert report.figure("marks_recall").value == pytest.approx(0.5741, abs=5e-5)
    check_fields(report.about.counts, audited=1344, graded=1344, flags_raised=232)
    for name in ("marks_precision", "marks_recall", "false_alarm_rate"):
        # Answers of one question stand together, so the interval is wider than Wilson's of as many
        # answers.
        estimate = report.figure(name)
        assert estimate.low < estimate.value < estimate.high
    assert audit_recorded(ragtruth, "track_b_large", "track_a_deberta") == report


@pytest.mark.shared
def test_a_sample_of_a_recorded_audit_holds_a_tenth(ragtruth):
    report = audit_recorded(
        ragtruth, "track_b_modernbert", "track_a_deberta", sample=AuditSample(0.1, seed=1)
    )
    assert 90 < many(report) < 190


def test_the_page_reads_what_was_reviewed_alone(sqlite_log):
    store = sqlite_log.store
    sqlite_log.review_all(opposed(sqlite_log, 30, 3), label=BAD)
    audit_recorded(store, "nli", "rag")
    with store.reading() as connection, steps_of(store, "SELECT") as steps:
        (done,) = done_audits(connection)
        report = audit_report(connection, *done, reviewed_only=True)
    assert (many(report), kinds(report)[0], report.account.not_reached) == (3, 3, 0)
    reviewing = [
        step
        for statement, step in steps
        if "judgment_review" in statement or "judgment.id IN" in statement
    ]
    assert reviewing
    assert not [
        step
        for step in reviewing
        if step.startswith(("SCAN judgment ", "SCAN response", "SCAN current"))
    ]


@on_sqlite
def test_every_audit_is_found_the_latest_first(log):
    ids = log.answers(2)
    for name, label in (("rag", GOOD), ("nli", BAD), ("big", BAD)):
        log.say_all(log.version(name), ids, label=label)
    for supreme, audited in (("nli", "rag"), ("big", "nli"), ("big", "rag")):
        audit_recorded(log.store, supreme, audited)
    # Judged anew: its review is of an earlier verdict.
    log.say_all(log.version("rag"), ids[:1], label=BAD)
    with log.store.reading() as connection:
        done = done_audits(connection)
        assert [(audited.name, supreme.name) for audited, supreme in done] == [
            ("rag", "big"),
            ("nli", "big"),
            ("rag", "nli"),
        ]
        reports = [audit_report(connection, *each, reviewed_only=True) for each in done]
    assert [many(report) for report in reports] == [1, 2, 1]


def test_the_scene_ends_in_precision_and_recall(example, capsys):
    scene = example("supreme_judge")
    report = scene.main(["--runs", "30"])
    turns = [scene.scripted_turn(number) for number in range(30)]
    verdicts = Counter(
        (not turn.teacher_is_right, turn.teacher_is_right is not turn.reviewer_is_right)
        for turn in turns
    )
    caught, accused, missed, _ = kinds(report)
    assert caught == verdicts[True, True] > 0
    assert accused == verdicts[False, True] > 0
    assert missed == verdicts[True, False] > 0
    assert many(report, "graded") == 30
    precision, recall = map(report.figure, ("marks_precision", "marks_recall"))
    assert precision.value == pytest.approx(caught / (caught + accused))
    assert recall.value == pytest.approx(caught / (caught + missed))
    printed = capsys.readouterr().out
    assert all(percent_words(each) in printed for each in (precision, recall))
