"""My reviews, of pairs: what one said by the sides as one saw them, without what would tell who wrote the answers."""

from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest

from app_pages import shown, table
from judgeboard.domain import Preference, QueueOrder, Shown
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.queue_decisions import decide_item
from judgeboard.store.engine import Store
from judgeboard.store.own_reviews import OwnReview
from judgeboard_dashboard.review.people import pair_rows, preference_words
from pair_log import add_pairs
from queue_case import queue_case

EMPTY = dict.fromkeys(each.name for each in fields(OwnReview))
LINE = OwnReview(
    **EMPTY
    | {"review_id": 1, "pair_id": 7, "external_id": "p0", "query_type": "QA", "question": "Which?", "shown": Shown.AB}
    | {"preferences": {"overall": Preference.A}, "at": datetime(2026, 1, 1, tzinfo=UTC)}
)


@pytest.mark.parametrize(
    ("said", "shown", "words"),
    [
        ({"overall": Preference.A}, Shown.AB, "The left answer is better"),
        ({"overall": Preference.A}, Shown.BA, "The right answer is better"),
        ({"overall": Preference.TIE}, Shown.BA, "A tie"),
        ({"overall": Preference.B}, None, "B"),
        ({}, Shown.AB, "Noted"),
        (
            {"tone": Preference.A, "facts": Preference.B},
            Shown.AB,
            "Tone: the left answer is better; facts: the right answer is better",
        ),
    ],
)
def test_what_was_said_by_the_sides_that_were_seen(said, shown, words) -> None:
    assert preference_words(replace(LINE, preferences=said, shown=shown)) == words


def test_a_line_leads_to_its_pair_on_its_aspect() -> None:
    assert dict(pair_rows(replace(LINE, preferences={"tone": Preference.A})).query) == {"pair": "7", "in": "tone"}
    assert dict(pair_rows(replace(LINE, preferences={})).query) == {"pair": "7"}


def test_the_list_is_one_press_away_and_names_no_id_of_the_log(page_rows, open_page, sqlite_store: Store) -> None:
    case = queue_case(sqlite_store)
    [pair_id] = add_pairs(sqlite_store, 1, query_type="pairs")
    case.queue("pairs", subject="pairs", order=QueueOrder.OLDEST)
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    leased = case.lease(mara, "pairs")
    decide_item(sqlite_store, leased.token, reviewer=mara, decision=Preference.TIE, request_key="one", now=case.now)
    page = open_page("my_reviews")
    [button] = [one for one in page.button if one.key == "my_other"]
    assert button.label == "Your reviews of pairs"
    page = button.click().run()
    assert not page.exception
    assert "1 preference, newest first." in shown(page)
    rows = table(page, "Review")
    assert list(rows["Review"]) == ["A tie"]
    assert list(rows["Pair"]) == [f"pair {pair_id}"]
    assert "p0" not in rows.to_string()
