"""A row becomes a person's grade as it was given, on its scale, by an annotator who may be a known person."""

import json
from contextlib import closing

import pytest

from engines import on_sqlite
from graded_log import GradedLog
from judgeboard.domain import AspectPreference, Label, Preference, QueueOrder, Role, Shown
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
from stored_rows import values_of

ROW = {"response_id": "r", "annotator": "ann"}


def test_a_grade_is_read_as_given(one):
    span = {"start": 0, "end": 4, "label_type": "conflict"}
    row = {
        "label": "Hallucinated",
        "groundedness": 1,
        "quality": 4,
        "spans": [span],
        "note": " n ",
        "at": "2026-03-01",
    }
    graded = one({**ROW, **row}, kind="grades")
    assert (graded.response_id, graded.annotator, graded.source, graded.at.day) == (
        "r",
        "ann",
        None,
        1,
    )
    grade = graded.grade
    assert (grade.label, grade.groundedness, grade.quality) == (Label.HALLUCINATED, 1.0, 4)
    assert (grade.spans, grade.note) == ((span,), " n ")


@pytest.mark.parametrize(
    ("written", "implied"), [(True, True), ("True", True), ("false", False), (None, False)]
)
def test_a_label_that_a_decision_implied_stays_an_implied_one(one, written, implied):
    graded = one({**ROW, "label": "hallucinated", "label_implied": written}, kind="grades")
    assert graded.grade.label_implied is implied


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({}, None),
        ({"note": "only a note"}, None),
        ({"label": None, "quality": None}, None),
        ({"label": "perhaps"}, "label"),
        ({"label": 0.5}, "label"),
        ({"label": ["grounded"]}, "label"),
        ({"label": "grounded", "label_implied": "perhaps"}, "label_implied"),
        ({"groundedness": 1.01}, "groundedness"),
        ({"groundedness": True}, "groundedness"),
        ({"groundedness": "half"}, "groundedness"),
        ({"quality": 3.0}, "quality"),
        ({"quality": 0}, "quality"),
        ({"quality": True}, "quality"),
        ({"quality": 3, "spans": [1]}, "spans"),
        ({"quality": 3, "spans": [{"start": 5, "end": 2}]}, "spans"),
        ({"quality": 3, "spans": [{"start": 1}]}, "spans"),
        ({"quality": 3, "note": 7}, "note"),
        ({"quality": 3, "at": "soon"}, "at"),
        ({"quality": 3, "annotator": " "}, "annotator"),
        ({"quality": 3, "response_id": None}, "external_id"),
    ],
)
def test_what_is_no_grade_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="grades")[0] == field


def test_a_row_that_names_its_source_keeps_it(one):
    row = {"external_id": "r", "source": "chat", "annotator": "ann", "quality": 3}
    assert one(row, kind="grades", source="other").source == "chat"
    assert one({**ROW, "quality": 3}, kind="grades", source="other").source == "other"


PAIR = {"pair_id": "p", "annotator": "ada"}


def test_a_grade_of_a_pair_has_aspects_on_a_scale(one):
    row = {
        **PAIR,
        "scale": "-2..2 (positive: answer 2 better)",
        "correctness": 1,
        "overall": -2,
        "age": None,
    }
    got = one({**row, "shown": "ba", "preference": "A", "comment": "hm"}, kind="grades")
    assert (got.pair_id, got.source, got.preference.shown, got.preference.grade.note) == (
        "p",
        None,
        Shown.BA,
        "hm",
    )
    assert got.preference.aspects == {
        "correctness": AspectPreference(None, 1, "-2..2"),
        "overall": AspectPreference(Preference.A, -2, "-2..2"),
    }


def test_aspects_may_stand_in_one_column(one):
    got = one({**PAIR, "aspects": {"depth": "n"}, "age": 34}, kind="grades")
    assert got.preference.aspects == {"depth": AspectPreference(Preference.TIE)}


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({}, None),
        ({"preference": "C"}, "preference"),
        ({"depth": 3}, "depth"),
        ({"depth": "deep"}, "depth"),
        ({"aspects": [1]}, "aspects"),
        ({"preference": "a", "shown": "first"}, "shown"),
        ({"preference": "a", "scale": "1-5"}, "scale"),
        ({"preference": "a", "annotator": None}, "annotator"),
    ],
)
def test_what_is_no_grade_of_a_pair_is_rejected_with_its_field(refused, part, field):
    assert refused({**PAIR, **part}, kind="grades")[0] == field


def test_a_number_on_a_scale_of_its_own_is_no_quality(one):
    got = one({**ROW, "quality": 3, "scale": "1-5", "aspects": {"care": 5}}, kind="grades")
    assert got.grade.quality is None
    assert [(score.dimension, score.value, score.scale) for score in got.scores] == [
        ("score", 3, "1-5"),
        ("care", 5, "1-5"),
    ]
    assert one({**ROW, "quality": 3, "scale": "1-4"}, kind="grades").grade.quality == 3


