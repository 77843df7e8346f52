"""Whether a page fits its window, in the looks that pages are checked in: both widths, and both schemes once each."""

from contextlib import suppress

from playwright.sync_api import TimeoutError, expect  # noqa: A004 - Playwright's own

from page_state import RUN, at_rest, idle

LOOKS = [(1440, "light"), (800, "dark")]  # a colour makes no text wider
STYLED = (
    "() => getComputedStyle(document.querySelector('.stApp')).getPropertyValue('--jb-ink') !== ''"
)
THEME = "() => window.__judgeboardTheme"  # which theme.js has noticed
PATIENCE = 20_000  # ms
# The sizes of charts and tables, which are drawn anew some time after their window.
SIZES = """() => [...document.querySelectorAll(
  "[data-testid=stVegaLiteChart], [data-testid=stVegaLiteChart] svg, [data-testid=stDataFrame], canvas"
)].map((part) => [part.clientWidth, part.scrollWidth, part.clientHeight]).join()"""

OVERFLOWING = """() => {
  const found = [];
  const whole = {page: document.scrollingElement, main: document.querySelector("[data-testid=stMain]")};
  for (const [name, node] of Object.entries(whole))
    if (node && node.scrollWidth > node.clientWidth) found.push(`${name} ${node.scrollWidth} > ${node.clientWidth}`);
  const unseen = "[data-testid=stDataFrame], [data-testid=stElementToolbar]";
  for (const node of document.querySelectorAll("button, .jb-label, .jb-saved, label p, [data-testid=stHeading] h1")) {
    if (!node.offsetParent || node.closest(unseen)) continue;
    const said = node.textContent.trim();
    if (node.scrollWidth > node.clientWidth + 1) found.push(`${said} is cut`);
    const line = parseFloat(getComputedStyle(node).lineHeight) || 24;
    const text = node.tagName === "BUTTON" && node.querySelector("p");
    if (text && text.offsetHeight > line * 1.6) found.push(`${said} wraps`);
  }
  for (const chart of document.querySelectorAll("[data-testid=stVegaLiteChart]")) {
    const frame = chart.getBoundingClientRect();
    for (const text of chart.querySelectorAll("svg text")) {
      const box = text.getBoundingClientRect();
      if (text.textContent && (box.right > frame.right + 1 || box.left < frame.left - 1))
        found.push(`${text.textContent} runs out of its chart`);
    }
  }
  return found;
}"""


def looks(page):
    """Give a page that is open one look after the other: a window is made narrower or wider, its colours turn.

    It is not loaded again, which takes a second each time. The first look is that of the window, if
    it has one of them, as each other one draws the whole page anew; the page is left in the last.
    """
    app = page.locator("[data-testid=stApp]")
    size = page.viewport_size or {"width": LOOKS[0][0], "height": 900}
    order = sorted(LOOKS, key=lambda look: look[0] != size["width"])
    # Streamlit draws the first widgets of a freshly loaded page before it can show a style sheet.
    page.wait_for_function(STYLED)
    for width, scheme in order:
        page.set_viewport_size({"width": width, "height": size["height"]})
        run, theme = page.evaluate(RUN), page.evaluate(THEME)
        page.emulate_media(color_scheme=scheme)
        expect(app).to_have_css("color-scheme", scheme)
        # A page with charts is drawn again for another theme. Until then, its texts may fade.
        page.wait_for_function(f"scheme => ({THEME})() === scheme", arg=scheme)
        if theme != scheme and page.locator("[data-testid=stVegaLiteChart]").count():
            page.wait_for_function(f"run => ({RUN})() !== run", arg=run)
        idle(page)
        at_rest(lambda: page.evaluate(SIZES))
        yield f"{width} {scheme}"


def reaches_bar(page, pane):
    """Whether the bar of an item is within the window, and this pane reaches down to it."""
    bar, box = page.locator(".st-key-bar").bounding_box(), page.locator(pane).bounding_box()
    height = (page.viewport_size or {"height": 0})["height"]
    if bar is None or box is None:
        return False
    return bar["y"] + bar["height"] <= height and 0 < bar["y"] - (box["y"] + box["height"]) < 70


def misfits(page):
    """By look: buttons, labels and messages whose text is cut or wraps; chart texts out of their chart.

    The page itself if it scrolls sideways. Nothing where all fits.
    """
    found = {look: overflowing(page) for look in looks(page)}
    return {look: names for look, names in found.items() if names}


def overflowing(page):
    """What `misfits` finds in the look that the page has, and still finds when a busy machine had time to redraw it."""
    with suppress(TimeoutError):
        page.wait_for_function(f"() => !({OVERFLOWING})().length", timeout=PATIENCE)
        return []
    return list(page.evaluate(OVERFLOWING))
