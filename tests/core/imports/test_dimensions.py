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
from stored_rows import values_of

RATERS = ("ann", "bob")


def long_form(answers, *dimensions):
    """The scores 1 to 5 of two people on the answers a1, a2, …"""
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


def scores(store):
    """The current scores by dimension, scale and value."""
    with store.reading() as connection:
        query = select(REVIEW_SCORE.c.dimension, REVIEW_SCORE.c.scale, REVIEW_SCORE.c.value)
        rows = connection.execute(
            query.join(REVIEW, REVIEW.c.id == REVIEW_SCORE.c.review_id).where(is_current())
        )
        return Counter(map(tuple, rows))


def counted(store, grade="scores", dimension=None):
    """What counts in agreement, by answer."""
    with store.reading() as connection:
        grades = person_grades(graded_reviews(connection, dimension), grade)
    return list(getattr(grades, grade).tolist())


def test_grades_in_long_form_are_scores_by_dimension(log, bring, contents):
    log.answers(10)
    rows = long_form(10, "tone", "safety", "completeness")
    summary = bring(*rows, kind="grades")
    assert (summary.new, summary.rejected) == (60, 0)
    expected = Counter((row["dimension"], "1-5", float(row["score"])) for row in rows)
    assert scores(log.store) == expected
    for dimension in ("tone", "safety", "completeness"):
        assert len(counted(log.store, dimension=dimension)) == 20
    with log.store.reading() as connection:
        # One review of a person and an answer.
        assert len(connection.execute(select(REVIEW.c.id)).all()) == 20
    stored = contents()
    assert bring(*reversed(rows), kind="grades", name="reversed.jsonl").unchanged == 60
    assert contents() == stored


@on_sqlite
def test_long_form_may_be_longer_than_a_batch_and_sorted_by_dimension(log, bring, monkeypatch):
    monkeypatch.setattr(importing, "BATCH_ROWS", 7)
    log.answers(5)
    rows = sorted(long_form(5, "tone", "safety"), key=lambda row: row["dimension"])
    assert bring(*rows, kind="grades").new == 20
    assert scores(log.store) == Counter(
        (row["dimension"], "1-5", float(row["score"])) for row in rows
    )
    assert bring(*rows, kind="grades", name="again.jsonl").unchanged == 20


@on_sqlite
def test_a_dimension_keeps_its_name_whatever_it_is(log, bring):
    log.answers(2)
    row = {"rater": "ann"}
    parts = [("faithfulness", 0.25), ("label", 0.5)]
    rows = [
        row | {"id": f"a{n}", "metric": name, "value": value}
        for n in (1, 2)
        for name, value in parts
    ]
    assert bring(*rows, kind="grades").new == 4
    assert [counted(log.store, dimension=name) for name, _ in parts] == [[0.25] * 2, [0.5] * 2]


@on_sqlite
def test_a_rejected_row_gives_nothing(log, bring):
    log.answers(1)
    row = {"id": "a1", "rater": "ann", "scale": "1-5"}
    rows = [{"tone": 3}, {"tone": 5, "safety": 1}, {"tone": 5, "safety": 1}, {"safety": 2}]
    summary = bring(*(row | {"aspects": each} for each in rows), kind="grades")
    assert (summary.new, [each.line for each in summary.first_rejected]) == (2, [2, 3])
    assert scores(log.store) == Counter([("tone", "1-5", 3.0), ("safety", "1-5", 2.0)])


@on_sqlite
def test_a_dimension_twice_with_another_score_is_rejected_and_an_equal_row_changes_nothing(
    log, bring
):
    log.answers(5)
    rows = long_form(5, "tone")
    summary = bring(*rows, rows[0], rows[1] | {"score": 5}, kind="grades")
    assert (summary.new, summary.unchanged, summary.rejected) == (10, 1, 1)
    (rejected,) = summary.first_rejected
    assert (rejected.line, rejected.field) == (12, "external_id")
    whole = {"response_id": "a1", "rater": "cy", "label": "grounded"}
    summary = bring(whole, whole, kind="grades", name="labels.jsonl")
    assert (summary.new, summary.unchanged, summary.rejected) == (1, 1, 0)


def per_dimension(dimension, *, answers=5, places=0):
    return [
        {"id": f"a{n}", "rater": "ann", dimension: (n + places) % 5 + 1}
        for n in range(1, answers + 1)
    ]


def test_one_file_per_dimension_adds_its_dimension(log, bring, contents):
    log.answers(5)
    whole = [
        {
            "id": f"a{n}",
            "rater": "ann",
            "label": "grounded",
            "groundedness": 0.5,
            "quality": 3,
            "note": "n",
        }
        for n in range(1, 6)
    ]
    files = {
        "whole.jsonl": whole,
        "tone.jsonl": per_dimension("tone"),
        "safety.jsonl": per_dimension("safety"),
    }
    for name, rows in files.items():
        assert bring(*rows, kind="grades", name=name).new == 5
    stored = contents()
    for name in (*files, *reversed(files), "whole.jsonl"):
        assert bring(*files[name], kind="grades", name=name).unchanged == 5
    assert contents() == stored
    assert counted(log.store, "quality") == [3] * 5
    assert counted(log.store, "groundedness") == [0.5] * 5
    assert (
        len(counted(log.store, dimension="tone"))
        == len(counted(log.store, dimension="safety"))
        == 5
    )
    notes = values_of(log.store, REVIEW.c.note, is_current(), REVIEW.c.label.is_not(None))
    assert notes == ["n"] * 5


