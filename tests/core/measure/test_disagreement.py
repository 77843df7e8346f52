from engines import on_sqlite
from graded_log import GOOD, labels_in
from judgeboard.measure.choice import CountedGrades
from judgeboard.measure.disagreement import disagreement_page
from judgeboard.measure.ratings import PairSource


def page(log, grade="groundedness", reviewer_id=None, version_id=None, **asked):
    with log.store.reading() as connection:
        source = PairSource(connection, CountedGrades(reviewer_id))
        return disagreement_page(source, version_id or source.versions(grade)[0].id, grade, **asked)


def scored_log(log):
    """Judge and people: alike, far too harsh, too kind, just apart, just not apart."""
    ids = log.answers(5)
    scores = zip(ids, (0.5, 0.1, 0.9, 0.2, 0.21), (0.5, 1.0, 0.3, 0.6, 0.6), strict=True)
    for each, *pair in scores:
        judge, people = ({"groundedness": score, "quality": 1 + round(score * 3)} for score in pair)
        log.say_all(log.version(), [each], reasoning=f"because of {each}", **judge)
        log.review(each, note=f"note on {each}", **people)
    return ids


def ids_of(shown):
    return [row.judged.response_id for row in shown.rows]


@on_sqlite
def test_the_worst_come_first_and_equal_ones_by_id(log):
    ids = scored_log(log)
    shown = page(log)
    assert ids_of(shown) == [ids[1], ids[2], ids[3]]
    assert [row.difference for row in shown.rows] == [-0.9, 0.6, -0.4]
    assert shown.total == 3
    assert shown.headline.values == {"answers": 5, "kind": 1, "harsh": 2}


def test_a_row_has_the_judges_reasoning_beside_the_reviewers_note(log):
    ids = scored_log(log)
    row = page(log).rows[0]
    assert (row.judged.reasoning, row.judge, row.people) == (f"because of {ids[1]}", 0.1, 1.0)
    (review,) = row.person_reviews
    assert (review.reviewer, review.grade.note) == ("mara", f"note on {ids[1]}")
    assert row.judged.question
    assert row.judged.answer


@on_sqlite
def test_the_first_rows_are_cut_from_the_whole_list(log):
    ids = scored_log(log)
    shown = page(log, limit=1)
    assert (ids_of(shown), shown.total) == ([ids[1]], 3)


@on_sqlite
def test_one_reviewer_counts_alone(log):
    ids = scored_log(log)
    log.review(ids[1], "jon", groundedness=0.1, note="I agree")
    own = page(log, reviewer_id=log.reviewers["jon"])
    assert (own.headline.values["answers"], own.total) == (1, 0)
    both = page(log).rows
    assert [each.reviewer for each in both[1].person_reviews] == ["jon", "mara"]
    assert both[0].judged.response_id == ids[2]


@on_sqlite
def test_a_cell_opens_all_its_answers(log):
    ids = scored_log(log)
    shown = page(log)
    assert shown.picture.counts[5][5] == 1
    assert shown.picture.counts[9][1] == 1  # people 1.0 is in the last tenth
    assert sum(map(sum, shown.picture.counts)) == 5
    assert ids_of(page(log, cell=(5, 5))) == [ids[0]]
    assert page(log, cell=(0, 0)).total == 0


@on_sqlite
def test_the_picture_counts_apart_what_the_sentence_counts(log):
    # Lower ends of tenths four steps apart with answers 0.31 apart, and three steps apart with
    # answers 0.4 apart.
    ids = log.answers(4)
    log.say_scores(log.version(), ids, (0.19, 0.11, 0.1, 0.0))
    for each, score in zip(ids, (0.50, 0.51, 0.5, 0.45), strict=True):
        log.review(each, groundedness=score)
    shown = page(log)
    assert shown.picture.counts[5][1] == 3
    assert shown.picture.apart[5][1] == 2
    assert shown.picture.apart[4][0] == 1
    assert sum(map(sum, shown.picture.apart)) == shown.total == 3


@on_sqlite
def test_quality_and_labels_have_their_own_distance(log):
    ids = scored_log(log)
    shown = page(log, grade="quality")
    assert (shown.gap, ids_of(shown), shown.picture.axis) == (2, ids[1:3], tuple("1234"))
    version = log.version("nli")
    log.say(version, labels_in(ids, ids[:2]))
    log.review_all(ids, "lee", label=GOOD)
    labels = page(log, grade="label", version_id=version.id)
    assert ids_of(labels) == ids[:2]
    assert labels.picture.axis == ("hallucinated", "grounded")
    assert labels.headline.values == {"answers": 5, "kind": 0, "harsh": 2}
