"""The command palette finds pages, rows, people and actions that the person may open."""

import pytest
from streamlit.testing.v1 import AppTest

from app_pages import OpenPage
from judgeboard.domain import Grade
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.decisions import grade
from judgeboard.store.engine import Store
from judgeboard_dashboard import gate
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.widgets import palette
from page_rows import PageRows


def found(text: str) -> list[tuple[str, str]]:
    """What a text finds, with the page to which it leads; a dialog cannot be typed into here."""

    def script() -> None:
        import streamlit as st

        from judgeboard_dashboard.app import PAGES, title_of
        from judgeboard_dashboard.widgets.palette import targets_of

        titles = {view: title_of(view) for tabs in PAGES.values() for view in tabs}
        st.session_state["found"] = targets_of(st.session_state["text"], titles)

    app = AppTest.from_function(script, default_timeout=60)
    app.session_state["text"] = text
    app.session_state["reviewer_name"] = "Mara"
    app.run()
    assert not app.exception
    return [(target.words, target.page) for target in app.session_state["found"]]


def test_the_button_opens_the_pages(page_rows: PageRows, open_page: OpenPage) -> None:
    page = open_page("runs").button(key="palette_open").click().run()
    results = [button.label for button in page.button if (button.key or "").startswith("palette_to_")]
    assert results[:3] == ["Overview", "Review · Open flags", "Review · Queues"]


def test_a_text_finds_pages_actions_rows_and_at_last_a_search(page_rows: PageRows) -> None:
    assert [page for _, page in found("agree")][:2] == ["agreement", "disagreement"]
    assert found("create queue")[0] == ("Create a queue", "queues")
    assert found("claims")[0] == (f"claims · answer {page_rows.responses['claims']}, log", "item")
    assert found("no such thing") == [("Answers with “no such thing”", "responses")]
    assert len(found("")) == palette.MOST


def test_a_person_leads_to_people_or_with_grades_to_agreement(page_rows: PageRows, page_store: Store) -> None:
    nora = ensure_reviewer(page_store, "page", "Nora")
    assert ("Nora · person", "people") in found("nor")
    graded = page_rows.responses["claims"]
    grade(page_store, response_id=graded, reviewer=nora, grade=Grade(quality=2), request_key="nora")
    assert ("Nora · person", "agreement") in found("nor")


def test_what_the_person_may_not_open_is_not_offered(page_rows: PageRows, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (gate, palette):
        monkeypatch.setattr(module, "permitted", lambda _action: False)
    offered = {words for text in ("import", "rejudge", "settings", "create") for words, page in found(text)}
    assert offered == {f"Answers with “{text}”" for text in ("import", "rejudge", "settings", "create")}


def test_a_hostile_name_is_a_text_on_its_button(page_rows: PageRows) -> None:
    [(words, _)] = found(":red[x] <script>")
    assert as_label(words).startswith("Answers with “\\:red\\[x\\]")
