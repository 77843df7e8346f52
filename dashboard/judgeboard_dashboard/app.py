"""The app. Each page is a file in views/ and a line in TABS; the pages of methods are in the registrations."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.registry.methods import Page, registrations
from judgeboard_dashboard.documentation import ADDRESS
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import is_reviewer, let_in, may_open, who_button
from judgeboard_dashboard.review.drafts import follow_new_name
from judgeboard_dashboard.review.leases import release_leases
from judgeboard_dashboard.session import (
    caught,
    enter,
    in_row,
    name_is_suggested,
    one_person,
    reviewer_name,
)
from judgeboard_dashboard.theme import dress, follow_theme, mark_in_menu
from judgeboard_dashboard.widgets.long_work import long_work_chip
from judgeboard_dashboard.widgets.notifications import notification_bell

TABS = {
    "overview": Page("Overview", "Overview", "index.md"),
    "open_flags": Page("Review", "Open flags", "concepts/flags.md"),
    "queues": Page("Review", "Queues", "how-to/queues.md"),
    "conflicts": Page("Review", "Conflicts", "how-to/queues.md"),
    "my_reviews": Page("Review", "My reviews", "how-to/queues.md"),
    "item": Page("Review", "Item", "how-to/queues.md"),
    "responses": Page("Answers & problems", "Answers", "concepts/signals.md"),
    "problems": Page("Answers & problems", "Problems", "how-to/queues.md"),
    "trends": Page("Trends", "Trends", "how-to/trends.md"),
    "agreement": Page("Judges", "Agreement", "how-to/agreement.md"),
    "verdicts": Page("Judges", "Compare", "how-to/versions.md"),
    "judges": Page("Judges", "Health", "how-to/test.md"),
    "versions": Page("Judges", "Versions", "concepts/judge-versions.md"),
    "thresholds": Page("Judges", "Thresholds", "how-to/thresholds.md"),
    "pairs": Page("Tests & pairs", "Pairs", "how-to/compare.md"),
    "rejudge": Page("Runs & alerts", "Judge answers", "how-to/judge.md"),
    "judging": Page("Runs & alerts", "Judging rules", "how-to/rules.md"),
    "alerts": Page("Runs & alerts", "Alerts", "how-to/rules.md"),
    "runs": Page("Runs & alerts", "Runs", "how-to/judge.md"),
    "sources": Page("Data & settings", "Sources", "tools/files.md"),
    "people": Page("Data & settings", "People", "how-to/teams.md"),
    "schemas": Page("Data & settings", "Label schemas", "how-to/label-schemas.md"),
    "settings": Page("Data & settings", "Flag rules", "how-to/settings.md"),
    "events": Page("Data & settings", "Events", "how-to/teams.md"),
}
"""All views by name. Each is a file in views/, with a separate address."""
for registration in registrations():
    TABS |= registration.pages


def pages_of(tabs: Mapping[str, Page]) -> dict[str, list[str]]:
    """Return the views of each page in the menu. A view stands before the one that it names, or last."""
    pages: dict[str, list[str]] = {}
    for view, tab in tabs.items():
        views = pages.setdefault(tab.page, [])
        views.insert(views.index(tab.before) if tab.before in views else len(views), view)
    return pages


PAGES = pages_of(TABS)
FIRST = "overview"  # at the address "/"
VIEWS = Path(__file__).with_name("views")
OF_REVIEWERS = ("Review", "Answers & problems")
HEAD_LINE = "item"  # the view with a head line instead of a title
LONG_WORK = "runs"  # the view that lists what goes on


def menu() -> Collection[str]:
    """Return the pages that stand in the person's menu. The menu of a reviewer has the work of reviewers alone."""
    return OF_REVIEWERS if is_reviewer() else PAGES


def tabs_of(page: str) -> dict[str, str]:
    """Return the views of a page that the person may open, with the names of the tabs; an item has no tab."""
    return {view: TABS[view].tab for view in PAGES[page] if may_open(view) and view != HEAD_LINE}


def title_of(view: str) -> str:
    """Return the page of a view, and the tab if the page has several tabs: "Review · Conflicts"."""
    tab = TABS[view]
    return tab.page if len(PAGES[tab.page]) == 1 else f"{tab.page} · {tab.tab}"


def navigation(*, everything: bool = True) -> list[st.Page]:
    """Return all views for the menu, which shows the first view of each page under the page's title.

    If ``everything`` is false, the menu has only what the person may open.
    """
    in_menu = {
        next(iter(PAGES[page] if everything else tabs_of(page)), None)
        for page in (PAGES if everything else menu())
    }
    return [
        st.Page(
            VIEWS / f"{view}.py",
            title=page,
            url_path="first-page" if view == FIRST else view,
            default=view == FIRST,
            visibility="visible" if view in in_menu else "hidden",
        )
        for page, tabs in PAGES.items()
        for view in tabs
    ]


def head(view: str) -> None:
    """Show the title of the page with the tabs beside the title, and mark the page in the menu."""
    page = TABS[view].page
    tabs = tabs_of(page)
    in_menu = next(iter(tabs), view)
    if view != in_menu:  # Streamlit marks only what the menu lists
        mark_in_menu(in_menu)
    with in_row("page_head"):
        st.title(page, anchor=False, width="content")
        for tab, name in tabs.items() if len(tabs) > 1 else ():
            st.page_link(VIEWS / f"{tab}.py", label=name)
        show(tag("span"), width="stretch")
        with caught(), suppress(JudgeboardError):  # the view itself shows the error
            if view != LONG_WORK and may_open(LONG_WORK):
                long_work_chip()
            who_button()


def help_link(view: str) -> None:
    """Show the link to the documentation of a view, in the header: at the same place on every page."""
    with st.container(key="help"):
        st.link_button(
            "Help",
            f"{ADDRESS}/{TABS[view].documentation}",
            icon=":material/menu_book:",
            type="tertiary",
            width="content",
        )


if __name__ == "__main__":
    st.set_page_config(
        page_title="Judgeboard", layout="wide", page_icon=VIEWS.with_name("icon.png")
    )
    name = reviewer_name()
    dress(name, suggested=name_is_suggested())
    with one_person():
        admitted = let_in()
        chosen = st.navigation(
            navigation(everything=not admitted), position="top" if admitted else "hidden"
        )
        if admitted:
            follow_theme()
            view = chosen.url_path or FIRST
            if view == FIRST and TABS[view].page not in menu():
                st.switch_page(VIEWS / f"{PAGES[OF_REVIEWERS[0]][0]}.py")
            if view != HEAD_LINE:
                release_leases()
            with caught():
                follow_new_name()
            notification_bell()
            st.set_page_config(page_title=f"{title_of(view)} · Judgeboard")
            enter(view)
            help_link(view)
            if view != HEAD_LINE:
                head(view)
            chosen.run()
