"""Issues on the pages: opened from a filtered list, listed, fixed, and for leads alone."""

from app_pages import OpenPage, press, shown, table_rows
from judgeboard.domain import IssueState
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.issues import get_issue


def test_an_issue_is_opened_from_a_list_fixed_and_listed(open_page: OpenPage, page_rows, page_store: Store) -> None:
    assert "No issue is open." in shown(open_page("issues"))
    app = press(open_page("queue", rule="low_groundedness"), "queue_issues")
    assert app.title[0].value == "Issues"
    assert "Answers: low groundedness, flag confirmed or flag open" in shown(app)
    app = open_page("issues", new="1", rule="low_groundedness")
    assert "had this problem" in shown(app)
    assert "Not saved: the title of an issue has 1 to 100 characters" in shown(press(app, "issue_save"))
    app.text_input(key="issue_0_0_title").set_value("<b>Wrong</b> fees")
    app = press(app, "issue_save")
    assert "1: <b>Wrong</b> fees" in shown(app)
    with page_store.reading() as connection:
        stored = get_issue(connection, 1)
    assert stored.where == RowFilter(rules=("low_groundedness",), states=("confirmed", "open"))
    app.segmented_control(key="issue_1_1_state").set_value(IssueState.FIXED).run()
    app = press(app, "issue_save")
    assert "Before the fix," in shown(app)
    [row] = table_rows(open_page("issues"), "Open flags")
    assert row[:3] == [1, "fixed", "<b>Wrong</b> fees"]
    app = press(open_page("responses", query_type="complex"), "responses_issues")
    assert "Answers: complex, flag confirmed or flag open" in shown(app)


def test_an_address_without_an_issue_or_a_filter_says_so(open_page: OpenPage, page_rows) -> None:
    assert "there is no issue 7" in shown(open_page("issues", issue="7"))
    assert "an issue needs a filter" in shown(open_page("issues", new="1"))
