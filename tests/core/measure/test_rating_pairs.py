import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines import on_sqlite
from graded_log import BAD, GOOD, labels_in
from judgeboard.domain import ResponseKind, Status
from judgeboard.measure.agreement import agreement_of, every_judge
from judgeboard.measure.choice import AgreementChoice, CountedGrades
from judgeboard.measure.ratings import PairSource
from result_parts import codes, values_of_note


def row_of(log, version, grade="label", **options):
    return log.read(agreement_of, AgreementChoice("judge", (version.id,), grade=grade, **options))


def agreement(row):
    return row.statistics["agreement"].value


def label_log(log):
    """A judge and a person who agree on all of twelve answers, half of them bad."""
    version, ids = log.version(), log.answers(12)
    labels = labels_in(ids, ids[1::2])
    log.say(version, labels)
    log.reviews(labels)
    return version, ids


@on_sqlite
def test_one_pair_per_answer_however_many_reviews_it_has(log):
    version, ids = label_log(log)
    for reviewer in ("jon", "lee"):
        log.review(ids[0], reviewer, label=GOOD)
    row = row_of(log, version)
    assert (row.n, agreement(row), row.statistics["kappa"].value) == (12, 1, 1)


@on_sqlite
def test_replaced_and_withdrawn_reviews_do_not_count(log):
    version, ids = label_log(log)
    extra = log.answers(2)
    log.say_all(version, extra, label=GOOD)
    changed = log.review(extra[0], label=BAD)
    log.review(extra[0], label=GOOD, replaces=changed)
    log.withdraw(log.review(extra[1], label=BAD), extra[1])
    row = row_of(log, version)
    assert (row.n, agreement(row)) == (len(ids) + 1, 1)


@on_sqlite
def test_a_reviewers_latest_review_with_that_grade_counts(log):
    version, ids = log.version(), log.answers(10)
    log.say_all(version, ids, label=GOOD, quality=4)
    log.review_all(ids, label=BAD, quality=4)
    log.review_all(ids, label=GOOD)  # the later one carries no quality: the earlier one's stands
    assert agreement(row_of(log, version)) == agreement(row_of(log, version, "quality")) == 1


@on_sqlite
def test_several_people_are_majority_lower_median_and_mean(log):
    version, ids = log.version(), log.answers(12)
    log.say_all(version, ids, label=BAD, quality=2, groundedness=0.4)
    log.review_all(ids, label=BAD, quality=2, groundedness=0.2)
    log.review_all(ids[:11], "jon", label=GOOD, quality=4, groundedness=0.8)
    log.review_all(ids[:11], "lee", label=BAD, quality=2, groundedness=0.2)
    log.review(ids[11], "jon", label=GOOD, quality=3, groundedness=0.6)
    label = row_of(log, version)
    assert (label.n, label.about.left_out, agreement(label)) == (11, {"ties": 1}, 1)
    assert agreement(row_of(log, version, "quality")) == 1
    difference = row_of(log, version, "groundedness").statistics["mean_absolute_difference"]
    assert difference.value == pytest.approx(0)


@on_sqlite
def test_only_one_reviewer_may_be_meant(log):
    version, ids = label_log(log)
    log.review_all(ids[:10], "jon", label=GOOD)
    row = row_of(log, version, counted=CountedGrades(log.reviewers["jon"]))
    assert (row.n, agreement(row)) == (10, 0.5)


@on_sqlite
def test_only_answers_of_the_log_count(log):
    version, ids = label_log(log)
    control, unjudged_control = log.answers(2, kind=ResponseKind.CONTROL)
    log.say_all(version, [control], label=GOOD)
    log.review(control, label=BAD)
    log.review_all([unjudged_control, *log.answers(1)], label=GOOD)
    row = row_of(log, version)
    assert (row.n, row.about.left_out) == (len(ids), {"without_verdict": 1})
    with log.store.reading() as connection:
        reviews = PairSource(connection).reviews
    assert len(set(reviews.response_ids.tolist())) == len(ids) + 1


@on_sqlite
def test_an_unusable_verdict_is_left_out_and_counted_never_wrong(log):
    version, ids = label_log(log)
    failed = log.answers(3)
    log.say_all(version, failed, status=Status.UNPARSABLE)
    log.review_all(failed, label=GOOD)
    row = row_of(log, version)
    assert (row.n, row.about.left_out, agreement(row)) == (len(ids), {"without_verdict": 3}, 1)


@on_sqlite
def test_a_judge_without_labels_is_cut_at_the_threshold_and_says_so(log):
    version, ids = log.version(), log.answers(12)
    log.say_scores(version, ids, (0.49, 0.5) * 6)
    log.reviews(labels_in(ids, ids[::2]))
    row = row_of(log, version)
    assert (agreement(row), row.statistics["auroc"].value) == (1, 1)
    assert values_of_note(row.caveats, "cut") == {"n": row.n, "cut": "0.5"}


@on_sqlite
def test_a_threshold_is_compared_after_rounding(log):
    version, ids = log.version(), log.answers(10)
    log.say_all(version, ids, groundedness=0.5 - 1e-12)
    log.review_all(ids, label=GOOD)
    assert agreement(row_of(log, version)) == 1


@on_sqlite
def test_the_label_a_judge_gave_is_never_cut(log):
    version, ids = log.version(), log.answers(10)
    log.say_all(version, ids, groundedness=0.1, label=GOOD)
    log.review_all(ids, label=GOOD)
    row = row_of(log, version)
    assert agreement(row) == 1
    assert "cut" not in codes(row.caveats)


@on_sqlite
def test_nothing_graded_is_an_empty_row_not_an_error(log):
    version = log.version()
    assert row_of(log, version, "quality").n == 0
    log.say_all(version, log.answers(3), quality=2)
    assert row_of(log, version, "quality").n == 0


@given(st.lists(st.integers(0, 3), min_size=12, max_size=12))
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_rejudging_moves_no_other_version_and_counts_each_answer_once(sqlite_log, times):
    log = sqlite_log
    first, second = log.version("rag"), log.version("rag", prompt="new")
    if not log.asks:
        ids = log.answers(12)
        scores = [index / 11 for index in range(12)]
        log.say_scores(first, ids, scores)
        log.say_scores(second, ids, scores[::-1])
        log.reviews(labels_in(ids, ids[::3], groundedness=0.3))

    def rows_of(version):
        return [row for row in log.read(every_judge) if row.title == version.title]

    before = rows_of(first)
    judged = sorted(response_id for version_id, response_id in log.asks if version_id == second.id)
    for turn in range(max(times)):
        again = [response_id for response_id, k in zip(judged, times, strict=True) if k > turn]
        log.say_all(second, again, groundedness=(turn + 1) / 4)
    assert rows_of(first) == before
    assert [row.n for row in rows_of(second) if row.about.grade == "label"] == [12]
