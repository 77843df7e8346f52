"""A row becomes a person's grade as it was given, on its scale, by an annotator who may be a known person."""

from contextlib import closing
from functools import partial

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    AspectPreference,
    DimensionScore,
    Grade,
    Label,
    Preference,
    QueueOrder,
    Role,
    Shown,
)
from judgeboard.errors import NotAllowed
from judgeboard.imports.fields import Unusable
from judgeboard.imports.importing import import_file
from judgeboard.imports.scales import scale_in, scale_of_pairs
from judgeboard.measure.ratings import person_grades
from judgeboard.people.roster import add_person, ensure_reviewer, link_person, list_people
from judgeboard.store.export import export_tables
from judgeboard.store.grades import graded_reviews
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.items import load_item
from judgeboard.store.opening import open_store
from judgeboard.store.own_reviews import own_reviews_page
from judgeboard.store.preferences import counted_preferences, load_preferences
from judgeboard.store.reviewers import reviewer_names, reviewers_of, store_reviewer
from judgeboard.store.reviews import graded_by, reviewed_by_others
from judgeboard.store.tables import REVIEW
from pair_log import add_pairs, prefer_outside
from queue_case import queue_case
from stored_rows import read, values_of, write_to
from tool_files import counts, wrong_last

ROW = {"response_id": "r", "annotator": "ann"}


@pytest.fixture
def grade(one):
    """Return ``grade(row)``: what becomes of a row of grades."""
    return partial(one, kind="grades")


def test_a_grade_is_read_as_given(grade):
    span = {"start": 0, "end": 4, "label_type": "conflict"}
    row = {
        "label": "Hallucinated",
        "groundedness": 1,
        "quality": 4,
        "spans": [span],
        "note": " n ",
        "at": "2026-03-01",
    }
    graded = grade(ROW | row)
    assert (graded.external_id, graded.annotator, graded.source, graded.at.day) == (
        "r",
        "ann",
        None,
        1,
    )
    assert graded.grade == Grade(Label.HALLUCINATED, 1.0, 4, (span,), " n ")


@pytest.mark.parametrize(
    ("written", "implied"), [(True, True), ("True", True), ("false", False), (None, False)]
)
def test_a_label_that_a_decision_implied_stays_an_implied_one(grade, written, implied):
    graded = grade(ROW | {"label": "hallucinated", "label_implied": written})
    assert graded.grade.label_implied is implied


@pytest.mark.parametrize(
    ("part", "field"),
    [
        *wrong_last(
            {"label": "perhaps"},
            {"label": 0.5},
            {"label": ["grounded"]},
            {"label": "grounded", "label_implied": "perhaps"},
            {"groundedness": 1.01},
            {"groundedness": True},
            {"groundedness": "half"},
            {"quality": 3.0},
            {"quality": 0},
            {"quality": True},
            {"quality": 3, "spans": [1]},
            {"quality": 3, "spans": [{"start": 5, "end": 2}]},
            {"quality": 3, "spans": [{"start": 1}]},
            {"quality": 3, "note": 7},
            {"quality": 3, "at": "soon"},
            {"quality": 3, "annotator": " "},
        ),
        ({}, None),
        ({"note": "only a note"}, None),
        ({"label": None, "quality": None}, None),
        ({"quality": 3, "response_id": None}, "external_id"),
    ],
)
def test_what_is_no_grade_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="grades")[0] == field


def test_a_row_that_names_its_source_keeps_it(grade):
    row = {"external_id": "r", "source": "chat", "annotator": "ann", "quality": 3}
    assert grade(row, source="other").source == "chat"
    assert grade({**ROW, "quality": 3}, source="other").source == "other"


PAIR = {"pair_id": "p", "annotator": "ada"}


def test_a_grade_of_a_pair_has_aspects_on_a_scale(grade):
    got = grade(
        {
            **PAIR,
            "scale": "-2..2 (positive: answer 2 better)",
            "correctness": 1,
            "overall": -2,
            "age": None,
            "shown": "ba",
            "preference": "A",
            "comment": "hm",
        }
    )
    preference = got.preference
    assert (got.external_id, got.source, preference.shown, preference.grade.note) == (
        "p",
        None,
        Shown.BA,
        "hm",
    )
    assert preference.aspects == {
        "correctness": AspectPreference(None, 1, "-2..2"),
        "overall": AspectPreference(Preference.A, -2, "-2..2"),
    }


def test_aspects_may_stand_in_one_column(grade):
    got = grade({**PAIR, "aspects": {"depth": "n"}, "age": 34})
    assert got.preference.aspects == {"depth": AspectPreference(Preference.TIE)}


