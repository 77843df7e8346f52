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
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.reviews import LONGEST_COMMENT, comments_on
from judgeboard.store.tables import COMMENT
from queue_case import CONFIRM, DISMISS
from review_case import NOW
from stored_rows import columns, read, write_to

LATER = NOW + timedelta(minutes=5)


def said(team):
    return team.read(comments_on, team.response_id)


def say(team, by, text, key="said", now=NOW):
    return comment(
        team.store, response_id=team.response_id, reviewer=by, text=text, request_key=key, now=now
    )


def edit(team, comment_id, by, text, key="edited"):
    edited = {"replaces": comment_id, "reviewer": by, "text": text, "request_key": key}
    return comment(team.store, **edited, now=LATER)


def withdraw(team, comment_id, by, key="back"):
    return edit(team, comment_id, by, None, key)


def test_comments_stand_in_order_with_name_and_time(team):
    text = "The rope is 70 m in the catalogue."
    say(team, team.mara, f" {text} ", "one")
    say(team, team.jon, "Which one?", "two", LATER)
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
    with pytest.raises(DecisionRefused, match="author"):
        edit(team, first, team.jon, "70 m")
    with pytest.raises(DecisionRefused, match="author"):
        withdraw(team, first, team.jon)
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
    assert team.rows(COMMENT) == []
    assert team.events() == []


@on_sqlite
def test_a_comment_on_nothing_is_said_so(team):
    with pytest.raises(NotFound):
        comment(team.store, response_id=99, reviewer=team.mara, text="hm", request_key="k")
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
    assert export_tables(team.store, {"comments": tmp_path / "c.csv"}, format="csv") == {
        "comments": 2
    }
    # No spreadsheet takes a comment for a formula.
    assert "'=70 m" in (tmp_path / "c.csv").read_text()


def told(case, who):
    return read(Seen(case.store, who.id), notifications, who.id)


def unread(case, who):
    until = case.read(read_until, who.id)
    return [each.kind for each in told(case, who) if each.id > until]


def mention(case, by, response_id, text):
    key = f"comment {next(case.keys)}"
    comment(
        case.store, response_id=response_id, reviewer=by, text=text, request_key=key, now=case.now
    )


def test_people_are_told_of_queues_conflicts_and_mentions_until_they_have_read_them(case):
    [answer] = case.flagged(0.1)
    case.queue(needed=2, assigned=(case.mara,))
    assign_queue(case.store, "q", by=case.lead, add=[case.jon], now=case.now)
    for who, decision in zip((case.mara, case.jon), (CONFIRM, DISMISS), strict=True):
        disputed = case.review(who, decision)
    mention(case, case.jon, answer, "Please look, @mara and @Nobody: is it said in passage 1?")
    mentioned_in, conflict, queue = told(case, case.mara)
    assert [(each.kind, each.actor) for each in (mentioned_in, conflict, queue)] == [
        ("mention", "Jon"),
        ("conflict", "Jon"),
        ("make_queue", "Lead"),
    ]
    assert unread(case, case.mara) == ["mention", "conflict", "make_queue"]
    assert (conflict.details["item"], queue.details["queue"]) == (disputed.item_id, "q")
    assert [each.kind for each in told(case, case.jon)] == ["conflict", "assign_queue"]
    assert told(case, case.ada) == ()
    with case.store.writing() as connection:
        mark_read(connection, case.mara.id, told(case, case.mara)[1].id)
        mark_read(connection, case.mara.id, 1)  # what is read stays read
    assert unread(case, case.mara) == ["mention"]


def test_a_mention_on_an_answer_that_is_hidden_tells_nothing_before_the_review(case):
    [answer] = case.flagged(0.1)
    case.queue(needed=2, blind_people=True, assigned=(case.mara,))
    mention(case, case.jon, answer, "@Mara: I would confirm this one")
    assert [each.kind for each in told(case, case.mara)] == ["make_queue"]
    case.review(case.mara)
    assert [each.kind for each in told(case, case.mara)] == ["mention", "make_queue"]


@on_sqlite
def test_the_longest_name_is_mentioned_and_an_address_by_its_first_part(case):
    names = {1: "Ann", 2: "Ann Lee", 3: "ann.ola@example.org", 4: "Zoë"}
    for text, people in (
        ("@ann lee, see this", [2]),
        ("(@Ann) and @zoë.", [1, 4]),
        ("@ann.ola, or write to bob@ann.org", [3]),
        ("@Anna is not here, ann@zoë.org neither", []),
    ):
        assert mentioned(text, names) == people
