"""Scores of people on dimensions: in long form, or one file per dimension; a further file adds and replaces nothing."""

from collections import Counter

import pytest
from sqlalchemy import select

from engines import on_sqlite
from judgeboard.domain import Grade, Label
from judgeboard.imports import importing
from judgeboard.imports.importing import import_file, undo_import
from judgeboard.imports.reading import UnclearFile
from judgeboard.measure.ratings import person_grades
from judgeboard.store.export import export_tables
from judgeboard.store.grades import graded_reviews
from judgeboard.store.reviews import is_current
from judgeboard.store.tables import REVIEW, REVIEW_SCORE
from stored_rows import read, row_count, values_of
from tool_files import counts

RATERS = ("ann", "bob")
NUMBERS = range(1, 6)


@pytest.fixture
def answers(log):
    """A database with the answers a1, a2, …"""
    log.answers(30)
    return log.store


def long_form(answers, *dimensions):
    """The scores 1 to 5 of two people on the first answers."""
    return [
        {
            "response_id": f"a{number}",
            "rater": rater,
            "dimension": dimension,
            "score": (number + place) % 5 + 1,
        }
        for number in range(1, answers + 1)
        for rater in RATERS
        for place, dimension in enumerate(dimensions)
    ]


def of_ann(number, **fields):
    """A row of one person on the answer with this number."""
    return {"id": f"a{number}", "rater": "ann", **fields}


def scores(store):
    """The current scores by dimension, scale and value."""
    with store.reading() as connection:
        query = select(REVIEW_SCORE.c.dimension, REVIEW_SCORE.c.scale, REVIEW_SCORE.c.value)
        rows = connection.execute(
            query.join(REVIEW, REVIEW.c.id == REVIEW_SCORE.c.review_id).where(is_current())
        )
        return Counter(map(tuple, rows))


def dimensions_in(store):
    return {dimension for dimension, _, _ in scores(store)}


def counted_rows(rows):
    """The scores of rows in long form."""
    return Counter((row["dimension"], "1-5", float(row["score"])) for row in rows)


def of_five(**values):
    """The scores on the scale from 1 to 5."""
    return Counter((dimension, "1-5", float(value)) for dimension, value in values.items())


def counted(store, grade="scores", dimension=None):
    """What counts in agreement, by answer."""
    grades = person_grades(read(store, graded_reviews, dimension), grade)
    return list(getattr(grades, grade).tolist())


def test_grades_in_long_form_are_scores_by_dimension(answers, bring_grades, nothing_changes):
    rows = long_form(10, "tone", "safety", "completeness")
    summary = bring_grades(*rows)
    assert counts(summary) == (60, 0, 0)
    assert scores(answers) == counted_rows(rows)
    for dimension in ("tone", "safety", "completeness"):
        assert len(counted(answers, dimension=dimension)) == 20
    assert row_count(answers, REVIEW) == 20, "one review of a person and an answer"
    with nothing_changes():
        assert bring_grades(*reversed(rows), name="reversed.jsonl").unchanged == 60


@on_sqlite
def test_long_form_may_be_longer_than_a_batch_and_sorted_by_dimension(
    answers, bring_grades, monkeypatch
):
    monkeypatch.setattr(importing, "BATCH_ROWS", 7)
    rows = sorted(long_form(5, "tone", "safety"), key=lambda row: row["dimension"])
    assert bring_grades(*rows).new == 20
    assert scores(answers) == counted_rows(rows)
    assert bring_grades(*rows, name="again.jsonl").unchanged == 20


@on_sqlite
def test_a_dimension_keeps_its_name_whatever_it_is(answers, bring_grades):
    parts = [("faithfulness", 0.25), ("label", 0.5)]
    rows = [of_ann(n, metric=name, value=value) for n in (1, 2) for name, value in parts]
    assert bring_grades(*rows).new == 4
    assert [counted(answers, dimension=name) for name, _ in parts] == [[0.25] * 2, [0.5] * 2]


@on_sqlite
def test_a_rejected_row_gives_nothing(answers, bring_grades):
    row = of_ann(1, scale="1-5")
    rows = [{"tone": 3}, {"tone": 5, "safety": 1}, {"tone": 5, "safety": 1}, {"safety": 2}]
    summary = bring_grades(*(row | {"aspects": each} for each in rows))
    assert (summary.new, [each.line for each in summary.first_rejected]) == (2, [2, 3])
    assert scores(answers) == of_five(tone=3, safety=2)


@on_sqlite
def test_a_dimension_twice_with_another_score_is_rejected_and_an_equal_row_changes_nothing(
    answers, bring_grades
):
    rows = long_form(5, "tone")
    summary = bring_grades(*rows, rows[0], rows[1] | {"score": 5})
    assert counts(summary) == (10, 1, 1)
    (rejected,) = summary.first_rejected
    assert (rejected.line, rejected.field) == (12, "external_id")
    whole = {"response_id": "a1", "rater": "cy", "label": "grounded"}
    assert counts(bring_grades(whole, whole, name="labels.jsonl")) == (1, 1, 0)


def per_dimension(dimension, numbers=NUMBERS):
    return [of_ann(n, **{dimension: n % 5 + 1}) for n in numbers]