@pytest.mark.parametrize(
    ("part", "field"),
    [
        *wrong_last(
            {"preference": "C"},
            {"depth": 3},
            {"depth": "deep"},
            {"aspects": [1]},
            {"preference": "a", "shown": "first"},
            {"preference": "a", "scale": "1-5"},
            {"preference": "a", "annotator": None},
        ),
        ({}, None),
    ],
)
def test_what_is_no_grade_of_a_pair_is_rejected_with_its_field(refused, part, field):
    assert refused({**PAIR, **part}, kind="grades")[0] == field


def test_a_number_on_a_scale_of_its_own_is_no_quality(grade):
    row = {**ROW, "quality": 3}
    got = grade({**row, "scale": "1-5", "aspects": {"care": 5}})
    assert got.grade.quality is None
    assert got.scores == (DimensionScore("score", 3, "1-5"), DimensionScore("care", 5, "1-5"))
    assert grade({**row, "scale": "1-4"}).grade.quality == 3


@pytest.mark.parametrize(
    ("scale", "number", "share"),
    [("1-5", 4, 0.75), ("0-100", 100, 1), ("1-4", 1, 0), ("0-1", 1, 1)],
)
def test_groundedness_is_converted_by_the_scale_of_its_row(one, refused, scale, number, share):
    row = {**ROW, "judge": "j", "scale": scale, "groundedness": number}
    assert one(row, kind="grades").grade.groundedness == share
    assert one(row, kind="verdicts").verdict.groundedness == share
    for kind in ("grades", "verdicts"):
        assert refused({**row, "groundedness": -1}, kind=kind)[0] == "groundedness"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1-5", "1-5"),
        ("0 to 1", "0-1"),
        ("0.5 – 1", "0.5-1"),
        ("-2..2 (positive: answer 2 better)", "-2..2"),
        ("-2 - -1", "-2..-1"),
    ],
)
def test_a_scale_is_read_to_its_ends(text, plain):
    assert str(scale_in("scale", text)) == plain


@pytest.mark.parametrize("text", ["", "five", "5-1", "1-1", "1-5 stars", "1"])
def test_what_is_no_scale_is_said(text):
    with pytest.raises(Unusable, match="scale"):
        scale_in("scale", text)


def test_grades_of_pairs_lean_to_b_above_zero():
    assert str(scale_of_pairs("scale", None)) == "-2..2"
    with pytest.raises(Unusable, match="change their sign"):
        scale_of_pairs("scale", "-2..2 (positive: response A is better)")
    with pytest.raises(Unusable, match="0"):
        scale_of_pairs("scale", "1-5")


ANN = "ann@example.org"


@pytest.fixture
def case(store):
    case = queue_case(store)
    case.flagged(0.1)
    return case


def row_of(annotator="mara", groundedness=None, **more):
    """A grade of the answer."""
    row = {"response_id": "a0", "annotator": annotator, "groundedness": groundedness}
    return {**row, **more}


@pytest.fixture
def graded(bring_grades):
    """Return ``graded(annotator, groundedness)``, which imports a grade of the answer; return how many are new."""

    def bring_in(*grade, **more):
        return bring_grades(row_of(*grade, **more)).new

    return bring_in


def numbers(store):
    """The groundedness of each grade that counts."""
    return sorted(read(store, graded_reviews).groundedness.tolist())


def counted(case):
    """The groundedness of each person that counts in agreement, on the one answer."""
    names = case.read(reviewer_names)
    grades = person_grades(case.read(graded_reviews), "groundedness")
    known = list(zip(grades.reviewer_ids.tolist(), grades.groundedness.tolist(), strict=True))
    assert len({person for person, _ in known}) == len(known)
    return {names[person]: value for person, value in known}


def test_who_gives_the_name_of_an_annotator_is_that_person(case, graded):
    graded("zoë", 0.2)
    (answer,) = {item["response_id"] for item in case.reviews()}
    zoe = ensure_reviewer(case.store, "page", "Zoë")
    assert (zoe.origin, zoe.name) == ("page", "Zoë")
    assert case.read(reviewers_of, "import") == []
    assert case.read(own_reviews_page, zoe.id).total == 1
    assert case.read(graded_by, [answer], zoe.id) == {answer}
    assert case.read(reviewed_by_others, [answer], zoe.id) == set()
    (line,) = [each for each in case.read(list_people) if each.person == zoe]
    assert line.role is Role.ADMIN
    assert graded("zoë", 0.2) == 0
    assert counted(case) == {"Zoë": 0.2}


