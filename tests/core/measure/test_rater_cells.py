"""What a number of several raters opens is what it counts."""

import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD, labels_where, read
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
    labels = labels_where(ids, lambda place: place % 3)
    log.say(log.version("one"), labels)
    log.say(log.version("two"), dict(list(labels.items())[:30]))
    log.reviews(labels, "mara")
    log.reviews(dict(list(labels.items())[5:35]), "jon")
    log.reviews(dict(list(labels.items())[:12]), "lee")
    log.reviews(dict(list(labels.items())[:5]), "jon")
    log.review_again(ids[5:11], "jon", label=BAD)
    log.review_all(ids[:13], "lead", label=GOOD, stage="adjudication")


def opened(log, *cell):
    with log.store.reading() as connection:
        raters, grade, first, second, *part = cell
        asked = Cell(grade, first, second, raters, **dict(zip(("by", "slice"), part, strict=False)))
        assert cell_words(connection, asked).startswith("label · ")
        return len(answers_in(connection, asked))


@on_sqlite
def test_each_number_of_people_opens_its_answers(case):
    ids = case.reviewers
    result = measure_agreement(case.store, of="people", by="query_type")
    assert opened(case, "people", "label", ALL, ALL) == result.n
    pairs, themselves, with_gold = result.parts
    for pair in pairs.slices:
        first, second = pair.split(" / ")
        assert opened(case, "people", "label", ids[first], ids[second]) == pairs.figure("n", pair).n
    for one in result.slices:
        assert (
            opened(case, "people", "label", ALL, ALL, "query_type", one)
            == result.figure("n", one).n
        )
    (twice,) = themselves.slices
    assert (
        opened(case, "twice", "label", ids[twice], ids[twice])
        == themselves.figure("n", twice).n
        == 6
    )
    for rater in with_gold.slices:
        assert (
            opened(case, "gold", "label", ids[rater], ids[rater]) == with_gold.figure("n", rater).n
        )


@on_sqlite
def test_each_number_of_a_judge_as_a_person_opens_its_answers(case):
    result = measure_agreement(case.store, of="judges")
    (pairs,) = result.parts
    (pair,) = pairs.slices
    versions = {each.title: each for each in read(case.store, list_versions)}
    assert pairs.figure("n", pair).n == 30
    with case.store.reading() as connection:
        version = versions[pair.split(" / ")[0]]
        test = stand_in_test(connection, version, "label", 0.2)
    for person in test.people:
        assert opened(case, "standin", "label", version.id, case.reviewers[person.name]) == person.n


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
    ]
    ids += log.answers(11)
    log.say(log.version("one"), {each: {"label": BAD if each % 2 else GOOD} for each in ids})
    for person in ("mara", "jon"):
        log.reviews({each: {"label": BAD if each % 2 else GOOD} for each in ids}, person)
    for of, raters, first in (("people", "people", ALL), ("judge", "judge", 1)):
        result = measure_agreement(log.store, of=of, by="metadata.user.plan")
        sizes = {each: result.figure("n", each).n for each in result.slices}
        assert sizes == {"free": 14, "3": 12, "(no value)": 11}
        for each, n in sizes.items():
            assert opened(log, raters, "label", first, ALL, "metadata.user.plan", each) == n
