"""The command palette: opens pages, answers, flags, queues, people and actions by their name."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from judgeboard.domain import Action
from judgeboard.store.named_rows import NamedRow, named_rows
from judgeboard.store.reviewers import graders_by_name
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.gate import may_open, permitted
from judgeboard_dashboard.session import caught, current_reviewer, open_rows, reading
from judgeboard_dashboard.theme import send_script
from judgeboard_dashboard.widgets.filters import filter_in
from judgeboard_dashboard.widgets.texts import caption

MOST = 12
LONGEST = 200
_TEXT = "palette_text"


class Target(NamedTuple):
    """A result: its words, its icon, and where it leads."""

    words: str
    icon: str
    page: str
    query: Mapping[str, str]

    @property
    def key(self) -> str:
        """The key of its button. A click on an older list must not open what has its place by now."""
        named = repr((self.page, sorted(self.query.items()), self.words))
        return f"palette_to_{hashlib.sha256(named.encode()).hexdigest()[:16]}"


ACTIONS: tuple[tuple[str, str, str, dict[str, str], Action | None], ...] = (
    ("Start reviewing", ":material/play_arrow:", "item", {}, Action.REVIEW),
    ("Create a queue", ":material/playlist_add:", "queues", {"new": "1"}, Action.MAKE_QUEUES),
    ("Import a file", ":material/upload_file:", "imports", {}, Action.IMPORT),
    ("Judge answers not judged yet", ":material/gavel:", "rejudge", {"rows": "plain"}, Action.REJUDGE_MANY),
    ("Rejudge answers with an open flag", ":material/restart_alt:", "rejudge", {"rows": "open"}, Action.REJUDGE_MANY),
    ("Adjudicate conflicts", ":material/call_split:", "conflicts", {}, Action.ADJUDICATE),
    ("Change thresholds and rules", ":material/tune:", "settings", {}, Action.CHANGE_SETTINGS),
)


def command_palette(views: Mapping[str, str]) -> None:
    """Show the button that opens the palette (keys / and Ctrl-K); ``views`` are titles by view."""
    with st.container(key="palette"):
        send_script("palette.js")
        if st.button(
            "Search",
            key="palette_open",
            icon=":material/search:",
            type="tertiary",
            help="Keys: / or Ctrl-K",
            wrap=False,
        ):
            st.session_state[_TEXT] = ""
            _palette(views)


@st.dialog("Go to", width="medium")
def _palette(views: Mapping[str, str]) -> None:
    text = (
        st.text_input(
            "Search",
            key=_TEXT,
            placeholder="Words or id of an answer, page, flag number, queue, person or action",
            label_visibility="collapsed",
        )
        or ""
    ).strip()
    with caught():
        targets = targets_of(text[:LONGEST], views)
        for target in targets:
            if st.button(as_label(target.words), key=target.key, icon=target.icon, type="tertiary", width="stretch"):
                open_rows(target.page, **target.query)
        if not targets:
            caption("Nothing matches this text.")
    show(tag("span", cls="jb-found", data_text=text, data_first=targets[0].key if targets else ""))


def targets_of(text: str, views: Mapping[str, str]) -> Sequence[Target]:
    """Return the targets for a text that the person may open: pages, actions, rows, and last a search of all texts."""
    return list(_targets(text, views))[:MOST]


def _targets(text: str, views: Mapping[str, str]) -> Iterator[Target]:
    words = text.casefold()
    for view, title in views.items():
        if (words in title.casefold() or words in view.replace("_", " ")) and may_open(view):
            yield Target(title, ":material/web_asset:", view, {})
    if not words:
        return
    for title, icon, name, query, action in ACTIONS:
        if all(word in title.casefold() for word in words.split()) and (action is None or permitted(action)):
            yield Target(title, icon, name, query)
    reviewer = current_reviewer()
    reviewer_id = None if reviewer is None else reviewer.id
    with reading() as connection:
        rows = named_rows(connection, text, reviewer_id=reviewer_id, all_queues=permitted(Action.MAKE_QUEUES))
        graders = graders_by_name(connection) if any(row.kind == "person" for row in rows) else {}
    names = {grader_id: name for name, grader_id in graders.items()}
    yield from (_target(row, names) for row in rows)
    if not filter_in({"text": [text]})[1]:
        yield Target(f"Answers with “{text}”", ":material/search:", "responses", {"text": text})


def _target(row: NamedRow, graders: Mapping[int, str]) -> Target:
    # The Agreement page lists only people with grades.
    on_agreement = row.id in graders or not may_open("people")
    places = {
        "answer": (":material/article:", "item", {"response": str(row.id)}),
        "flag": (":material/flag:", "item", {"flag": str(row.id)}),
        "queue": (":material/list:", "item", {"queue": row.name}),
        "person": (
            ":material/person:",
            "agreement" if on_agreement else "people",
            {"people": graders[row.id]} if row.id in graders else {},
        ),
    }
    return Target(f"{row.name} · {row.about}", *places[row.kind])