def test_one_file_per_dimension_adds_its_dimension(answers, bring_grades, nothing_changes):
    files = {
        "whole.jsonl": [
            of_ann(n, label="grounded", groundedness=0.5, quality=3, note="n") for n in NUMBERS
        ],
        "tone.jsonl": per_dimension("tone"),
        "safety.jsonl": per_dimension("safety"),
    }
    for name, rows in files.items():
        assert bring_grades(*rows, name=name).new == 5
    with nothing_changes():
        for name in (*files, *reversed(files), "whole.jsonl"):
            assert bring_grades(*files[name], name=name).unchanged == 5
    assert counted(answers, "quality") == [3] * 5
    assert counted(answers, "groundedness") == [0.5] * 5
    for dimension in ("tone", "safety"):
        assert len(counted(answers, dimension=dimension)) == 5
    notes = values_of(answers, REVIEW.c.note, is_current(), REVIEW.c.label.is_not(None))
    assert notes == ["n"] * 5


def test_a_changed_score_replaces_this_score_alone(answers, bring_grades):
    row = of_ann(1, scale="1-5")
    bring_grades(row | {"tone": 2}, name="tone.jsonl")
    bring_grades(row | {"safety": 3, "brevity": 1, "note": "kept"}, name="safety.jsonl")
    assert bring_grades(row | {"safety": 5}, name="safety2.jsonl").new == 1
    assert scores(answers) == of_five(tone=2, safety=5, brevity=1)
    assert bring_grades(row | {"tone": 4, "safety": 4}, name="both.jsonl").new == 1
    assert scores(answers) == of_five(tone=4, safety=4, brevity=1)
    replaced = values_of(answers, REVIEW.c.replaces, REVIEW.c.replaces.is_not(None))
    # Each replaced review is still there.
    assert len({*replaced}) == 3
    assert [counted(answers, dimension=name) for name in ("tone", "safety", "brevity")] == [
        [4],
        [4],
        [1],
    ]
    assert bring_grades(row | {"tone": 4}, name="same.jsonl").unchanged == 1


@pytest.mark.parametrize("undone", [1, 2])
def test_undoing_the_import_of_a_dimension_leaves_the_other(answers, bring_grades, undone):
    imports = [
        bring_grades(*per_dimension(name), name=f"{name}.jsonl").number
        for name in ("tone", "safety")
    ]
    undo_import(answers, imports[undone - 1])
    assert dimensions_in(answers) == {("safety", "tone")[undone - 1]}


@on_sqlite
def test_an_export_of_added_dimensions_comes_back_whole(answers, bring_grades, tmp_path):
    for name in ("tone", "safety"):
        rows = [row | {"date": "2026-03-01"} for row in per_dimension(name)]
        bring_grades(*rows, name=f"{name}.jsonl")
    stored = scores(answers)
    file = tmp_path / "reviews.jsonl"
    export_tables(answers, {"reviews": file})
    undo_import(answers)
    assert import_file(answers, file, kind="grades").new == 5, "the undone ones"
    assert scores(answers) == stored


@on_sqlite
@pytest.mark.parametrize(
    ("numbers", "scale"),
    [
        ((1, 3, 5), "1-5"),
        ((1, 10, 4), "1-10"),
        ((0.2, 1, 0), "0-1"),
        ((1, 2, 4), None),
        ((0, 1, 1), None),
    ],
)
def test_the_scale_of_a_dimension_is_known_or_asked(answers, bring_grades, numbers, scale):
    rows = [of_ann(n, tone=number) for n, number in enumerate(numbers, 1)]
    if scale is None:
        with pytest.raises(UnclearFile) as unclear:
            bring_grades(*rows)
        constants = unclear.value.mapping.constants
        assert bring_grades(*rows, constants=constants).new == 3
        scale = constants["scale"]
    else:
        assert bring_grades(*rows).new == 3
    assert {each for _, each, _ in scores(answers)} == {scale}


@on_sqlite
def test_a_score_outside_the_scale_is_a_rejected_row(answers, bring_grades):
    rows = per_dimension("tone", range(1, 29))
    summary = bring_grades(*rows, of_ann(29, tone="good"), of_ann(30, tone=None))
    assert (summary.new, [(each.line, each.field) for each in summary.first_rejected]) == (
        28,
        [(29, "tone"), (30, None)],
    )
    assert sum(scores(answers).values()) == 28


@on_sqlite
def test_columns_beside_scores_are_no_scores(answers, tmp_path):
    file = tmp_path / "tone.csv"
    lines = (f"{n - 1},a{n},ann,{n},{n},{n * 90},{n * 20}" for n in NUMBERS)
    file.write_text("\n".join([",id,rater,tone,question_id,seconds_taken,points", *lines]))
    assert import_file(answers, file, kind="grades").new == 5
    assert dimensions_in(answers) == {"tone"}


@on_sqlite
def test_beside_a_label_only_a_column_with_the_name_of_a_score_is_read(answers, bring_grades):
    rows = [of_ann(n, label="grounded", tone=n, score=n) for n in NUMBERS]
    assert bring_grades(*rows).new == 5
    assert dimensions_in(answers) == {"score"}
    unclear = [row | {"rater": "bob", "score": 3} for row in rows]
    summary = bring_grades(*unclear, name="unclear.jsonl")
    assert (summary.new, len(summary.messages), sum(scores(answers).values())) == (5, 1, 5)


def test_a_grade_keeps_what_a_later_one_lacks():
    before = Grade(
        label=Label.GROUNDED,
        label_implied=True,
        quality=3,
        note="n",
        choices={"a": "x"},
        modes=("m",),
    )
    after = before.updated(Grade(label=Label.HALLUCINATED, groundedness=0.0, choices={"b": "y"}))
    assert after == Grade(
        label=Label.HALLUCINATED,
        groundedness=0.0,
        quality=3,
        note="n",
        choices={"a": "x", "b": "y"},
        modes=("m",),
    )
