"""What counts as a rating, of whom, and what a judge is held against."""

import pytest
from sqlalchemy import insert

from engines import on_sqlite
from graded_log import BAD, GOOD, labels_in, labels_where
from judgeboard.domain import Decision, DimensionScore
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.agreement import measure_agreement
from judgeboard.store.tables import JUDGMENT, REVIEW_SCORE
from result_parts import codes, values_of_note
from stored_rows import rows_of


def measure(log, **choice):
    return measure_agreement(log.store, **choice)


def two_people(log, n=12):
    """Answers that mara and jon labelled alike, but for the first two."""
    ids = log.answers(n)
    log.reviews(labels_in(ids, ids[1::2]))
    log.reviews(labels_in(ids, [ids[0], *ids[3::2]]), "jon")
    return ids


@on_sqlite
def test_people_with_people_counts_answers_of_two_or_more(log):
    two_people(log)
    log.review_all(log.answers(3), "mara", label=GOOD)
    result = measure(log, of="people")
    assert (result.n, result.about.left_out) == (12, {"one_person": 3})
    assert result.statistics["agreement"].value == pytest.approx(10 / 12)
    pairs = result.part("rater_pairs")
    (pair,) = pairs.slices
    assert (set(pair.split(" / ")), pairs.figure("n", pair).n) == ({"mara", "jon"}, 12)
    assert pairs.figure("kappa", pair).value == pytest.approx(2 / 3)
    assert (result.headline.code, result.headline.values["n"]) == ("people", 12)


@on_sqlite
def test_what_was_said_after_the_reveal_never_counts(log):
    ids = log.answers(12)
    log.say_all(log.version(), ids, label=GOOD)
    log.review_all(ids[:10], label=BAD, stage="blind")
    log.review_all(ids, label=GOOD, stage="revealed")
    result = measure(log)
    assert (result.n, result.statistics["agreement"].value) == (10, 0)


@on_sqlite
def test_what_a_lead_settled_is_gold_and_no_persons_voice(log):
    ids = two_people(log)
    log.say(log.version(), labels_in(ids, ids[1::2]))
    log.reviews(labels_in(ids[:2], ids[1:2]), "lena")
    log.review_all(ids[:2], "lead", label=BAD, stage="adjudication")
    people = measure(log, of="people")
    pairs, with_gold = people.part("rater_pairs"), people.part("against_gold")
    assert {each for pair in pairs.slices for each in pair.split(" / ")} == {"mara", "jon", "lena"}
    assert numbers(with_gold) == {"mara": 2, "jon": 2, "lena": 2}
    gold, majority, each_one = (measure(log, human=human) for human in ("gold", "majority", "each"))
    assert gold.statistics["agreement"].value == pytest.approx(
        11 / 12
    )  # the first answer was settled otherwise
    assert majority.statistics["agreement"].value == 1  # lena's word decides the two that split
    assert each_one.n == 26
    assert "gold label" in gold.about.people


@on_sqlite
def test_the_grades_of_an_unsure_review_count_as_they_were_given(log):
    ids = log.answers(12)
    log.say_all(log.version(), ids, label=GOOD)
    log.review_all(ids, label=GOOD, decision=Decision.UNSURE.value)
    log.review_all(log.answers(2), decision=Decision.UNSURE.value)  # no grade: nothing was said
    assert measure(log).n == 12


@on_sqlite
def test_whoever_was_served_answers_again_is_held_against_themselves(log):
    ids = log.answers(12)
    log.review_all(ids[:6], quality=3)
    log.review_all(ids[6:], quality=2)
    log.review_again(ids[:6], quality=4)
    log.review_again(ids[6:], quality=1)
    log.review_again(ids[6:], quality=2)  # the latest counts
    result = measure(log, of="people", grade="quality")
    assert of_themselves(result) == {"mara": (12, 0.5)}
    assert result.n == 0


@on_sqlite
def test_a_later_grade_on_a_page_is_no_repeat(log):
    ids = log.answers(12)
    log.review_all(ids, quality=3, stage="blind")
    log.review_all(ids, quality=1)  # after the judge was seen
    log.review_all(ids, quality=1, stage="revealed")
    log.review_all(ids, quality=1, stage="adjudication")
    log.review_all(ids, "jon", quality=2)  # one draft that decides two flags of each answer
    log.review_all(ids, "jon", quality=2)
    log.review_again(ids, "lena", quality=2)  # nothing that it could repeat
    assert of_themselves(measure(log, of="people", grade="quality")) is None
    log.review_again(ids, quality=3)
    assert of_themselves(measure(log, of="people", grade="quality")) == {"mara": (12, 1)}