@on_sqlite
def test_an_annotator_with_the_name_of_a_person_is_that_person_whose_own_reviews_stay(case, graded):
    case.queue(
        blind_people=True, blind_judge=True, order=QueueOrder.OLDEST, grades=("groundedness",)
    )
    case.review(case.mara, None, groundedness=0.5)
    assert [graded("mara", value) for value in (0.9, 0.9, 0.8)] == [1, 0, 1]
    assert counted(case) == {"Mara": 0.5}, "the blind grade"
    reviews = case.reviews()
    assert {review["reviewer_id"] for review in reviews} == {case.mara.id}
    assert [review["replaces"] for review in reviews] == [None, None, reviews[1]["id"]]


@pytest.mark.parametrize("at", [None, "2026-03-01"])
def test_a_grade_that_is_changed_back_counts_again_and_the_same_file_again_changes_nothing(
    case, graded, tmp_path, at
):
    time = {} if at is None else {"at": at}
    new = [graded("mara", value, **time) for value in (0.2, 0.8, 0.2, 0.2, 0.8, 0.2, 0.2)]
    assert new == [1, 1, 1, 0, 1, 1, 0]
    assert counted(case) == {"Mara": 0.2}
    reviews = case.reviews()
    assert [review["groundedness"] for review in reviews] == [0.2, 0.8, 0.2, 0.8, 0.2]
    assert [review["replaces"] for review in reviews] == [
        None,
        *(review["id"] for review in reviews[:-1]),
    ]
    exported = {table: tmp_path / f"{table}.jsonl" for table in ("responses", "reviews")}
    export_tables(case.store, exported)
    assert import_file(case.store, exported["reviews"], kind="grades").new == 0
    with closing(open_store(tmp_path / "other.db", create=True)) as other:
        import_file(other, exported["responses"])
        for new in (5, 0):
            assert import_file(other, exported["reviews"], kind="grades").new == new
        assert numbers(other) == [0.2]


@on_sqlite
def test_a_grade_that_another_file_changed_stays_changed_unless_a_new_file_changes_it_back(
    case, bring_grades
):
    def brought(name, *values):
        answers = zip(("a0", "other"), values, strict=False)
        rows = [row_of("mara", value, response_id=id_) for id_, value in answers]
        return bring_grades(*rows, name=name).new

    case.add("other", query_type="QA")
    assert [brought("march.jsonl", 0.2), brought("corrections.jsonl", 0.8)] == [1, 1]
    # It does not know of the change.
    assert [brought("march.jsonl", 0.2), brought("march.jsonl", 0.2, 0.4)] == [0, 1]
    assert brought("april.jsonl", 0.2) == 1
    assert [review["groundedness"] for review in case.reviews()] == [0.2, 0.8, 0.4, 0.2]


@on_sqlite
def test_a_grade_of_an_earlier_time_does_not_count_again(case, graded):
    marks = ((0.2, "2026-03-01"), (0.8, "2026-03-02"), (0.2, "2026-03-01"))
    assert [graded("mara", value, at=at) for value, at in marks] == [1, 1, 0]
    assert counted(case) == {"Mara": 0.8}


def test_a_preference_that_is_changed_back_counts_again(case, bring_grades):
    add_pairs(case.store, 1)
    row = {"pair_id": "p0", "annotator": "mara", "order": "ab"}
    new = [bring_grades(row | {"preference": side}).new for side in "abaab"]
    assert new == [1, 1, 1, 0, 1]
    assert [each.preference for each in case.read(load_preferences)] == ["b"]


@on_sqlite
def test_in_a_blind_queue_only_the_reviews_of_other_people_are_hidden(case, graded):
    case.queue(blind_people=True, order=QueueOrder.OLDEST, assigned=(case.mara,))
    for name in ("MARA", "jon", "eve"):
        graded(name, 0.7)
    (answer,) = {item["response_id"] for item in case.items()}
    for person, seen in ((case.mara, {"Mara"}), (case.ada, {"Mara", "Jon", "eve"})):
        reviews = read(Seen(case.store, person.id), load_item, answer).reviews
        assert {each.reviewer for each in reviews} == seen


@on_sqlite
def test_an_imported_preference_replaces_no_preference_of_a_page(case, bring_grades):
    (pair,) = add_pairs(case.store, 1)
    prefer_outside(case.store, pair, case.mara, Preference.A, "on the page")
    row = {"pair_id": "p0", "annotator": "mara", "preference": "b", "order": "ab"}
    assert [bring_grades(row).new for _ in range(2)] == [1, 0]
    preferences = case.read(load_preferences)
    assert [(each.reviewer, each.preference) for each in preferences] == [
        ("Mara", "a"),
        ("Mara", "b"),
    ]
    assert [len(people) for people in counted_preferences(preferences).values()] == [1]


