import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines import on_sqlite
from graded_log import BAD, GOOD, labels_where, read
from judgeboard.domain import ResponseKind, Status
from judgeboard.measure.agreement import agreement_of, every_judge
from judgeboard.measure.choice import AgreementChoice, CountedGrades
from judgeboard.measure.ratings import PairSource


def row_of(log, version, grade, **options):
    return read(
        log.store, agreement_of, AgreementChoice("judge", (version.id,), grade=grade, **options)
    )


def cut_note(row):
    return next((each.values for each in row.caveats if each.code == "cut"), None)


def label_log(log, n=12):
    """A judge and a person who agree on all of ``n`` answers, half of them bad."""
    version, ids = log.version(), log.answers(n)
    labels = labels_where(ids, lambda index: index % 2)
    log.say(version, labels)
    log.reviews(labels)
    return version, ids


@on_sqlite
def test_one_pair_per_answer_however_many_reviews_it_has(log):
    version, ids = label_log(log)
    for reviewer in ("jon", "lee"):
        log.review(ids[0], reviewer, label=GOOD)
    row = row_of(log, version, "label")
    assert (row.n, row.statistics["agreement"].value, row.statistics["kappa"].value) == (12, 1, 1)


@on_sqlite
def test_replaced_and_withdrawn_reviews_do_not_count(log):
    version, ids = label_log(log)
    extra = log.answers(2)
    log.say_all(version, extra, label=GOOD)
    changed = log.review(extra[0], label=BAD)
    log.review(extra[0], label=GOOD, replaces=changed)
    log.withdraw(log.review(extra[1], label=BAD), extra[1])
    row = row_of(log, version, "label")
    assert (row.n, row.statistics["agreement"].value) == (len(ids) + 1, 1)


@on_sqlite
def test_a_reviewers_latest_review_with_that_grade_counts(log):
    version, ids = log.version(), log.answers(10)
    log.say_all(version, ids, label=GOOD, quality=4)
    for each in ids:
        log.review(each, label=BAD, quality=4)
        log.review(each, label=GOOD)  # the later one carries no quality: the earlier one's stands
    assert row_of(log, version, "label").statistics["agreement"].value == 1
    assert row_of(log, version, "quality").statistics["agreement"].value == 1


@on_sqlite
def test_several_people_are_majority_lower_median_and_mean(log):
    version, ids = log.version(), log.answers(12)
    log.say_all(version, ids, label=BAD, quality=2, groundedness=0.4)
    for each in ids[:11]:
        log.review(each, "mara", label=BAD, quality=2, groundedness=0.2)
        log.review(each, "jon", label=GOOD, quality=4, groundedness=0.8)
        log.review(each, "lee", label=BAD, quality=2, groundedness=0.2)
    log.review(ids[11], "mara", label=BAD, quality=2, groundedness=0.2)
    log.review(ids[11], "jon", label=GOOD, quality=3, groundedness=0.6)
    label = row_of(log, version, "label")
    assert (label.n, label.about.left_out, label.statistics["agreement"].value) == (
        11,
        {"ties": 1},
        1,
    )
    assert row_of(log, version, "quality").statistics["agreement"].value == 1
    assert row_of(log, version, "groundedness").statistics[
        "mean_absolute_difference"
    ].value == pytest.approx(0)


@on_sqlite
def test_only_one_reviewer_may_be_meant(log):
    version, ids = label_log(log)
    for each in ids[:10]:
        log.review(each, "jon", label=GOOD)
    row = row_of(log, version, "label", counted=CountedGrades(log.reviewers["jon"]))
    assert (row.n, row.statistics["agreement"].value) == (10, 0.5)


@on_sqlite
def test_only_answers_of_the_log_count(log):
    version, ids = label_log(log)
    control = log.answers(1, kind=ResponseKind.CONTROL)
    log.say(version, {control[0]: {"label": GOOD}})
    log.review(control[0], label=BAD)
    unjudged = log.answers(1, kind=ResponseKind.CONTROL) + log.answers(1)
    log.review_all(unjudged, label=GOOD)
    row = row_of(log, version, "label")
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
    row = row_of(log, version, "label")
    assert (row.n, row.about.left_out, row.statistics["agreement"].value) == (
        len(ids),
        {"without_verdict": 3},
        1,
    )


@on_sqlite
def test_a_judge_without_labels_is_cut_at_the_threshold_and_says_so(log):
    version, ids = log.version(), log.answers(12)
    log.say(
        version,
        {each: {"groundedness": 0.5 if index % 2 else 0.49} for index, each in enumerate(ids)},
    )
    log.reviews(labels_where(ids, lambda index: not (index % 2)))
    row = row_of(log, version, "label")
    assert row.statistics["agreement"].value == 1
    assert row.statistics["auroc"].value == 1
    assert cut_note(row) == {"n": row.n, "cut": "0.5"}


@on_sqlite
def test_a_threshold_is_compared_after_rounding(log):
    version, ids = log.version(), log.answers(10)
    log.say_all(version, ids, groundedness=0.5 - 1e-12)
    log.review_all(ids, label=GOOD)
    assert row_of(log, version, "label").statistics["agreement"].value == 1


@on_sqlite
def test_the_label_a_judge_gave_is_never_cut(log):
    version, ids = log.version(), log.answers(10)
    log.say_all(version, ids, groundedness=0.1, label=GOOD)
    log.review_all(ids, label=GOOD)
    row = row_of(log, version, "label")
    assert (row.statistics["agreement"].value, cut_note(row)) == (1, None)


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
        log.say(first, {each: {"groundedness": index / 11} for index, each in enumerate(ids)})
        log.say(second, {each: {"groundedness": 1 - index / 11} for index, each in enumerate(ids)})
        log.reviews(
            {
                each: {"groundedness": 0.3, "label": GOOD if index % 3 else BAD}
                for index, each in enumerate(ids)
            }
        )
    with log.store.reading() as connection:
        before = [row for row in every_judge(connection) if row.title == first.title]
    judged = sorted(response_id for version_id, response_id in log.asks if version_id == second.id)
    for turn in range(max(times)):
        again = [response_id for response_id, k in zip(judged, times, strict=True) if k > turn]
        log.say_all(second, again, groundedness=(turn + 1) / 4)
    with log.store.reading() as connection:
        after = list(every_judge(connection))
    assert [row for row in after if row.title == first.title] == before
    assert [row.n for row in after if (row.title, row.about.grade) == (second.title, "label")] == [
        12
    ]
