"""Hostile text shows exactly as it was, and nothing is fetched from outside."""

import random
from itertools import pairwise
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from browser_windows import Reviewers
from judgeboard.domain import Claim, ClaimStatus, JudgeVersion, Pair, Response, Status, Verdict
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.pairs import store_pairs
from judgeboard.store.storing import store_judgments, store_responses
from page_rows import HOSTILE, PASSAGES, as_read
from page_state import idle, visit

pytestmark = pytest.mark.browser


def host(address):
    """The host of an address; that of a blob is the host of the page that made it."""
    return urlsplit(address.removeprefix("blob:")).hostname


def contents(page, selector):
    return str(page.locator(selector).first.evaluate("node => node.textContent"))


@pytest.fixture(scope="module")
def window(windows):
    """One window for all texts, with every host that it has called."""
    opened = Reviewers(windows)
    page = opened()
    hosts = set()
    page.on(
        "request", lambda request: hosts.add(host(request.url)) if "://" in request.url else None
    )
    page.on("websocket", lambda socket: hosts.add(host(socket.url)))
    yield page, hosts
    opened.close()


def test_hostile_texts_are_shown_as_they_were(window, site):
    """All in one answer, its question, passage and verdict, with a claim across each two; the longest alone."""
    texts = [text for name, text in HOSTILE.items() if name != "long"]
    together, starts = "\n".join(texts), [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)
    claims = []
    for start, end in pairwise(start + 7 for start in starts[:-1]):
        quote = together[start:end]
        claims.append(
            Claim(quote, ClaimStatus.CONTRADICTED, quote, 1, quote, start, end, start, end)
        )
    verdict = Verdict(Status.OK, groundedness=0.4, reasoning=together, claims=tuple(claims))
    with site.store.writing() as connection:
        response = Response("texts", "together", together, together, (together, *texts))
        (id_,) = store_responses(connection, [response]).new
        judge = ensure_version(connection, JudgeVersion("rag", "rag"))
        store_judgments(connection, judge, None, [NewJudgment(id_, 0, 0, verdict)])
    page, hosts = window
    visit(page, f"/item?response={id_}")
    expect(page.locator(".jb-id")).to_have_text("together")
    expect(page.locator(".jb-answer mark").first).to_be_visible()
    idle(page)
    for place in (".jb-answer", ".jb-question", ".jb-passage .jb-evidence", ".jb-reason"):
        assert contents(page, place) == as_read(together), place
    shown = page.locator(".jb-passage .jb-evidence").all_text_contents()
    assert shown == [as_read(text) for text in (together, *texts)]
    visit(page, f"/item?response={site.rows.responses['hostile-long']}")
    expect(page.locator(".jb-id")).to_have_text("hostile-long")
    idle(page)
    page.get_by_role("button", name="Show all").first.click()
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)
    assert contents(page, ".jb-answer") == HOSTILE["long"]
    assert contents(page, ".jb-passage .jb-evidence") == HOSTILE["long"][:4000]
    assert page.evaluate("window.hacked") is None
    assert hosts == {"localhost"}


PIECES = (
    *(
        "a",
        "word ",
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\n \n",
        "\n    \n",
        "*",
        "**",
        "_",
        "__",
        "`",
        "```\n",
        "~~",
        "# ",
    ),
    *(
        "- ",
        "1. ",
        "> ",
        "| a | b |\n|---|---|\n",
        "count(*) AS a, sum(count(*))",
        "$x_1$",
        ":red[x]",
        ":material/home:",
    ),
    *(
        "<b>",
        "</div>",
        "<!--",
        "&amp;lt;",
        "&#13;",
        "\\*",
        "[a](http://evil.example)",
        "![i](http://evil.example/i)",
    ),
    *(
        "\u200b",
        "\u202eabc\u202c",
        "\u00a0",
        "\u2028",
        "\ufeff",
        "\U0001f9d7\u200d\u2640",
        "e\u0301",
        "\x0b",
        "\x1b[0m",
        "\x85",
    ),
)


