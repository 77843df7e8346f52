"""Every page of queues fits its window, at both widths and at three heights."""

from functools import partial

import pytest
from playwright.sync_api import expect

from judgeboard.domain import Label, Preference, QueueOrder
from judgeboard.people.roster import ensure_reviewer
from judgeboard.store.filters import RowFilter
from page_fit import SIZES, overflowing, reaches_bar
from page_state import at_rest, idle, in_the_end, settled, visit
from pair_log import add_pairs
from queue_case import DISMISS
from queue_page import opened, press
from served_queues import BLIND

pytestmark = pytest.mark.browser


def test_every_page_of_queues_fits_and_the_names_of_your_queues_begin_below_each_other(
    reviewer, site
):
    fit = ensure_reviewer(site.store, "page", "Fit")
    site.queue(2, assigned=(fit,), **BLIND)
    seen = site.queue(4, grades=("label", "groundedness", "quality"), needed=2)
    grades = {"label": Label.GROUNDED, "groundedness": 1.0, "quality": 4}
    site.case.review(site.case.jon, name=seen, **grades)
    item_id = site.case.review(site.case.ada, DISMISS, name=seen, **grades).item_id
    wide = site.queue(
        2, grades=("label", "groundedness", "quality", "faithfulness_to_its_sources", "tone")
    )
    add_pairs(site.store, 2, query_type="fit")
    where = RowFilter(query_types=("fit",))
    site.case.queue(
        "fitting", subject="pairs", order=QueueOrder.OLDEST, where=where, assigned=(fit,)
    )
    site.case.review(fit, Preference.A, "fitting")
    site.case.review(
        fit, name=site.queue(1), note="A note on a whole line of its own, or nearly so"
    )
    page = reviewer("Fit", width=800)
    found = {}
    for address in (
        "/open_flags",
        "/queues?new=1",
        f"/conflicts?conflict={item_id}",
        "/my_reviews",
        "/my_reviews?on=pairs",
        f"/item?queue={seen}",
        f"/item?queue={wide}",
    ):
        visit(page, address)
        expect(page.locator("[data-testid=stMain]")).to_contain_text("e")
        idle(page)
        if address.endswith(wide):  # the message of a decision stands over the next item
            settled(page)
            press(page, "u")
        expect(page.locator(".jb-note", has_text="Something went wrong")).to_have_count(0)
        found[address] = misfits_at_both_widths(page)
        if address == "/open_flags":
            names_of_queues_begin_below_each_other(page)
    assert not any(found.values()), found


def misfits_at_both_widths(page):
    """What does not fit, by width; a window that has one of them begins with it, and is left at the other."""
    size = page.viewport_size
    found = {}
    for width in sorted((1440, 800), key=lambda width: width != size["width"]):
        page.set_viewport_size({"width": width, "height": size["height"]})
        idle(page)
        at_rest(lambda: page.evaluate(SIZES))
        found[width] = overflowing(page)
    return {width: names for width, names in found.items() if names}


@pytest.mark.parametrize("grades", [("label",), ("label", "groundedness")])
def test_the_panes_reach_down_to_a_bar_of_one_row_or_two_on_a_narrow_page(mara, site, grades):
    mara.set_viewport_size({"width": 800, "height": 900})
    opened(mara, site.queue(1, grades=grades, optional_grades=(), **BLIND))
    assert in_the_end(
        partial(reaches_bar, mara, "[class*='st-key-pane_judge']:visible"), expected=True
    )
    assert overflowing(mara) == []


def names_of_queues_begin_below_each_other(page):
    expect(page.locator(".st-key-your_queues .jb-say")).to_have_count(2)
    page.wait_for_function(
        "new Set(Array.from(document.querySelectorAll('.st-key-your_queues .jb-say'), name =>"
        " name.getBoundingClientRect().x)).size === 1"
    )


def test_the_bar_of_a_queue_is_in_view(mara, site):
    opened(mara, site.queue(2, **BLIND))
    for blind in (True, False):
        for height in (700, 1080, 900):
            mara.set_viewport_size({"width": 1440, "height": height})
            assert in_the_end(
                partial(reaches_bar, mara, "[class*='st-key-pane_answer']:visible"), expected=True
            )
        assert overflowing(mara) == []
        if blind:
            press(mara, "y")
