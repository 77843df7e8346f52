"""How a person reviews: pace, agreement, streaks; the people whom a lead names."""

import pytest

from engines import on_sqlite
from judgeboard.domain import Role
from judgeboard.errors import BadInput, NotFound
from judgeboard.people.roster import ensure_reviewer, people_named
from judgeboard.reviews.person_work import person_work
from judgeboard.store.events import notifications
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.own_reviews import compared_reviews
from judgeboard.store.reviewers import store_reviewer
from query_plans import plans_of, statements_of
from queue_case import CONFIRM, DISMISS, UNSURE, queue_case
from result_fields import check_fields
from stored_rows import write_to


def work(case, who):
    return case.read(person_work, who, now=case.now)


@on_sqlite
def test_agreement_is_with_gold_with_oneself_and_with_others(case):
    case.queue_of(0.1, 0.2, 0.3, needed=2, repeat_rate=0.999)
    case.review(case.mara, label="hallucinated")
    disputed = case.review(case.jon, DISMISS)
    case.adjudicate(disputed.item_id, DISMISS)
    for decision in (CONFIRM, UNSURE):
        case.review(case.mara, decision)
        case.review(case.jon, decision)
    case.later(days=40)
    # The repeat of the first item: another label.
    case.review(case.mara, label="grounded")
    mara, jon = work(case, case.mara), work(case, case.jon)
    check_fields(mara.gold, value=0, n=1)
    check_fields(jon.gold, value=1, n=1)
    check_fields(mara.others, value=0.5, n=2)  # an unsure review is not compared
    check_fields(mara.own, value=0, n=1)
    assert (mara.tests.value, mara.drift.value, mara.reviews) == (None, None, 4)


@on_sqlite
def test_of_two_reviews_of_an_item_the_one_before_the_reveal_counts(case):
    case.queue_of(0.1, needed=2, blind_judge=True, order="oldest")
    case.reveal(case.review(case.mara), case.mara, DISMISS)
    case.review(case.jon)
    mara = work(case, case.mara)
    assert mara.reviews == 1
    check_fields(mara.others, value=1, n=1)


def review_all(case, number):
    for response_id in case.flagged(*[0.1] * number):
        case.review(case.mara)
        disputed = case.review(case.jon, DISMISS)
        case.adjudicate(disputed.item_id, label="hallucinated")
        case.comment(response_id, case.jon, "@Mara")


LARGE = ("queue_item", "lease", "review", "review_score", "preference_score", "response", "event")


def test_the_number_of_statements_does_not_depend_on_the_reviews(case):
    case.queue_of(0.1, needed=2, optional_grades=("label", "groundedness"))
    counts = []
    for number in (1, 6):
        review_all(case, number)
        with case.store.reading() as connection, statements_of(case.store) as statements:
            person_work(connection, case.mara, now=case.now)
            notifications(connection, case.mara.id)
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_reviews_and_notifications_of_a_person_are_found_by_indexes(sqlite_store):
    # PostgreSQL reads small tables whole: its plans say nothing here.
    case = queue_case(sqlite_store)
    case.queue_of(0.1, needed=2, optional_grades=("label", "groundedness"))
    review_all(case, 3)
    with case.store.reading() as connection, plans_of(case.store) as plans:
        assert len(compared_reviews(connection, case.mara.id)) == 3
        notified = notifications(connection, case.mara.id)
    assert {each.kind for each in notified} == {"conflict", "mention"}
    steps = [step.strip() for plan in plans for step in plan.splitlines()]
    assert [
        step
        for step in steps
        if step.removeprefix("SCAN ").split(" ")[0] in LARGE and "SCAN" in step
    ] == []
    assert any("ix_review_reviewer" in step for step in steps)
    assert any("EVENT" in step.upper() and "kind=?" in step for step in steps)


def test_an_address_signs_in_a_user_types_and_any_other_name_sits_at_a_case(sqlite_store):
    ann = write_to(sqlite_store, store_reviewer, "oidc", "ann@example.org", role=Role.REVIEWER)
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    people = people_named(sqlite_store, ["ann@example.org", " Mara ", "cli:bob", "New One", "Mara"])
    assert people[:2] == [ann, mara]
    bob, new = people[2:]
    check_fields(bob, origin="cli", name="cli:bob")
    check_fields(new, origin="page", name="New One")
    assert people_named(sqlite_store, ["New One"]) == [new]


def test_an_address_that_nobody_added_and_an_empty_name_are_refused(sqlite_store):
    with pytest.raises(NotFound, match=r"eve@example\.org"):
        people_named(sqlite_store, ["eve@example.org"])
    with pytest.raises(BadInput):
        people_named(sqlite_store, [" "])


@on_sqlite
def test_a_name_in_another_case_is_the_same_person_and_sees_no_more(case, store):
    (response,) = case.flagged(0.1)
    zoe = ensure_reviewer(store, "page", "Zoë Straße")
    case.queue(assigned=(zoe,), blind_judge=True, order="oldest")
    typed = ensure_reviewer(store, "page", "ZOË STRASSE")
    assert typed == zoe
    assert case.read(hidden_of, typed.id, response_id=response).judge
    assert case.lease(typed).response_id == response
    assert people_named(store, ["zoë straße"], new=False) == [zoe]
    assert ensure_reviewer(store, "import", "zoë straße") != zoe
    assert ensure_reviewer(store, "cli", "cli:Bob") == people_named(store, ["CLI:bob"])[0]


@on_sqlite
def test_two_stored_names_that_differ_only_by_case_stay_two_people(store):
    with store.writing() as connection:
        upper, lower = (store_reviewer(connection, "page", name) for name in ("Ann", "ann"))
    assert [ensure_reviewer(store, "page", name) for name in ("ann", "Ann", "ANN")] == [
        lower,
        upper,
        upper,
    ]


def test_two_addresses_that_fold_to_one_are_two_people(sqlite_store):
    write_to(sqlite_store, store_reviewer, "oidc", "strasse@example.org", role=Role.REVIEWER)
    assert people_named(sqlite_store, ["Strasse@Example.org"])[0].name == "strasse@example.org"
    with pytest.raises(NotFound):
        people_named(sqlite_store, ["straße@example.org"])


def test_a_name_that_nobody_has_is_refused_with_the_first_twenty_names(sqlite_store):
    with pytest.raises(NotFound, match="'Mara'"):
        people_named(sqlite_store, ["Mara"], new=False)
    for number in range(21):
        ensure_reviewer(sqlite_store, "page", f"p{number:02}")
    ensure_reviewer(sqlite_store, "import", "annotator")
    for name in ("Mara", "cli:mara"):
        with pytest.raises(NotFound, match=f"'{name}'.*p00, .*p19") as refused:
            people_named(sqlite_store, [name], new=False)
        assert "p20" not in str(refused.value)