def test_a_changed_score_replaces_this_score_alone(log, bring):
    log.answers(1)
    row = {"id": "a1", "rater": "ann", "scale": "1-5"}
    bring(row | {"tone": 2}, kind="grades", name="tone.jsonl")
    bring(row | {"safety": 3, "brevity": 1, "note": "kept"}, kind="grades", name="safety.jsonl")
    assert bring(row | {"safety": 5}, kind="grades", name="safety2.jsonl").new == 1
    assert scores(log.store) == Counter(
        [("tone", "1-5", 2.0), ("safety", "1-5", 5.0), ("brevity", "1-5", 1.0)]
    )
    assert bring(row | {"tone": 4, "safety": 4}, kind="grades", name="both.jsonl").new == 1
    assert scores(log.store) == Counter(
        [("tone", "1-5", 4.0), ("safety", "1-5", 4.0), ("brevity", "1-5", 1.0)]
    )
    with log.store.reading() as connection:
        reviews = connection.execute(
            select(REVIEW.c.id, REVIEW.c.replaces, REVIEW.c.note).order_by(REVIEW.c.id)
        ).all()
    # Each replaced review is still there.
    assert len({review.replaces for review in reviews if review.replaces}) == 3
    assert [counted(log.store, dimension=name) for name in ("tone", "safety", "brevity")] == [
        [4.0],
        [4.0],
        [1.0],
    ]
    assert bring(row | {"tone": 4}, kind="grades", name="same.jsonl").unchanged == 1


@pytest.mark.parametrize("undone", [1, 2])
def test_undoing_the_import_of_a_dimension_leaves_the_other(log, bring, undone):
    log.answers(5)
    imports = [
        bring(*per_dimension(name), kind="grades", name=f"{name}.jsonl").number
        for name in ("tone", "safety")
    ]
    undo_import(log.store, imports[undone - 1])
    assert {dimension for dimension, _, _ in scores(log.store)} == {("safety", "tone")[undone - 1]}


@on_sqlite
def test_an_export_of_added_dimensions_comes_back_whole(log, bring, tmp_path):
    log.answers(5)
    for name in ("tone", "safety"):
        rows = [row | {"date": "2026-03-01"} for row in per_dimension(name)]
        bring(*rows, kind="grades", name=f"{name}.jsonl")
    stored = scores(log.store)
    file = tmp_path / "reviews.jsonl"
    export_tables(log.store, {"reviews": file})
    undo_import(log.store)
    assert import_file(log.store, file, kind="grades").new == 5, "the undone ones"
    assert scores(log.store) == stored


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
def test_the_scale_of_a_dimension_is_known_or_asked(log, bring, numbers, scale):
    log.answers(3)
    rows = [{"id": f"a{n}", "rater": "ann", "tone": number} for n, number in enumerate(numbers, 1)]
    if scale is None:
        with pytest.raises(UnclearFile) as unclear:
            bring(*rows, kind="grades")
        constants = unclear.value.mapping.constants
        assert bring(*rows, kind="grades", constants=constants).new == 3
        scale = constants["scale"]
    else:
        assert bring(*rows, kind="grades").new == 3
    assert {each for _, each, _ in scores(log.store)} == {scale}


@on_sqlite
def test_a_score_outside_the_scale_is_a_rejected_row(log, bring):
    log.answers(30)
    rows = per_dimension("tone", answers=28)
    rows += [
        {"id": "a29", "rater": "ann", "tone": "good"},
        {"id": "a30", "rater": "ann", "tone": None},
    ]
    summary = bring(*rows, kind="grades")
    assert (summary.new, [(each.line, each.field) for each in summary.first_rejected]) == (
        28,
        [(29, "tone"), (30, None)],
    )
    assert sum(scores(log.store).values()) == 28


@on_sqlite
def test_columns_beside_scores_are_no_scores(log, tmp_path):
    log.answers(5)
    file = tmp_path / "tone.csv"
    lines = [",id,rater,tone,question_id,seconds_taken,points"]
    file.write_text(
        "\n".join([*lines, *(f"{n - 1},a{n},ann,{n},{n},{n * 90},{n * 20}" for n in range(1, 6))])
    )
    assert import_file(log.store, file, kind="grades").new == 5
    assert {dimension for dimension, _, _ in scores(log.store)} == {"tone"}


@on_sqlite
def test_beside_a_label_only_a_column_with_the_name_of_a_score_is_read(log, bring):
    log.answers(5)
    rows = [
        {"id": f"a{n}", "rater": "ann", "label": "grounded", "tone": n, "score": n}
        for n in range(1, 6)
    ]
    assert bring(*rows, kind="grades").new == 5
    assert {dimension for dimension, _, _ in scores(log.store)} == {"score"}
    unclear = [row | {"rater": "bob", "score": 3} for row in rows]
    summary = bring(*unclear, kind="grades", name="unclear.jsonl")
    assert (summary.new, len(summary.messages), sum(scores(log.store).values())) == (5, 1, 5)


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
