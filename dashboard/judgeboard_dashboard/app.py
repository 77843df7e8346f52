"""The app. Each page is a file in views/ and a line in PAGES."""

from pathlib import Path

import streamlit as st

from judgeboard.traces import telemetry
from judgeboard_dashboard.gate import let_in, may_open
from judgeboard_dashboard.review.drafts import follow_new_name
from judgeboard_dashboard.review.leases import release_leases
from judgeboard_dashboard.session import caught, current_query, name_is_suggested, reviewer_name
from judgeboard_dashboard.theme import dress, follow_theme
from judgeboard_dashboard.widgets.notifications import notification_bell
from judgeboard_dashboard.widgets.palette import command_palette

# Menu -> file in views/ -> title, which is also the name in the menu. See `address_of` for the address.
PAGES: dict[str, dict[str, str]] = {
    "Review": {
        "queue": "Queue",
        "item": "Item",
        "conflicts": "Conflicts",
        "my_reviews": "My reviews",
        "people": "People",
    },
    "Quality": {
        "overview": "Overview",
        "trends": "Trends",
        "agreement": "Agreement",
        "disagreement": "Disagreement",
        "failure_modes": "Failure modes",
        "issues": "Issues",
    },
    "Judges": {
        "judges": "Judges",
        "rejudge": "Judge answers",
        "judging": "Judging rules",
        "audits": "Audits",
        "self_reference": "Self-reference",
        "pairs": "Pairs",
        "suites": "Suites",
    },
    "Data": {
        "responses": "Responses",
        "imports": "Import",
        "sources": "Sources",
        "runs": "Runs",
    },
    "Settings": {
        "settings": "Settings",
        "alerts": "Alerts",
        "schemas": "Schemas",
    },
}
FIRST = "overview"  # at the address "/"; the address "overview" opens it too
OLD_ADDRESSES = {"first": FIRST, "label-schemas": "schemas"}  # names of files in views/ also work as addresses
KEPT_ADDRESSES = {"Judge answers": "rejudge", "Judging rules": "judging"}  # of pages that have another title now
VIEWS = Path(__file__).with_name("views")


def address_of(title: str) -> str:
    """Return the address of a page: "My reviews" is at "my-reviews"."""
    return KEPT_ADDRESSES.get(title, title.lower().replace(" ", "-"))


def pages(*, everything: bool = True) -> dict[str, list[st.Page]]:
    """Return the pages by menu; hidden pages are under "".

    If ``everything`` is false, pages that the person may not open are hidden. Old addresses open the current pages.
    """
    listed_pages = {
        name: st.Page(
            VIEWS / f"{name}.py",
            title=title,
            url_path="first-page" if name == FIRST else address_of(title),
            default=name == FIRST,
            visibility="visible" if everything or may_open(name) else "hidden",
        )
        for listed in PAGES.values()
        for name, title in listed.items()
    }
    menus = {
        menu: [page for name in listed if (page := listed_pages[name]).visibility == "visible"]
        for menu, listed in PAGES.items()
    }
    others = {**OLD_ADDRESSES, **{name: name for name, listed in listed_pages.items() if name != listed.url_path}}
    hidden = [page for page in listed_pages.values() if page.visibility == "hidden"]
    hidden += [_leads_to(listed_pages[name], other) for other, name in others.items()]
    return {**{menu: listed for menu, listed in menus.items() if listed}, "": hidden}


def _leads_to(page: st.Page, address: str) -> st.Page:
    """Return a hidden page at ``address``; it opens ``page`` with the current query parameters."""

    def open_page() -> None:
        st.switch_page(page, query_params=current_query())

    return st.Page(open_page, title=page.title, url_path=address, visibility="hidden")


if __name__ == "__main__":
    st.set_page_config(page_title="Judgeboard", layout="wide", page_icon=VIEWS.with_name("icon.png"))
    name = reviewer_name()
    dress(name, suggested=name_is_suggested())
    admitted = let_in()
    chosen = st.navigation(pages(everything=not admitted), position="top" if admitted else "hidden")
    if admitted:
        follow_theme()
        if chosen.url_path != "item":
            release_leases()
        with caught():
            follow_new_name()
        command_palette({name: title for listed in PAGES.values() for name, title in listed.items()})
        notification_bell()
        with telemetry.span(f"page {chosen.title}", {}):
            chosen.run()
