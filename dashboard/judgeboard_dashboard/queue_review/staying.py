"""Keeps what is held while its reviewer reads: a small part of the page that comes back by itself."""

from datetime import UTC, datetime

import streamlit as st

from judgeboard_dashboard.queue_review.walk import Walk

TICK = 120.0  # seconds


def stay(walk: Walk) -> None:
    """Renew what is held now and again and again, as long as the person did something in the last half an hour."""
    st.fragment(_stay, run_every=min(TICK, walk.queue.lease_seconds / 4))(walk)


def _stay(walk: Walk) -> None:
    now = datetime.now(UTC)
    if walk.awake(now):
        walk.hold(now)
    card = walk.card
    if card is not None and walk.reveal is None and card.lapsed(now) and not card.asked:
        walk.ticked = True
        st.rerun()  # the whole page: it says what happened
