"""Whether a page fits its window, in the four looks that pages are checked in."""

from playwright.sync_api import Page

LOOKS = [(1440, "light"), (1440, "dark"), (800, "light"), (800, "dark")]

OVERFLOWING = """() => {
  const found = [];
  const whole = {page: document.scrollingElement, main: document.querySelector("[data-testid=stMain]")};
  for (const [name, node] of Object.entries(whole))
    if (node && node.scrollWidth > node.clientWidth) found.push(`${name} ${node.scrollWidth} > ${node.clientWidth}`);
  const unseen = "[data-testid=stDataFrame], [data-testid=stElementToolbar]";
  for (const node of document.querySelectorAll("button, .jb-label, label p, [data-testid=stHeading] h1")) {
    if (!node.offsetParent || node.closest(unseen)) continue;
    const said = node.textContent.trim();
    if (node.scrollWidth > node.clientWidth + 1) found.push(`${said} is cut`);
    const line = parseFloat(getComputedStyle(node).lineHeight) || 24;
    const text = node.tagName === "BUTTON" && node.querySelector("p");
    if (text && text.offsetHeight > line * 1.6) found.push(`${said} wraps`);
  }
  return found;
}"""


def overflowing(page: Page) -> list[str]:
    """Buttons and labels whose text is wider than they are, or wraps; the page itself if it scrolls sideways."""
    return list(page.evaluate(OVERFLOWING))
