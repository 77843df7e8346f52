"""Failure modes and issues on the pages: chosen, counted, edited, opened, fixed."""

from app_pages import enter, keys, press, shown, table_rows, text_with
from judgeboard.domain import IssueState
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.failure_modes import save_mode
from judgeboard.store.filters import RowFilter
from judgeboard.store.issues import get_issue
from judgeboard.store.tables import REVIEW_FAILURE_MODE
from stored_rows import read, values_of


def test_an_issue_is_opened_from_a_list_fixed_and_listed(open_page, page_rows, page_store):
    app = press(open_page("open_flags", rule="low_groundedness"), "open_flags_problems")
    assert app.title[0].value == "Answers & problems"
    assert "Answers: low groundedness, " in shown(app)
    app = open_page("problems", new="1", rule="low_groundedness")
    assert "had this problem" in shown(app)
    assert text_with(press(app, "issue_save"), "title", "100", cls="jb-note")
    app.text_input(key="issue_0_0_title").set_value("<b>Wrong</b> fees")
    press(app, "issue_save")
    assert "1: <b>Wrong</b> fees" in shown(app)
    stored = read(page_store, get_issue, 1)
    assert stored.filter == RowFilter(rules=("low_groundedness",), states=("confirmed", "open"))
    app.segmented_control(key="issue_1_1_state").set_value(IssueState.FIXED).run()
    press(app, "issue_save")
    assert "before the fix: " in shown(app)
    [row] = table_rows(open_page("problems"), "Open flags")
    assert row[:3] == [1, "fixed", "<b>Wrong</b> fees"]
    app = press(open_page("responses", query_type="complex"), "responses_problems")
    assert "Answers: complex, " in shown(app)


def test_an_address_without_an_issue_or_a_filter_says_so(open_page, page_rows):
    assert text_with(open_page("problems", issue="7"), "issue 7", cls="jb-note")
    assert "issue_save" not in keys(open_page("problems", new="1"))


def test_a_lead_opens_an_issue_on_the_page_itself_with_a_person_and_answers_by_text(
    open_page, page_rows, page_store
):
    app = press(open_page("problems"), "issues_new")
    assert "issue_save" not in keys(app)
    title = "Outdated price list"
    enter(app, "problems_text", "plain-0")
    assert "Answers: “plain-0”" in shown(app)
    app.text_input(key="issue_0_0_title").set_value(title)
    enter(app, "issue_0_0_owner", "Mara")
    press(app, "issue_save")
    assert f"1: {title}" in shown(app)
    stored = read(page_store, get_issue, 1)
    assert stored.owner == "Mara"
    assert stored.filter == RowFilter(text="plain-0")
    app = press(
        press(open_page("problems", new="1", text="plain-0"), "problems_clear"), "issue_back"
    )
    # After Clear, the form is still open.
    assert table_rows(app, "Open flags")[0][2] == title


def test_a_tag_is_chosen_kept_stored_and_counted(open_page, page_rows, page_store):
    lead = ensure_reviewer(page_store, "page", "Mara")
    save_mode(page_store, "wrong entity", "Names another person", key="P", by=lead)
    save_mode(page_store, "outdated source", by=lead)
    assert not [each for each in open_page("problems").dataframe if "Failure mode" in each.value]
    flag = page_rows.flags["claims"]
    app = open_page("item", flag=flag)
    parts = [
        shown(app).index(words) for words in ("Why you see this", "Failure modes", "History (")
    ]
    assert parts == sorted(parts)
    press(press(app, "mode_0"), "mode_1")
    again = open_page("item", flag=flag)
    modes = [one for one in again.button if (one.key or "").startswith("mode_")]
    chosen = [one.label for one in modes if one.proto.type == "primary"]
    # A reload keeps the draft.
    assert chosen == ["wrong entity", "outdated source"]
    press(press(app, "mode_1"), "confirm")
    assert values_of(page_store, REVIEW_FAILURE_MODE.c.mode) == ["wrong entity"]
    assert "Failure modes: wrong entity" in shown(open_page("item", flag=flag))
    for by in ("Query type", "Judge version", "Week"):
        counted = open_page("problems", by=by)
        assert not counted.exception
        assert list(counted.dataframe[0].value["Failure mode"])[:1] == ["wrong entity"]
