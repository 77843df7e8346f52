"""Selecting rows of the queue: many answers are decided at once, more than 20 are asked about, one undo opens all."""

from types import SimpleNamespace

import pytest

from app_pages import click, enter, markup, with_label
from judgeboard.domain import Label
from judgeboard.store.settings import set_setting
from judgeboard.store.tables import QUEUE_ITEM
from judgeboard_dashboard.review.screen import implied_words
from judgeboard_dashboard.widgets import bulk
from queue_case import CONFIRM, DISMISS
from stored_rows import write_to


@pytest.mark.parametrize("page_name", ["open_flags", "responses"])
def test_all_answers_of_a_filter_are_decided_once_and_undone_once(open_page, case, page_name):
    case.flagged(*(0.1 for _ in range(55)))

    def press(page, key):
        click(page, key)
        assert not page.exception
        return page

    page = press(open_page(page_name), f"{page_name}_select")
    assert page.button(key=f"{page_name}_bulk_confirm").disabled, "nothing is selected"
    # Nobody was asked whether a decision implies a label.
    assert "hallucinated" not in markup(page)
    write_to(case.store, set_setting, "implied_labels", ("low_groundedness",), "test")
    with_label(page.checkbox, "All 55 in this filter").check().run()
    press(page, f"{page_name}_bulk_confirm")
    # More than 20 are asked about.
    assert set(case.flag_states()) == {"open"}
    assert page.button(key=f"{page_name}_bulk_confirm").label == "Confirm 55 answers?"
    assert implied_words({CONFIRM: Label.HALLUCINATED, DISMISS: Label.GROUNDED}) in markup(page)
    press(page, f"{page_name}_bulk_confirm")
    assert set(case.flag_states()) == {"confirmed"}
    page = open_page(page_name)  # as after a reload
    assert "Confirmed 55 answers." in markup(page)
    assert page.button(key="bulk_undo").proto.shortcut.lower() == "z"
    press(page, "bulk_undo")
    assert set(case.flag_states()) == {"open"}
    assert "Undone: 55 answers." in markup(page)
    if page_name == "responses":
        return
    press(page, f"{page_name}_select")
    with_label(page.checkbox, "All 55 in this filter").check().run()
    enter(page, "open_flags_bulk_goal", "Mara (person)")
    press(press(page, "open_flags_bulk_add"), "open_flags_bulk_add")
    assert "55 answers" in markup(page)
    assert len(case.rows(QUEUE_ITEM)) == 55
    press(page, "bulk_undo")
    assert {row["state"] for row in case.rows(QUEUE_ITEM)} == {"left"}
    press(page, "open_flags_bulk_rejudge")
    # The list has all answers of the filter.
    assert dict(page.query_params) == {"rows": "open"}


def test_selected_rows_are_the_ones_decided(open_page, case, monkeypatch):
    ids = case.flagged(0.1, 0.2, 0.3)
    data_frame = bulk.data_frame

    def with_selection(*arguments, **options):
        data_frame(*arguments, **options)
        chosen = [0, 2] if len(arguments[0].rows) == 3 else []
        return SimpleNamespace(selection=SimpleNamespace(rows=chosen))

    monkeypatch.setattr(bulk, "data_frame", with_selection)
    page = open_page("open_flags")
    click(page, "open_flags_select")
    case.decide(case.flags()[1]["id"], case.jon)  # while the rows are on the screen
    click(page, "open_flags_bulk_dismiss")
    assert not page.exception
    assert {flag["response_id"]: flag["state"] for flag in case.flags()} == dict(
        zip(ids, ("dismissed", "confirmed", "dismissed"), strict=True)
    )
