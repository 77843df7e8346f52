"""The pages in the order of work; a page is one file in views/ and one line here."""

from pathlib import Path

import streamlit as st

from judgeboard.people.permissions import Action
from judgeboard_dashboard.gate import let_in, permitted
from judgeboard_dashboard.review.leases import release_leases
from judgeboard_dashboard.session import reviewer_name
from judgeboard_dashboard.theme import dress

# file in views/ (and the page's address) -> name in the navigation. The first is the page at "/".
PAGES: dict[str, str] = {
    "overview": "Overview",
    "queue": "Queue",
    "item": "Item",
    "responses": "Responses",
    "disagreement": "Disagreement",
    "agreement": "Agreement",
    "trends": "Trends",
    "rejudge": "Rejudge",
    "runs": "Runs",
    "imports": "Import",
    "settings": "Settings",
}
# The pages of the other judging methods, in a menu of their own.
METHOD_PAGES: dict[str, str] = {
    "suites": "Suites",
    "pairs": "Pairs",
    "self_reference": "Self-reference",
    "audits": "Audits",
    "judges": "Judges",
}
ADDRESSES = {"imports": "import"}
# Pages that are no use without a role: not in the menu of those who lack it. The page itself refuses (`gate.demand`).
FOR: dict[str, Action] = {
    "rejudge": Action.REJUDGE_MANY,
    "imports": Action.IMPORT,
    "settings": Action.CHANGE_SETTINGS,
}
VIEWS = Path(__file__).with_name("views")


def pages(*, everything: bool = True) -> dict[str, list[st.Page]]:
    """Return the pages as Streamlit wants them: by the menu they stand in, "" for those without one.

    Without ``everything`` the menu leaves out what is not for the role of who looks.
    """
    first = next(iter(PAGES))
    menus = {"": PAGES, "Methods": METHOD_PAGES}
    return {
        menu: [
            st.Page(
                VIEWS / f"{name}.py",
                title=title,
                url_path=None if name == first else ADDRESSES.get(name, name),
                default=name == first,
                visibility="visible" if everything or name not in FOR or permitted(FOR[name]) else "hidden",
            )
            for name, title in listed.items()
        ]
        for menu, listed in menus.items()
        if listed
    }


if __name__ == "__main__":
    st.set_page_config(page_title="Judgeboard", layout="wide", page_icon=VIEWS.with_name("icon.png"))
    dress(reviewer_name())
    admitted = let_in()
    chosen = st.navigation(pages(everything=not admitted), position="top" if admitted else "hidden")
    if admitted:
        if chosen.url_path != "item":
            release_leases()
        chosen.run()
