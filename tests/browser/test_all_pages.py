"""Every page of the demo fits in both looks, and axe-core finds nothing serious in what is ours.

A cell of a table that cuts its text shows the whole on hover.
"""

import re
import shutil
from functools import partial
from importlib.resources import files
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from browser_windows import Reviewers
from judgeboard_dashboard.theme import DARK, LIGHT
from page_fit import looks, overflowing
from page_state import VIEWS, idle, in_the_end, turn_to, visit
from served import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(demo, tmp_path_factory, port):
    """A server on the database of `judgeboard quickstart`."""
    database = shutil.copy(demo, tmp_path_factory.mktemp("demo"))
    with serving(database, port) as url:
        yield SimpleNamespace(url=url)


@pytest.fixture(scope="module")
def page(windows):
    """A window that is narrow when it is opened: tables leave out columns for its width at that time."""
    opened = Reviewers(windows)
    yield opened("Mara", width=800)
    opened.close()


CELL = "td[aria-colindex='{column}']"
COLUMNS = """node => {
  const canvas = node.querySelector("canvas[data-testid=data-grid-canvas]");
  const key = Object.keys(canvas).find(name => name.startsWith("__reactFiber$"));
  let fiber = canvas[key];
  while (!(fiber.memoizedProps?.columns && fiber.memoizedProps.headerHeight)) fiber = fiber.return;
  return fiber.memoizedProps.columns.map(column => [column.title, column.width]);
}"""


def hover(page, table, title, row):
    """Move the pointer over a cell; row -1 is the header."""
    left = 0
    for name, width in table.evaluate(COLUMNS):
        if name == title:
            box = table.bounding_box()
            page.mouse.move(box["x"] + left + width / 2, box["y"] + 54 + 36 * row)
            return
        left += width
    raise AssertionError(title)


def test_a_cell_that_is_cut_shows_its_whole_text(page):
    visit(page, "/open_flags")
    table = page.locator("[data-testid=stDataFrame]").first
    expect(table.locator("canvas").first).to_be_visible()
    idle(page)
    columns = [title for title, _ in table.evaluate(COLUMNS)]
    cells = table.locator(CELL.format(column=columns.index("Answer") + 1))
    expect(cells.first).to_be_attached()  # what screen readers get comes a moment after the drawing
    answers = cells.all_inner_texts()
    lengths = [len(answer) for answer in answers]
    longest, shortest = lengths.index(max(lengths)), lengths.index(min(lengths))
    hover(page, table, "Answer", longest)
    expect(table).to_have_attribute("title", answers[longest].strip())
    hover(page, table, "Answer", shortest)
    expect(table).not_to_have_attribute("title", answers[longest].strip())
    hover(page, table, next(title for title in columns if title not in {"", "Answer"}), longest)
    expect(table).not_to_have_attribute("title", answers[longest].strip())


# What others draw and no option changes: rule -> the markup that it is excused for.
EXCUSED = {
    # Vega gives the group of a kind of marks a role also where it has no marks: there is nothing to
    # name.
    "svg-img-alt": re.compile(r'<g [^>]*role="graphics-symbol"[^>]*></g>'),
}
AXE = files("axe_playwright_python") / "axe.min.js"
# The light page is checked by all rules of WCAG 2.2 AA, the dark one by the only one that looks at
# colours.
RULES = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "dark": ["color-contrast"],
}


def findings(page, scheme, part):
    """(rule, impact, markup) of every serious or critical finding in this part of the page."""
    result = page.evaluate(
        "([part, rules]) => axe.run(part, { runOnly: rules, resultTypes: ['violations'] })",
        [part, RULES[scheme]],
    )
    return [
        (found["id"], found["impact"], node["html"][:300])
        for found in result["violations"]
        if found["impact"] in {"serious", "critical"}
        for node in found["nodes"]
        if found["id"] not in EXCUSED or not EXCUSED[found["id"]].fullmatch(node["html"])
    ]


WIDER = """() => [...document.querySelectorAll("[data-testid=stDataFrame] .dvn-scroller")]
  .filter(node => node.offsetParent && node.scrollWidth - node.clientWidth > 1).length"""
# The tables of other pages may be as wide as their texts.
TABLES = {
    *("problems", "suites", "self_reference", "agreement"),
    *("runs", "pairs", "open_flags", "responses"),
}
ADDRESSES = (*VIEWS, "agreement?all=true", "agreement?compare=People+and+people")


def test_every_page_fits_and_has_no_serious_finding_light_or_dark(page, site):
    """Each second page is narrow when it is opened. Charts follow the theme, and no other host is asked."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, "/schemas")
    expect(page.locator(".jb-reviewer")).to_have_count(1)
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    problems = []
    tables = 0
    for number, address in enumerate(ADDRESSES):
        turn_to(page, address)
        assert page.title(), address
        expect(page.locator(".jb-note", has_text="Something went wrong")).to_have_count(0)
        part = "[data-testid=stMain]" if number else "html"  # all pages have the same menu
        for look in looks(page):
            scheme = look.split()[1]
            problems += [(address, look, name) for name in overflowing(page)]
            problems += [(address, look, *found) for found in findings(page, scheme, part)]
            if address in TABLES and in_the_end(partial(page.evaluate, WIDER), 0):
                problems.append((address, look, "a table scrolls sideways"))
            if address == "trends":
                line = page.locator("[data-testid=stVegaLiteChart] svg .mark-line path").first
                colours = DARK if scheme == "dark" else LIGHT
                expect(line).to_have_attribute("stroke", colours.series[0])
        tables += page.locator("[data-testid=stDataFrame] canvas").count() > 0
    assert not problems, "\n".join(map(str, problems))
    assert tables >= len(TABLES)
    assert [url for url in asked if not url.startswith((site.url, "data:", "blob:"))] == []