def test_where_people_sign_in_they_are_two_until_an_admin_links_them(case, graded):
    ann = add_person(case.store, ANN, Role.LEAD, "cli:root")
    for name, value in (("mara", 0.1), (ANN, 0.2), ("Ann", 0.3)):
        graded(name, value)
    assert counted(case) == {"mara": 0.1, f"{ANN} (import)": 0.2, "Ann": 0.3}
    assert ensure_reviewer(case.store, "page", "ann").origin == "page"
    assert "Ann" in counted(case)
    with pytest.raises(NotAllowed):
        link_person(case.store, "ann", ANN, ann, origin="import")
    link_person(case.store, "ann", ANN, "cli:root", origin="import")
    graded("ann", 0.4)
    graded("Ann", 0.5)
    assert counted(case)[f"{ANN} (oidc)"] == 0.5
    # What was imported before stays.
    assert counted(case)["Ann"] == 0.3
    link_person(case.store, "ann", None, "cli:root", origin="import")
    graded("ann", 0.6)
    assert counted(case)["Ann"] == 0.6


def test_an_annotator_who_is_linked_to_another_person_is_not_taken_up(case, graded):
    graded("zoë", 0.1)
    link_person(case.store, "zoë", "Jon", "cli:root", origin="import")
    ensure_reviewer(case.store, "page", "Zoë")
    graded("zoë", 0.2)
    assert counted(case) == {"zoë": 0.1, "Jon": 0.2}


def reviewers_in(store):
    return set(read(store, graded_reviews).reviewer_ids.tolist())


@on_sqlite
def test_spellings_of_a_name_are_one_reviewer_and_the_import_says_so(log, bring_grades):
    log.answers(3)
    names = ("Mara", "mara ", "Jon")
    rows = [row_of(name, 1, response_id=f"a{n}") for n, name in enumerate(names, 1)]
    summary = bring_grades(*rows)
    assert counts(summary) == (3, 0, 0)
    (message,) = summary.messages
    assert all(name in message for name in ("'Mara'", "'mara '"))
    assert set(read(log.store, reviewer_names).values()) == {"Jon", "Mara"}
    assert len(reviewers_in(log.store)) == 2


@on_sqlite
def test_a_second_file_says_that_its_reviewer_is_one_of_the_first(log, bring_grades):
    log.answers(3)
    first, second, third = (
        bring_grades(row_of(name, 1, response_id=f"a{n}"))
        for n, name in enumerate(("Mara", "mara\N{NO-BREAK SPACE}", "Mara"), 1)
    )
    assert (first.messages, third.messages) == ((), ())
    (message,) = second.messages
    assert r"'Mara' and 'mara\xa0'" in message


@on_sqlite
def test_a_reviewer_in_another_spelling_grades_an_answer_once_in_a_file(log, bring_grades):
    log.answers(2)
    marks = [("Mara", "a1", 0.2), (" mara  ", "a1", 0.9), ("MARA", "a2", 0.4), ("Jon", "a1", 0.5)]
    summary = bring_grades(*(row_of(name, value, response_id=id_) for name, id_, value in marks))
    assert counts(summary) == (3, 0, 1)
    (rejected,) = summary.first_rejected
    assert (rejected.line, rejected.field) == (2, "external_id")
    assert all(name in rejected.reason for name in ("' mara  '", "'a1'"))
    assert numbers(log.store) == [0.2, 0.4, 0.5]


@on_sqlite
def test_people_who_are_stored_in_two_spellings_stay_two(log, bring_grades):
    log.answers(1)
    for name in ("Mara", "mara"):
        write_to(log.store, store_reviewer, "import", name)
    rows = [row_of("Mara", 0.2, response_id="a1"), row_of("mara", 0.9, response_id="a1")]
    assert (bring_grades(*rows).new, bring_grades(*rows).unchanged) == (2, 2)
    assert len(reviewers_in(log.store)) == 2


@on_sqlite
def test_a_file_of_an_earlier_release_is_known_again_when_grades_have_new_fields(case, graded):
    graded(label="grounded", quality=3, note="n", at="2026-03-01")
    assert values_of(case.store, REVIEW.c.request_key, REVIEW.c.import_batch_id.is_not(None)) == [
        "import:bbf3ceaf345fd28e2ffce7d5b62e4f419a48cac8180c03d7b7c12a40cbe1e034"
    ]
