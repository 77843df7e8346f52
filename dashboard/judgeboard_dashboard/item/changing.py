"""A review of one's own on the item page, to be changed: its draft is filled with what was said."""

import streamlit as st

from judgeboard.review import Reviewer
from judgeboard.store.responses.items import Item
from judgeboard.store.reviews.own_reviews import WholeReview, whole_review
from judgeboard_dashboard.item.desk import Desk, Draft
from judgeboard_dashboard.session import reading

EDIT = "edit"  # the parameter of the address that names the review


def own_to_change(here: Desk, reviewer: Reviewer | None, found: Item) -> WholeReview | None:
    """Return the review that the address asks to change, its draft filled once; None where there is none to change.

    Only one's own that stands can be changed; whoever leaves without saving leaves no draft of it behind.
    """
    asked = st.query_params.get(EDIT, "")
    review = None
    if reviewer is not None and asked.isdecimal() and len(asked) <= 18:
        with reading() as connection:
            review = whole_review(connection, int(asked))
    mine = review is not None and reviewer is not None and review.reviewer_id == reviewer.id and review.stands
    if review is None or not mine or review.response_id != found.response_id:
        _leave(here)
        return None
    if here.editing != (review.id, review.response_id):
        _leave(here)
        here.editing = (review.id, review.response_id)
        here.put_draft(review.response_id, Draft.of(review.grade))
    return review


def _leave(here: Desk) -> None:
    if here.editing is not None:
        here.drafts.pop(here.editing[1], None)
        here.editing = None
