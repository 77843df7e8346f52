"""What a number of several raters opens is what it counts."""

import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD, labels_in
from judgeboard.errors import BadInput
from judgeboard.measure.agreement import measure_agreement, stand_in_test
from judgeboard.measure.cells import ALL, Cell, answers_in, cell_words
from judgeboard.store.judge_versions import list_versions


@pytest.fixture
def case(graded_once):
    """Two judges and three people on 40 answers of two types, some of them settled, some served again."""
    return graded_once("two judges and three people", fill)[0]


def fill(log):
    ids = [*log.answers(24, query_type="sql"), *log.answers(16)]
    good = ids[::3]
    bad = {*ids} - {*good}
    log.say(log.version("one"), labels_in(ids, bad))
    log.say(log.version("two"), labels_in(ids[:30], bad))
    for person, labelled in (("mara", ids), ("jon", ids[:35]), ("lee", ids[:12])):
        log.reviews(labels_in(labelled, bad), person)
    log.review_again(ids[5:11], "jon", label=BAD)
    log.review_all(ids[:13], "lead", label=GOOD, stage="adjudication")


def opened(log, raters, first, second, **part):
    cell = Cell("label", first, second, raters, **part)
    assert log.read(cell_words, cell).startswith("label · ")
    return len(log.read(answers_in, cell))


@on_sqlite
def test_each_number_of_people_opens_its_answers(case):
    ids = case.reviewers
    result = measure_agreement(case.store, of="people", by="query_type")
    assert opened(case, "people", ALL, ALL) == result.n
    pairs, themselves, with_gold = result.parts
    for pair in pairs.slices:
        first, second = pair.split(" / ")
        assert opened(case, "people", ids[first], ids[second]) == pairs.figure("n", pair).n
    for one in result.slices:
        n = opened(case, "people", ALL, ALL, by="query_type", slice=one)
        assert n == result.figure("n", one).n
    (twice,) = themselves.slices
    assert opened(case, "twice", ids[twice], ids[twice]) == themselves.figure("n", twice).n == 6
    for rater in with_gold.slices:
        n = opened(case, "gold", ids[rater], ids[rater])
        assert n == with_gold.figure("n", rater).n


@on_sqlite
def test_each_number_of_a_judge_as_a_person_opens_its_answers(case):
    result = measure_agreement(case.store, of="judges")
    (pairs,) = result.parts
    (pair,) = pairs.slices
    versions = {each.title: each for each in case.read(list_versions)}
    assert pairs.figure("n", pair).n == 30
    version = versions[pair.split(" / ")[0]]
    for person in case.read(stand_in_test, version, "label", 0.2).people:
        assert opened(case, "standin", version.id, case.reviewers[person.name]) == person.n


def test_what_names_no_raters_is_refused():
    with pytest.raises(BadInput, match=r"^raters "):
        Cell("label", 1, 2, "crowd")
    with pytest.raises(BadInput, match=r"^slices .*'colour'"):
        Cell("label", ALL, ALL, "people", by="colour", slice="red")


@on_sqlite
def test_people_are_compared_by_a_metadata_field(log):
    ids = [
        *log.answers(14, metadata={"user": {"plan": "free"}}),
        *log.answers(12, metadata={"user": {"plan": 3}}),
        *log.answers(11),
    ]
    labels = labels_in(ids, ids[::2])
    log.say(log.version("one"), labels)
    for person in ("mara", "jon"):
        log.reviews(labels, person)
    by = "metadata.user.plan"
    for of, first in (("people", ALL), ("judge", 1)):
        result = measure_agreement(log.store, of=of, by=by)
        sizes = {each: result.figure("n", each).n for each in result.slices}
        assert sizes == {"free": 14, "3": 12, "(no value)": 11}
        for each, n in sizes.items():
            assert opened(log, of, first, ALL, by=by, slice=each) == n