def test_what_is_read_from_the_page_equals_what_is_stored(window, site):
    choose = random.Random(7)
    passages = ["".join(choose.choices(PIECES, k=choose.randint(1, 12))) for _ in range(300)]
    long = "".join(
        f"Sentence {n} has {piece} in it. " for n, piece in enumerate(PIECES * 3)
    )  # is folded
    texts = {"query": passages[0], "answer": "".join(PIECES), "reference": passages[1]}
    with site.store.writing() as connection:
        response = Response("texts", "drawn", passages=(*passages, long), **texts)
        (id_,) = store_responses(connection, [response]).new
    page, hosts = window
    visit(page, f"/item?response={id_}")
    expect(page.locator(".jb-id")).to_have_text("drawn")
    expect(page.locator(".jb-passage")).to_have_count(len(passages) + 1)
    idle(page)

    def drawn(selector):
        return page.locator(selector).evaluate_all("nodes => nodes.map(node => node.textContent)")

    assert drawn(".jb-passage .jb-evidence") == [as_read(text) for text in (*passages, long)]
    assert drawn(".jb-answer") == [as_read(texts["answer"])]
    assert drawn(".jb-question") == [as_read(texts["query"])]
    assert drawn(".jb-context .jb-evidence") == [as_read(texts["reference"])]
    spaces = page.locator(".jb-evidence").evaluate_all(
        "nodes => nodes.map(node => getComputedStyle(node).whiteSpace)"
    )
    assert set(spaces) == {"pre-wrap"}, "blanks are drawn"
    formatted = page.locator(".jb-evidence :is(em, strong, del, table, img, a[href^=http])")
    assert formatted.count() == 0
    assert hosts == {"localhost"}


# Whether the last character of an element's text is on the left of its first.
ENDS_LEFT = """node => {
  const left = (at) => {
    const range = document.createRange();
    range.setStart(node.firstChild, at);
    range.setEnd(node.firstChild, at + 1);
    return range.getBoundingClientRect().left;
  };
  return left(node.firstChild.length - 1) < left(0);
}"""


def test_messages_and_log_fields_from_right_to_left_end_on_the_left(window, site):
    hebrew = "כמה עולה המנוי."
    messages = (
        {"role": "assistant", "content": hebrew},
        {"role": "user", "content": "How much is it?"},
    )
    with site.store.writing() as connection:
        response = Response(
            "texts",
            "hebrew",
            hebrew,
            hebrew,
            (hebrew,),
            messages=messages,
            metadata={"channel": hebrew},
        )
        (id_,) = store_responses(connection, [response]).new
    page, _hosts = window
    visit(page, f"/item?response={id_}")
    for place in (".jb-answer", ".jb-turn .jb-lines", ".jb-log > :nth-child(even)"):
        texts = page.locator(place).filter(has_text=hebrew)
        expect(texts.first).to_be_visible()
        assert texts.evaluate_all(f"nodes => nodes.map({ENDS_LEFT})") == [True], place
    english = page.locator(".jb-turn .jb-lines").filter(has_text="How much")
    assert english.evaluate(ENDS_LEFT) is False


def test_texts_of_pairs_are_shown_exactly_and_never_acted_on(window, site):
    together = "\n".join(text for name, text in HOSTILE.items() if name != "long")
    hostile = [
        Pair("evil", name, text, text, "fine", model_a=text[:60], query_type="odd")
        for name, text in (("together", together), ("long", HOSTILE["long"]))
    ]
    with site.store.writing() as connection:
        ids = store_pairs(connection, hostile).new
    page, hosts = window
    for pair_id, pair in zip(ids, hostile, strict=True):
        visit(page, f"/pairs?pair={pair_id}")
        expect(page.locator(".jb-answers").first).to_be_visible()
        idle(page)
        shown = page.locator(".jb-answers .jb-evidence").all_text_contents()
        assert as_read(pair.answer_a) in map(as_read, shown)
    assert page.evaluate("window.hacked") is None
    assert hosts == {"localhost"}


def test_the_list_of_hostile_texts_calls_nobody_either(window):
    page, hosts = window
    visit(page, "/open_flags?query_type=odd")
    expect(page.locator("[data-testid=stDataFrame] canvas").first).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert hosts == {"localhost"}


def test_a_claim_leads_to_its_quote_and_lights_up_in_all_panes(window, site):
    page, _hosts = window
    visit(page, f"/item?response={site.rows.responses['claims']}")
    expect(page.locator(".jb-answer mark")).to_have_count(3)
    expect(page.locator(".jb-claim")).to_have_count(4)
    first = page.locator(".jb-claim").first
    expect(first).to_contain_text("Basalt is older than granite.")
    expect(page.locator(".jb-notfound")).to_contain_text("not in answer")
    quoted = page.locator("#q2").evaluate("node => node.textContent")
    assert as_read(PASSAGES[1]).startswith(quoted)
    assert quoted.endswith(".\nIt")
    page.locator("#a2 a.jb-n").click()
    page.wait_for_function("document.querySelector('mark:target')?.id === 'q2'")
    page.locator("#a1").hover()
    words = "[...(CSS.highlights.get('jb-words') ?? [])].map(String)"
    page.wait_for_function(
        f"{words}.includes('Granite')"
    )  # and no longer those of the claim that was clicked
    assert {"Granite", "cools", "slowly", "surface"} <= set(page.evaluate(words))
    assert "Basalt" not in page.evaluate(words)
    expect(page.locator("#q1")).to_have_css("outline-style", "solid")
    expect(page.locator("#q2")).not_to_have_css("outline-style", "dotted")
