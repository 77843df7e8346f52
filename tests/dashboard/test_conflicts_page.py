"""The page of conflicts."""

from sqlalchemy import update

from app_pages import field_of, in_address, press, shown, texts
from judgeboard.domain import ItemState
from judgeboard.store.tables import DRAFT, QUEUE_ITEM
from judgeboard_dashboard.review.drafts import draft_writer
from queue_case import CONFIRM, DISMISS


def test_more_conflicts_than_the_page_shows_are_not_counted_as_all(open_page, page_store, case):
    case.queue_of(*[0.1] * 200, needed=2)
    case.judge(*case.add("late"), 0.01)  # joins last, but is the worst and reviewed first
    case.review(case.mara)
    case.review(case.jon, DISMISS)
    words = texts(open_page("conflicts"))
    assert "1 open conflict." in words
    # An item that the lead adjudicates is not listed twice.
    assert not any("differ on" in each for each in words)
    with page_store.writing() as connection:
        connection.execute(update(QUEUE_ITEM).values(state=ItemState.CONFLICT))
    words = texts(open_page("conflicts"))
    assert any("More than 200" in each for each in words)
    assert any("differ on" in each for each in words)


def test_the_next_conflict_follows_an_adjudication_then_the_list_and_undo_leads_back(
    open_page, case
):
    case.queue_of(0.1, 0.2, needed=2)
    for _ in range(2):
        case.review(case.mara)
        case.review(case.jon, DISMISS)
    first, second = (str(item["id"]) for item in case.items())

    def adjudicated(page):
        field_of(page, "note_").set_value("why")
        return press(page, "confirm_")

    def head(page):
        return texts(page, "jb-head")[0]

    page = open_page("conflicts", reviewer="Lead", conflict=first)
    assert "2 open conflicts" in head(page)
    page = adjudicated(page)
    assert "1 open conflict" in head(page)
    assert in_address(page, "conflict") == second
    assert "is adjudicated" in head(page)
    told = open_page("conflicts", conflict=first)
    assert "why" in texts(told, "jb-review jb-gold")[0]
    # Reviewers see each other's reviews once a lead has adjudicated.
    assert "Jon" in shown(told)
    page = adjudicated(page)
    assert "conflict" not in page.query_params
    assert case.item_states() == ["adjudicated", "adjudicated"]
    press(page, "undo")
    assert in_address(page, "conflict") == second
    assert case.item_states() == ["adjudicated", "conflict"]
    assert field_of(page, "note_").value == "why"


def test_a_lead_corrects_the_answer_and_a_reload_keeps_the_reason(open_page, case):
    case.queue_of(0.1, needed=2)
    proposed, corrected = "It is 50 m long.", "It is 60 m long."
    case.review(case.mara, corrected_answer=proposed)
    case.review(case.jon, DISMISS)
    address = {"reviewer": "Lead", "conflict": str(case.items()[0]["id"])}
    page = press(open_page("conflicts", **address), "correct_")
    assert f"Corrected answer: {proposed}" in shown(page)
    field_of(page, "corrected_").set_value(corrected)
    field_of(page, "note_").set_value("Measured.").run()
    again = open_page("conflicts", **address)
    assert field_of(again, "note_").value == "Measured."
    press(again, "confirm_")
    review = case.reviews()[-1]
    stored = review["stage"], review["note"], review["corrected_answer"]
    assert stored == ("adjudication", "Measured.", corrected)
    draft_writer().flush()
    assert case.rows(DRAFT) == []


def test_each_person_has_one_card_and_one_line_where_a_reveal_changed_nothing(open_page, case):
    case.flagged(0.1)
    people = (case.mara, case.jon, case.lead)
    case.queue(needed=3, blind_judge=True, blind_people=True, order="oldest", assigned=people)
    for who, decision in ((case.mara, CONFIRM), (case.jon, DISMISS), (case.lead, DISMISS)):
        case.reveal(case.review(who, decision), who, decision)
    names = [person.name for person in people]
    page = open_page("conflicts", reviewer=case.lead.name, conflict=str(case.items()[0]["id"]))
    cards = next(text for text in texts(page) if text.startswith("Reviews"))
    assert [cards.count(name) for name in names] == [1, 1, 1]
    assert cards.count("blind, kept") == 3
    signals = next(text for text in texts(page) if "People" in text).partition("History")[0]
    assert [signals.count(name) for name in names] == [1, 1, 1]