def numbers(result):
    """How many answers each slice has."""
    return {each: result.figure("n", each).n for each in result.slices}


def of_themselves(result):
    part = result.part("self_agreement")
    return part and {
        name: (n, part.figure("agreement", name).value) for name, n in numbers(part).items()
    }


def other_grades(result):
    return [each.values for each in result.next if each.code == "other_grades"]


@on_sqlite
@pytest.mark.parametrize("of", ["people", "judge"])
def test_reviews_without_the_grade_are_counted_with_the_grades_that_count_them(log, of):
    ids = two_people(log)
    log.say_all(log.version(), ids, label=GOOD, quality=2)
    assert other_grades(measure(log, of=of)) == []
    log.review_all(log.answers(6), groundedness=0.5, quality=2)
    assert other_grades(measure(log, of=of)) == [
        {"n": 6, "grade": "label", "others": ["groundedness", "quality"]}
    ]
    log.review(log.answers(1)[0], quality=2)
    lacking = {"n": 24, "grade": "quality", "others": ["label"]}
    assert other_grades(measure(log, of="people", grade="quality")) == [lacking]


@on_sqlite
def test_where_nobody_gave_the_grade_the_error_says_which_grades_they_gave(log):
    ids = log.answers(1)
    log.say_all(log.version(), ids, label=GOOD)
    with pytest.raises(NotFound, match=r"`judgeboard labels rate`$"):
        measure(log)
    log.review_all(ids, quality=2)
    with pytest.raises(NotFound, match=r"quality, .*label"):
        measure(log)


def test_a_dimension_of_a_rubric_is_a_grade_of_declared_levels(log):
    ids, version = log.answers(12), log.version("rubric")
    rows = []
    for place, each in enumerate(ids):
        level = 1 + place % 4
        log.say_all(version, [each], scores=(DimensionScore("style", level, "1-5"),))
        review = log.review(each, label=GOOD)
        rows.append({"review_id": review, "dimension": "style", "value": level, "scale": "1-5"})
    with log.store.writing() as connection:
        connection.execute(insert(REVIEW_SCORE), rows)
    result = measure(log, grade="style")
    assert (result.n, result.about.grade) == (12, "style")
    assert result.statistics["weighted_kappa"].value == 1
    # Declared ones, also where nobody gave a 5.
    assert result.confusion.categories == tuple("12345")
    with pytest.raises(NotFound, match=r"'stile'.*style"):
        measure(log, grade="stile")


@on_sqlite
def test_judges_with_judges_need_no_people(log):
    ids = log.answers(12)
    for name in ("one", "two"):
        log.say(log.version(name), labels_in(ids, ids[::2]))
    result = measure(log, of="judges")
    kappas = [result.statistics[name].value for name in ("kappa", "fleiss_kappa")]
    assert (result.n, kappas) == (12, [1, 1])
    assert result.about.judges == ("one v1", "two v1")


@on_sqlite
def test_judges_that_agree_more_with_each_other_than_with_people_are_told(log):
    ids = log.answers(60)
    for name in ("one", "two"):
        log.say(log.version(name), labels_where(ids, lambda place: place % 3))
    log.reviews(labels_in(ids, ids[1::2]))
    for result in (measure(log, of="judges"), measure(log, judge_versions=["one"])):
        assert values_of_note(result.caveats, "correlated_judges")["excess"].value > 0


@on_sqlite
def test_a_rarer_class_of_under_15_is_told_and_one_that_prevails(log):
    ids = log.answers(100)
    log.say(log.version(), labels_in(ids, ids[:3]))
    log.reviews(labels_where(ids, lambda place: place in {1, 50, 70}))
    log.reviews(labels_where(ids, lambda place: place in {1, 51}), "jon")
    for result in (measure(log, human="each"), measure(log, of="people")):
        assert {"skewed", "few_labels_of"} <= {*codes(result.caveats)}


