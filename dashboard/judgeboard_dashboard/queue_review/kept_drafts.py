"""What somebody gave but did not decide, kept by the token of the item they hold: a reload begins a new session."""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

import streamlit as st

from judgeboard_dashboard.item.desk import Desk, Draft

MOST_KEPT = 1_000  # drafts of all who review, the oldest go first


@dataclass
class KeptDrafts:
    """Drafts of all sessions of this server; only who holds an item is told its token."""

    _by_token: OrderedDict[str, Draft] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def keep(self, token: str, draft: Draft) -> None:
        """Keep a copy of a draft."""
        with self._lock:
            self._by_token[token] = draft.copied()
            self._by_token.move_to_end(token)
            while len(self._by_token) > MOST_KEPT:
                self._by_token.popitem(last=False)

    def of(self, token: str) -> Draft | None:
        """Return a copy of what was kept last, None where nothing was."""
        with self._lock:
            kept = self._by_token.get(token)
            return None if kept is None else kept.copied()


@st.cache_resource(show_spinner=False)
def kept_drafts() -> KeptDrafts:
    """Return the drafts of this server."""
    return KeptDrafts()


def keep_draft(here: Desk, response_id: int, token: str) -> None:
    """Keep the draft of the item on the screen; in a session that has none, bring back what an earlier one gave."""
    kept = kept_drafts()
    if response_id not in here.drafts and (given := kept.of(token)) is not None:
        here.put_draft(response_id, given)
    kept.keep(token, here.draft(response_id))
