"""A person decides a pair with keys, sees what was hidden, and overrules the judge."""

import re
from functools import partial

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import text

from judgeboard.domain import Pair, Preference
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import get_version
from judgeboard.store.pairs import store_pairs
from page_fit import looks, misfits, overflowing
from page_rows import HOSTILE, as_read
from page_state import hold, idle, in_the_end, settled, visit
from pair_log import add_pairs, record

pytestmark = pytest.mark.browser

ANSWERS = ".jb-answers"
HIDDEN = ("strict", "alpha-model", "beta-model", "inconsistent", "Inconsistent", "Gold", "bench")
NONE_OF = "words => !words.some((word) => document.documentElement.outerHTML.includes(word))"


@pytest.fixture(scope="module")
def pair_ids(site) -> list[int]:
    """Nine pairs that one judge compared; of the first it says A in both orders.

    The list passes over decided pairs. So each test decides other pairs, and no test decides the pair after those.
    """
    models = {"model_a": "alpha-model", "model_b": "beta-model"}
    ids = add_pairs(site.store, 9, query_type="QA", gold=Preference.B, **models)
    record(site.store, ids, {"ab": "aabtaabba", "ba": "aabbbbaba"}, name="strict")
    return ids


def address(store: Store, pair_id: int) -> str:
    """Where a pair of the list of that judge is."""
    with store.reading() as connection:
        return f"/pairs?pair={pair_id}&of={get_version(connection, 'strict').id}&in=overall"


def preferences(store: Store) -> list[tuple[str, int, str, str, bool, bool]]:
    """(reviewer, pair, preference, order shown, judge seen, replaces another) of every preference, in order."""
    query = (
        "SELECT w.name, p.pair_id, s.preference, p.shown, p.comparison_seen_id IS NOT NULL, p.replaces IS NOT NULL "
        "FROM review p JOIN preference_score s ON s.review_id = p.id JOIN reviewer w ON w.id = p.reviewer_id "
        "ORDER BY p.id"
    )
    with store.reading() as connection:
        return [(*row[:4], bool(row[4]), bool(row[5])) for row in connection.execute(text(query))]


def left_is_a(page: Page) -> bool:
    return (page.locator(".jb-answer-side").first.inner_text()).splitlines()[-1].startswith("left-")


def test_a_person_decides_with_a_key_sees_the_judge_overrules_it_and_it_is_kept(page: Page, site, pair_ids) -> None:
    visit(page, "/pairs")
    page.get_by_role("button", name="Judge them yourself").click()
    settled(page, ANSWERS)
    expect(page.locator(ANSWERS).first).to_contain_text("left-0")
    page.wait_for_function(NONE_OF, arg=HIDDEN)  # the list of before is gone, and nothing of judge or models is there
    mirrored, before = not left_is_a(page), len(preferences(site.store))
    page.keyboard.press("b")
    expect(page.locator(".jb-revealed")).to_contain_text("strict v1")
    expect(page.locator(".jb-revealed")).to_contain_text("The same in both orders")
    expect(page.locator(".jb-revealed")).to_contain_text("alpha-model")
    order, right = ("ba", "a") if mirrored else ("ab", "b")
    assert preferences(site.store)[before:] == [("Mara", pair_ids[0], right, order, False, False)]
    settled(page, ANSWERS)
    page.get_by_role("button", name="Tie").click()
    expect(page.locator(".jb-revealed")).to_contain_text("You, after the judge was shown")
    expect(page.locator(".st-key-head")).to_contain_text("your preference overrules the judge")
    settled(page, ANSWERS)
    page.get_by_role("button", name="Left is better").click()
    expect(page.locator(".jb-revealed")).to_contain_text(re.compile("after the judge was shown\\s*The left answer"))
    page.reload()
    expect(page.locator(".jb-revealed")).to_contain_text(re.compile("after the judge was shown\\s*The left answer"))
    expect(page.get_by_role("button", name="Left is better")).to_have_attribute("kind", "primary")
    left = "b" if mirrored else "a"
    assert preferences(site.store)[before + 1 :] == [
        ("Mara", pair_ids[0], "tie", order, True, False),
        ("Mara", pair_ids[0], left, order, True, True),
    ]
    page.keyboard.press("l")
    expect(page.get_by_role("button", name="Judge them yourself")).to_be_visible()


def test_pairs_are_decided_one_after_the_other_with_keys_and_sides_are_shuffled(page: Page, site, pair_ids) -> None:
    visit(page, address(site.store, pair_ids[2]))
    before = len(preferences(site.store))
    for place, key in enumerate("abt", start=2):
        settled(page, ANSWERS)
        expect(page.locator(".jb-answer-side").first).to_contain_text(f"-{place}")
        page.keyboard.press(key)
        expect(page.locator(".jb-revealed")).to_be_visible()
        settled(page, ANSWERS)
        page.keyboard.press("j")
        expect(page.locator(".jb-answer-side").first).to_contain_text(f"-{place + 1}")
    made = preferences(site.store)[before:]
    assert [row[1] for row in made] == pair_ids[2:5]
    said = [row[2] if row[2] == "tie" else ("a" if row[2] == row[3][0] else "b") for row in made]
    assert said == ["a", "b", "tie"], "keys speak of the sides, the store of the answers"
    assert {row[3] for row in made} == {"ab", "ba"}


def test_a_held_key_and_a_second_press_of_it_decide_one(page: Page, site, pair_ids) -> None:
    visit(page, address(site.store, pair_ids[6]))
    settled(page, ANSWERS)
    before = len(preferences(site.store))
    hold(page, "a", repeats=30)
    expect(page.locator(".jb-revealed")).to_be_visible()
    settled(page, ANSWERS)
    page.keyboard.press("a")
    page.keyboard.press("j")  # after the other press
    expect(page.locator(".jb-answer-side").first).to_contain_text("-7")
    assert len(preferences(site.store)) == before + 1


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
        visit(page, f"/pairs?pair={pair_id}&in=overall")
        expect(page.locator(ANSWERS).first).to_be_visible()
        idle(page)
        texts = page.locator(".jb-answers .jb-evidence").evaluate_all("shown => shown.map((node) => node.textContent)")
        assert as_read(given.answer_a) in set(map(as_read, texts))
    assert page.evaluate("window.hacked") is None
    assert not [url for url in asked if "evil.example" in url]


def test_list_pair_and_reveal_fit(page: Page, site, pair_ids) -> None:
    visit(page, "/pairs")
    expect(page.locator("[data-testid=stDataFrame]").first).to_be_visible()
    idle(page)
    assert misfits(page) == {}
    visit(page, address(site.store, pair_ids[8]))
    settled(page, ANSWERS)
    assert misfits(page) == {}
    page.keyboard.press("t")
    expect(page.locator(".jb-revealed")).to_be_visible()
    idle(page)
    within = "bar => bar.getBoundingClientRect().bottom <= 900"
    for look in looks(page):
        assert overflowing(page) == [], look
        assert in_the_end(partial(page.locator(".st-key-bar").evaluate, within), expected=True), look
