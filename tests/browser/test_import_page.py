"""An upload in a browser: what would come in, the rejected rows as a file, and what came in."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from judgeboard.store.overview import count_responses
from page_state import visit

pytestmark = pytest.mark.browser


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_a_file_is_tried_mended_and_imported(page: Page, site, tmp_path: Path) -> None:
    rows = [{"id": f"up-{n}", "question": f"q{n}", "response": f"a{n}", "rating": n % 2} for n in range(4)]
    log = write(tmp_path / "may-log.jsonl", *rows, "{broken")
    visit(page, "/import")
    page.locator("input[type=file]").set_input_files(log)
    card = page.locator(".st-key-import_card")
    expect(card).to_contain_text("Some values are not clear")
    page.get_by_text("Thumbs", exact=True).click()
    expect(card).to_contain_text("4 carry user feedback")
    expect(card).to_contain_text("4 of 5 rows can be imported.")
    with page.expect_download() as download:
        page.get_by_role("button", name="1 rejected row").click()
    assert download.value.suggested_filename == "may-log.jsonl.rejected.jsonl"
    (rejected,) = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert rejected["line"] == 5
    with site.store.reading() as connection:
        before = count_responses(connection)
    page.get_by_role("button", name="Import 4 rows").click()
    expect(card).to_contain_text("4 answers were imported.")
    with site.store.reading() as connection:
        assert count_responses(connection) == before + 4
    page.get_by_role("button", name="Judge these answers").click()
    page.wait_for_url("**/rejudge?rows=plain**")
    expect(page.get_by_role("combobox", name="Answers")).to_have_value("Answers not judged yet")


def test_nothing_of_a_hostile_file_acts(page: Page, site, tmp_path: Path) -> None:
    evil = "<img src=x onerror='window.hacked=1'> :red[red] ![i](http://evil.example/i.png)"
    log = write(tmp_path / "evil.jsonl", {"id": evil, "question": evil, "response": evil, evil: 1})
    elsewhere: list[str] = []
    page.on("request", lambda request: None if "localhost" in request.url else elsewhere.append(request.url))
    visit(page, "/import")
    page.locator("input[type=file]").set_input_files(log)
    expect(page.locator(".st-key-import_card")).to_contain_text("1 of 1 row can be imported.")
    assert page.evaluate("window.hacked") is None
    assert [url for url in elsewhere if not url.startswith(("data:", "blob:"))] == []
