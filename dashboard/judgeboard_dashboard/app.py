"""The app. Each page is a file in views/ and a line in PAGES; the pages of methods are in the registrations."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.registry.methods import registrations
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


class Tab(NamedTuple):
    """A view of a page: the name of the tab, and the page of the documentation."""

    name: str
    documentation: str


def with_pages_of_methods(pages: dict[str, dict[str, Tab]]) -> dict[str, dict[str, Tab]]:
    """Return the pages with the views of methods, each at the right place among the tabs; new pages come last."""
    for registration in registrations():
        for view, page in registration.pages.items():
            tabs = list(pages.get(page.page, {}).items())
            places = [place for place, (other, _) in enumerate(tabs) if other == page.before]
            tabs.insert(
                places[0] if places else len(tabs), (view, Tab(page.tab, page.documentation))
            )
            pages = pages | {page.page: dict(tabs)}
    return pages


# Page in the menu -> view -> tab. A view is a file in views/, with a separate address.
PAGES = with_pages_of_methods(
    {
        "Overview": {"overview": Tab("Overview", "index.md")},
        "Review": {
            "open_flags": Tab("Open flags", "concepts/flags.md"),
            "queues": Tab("Queues", "how-to/queues.md"),
            "conflicts": Tab("Conflicts", "how-to/queues.md"),
            "my_reviews": Tab("My reviews", "how-to/queues.md"),
            "item": Tab("Item", "how-to/queues.md"),
        },
        "Answers & problems": {
            "responses": Tab("Answers", "concepts/signals.md"),
            "problems": Tab("Problems", "how-to/queues.md"),
        },
        "Trends": {"trends": Tab("Trends", "how-to/trends.md")},
        "Judges": {
            "agreement": Tab("Agreement", "how-to/agreement.md"),
            "verdicts": Tab("Compare", "how-to/versions.md"),
            "judges": Tab("Health", "how-to/test.md"),
            "versions": Tab("Versions", "concepts/judge-versions.md"),
            "thresholds": Tab("Thresholds", "how-to/thresholds.md"),
        },
        "Tests & pairs": {"pairs": Tab("Pairs", "how-to/compare.md")},
        "Runs & alerts": {
            "rejudge": Tab("Judge answers", "how-to/judge.md"),
            "judging": Tab("Judging rules", "how-to/rules.md"),
            "alerts": Tab("Alerts", "how-to/rules.md"),
            "runs": Tab("Runs", "how-to/judge.md"),
        },
        "Data & settings": {
            "sources": Tab("Sources", "tools/files.md"),
            "people": Tab("People", "how-to/teams.md"),
            "schemas": Tab("Label schemas", "how-to/label-schemas.md"),
            "settings": Tab("Flag rules", "how-to/settings.md"),
            "events": Tab("Events", "how-to/teams.md"),
        },
    }
)
FIRST = "overview"  # at the address "/"
VIEWS = Path(__file__).with_name("views")
OF_REVIEWERS = ("Review", "Answers & problems")
HEAD_LINE = "item"  # the view with a head line instead of a title
LONG_WORK = "runs"  # the view that lists what goes on


def menu() -> Collection[str]:
    """Return the pages that stand in the person's menu. The menu of a reviewer has the work of reviewers alone."""
    return OF_REVIEWERS if is_reviewer() else PAGES


def page_of(view: str) -> str:
    """Return the title of the page that has a view."""
    return next(page for page, tabs in PAGES.items() if view in tabs)


def tabs_of(page: str) -> dict[str, str]:
    """Return the views of a page that the person may open, with the names of the tabs; an item has no tab."""
    return {
        view: tab.name for view, tab in PAGES[page].items() if may_open(view) and view != HEAD_LINE
    }


def title_of(view: str) -> str:
    """Return the page of a view, and the tab if the page has several tabs: "Review · Conflicts"."""
    page = page_of(view)
    return page if len(PAGES[page]) == 1 else f"{page} · {PAGES[page][view].name}"


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
    page = page_of(view)
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
    page = PAGES[page_of(view)][view].documentation
    with st.container(key="help"):
        st.link_button(
            "Help",
            f"{ADDRESS}/{page}",
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
            if view == FIRST and page_of(view) not in menu():
                st.switch_page(VIEWS / f"{next(iter(PAGES[OF_REVIEWERS[0]]))}.py")
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