@on_sqlite
def test_slices_have_their_own_n_and_ten_at_least(log):
    ids = log.answers(12, day=40, query_type="sql") + log.answers(3, day=75, answer="x" * 700)
    labels = labels_in(ids, ids[1::2])
    log.say(log.version(), labels)
    log.reviews(labels)
    for by, expected in {
        "query_type": {"sql": 12, "unspecified": 3},
        "time": {"1970-02": 12, "1970-03": 3},
        "length": {"under 200": 12, "500 to 999": 3},
        "generator": {"unknown": 15},
        "source": {"log": 15},
        "rule": {"low_groundedness": 7, "no rule": 8},
        "judge_version": {"rag v1": 15},
    }.items():
        result = measure(log, by=by)
        assert numbers(result) == expected, by
        for each, n in expected.items():
            assert (result.figure("kappa", each).value is None) == (n < 10)


def all_agree(log, version, labels):
    """The judge and three people give these labels."""
    log.say(version, labels)
    for reviewer in ("mara", "jon", "lena"):
        log.reviews(labels, reviewer)


@on_sqlite
def test_the_test_of_a_stand_in_goes_by_slice_with_one_correction(log):
    version = log.version()
    for query_type in ("sql", "plain"):
        ids = log.answers(40, query_type=query_type)
        all_agree(log, version, labels_in(ids, ids[1::2]))
    result = measure(log, by="query_type", epsilon=0.2)
    tests = [(each.omega.value, each.tests) for each in result.alt_tests.values()]
    assert (result.alt_test.omega.value, result.alt_test.tests) == (1, 3)
    assert tests == [(1, 6)] * 2


@on_sqlite
def test_slices_of_long_names_that_begin_alike_have_a_stand_in_test_each(log):
    long = "a question about " + "very " * 60
    sizes = {f"{long}old papers": 30, f"{long}new papers": 40}
    ids = [each for name, n in sizes.items() for each in log.answers(n, query_type=name)]
    all_agree(log, log.version(), labels_where(ids, lambda place: place % 3))
    result = measure(log, by="query_type", epsilon=0.2)
    assert {name: each.n for name, each in result.alt_tests.items()} == sizes


@on_sqlite
def test_how_far_people_move_to_the_judge_after_it_was_shown(log):
    ids, version = log.answers(12), log.version()
    log.say_all(version, ids, groundedness=0.8)
    judgments = {row["response_id"]: row["id"] for row in rows_of(log.store, JUDGMENT)}
    # Judged again: what had been shown counts, not this.
    log.say_all(version, ids, groundedness=0.1)
    log.review_all(ids, groundedness=0.4, stage="blind")
    for place, each in enumerate(ids):
        after = 0.6 if place % 2 else 0.4
        log.review(each, groundedness=after, stage="revealed", judgment_seen_id=judgments[each])
    moved = measure(log, grade="groundedness").part("anchoring")
    share = moved.figure("moved", "groundedness")
    assert (moved.slices, share.n) == (["groundedness"], 12)
    assert share.value == pytest.approx(0.25)
    assert share.low is not None


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"of": "people", "epsilon": 0.2}, "--of judge"),
        ({"unit": "pairs", "grade": "quality"}, "pairs have no quality"),
        ({"aspect": "style"}, "--unit pairs"),
        ({"unit": "pairs", "by": "length"}, "pairs have no length"),
        ({"of": "people", "by": "judge_version"}, "--of judge"),
        ({"unusable": "tie"}, "--unit pairs"),
        ({"human": "all"}, "human must be one of gold, majority, mean, each, not 'all'"),
        ({"epsilon": 2.0}, "epsilon must be between 0 and 1"),
        ({"judge_versions": ["a", "b"]}, "--of judges several"),
    ],
)
def test_what_does_not_go_together_is_said(sqlite_log, choice, message):
    with pytest.raises(BadInput, match=message):
        measure(sqlite_log, **choice)


@on_sqlite
def test_without_people_or_judges_it_is_said_what_is_missing(log):
    assert measure(log, of="people").n == 0
    for choice in ({}, {"of": "judges"}, {"of": "repeats"}):
        with pytest.raises(NotFound):
            measure(log, **choice)
    log.say_all(log.version(), log.answers(2), label=GOOD)
    result = measure(log, judge_versions=["rag"])
    assert (result.n, result.statistics["kappa"].value) == (0, None)
    assert result.headline.code == "nothing_in_common"
