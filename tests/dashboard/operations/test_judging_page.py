"""The page Judging: rules are added, shown with what they have to do, paused and removed."""

from app_pages import OpenPage, press, shown
from judgeboard.runs.judging_rules import rule_progress
from judgeboard.store.engine import Store


def test_a_rule_is_added_paused_and_removed(open_page: OpenPage, page_rows, page_store: Store) -> None:
    app = open_page("judging")
    assert "There is no judging rule yet." in shown(app)
    app.text_input(key="judging_name").set_value("live")
    app.selectbox(key="judging_judge").set_value("lexical (word overlap, no model)")
    app.number_input(key="judging_calls").set_value(5)
    app.multiselect(key="judging_flags").set_value(["poor_rating"])
    app.toggle(key="judging_existing").set_value(True)
    app = press(app.run(), "judging_add")
    [rule] = rule_progress(page_store)
    assert (rule.name, rule.max_calls, rule.where.rules, rule.by) == ("live", 5, ("poor_rating",), "Mara")
    app = open_page("judging")
    table = app.dataframe[0].value
    assert list(table["State"]) == ["no worker"]
    assert list(table["Calls today"]) == ["0 of 5"]
    assert "Today: 0 of 5 calls, $ 0." in shown(app)
    assert "No process judges now." in shown(app)
    press(app, "judging_paused")
    assert rule_progress(page_store)[0].state == "paused"
    press(open_page("judging"), "judging_active")
    press(open_page("judging"), "judging_removed")
    assert rule_progress(page_store) == []
