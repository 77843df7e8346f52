"""The app: a page is a file in views/ and a line in PAGES."""

from pathlib import Path

import streamlit as st

from judgeboard.people.permissions import Action
from judgeboard_dashboard.gate import let_in, permitted
from judgeboard_dashboard.review.leases import release_leases
from judgeboard_dashboard.session import reviewer_name
from judgeboard_dashboard.theme import dress

# File in views/, also the address -> name in the navigation. The first page has the address "/"; the address with
# its name leads there.
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
    "schemas": "Label schemas",
    "settings": "Settings",
}
# Pages in the menu Methods.
METHOD_PAGES: dict[str, str] = {
    "suites": "Suites",
    "pairs": "Pairs",
    "self_reference": "Self-reference",
    "audits": "Audits",
    "judges": "Judges",
}
ADDRESSES = {"imports": "import"}
# Pages that need a permission: hidden from the menu without it. The page itself checks again (`gate.demand`).
NEEDED: dict[str, Action] = {
    "rejudge": Action.REJUDGE_MANY,
    "imports": Action.IMPORT,
    "settings": Action.CHANGE_SETTINGS,
}
VIEWS = Path(__file__).with_name("views")


def pages(*, everything: bool = True) -> dict[str, list[st.Page]]:
    """Return the pages by menu, "" for those outside a menu.

    Without ``everything`` the pages that the person may not open are hidden.
    """
    first = next(iter(PAGES))
    menus = {"": PAGES, "Methods": METHOD_PAGES}
    listed_pages = {
        menu: [
            st.Page(
                VIEWS / f"{name}.py",
                title=title,
                url_path="first" if name == first else ADDRESSES.get(name, name),
                default=name == first,
                visibility="visible" if everything or name not in NEEDED or permitted(NEEDED[name]) else "hidden",
            )
            for name, title in listed.items()
        ]
        for menu, listed in menus.items()
        if listed
    }

    def open_first() -> None:
        query = {name: st.query_params.get_all(name) for name in st.query_params}
        st.switch_page(listed_pages[""][1], query_params=query)

    listed_pages[""].insert(0, st.Page(open_first, title=PAGES[first], url_path=first, visibility="hidden"))
    return listed_pages


if __name__ == "__main__":
    st.set_page_config(page_title="Judgeboard", layout="wide", page_icon=VIEWS.with_name("icon.png"))
    dress(reviewer_name())
    admitted = let_in()
    chosen = st.navigation(pages(everything=not admitted), position="top" if admitted else "hidden")
    if admitted:
        if chosen.url_path != "item":
            release_leases()
        chosen.run()
