import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD
from judgeboard.errors import BadInput
from judgeboard.measure.agreement import every_judge
from judgeboard.measure.agreement_page import agreement_page
from judgeboard.measure.cells import Cell, answers_in, cell_names, cell_words
from judgeboard.measure.choice import CountedGrades
from judgeboard.measure.ratings import PairSource
from judgeboard.store.judge_versions import list_versions


@pytest.fixture
def graded(log):
    """A judge and a person on 40 answers: scores of 0.00, 0.05, …, of which people find every third bad."""
    version, ids = log.version(), log.answers(40)
    for place, each in enumerate(ids):
        log.say_all(version, [each], groundedness=place % 21 / 20, quality=place % 4 + 1)
        label, quality = GOOD if place % 3 else BAD, place % 3 + 1
        log.review(each, label=label, quality=quality, groundedness=place % 11 / 10)
    return log


@on_sqlite
def test_the_cells_of_the_confusion_table_open_what_they_count(graded):
    version = _version(graded)
    tables = {row.about.grade: row.confusion for row in graded.read(every_judge) if row.confusion}
    for grade, table in tables.items():
        for people, counts in zip(table.categories, table.counts, strict=True):
            for judge, count in zip(table.categories, counts, strict=True):
                cell = Cell(grade, version.id, people=people, judge=judge)
                assert len(graded.read(answers_in, cell)) == count


@on_sqlite
def test_the_tenths_of_the_calibration_open_what_they_count(graded):
    more = graded.answers(80)
    version = _version(graded)
    graded.say_scores(version, more, [place % 11 / 10 for place in range(80)])
    graded.review_all(more, label=GOOD)
    (row,) = graded.read(every_judge, ["label"])
    for name, tenth in zip(cell_names("groundedness"), row.calibration, strict=True):
        answers = graded.read(answers_in, Cell("label", version.id, score=name))
        assert len(answers) == tenth.share_grounded.n


@on_sqlite
def test_one_reviewer_alone_counts_as_people(graded):
    version = _version(graded)
    everybody, nobody = (
        graded.read(answers_in, Cell("label", version.id, counted=CountedGrades(reviewer_id)))
        for reviewer_id in (None, 999)
    )
    assert (len(everybody), nobody) == (40, ())


@pytest.mark.parametrize(
    "given",
    [
        {"grade": "mood"},
        {"people": "good"},
        {"judge": "0.5"},
        {"score": "0.55"},
        {"score": "grounded"},
    ],
)
def test_what_is_no_cell_is_refused(given):
    with pytest.raises(BadInput):
        Cell(**{"first": 1, "grade": "label"} | given)


def _version(log):
    (version,) = log.read(list_versions)
    return version


@on_sqlite
@pytest.mark.parametrize("by", ["query_type", "generator", "length", "time", "rule"])
def test_every_slice_opens_what_it_counts(graded, by):
    version = _version(graded)
    with graded.store.reading() as connection:
        shown = agreement_page(PairSource(connection), version_id=version.id, by=by)
        for one in shown.result.slices:
            cell = Cell("label", version.id, by=by, slice=one)
            assert len(answers_in(connection, cell)) == shown.result.figure("n", one).n
            assert cell_words(connection, cell).endswith(f", people, {by.replace('_', ' ')} {one}")


@on_sqlite
def test_whose_grades_count_decides_what_a_cell_contains(graded):
    version = _version(graded)
    first = graded.read(answers_in, Cell("label", version.id))[0]
    graded.review(first, "lead", label=BAD, stage="adjudication")
    cells = [
        Cell("label", version.id, people="hallucinated", counted=CountedGrades(human=human))
        for human in ("gold", "majority")
    ]
    with_gold, without = (graded.read(answers_in, cell) for cell in cells)
    assert first in with_gold
    assert set(with_gold) - set(without) <= {first}
