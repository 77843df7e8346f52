"""Remarks on an answer stand beside each other with name and time; an author changes or takes back their own."""

from datetime import timedelta

import pytest

from engines import on_sqlite
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.reviews.changes import comment
from judgeboard.reviews.queues import assign_queue
from judgeboard.store.events import mark_read, mentioned, notifications, read_until
from judgeboard.store.export import export_tables
from judgeboard.store.forgetting import forget_response
from judgeboard.store.reviews import LONGEST_COMMENT, comments_on
from judgeboard.store.tables import COMMENT
from queue_case import DISMISS
from review_case import NOW
from stored_rows import columns, write_to

LATER = NOW + timedelta(minutes=5)


def said(team):
    return team.read(comments_on, team.response_id)


def say(team, by, text, key="said", **given):
    given = {"response_id": team.response_id, "now": NOW} | given
    return comment(team.store, reviewer=by, text=text, request_key=key, **given)


def edit(team, comment_id, by, text, key="edited"):
    return say(team, by, text, key, response_id=None, replaces=comment_id, now=LATER)


def withdraw(team, comment_id, by, key="back"):
    return edit(team, comment_id, by, None, key)


def test_comments_stand_in_order_with_name_and_time(team):
    text = "The rope is 70 m in the catalogue."
    say(team, team.mara, f" {text} ", "one")
    say(team, team.jon, "Which one?", "two", now=LATER)
    assert [(one.reviewer, one.comment.text, one.first_at) for one in said(team)] == [
        ("Mara", text, NOW),
        ("Jon", "Which one?", LATER),
    ]
    assert team.events() == [("comment", "Mara"), ("comment", "Jon")]


@on_sqlite
def test_an_edit_is_a_row_that_keeps_the_place_of_the_first(team):
    first = say(team, team.mara, "60 m", "one")
    say(team, team.jon, "No.", "two")
    second = edit(team, first, team.mara, "70 m")
    edited, answered = said(team)
    last = edited.comment
    assert (last.id, last.text, edited.first_at, last.at) == (second, "70 m", NOW, LATER)
    assert answered.comment.text == "No."
    # What was said first stays.
    assert columns(team.rows(COMMENT), "text") == ["60 m", "No.", "70 m"]
    assert team.events()[-1] == ("edit_comment", "Mara")
    with pytest.raises(DecisionRefused):
        edit(team, first, team.mara, "80 m", "again")


@on_sqlite
def test_a_comment_taken_back_is_gone_from_the_page_and_not_from_the_table(team):
    first = say(team, team.mara, "60 m")
    last = withdraw(team, first, team.mara)
    assert said(team) == ()
    assert columns(team.rows(COMMENT), "text", "replaces") == [
        ("60 m", None),
        (None, first),
    ]
    for gone in (first, last):
        with pytest.raises(DecisionRefused):
            withdraw(team, gone, team.mara, f"again {gone}")


@on_sqlite
def test_only_its_author_changes_a_comment(team):
    first = say(team, team.mara, "60 m")
    for text in ("70 m", None):
        with pytest.raises(DecisionRefused, match="author"):
            edit(team, first, team.jon, text)
    assert len(team.rows(COMMENT)) == 1


@on_sqlite
def test_the_same_press_twice_is_one_comment(team):
    assert say(team, team.mara, "60 m") == say(team, team.mara, "60 m")
    first = said(team)[0].comment.id
    assert edit(team, first, team.mara, "70 m") == edit(team, first, team.mara, "70 m")
    assert len(team.events()) == 2
    with pytest.raises(BadInput, match="another comment"):
        say(team, team.jon, "60 m")


@on_sqlite
@pytest.mark.parametrize(
    "text", ["", "  \n ", "x" * (LONGEST_COMMENT + 1), "half \ud800", "nul \x00"]
)
def test_what_is_no_comment_is_refused(team, text):
    with pytest.raises(BadInput):
        say(team, team.mara, text)
    assert team.rows(COMMENT) == team.events() == []


@on_sqlite
def test_a_comment_on_nothing_is_said_so(team):
    with pytest.raises(NotFound):
        say(team, team.mara, "hm", response_id=99)
    with pytest.raises(NotFound, match="no comment 99"):
        withdraw(team, 99, team.mara)


@on_sqlite
def test_a_forgotten_answer_has_no_comments(team):
    say(team, team.mara, "60 m")
    write_to(team.store, forget_response, "ragtruth-12260", actor="Mara")
    assert said(team) == ()
    assert columns(team.rows(COMMENT), "text") == [None]


def test_comments_are_exported_with_those_they_replaced(team, tmp_path):
    first = say(team, team.mara, "60 m")
    edit(team, first, team.mara, "=70 m")
    file = tmp_path / "c.csv"
    assert export_tables(team.store, {"comments": file}, format="csv") == {"comments": 2}
    # No spreadsheet takes a comment for a formula.
    assert "'=70 m" in file.read_text()


def told(case, who):
    return case.read_as(who, notifications, who.id)


def kinds(case, who):
    return [each.kind for each in told(case, who)]


def unread(case, who):
    until = case.read(read_until, who.id)
    return [each.kind for each in told(case, who) if each.id > until]


def test_people_are_told_of_queues_conflicts_and_mentions_until_they_have_read_them(case):
    [answer] = case.flagged(0.1)
    case.queue(needed=2, assigned=(case.mara,))
    assign_queue(case.store, "q", by=case.lead, add=[case.jon], now=case.now)
    case.review(case.mara)
    disputed = case.review(case.jon, DISMISS)
    case.comment(answer, case.jon, "Please look, @mara and @Nobody: is it said in passage 1?")
    notices = told(case, case.mara)
    assert [each.actor for each in notices] == ["Jon", "Jon", "Lead"]
    assert (
        kinds(case, case.mara) == unread(case, case.mara) == ["mention", "conflict", "make_queue"]
    )
    _, conflict, queue = notices
    assert (conflict.details["item"], queue.details["queue"]) == (disputed.item_id, "q")
    assert kinds(case, case.jon) == ["conflict", "assign_queue"]
    assert told(case, case.ada) == ()
    for notice_id in (conflict.id, 1):  # what is read stays read
        write_to(case.store, mark_read, case.mara.id, notice_id)
    assert unread(case, case.mara) == ["mention"]


def test_a_mention_on_an_answer_that_is_hidden_tells_nothing_before_the_review(case):
    [answer] = case.flagged(0.1)
    case.queue(needed=2, blind_people=True, assigned=(case.mara,))
    case.comment(answer, case.jon, "@Mara: I would confirm this one")
    assert kinds(case, case.mara) == ["make_queue"]
    case.review(case.mara)
    assert kinds(case, case.mara) == ["mention", "make_queue"]


@on_sqlite
def test_the_longest_name_is_mentioned_and_an_address_by_its_first_part(case):
    names = {1: "Ann", 2: "Ann Lee", 3: "ann.ola@example.org", 4: "Zoë", 5: "@bo"}
    for text, people in (
        ("@ann lee, see this", [2]),
        ("(@Ann) and @zoë.", [1, 4]),
        ("@ann.ola, or write to bob@ann.org", [3]),
        ("@Anna is not here, ann@zoë.org neither", []),
        ("See you @ 5.", []),
        ("Ask @@bo.", [5]),
    ):
        assert mentioned(text, names) == people
