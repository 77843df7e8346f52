"""An annotator of imported files and the person who gives that name on a page are one, unless people sign in."""

import pytest

from engines import on_sqlite
from judgeboard.agreement.answer_pairs import person_grades
from judgeboard.domain import Preference, QueueOrder, Role, Shown
from judgeboard.errors import NotAllowed
from judgeboard.people.roster import add_person, ensure_reviewer, link_person, list_people
from judgeboard.reviews.decisions import prefer
from judgeboard.stats.ratings import GROUNDEDNESS
from judgeboard.store.grades import graded_reviews
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.items import load_item
from judgeboard.store.own_reviews import own_reviews_page
from judgeboard.store.preferences import counted_preferences, load_preferences
from judgeboard.store.reviewers import reviewer_names, reviewers_of
from judgeboard.store.reviews import graded_by, reviewed_by_others
from pair_log import add_pairs
from queue_case import QueueCase, queue_case

ANN = "ann@example.org"


@pytest.fixture
def case(store) -> QueueCase:
    case = queue_case(store)
    case.flagged(0.1)
    return case


@pytest.fixture
def graded(bring):
    """Return ``graded(annotator, groundedness)``, which imports a grade of the answer; return how many are new."""

    def bring_in(annotator: str, groundedness: float) -> int:
        row = {"response_id": "a0", "annotator": annotator, "groundedness": groundedness}
        return bring(row, kind="grades").new

    return bring_in


def counted(case: QueueCase) -> dict[str, float]:
    """The groundedness of each person that counts in agreement, on the one answer."""
    with case.store.reading() as connection:
        names = reviewer_names(connection)
        grades = person_grades(graded_reviews(connection), GROUNDEDNESS)
    known = list(zip(grades.reviewer_ids.tolist(), grades.values.tolist(), strict=True))
    assert len({person for person, _ in known}) == len(known)
    return {names[person]: value for person, value in known}


def test_who_gives_the_name_of_an_annotator_is_that_person(case: QueueCase, graded) -> None:
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
def test_an_annotator_with_the_name_of_a_person_is_that_person_whose_own_reviews_stay(case: QueueCase, graded) -> None:
    case.queue(blind_people=True, blind_judge=True, order=QueueOrder.OLDEST, grades=("groundedness",))
    case.review(case.mara, None, groundedness=0.5)
    assert [graded("mara", value) for value in (0.9, 0.9, 0.8)] == [1, 0, 1]
    assert counted(case) == {"Mara": 0.5}, "the blind grade"
    own, first, second = case.reviews()
    assert {review["reviewer_id"] for review in (own, first, second)} == {case.mara.id}
    assert [review["replaces"] for review in (own, first, second)] == [None, None, first["id"]]


def test_in_a_blind_queue_only_the_reviews_of_other_people_are_hidden(case: QueueCase, graded) -> None:
    case.queue(blind_people=True, order=QueueOrder.OLDEST, assigned=(case.mara,))
    for name in ("MARA", "jon", "eve"):
        graded(name, 0.7)
    (answer,) = {item["response_id"] for item in case.items()}
    with Seen(case.store, case.mara.id).reading() as connection:
        assert [each.reviewer for each in load_item(connection, answer).reviews] == ["Mara"]
    with Seen(case.store, case.ada.id).reading() as connection:
        assert {each.reviewer for each in load_item(connection, answer).reviews} == {"Mara", "Jon", "eve"}


@on_sqlite
def test_an_imported_preference_replaces_no_preference_of_a_page(case: QueueCase, bring) -> None:
    (pair,) = add_pairs(case.store, 1)
    prefer(
        case.store, pair_id=pair, reviewer=case.mara, preference=Preference.A, shown=Shown.AB, request_key="on the page"
    )
    row = {"pair_id": "p0", "annotator": "mara", "preference": "b", "order": "ab"}
    assert [bring(row, kind="grades").new for _ in range(2)] == [1, 0]
    with case.store.reading() as connection:
        preferences = load_preferences(connection)
    assert [(each.reviewer, each.preference) for each in preferences] == [("Mara", "a"), ("Mara", "b")]
    assert [len(people) for people in counted_preferences(preferences).values()] == [1]


def test_where_people_sign_in_they_are_two_until_an_admin_links_them(case: QueueCase, graded) -> None:
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
    assert counted(case)["Ann"] == 0.3, "what was imported before stays"
    link_person(case.store, "ann", None, "cli:root", origin="import")
    graded("ann", 0.6)
    assert counted(case)["Ann"] == 0.6


def test_an_annotator_who_is_linked_to_another_person_is_not_taken_up(case: QueueCase, graded) -> None:
    graded("zoë", 0.1)
    link_person(case.store, "zoë", "Jon", "cli:root", origin="import")
    ensure_reviewer(case.store, "page", "Zoë")
    graded("zoë", 0.2)
    assert counted(case) == {"zoë": 0.1, "Jon": 0.2}
