"""No press is lost or doubled on a busy machine: list of flags, blind queue, pairs, conflicts."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from presses import NAME, SURFACES, fill, loaded, walk

from judgeboard.store.engine import Store, open_store
from served import serving

pytestmark = pytest.mark.browser

ITEMS = {"list": 3, "queue": 1, "pairs": 1, "conflicts": 2}


@pytest.fixture(scope="module")
def pressed(browser: Browser, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("presses") / "presses.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    fill(store, max(ITEMS.values()) + 1)
    yield store
    store.close()


@pytest.fixture(scope="module")
def page(browser: Browser, pressed: Store) -> Iterator[Page]:
    """A reviewer's page."""
    with serving(str(pressed.engine.url.database)) as url:
        context = browser.new_context(base_url=url)
        context.add_cookies([{"name": "judgeboard_reviewer", "value": NAME, "url": url}])
        yield context.new_page()
        context.close()


@pytest.mark.parametrize("name", SURFACES)
def test_every_press_is_executed_once(page: Page, pressed: Store, name: str) -> None:
    walked = walk(page, pressed, name, ITEMS[name], partial(loaded, page, processes=4, slower=4))
    assert (walked.lost, walked.doubled, walked.stuck) == (0, 0, 0), str(walked)
