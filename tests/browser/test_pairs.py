"""The page of pairs: texts are shown exactly, and the list and a pair fit the window."""

import pytest
from playwright.sync_api import Page, expect

from judgeboard.domain import Pair
from judgeboard.store.pairs import store_pairs
from page_rows import HOSTILE, as_read
from page_state import idle, visit

pytestmark = pytest.mark.browser

ANSWERS = ".jb-answers"


def test_answers_are_shown_exactly_and_never_acted_on(page: Page, site) -> None:
    together = "\n".join(text for name, text in HOSTILE.items() if name != "long")
    hostile = [
        Pair("evil", name, text, text, "fine", model_a=text[:60], query_type="odd")
        for name, text in (("together", together), ("long", HOSTILE["long"]))
    ]
    with site.store.writing() as connection:
        ids = store_pairs(connection, hostile).new
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for pair_id, given in zip(ids, hostile, strict=True):
        visit(page, f"/pairs?pair={pair_id}")
        expect(page.locator(ANSWERS).first).to_be_visible()
        idle(page)
        texts = page.locator(".jb-answers .jb-evidence").evaluate_all(
            "shown => shown.map((node) => node.textContent)"
        )
        assert as_read(given.answer_a) in set(map(as_read, texts))
    assert page.evaluate("window.hacked") is None
    assert not [url for url in asked if "evil.example" in url]