@pytest.mark.parametrize(
    ("scale", "number", "share"),
    [
        ("1-5", 4, 0.75),
        ("0-100", 100, 1),
        ("1-4", 1, 0),
        ("0-1", 1, 1),
    ],
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


@pytest.fixture
def graded(bring):
    """Return ``graded(annotator, groundedness)``, which imports a grade of the answer; return how many are new."""

    def bring_in(annotator, groundedness):
        row = {"response_id": "a0", "annotator": annotator, "groundedness": groundedness}
        return bring(row, kind="grades").new

    return bring_in


def counted(case):
    """The groundedness of each person that counts in agreement, on the one answer."""
    with case.store.reading() as connection:
        names = reviewer_names(connection)
        grades = person_grades(graded_reviews(connection), "groundedness")
    known = list(zip(grades.reviewer_ids.tolist(), grades.groundedness.tolist(), strict=True))
    assert len({person for person, _ in known}) == len(known)
    return {names[person]: value for person, value in known}


def test_who_gives_the_name_of_an_annotator_is_that_person(case, graded):
    graded("zoë", 0.2)
    (answer,) = {item["response_id"] for item in case.reviews()}
    zoe = ensure_reviewer(case.store, "page", "Zoë")
    assert (zoe.origin, zoe.name) == ("page", "Zoë")
    with case.store.reading() as connection:
        assert reviewers_of(connection, "import") == []
        assert own_reviews_page(connection, zoe.id).total == 1
        assert graded_by(connection, [answer], zoe.id) == {answer}
        assert reviewed_by_others(connection, [answer], zoe.id) == set()
        (line,) = [each for each in list_people(connection) if each.person == zoe]
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
    own, first, second = case.reviews()
    assert {review["reviewer_id"] for review in (own, first, second)} == {case.mara.id}
    assert [review["replaces"] for review in (own, first, second)] == [None, None, first["id"]]


@pytest.mark.parametrize("at", [None, "2026-03-01"])
def test_a_grade_that_is_changed_back_counts_again_and_the_same_file_again_changes_nothing(
    case, bring, tmp_path, at
):
    def brought(value):
        time = {} if at is None else {"at": at}
        row = {"response_id": "a0", "annotator": "mara", "groundedness": value} | time
        return bring(row, kind="grades", name="grades.jsonl").new

    assert [brought(value) for value in (0.2, 0.8, 0.2, 0.2, 0.8, 0.2, 0.2)] == [
        1,
        1,
        1,
        0,
        1,
        1,
        0,
    ]
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
        assert [import_file(other, exported["reviews"], kind="grades").new for _ in range(2)] == [
            5,
            0,
        ]
        with other.reading() as connection:
            assert graded_reviews(connection).groundedness.tolist() == [0.2]


@on_sqlite
def test_a_grade_that_another_file_changed_stays_changed_unless_a_new_file_changes_it_back(
    case, bring
):
    def brought(name, *values):
        answers = zip(("a0", "other"), values, strict=False)
        rows = [
            {"response_id": id_, "annotator": "mara", "groundedness": value}
            for id_, value in answers
        ]
        return bring(*rows, kind="grades", name=name).new

    case.add("other", query_type="QA")
    assert [brought("march.jsonl", 0.2), brought("corrections.jsonl", 0.8)] == [1, 1]
    # It does not know of the change.
    assert [brought("march.jsonl", 0.2), brought("march.jsonl", 0.2, 0.4)] == [0, 1]
    assert brought("april.jsonl", 0.2) == 1
    assert [review["groundedness"] for review in case.reviews()] == [0.2, 0.8, 0.4, 0.2]


@on_sqlite
def test_a_grade_of_an_earlier_time_does_not_count_again(case, bring):
    row = {"response_id": "a0", "annotator": "mara"}
    marks = ((0.2, "2026-03-01"), (0.8, "2026-03-02"), (0.2, "2026-03-01"))
    assert [
        bring(row | {"groundedness": value, "at": at}, kind="grades").new for value, at in marks
    ] == [1, 1, 0]
    assert counted(case) == {"Mara": 0.8}


def test_a_preference_that_is_changed_back_counts_again(case, bring):
    add_pairs(case.store, 1)
    row = {"pair_id": "p0", "annotator": "mara", "order": "ab"}
    assert [bring(row | {"preference": side}, kind="grades").new for side in "abaab"] == [
        1,
        1,
        1,
        0,
        1,
    ]
    with case.store.reading() as connection:
        assert [each.preference for each in load_preferences(connection)] == ["b"]


@on_sqlite
def test_in_a_blind_queue_only_the_reviews_of_other_people_are_hidden(case, graded):
    case.queue(blind_people=True, order=QueueOrder.OLDEST, assigned=(case.mara,))
    for name in ("MARA", "jon", "eve"):
        graded(name, 0.7)
    (answer,) = {item["response_id"] for item in case.items()}
    with Seen(case.store, case.mara.id).reading() as connection:
        assert [each.reviewer for each in load_item(connection, answer).reviews] == ["Mara"]
    with Seen(case.store, case.ada.id).reading() as connection:
        assert {each.reviewer for each in load_item(connection, answer).reviews} == {
            "Mara",
            "Jon",
            "eve",
        }


@on_sqlite
def test_an_imported_preference_replaces_no_preference_of_a_page(case, bring):
    (pair,) = add_pairs(case.store, 1)
    prefer_outside(case.store, pair, case.mara, Preference.A, "on the page")
    row = {"pair_id": "p0", "annotator": "mara", "preference": "b", "order": "ab"}
    assert [bring(row, kind="grades").new for _ in range(2)] == [1, 0]
    with case.store.reading() as connection:
        preferences = load_preferences(connection)
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


@on_sqlite
def test_spellings_of_a_name_are_one_reviewer_and_the_import_says_so(store, tmp_path):
    log = GradedLog(store)
    log.answers(3)
    names = ("Mara", "mara ", "Jon")
    rows = [
        {"response_id": f"a{n}", "annotator": name, "label": "grounded"}
        for n, name in enumerate(names, 1)
    ]
    file = tmp_path / "grades.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    summary = import_file(store, file, kind="grades")
    assert (summary.new, summary.rejected) == (3, 0)
    (message,) = summary.messages
    assert all(name in message for name in ("'Mara'", "'mara '"))
    with store.reading() as connection:
        assert set(reviewer_names(connection).values()) == {"Jon", "Mara"}
        assert len(set(graded_reviews(connection).reviewer_ids.tolist())) == 2


@on_sqlite
def test_a_second_file_says_that_its_reviewer_is_one_of_the_first(store, bring):
    GradedLog(store).answers(3)
    first, second, third = (
        bring({"response_id": f"a{n}", "annotator": name, "label": "grounded"}, kind="grades")
        for n, name in enumerate(("Mara", "mara\N{NO-BREAK SPACE}", "Mara"), 1)
    )
    assert (first.messages, third.messages) == ((), ())
    (message,) = second.messages
    assert r"'Mara' and 'mara\xa0'" in message


@on_sqlite
def test_a_reviewer_in_another_spelling_grades_an_answer_once_in_a_file(store, bring):
    GradedLog(store).answers(2)
    marks = [("Mara", "a1", 0.2), (" mara  ", "a1", 0.9), ("MARA", "a2", 0.4), ("Jon", "a1", 0.5)]
    rows = [
        {"annotator": name, "response_id": id_, "groundedness": value} for name, id_, value in marks
    ]
    summary = bring(*rows, kind="grades")
    assert (summary.new, summary.rejected) == (3, 1)
    (rejected,) = summary.first_rejected
    assert (rejected.line, rejected.field) == (2, "external_id")
    assert all(name in rejected.reason for name in ("' mara  '", "'a1'"))
    with store.reading() as connection:
        assert sorted(graded_reviews(connection).groundedness.tolist()) == [0.2, 0.4, 0.5]


@on_sqlite
def test_people_who_are_stored_in_two_spellings_stay_two(store, bring):
    GradedLog(store).answers(1)
    with store.writing() as connection:
        for name in ("Mara", "mara"):
            store_reviewer(connection, "import", name)
    rows = [
        {"annotator": name, "response_id": "a1", "groundedness": value}
        for name, value in (("Mara", 0.2), ("mara", 0.9))
    ]
    assert (bring(*rows, kind="grades").new, bring(*rows, kind="grades").unchanged) == (2, 2)
    with store.reading() as connection:
        assert len(set(graded_reviews(connection).reviewer_ids.tolist())) == 2


@on_sqlite
def test_a_file_of_an_earlier_release_is_known_again_when_grades_have_new_fields(case, bring):
    row = {
        "response_id": "a0",
        "annotator": "mara",
        "label": "grounded",
        "quality": 3,
        "note": "n",
        "at": "2026-03-01",
    }
    bring(row, kind="grades")
    assert values_of(case.store, REVIEW.c.request_key, REVIEW.c.import_batch_id.is_not(None)) == [
        "import:bbf3ceaf345fd28e2ffce7d5b62e4f419a48cac8180c03d7b7c12a40cbe1e034"
    ]
