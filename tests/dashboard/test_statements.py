"""Statements are marked by keys: a judge's claims where they may be seen, else sentences; marks are a draft."""

from hypothesis import given
from hypothesis import strategies as st

from app_pages import bodies, markup, plain
from judgeboard.domain import Claim, ClaimMark, ClaimStatus
from judgeboard_dashboard.review.actions import MarkActions
from judgeboard_dashboard.review.claims import answer_spans, marked, shown_claims, statements_of
from judgeboard_dashboard.review.drafts import Draft, ReviewSession
from page_rows import ANSWER as STORED_ANSWER
from page_rows import as_read
from queue_case import queue_case

SUPPORTED, CONTRADICTED, UNSUPPORTED = (
    ClaimStatus.SUPPORTED,
    ClaimStatus.CONTRADICTED,
    ClaimStatus.UNSUPPORTED,
)
ANSWER = "Granite is hard. Basalt is soft."
CLAIMS = (
    Claim("Granite is hard", SUPPORTED, answer_start=0, answer_end=16),
    Claim("Marble is red", UNSUPPORTED),
)


def actions(*, claims=(), judgment_id=None):
    return MarkActions(ReviewSession(), 1, statements_of(ANSWER, claims, judgment_id))


def shown_by(bound, claims=()):
    return shown_claims(claims, bound.statements, bound.shown, bound.at)


def test_a_judge_that_is_seen_gives_the_statements():
    statements = statements_of(ANSWER, CLAIMS, 7)
    assert [(one.text, one.start, one.judgment_id) for one in statements] == [
        ("Granite is hard", 0, 7),
        ("Marble is red", None, 7),
    ]


def test_without_claims_or_blind_the_sentences_are_the_statements():
    for found in (
        statements_of(ANSWER),
        statements_of(ANSWER, (), 7),
        statements_of(ANSWER, CLAIMS, None),
    ):
        assert [(one.text, one.start, one.end, one.judgment_id) for one in found] == [
            ("Granite is hard.", 0, 16, None),
            ("Basalt is soft.", 17, 32, None),
        ]


def test_the_next_statement_comes_after_the_last_the_first():
    bound = actions()
    assert bound.at is None
    places = []
    for _ in range(3):
        bound.next()
        places.append(bound.at)
    assert places == [0, 1, 0]


def test_a_mark_is_on_the_statement_that_the_keys_are_at_and_the_same_again_takes_it_back():
    bound = actions(claims=CLAIMS, judgment_id=7)
    bound.mark(CONTRADICTED)
    bound.next()
    bound.mark(SUPPORTED)
    assert Draft.grade(bound.draft).claim_marks == (
        ClaimMark(CONTRADICTED, "Granite is hard", 0, 16, 7, 1),
        ClaimMark(SUPPORTED, "Marble is red", None, None, 7, 2),
    )
    bound.mark(UNSUPPORTED)
    assert [mark.status for mark in bound.draft.marks.values()] == [CONTRADICTED, UNSUPPORTED]
    bound.mark(UNSUPPORTED)
    assert [mark.number for mark in bound.draft.marks.values()] == [1]


def test_nothing_to_mark_is_no_error():
    bound = MarkActions(ReviewSession(), 1, ())
    bound.next()
    bound.mark(SUPPORTED)
    assert bound.at is None
    assert bound.draft.marks == {}


def test_a_copied_draft_is_not_changed_by_later_marks():
    bound = actions()
    bound.mark(SUPPORTED)
    kept = bound.draft.copied()
    bound.mark(SUPPORTED)
    assert len(kept.marks) == 1
    assert len(bound.draft.marks) == 0


def test_the_persons_mark_is_shown_beside_the_judges_status_and_the_current_one_is_outlined():
    bound = actions(claims=CLAIMS, judgment_id=7)
    bound.mark(CONTRADICTED)
    first, second = shown_by(bound, CLAIMS)
    assert first.sign == "✓1 you ✗"
    assert first.at is True
    assert "claim 1, supported" in first.words
    assert first.words.endswith(": contradicted")
    assert second.sign == "∅2"
    assert second.at is False
    text = marked(ANSWER, answer_spans([first, second], ANSWER), here="a", there="q")
    assert "jb-at" in text
    assert 'data-n="✓1 you ✗"' in text


def test_of_sentences_only_marked_ones_are_shown():
    bound = actions()
    assert shown_by(bound) == []
    bound.next()
    [current] = shown_by(bound)
    assert current.status == "plain"
    assert current.at is True
    bound.mark(UNSUPPORTED)
    bound.next()
    shown = [(one.status, one.sign) for one in shown_by(bound)]
    assert shown == [("unsupported", "you ?"), ("plain", "…")]


@given(st.text(max_size=80), st.lists(st.sampled_from(["next", *ClaimStatus]), max_size=12))
def test_marking_changes_no_character_of_the_text(answer, keys):
    bound = MarkActions(ReviewSession(), 1, statements_of(answer))
    for key in keys:
        bound.next() if key == "next" else bound.mark(ClaimStatus(key))
    shown = shown_by(bound)
    text = marked(answer, answer_spans(shown, answer), here="a", there="q")
    assert plain(text) == as_read(answer)


def test_saved_marks_are_shown_to_their_author_and_wait_for_the_review_of_others(
    page_rows, open_answer, sqlite_store
):
    case = queue_case(sqlite_store)
    mark = ClaimMark(CONTRADICTED, start=0, end=39)
    case.decide(page_rows.flags["plain-01"], case.mara, claim_marks=(mark,))
    mine = bodies(open_answer("plain-01"))
    assert any("jb-m jb-contradicted" in body and "jb-answer" in body for body in mine)
    theirs = markup(open_answer("plain-01", reviewer="Jon"))
    assert "jb-m jb-contradicted" not in theirs
    assert f"✗ {STORED_ANSWER[:39]}" not in theirs
