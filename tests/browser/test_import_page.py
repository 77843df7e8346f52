"""An upload in a browser: what would come in, the rejected rows as a file, and what came in."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from judgeboard.imports.importing import import_file
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


def test_a_wrong_file_gives_its_reason(page: Page, site, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"PK\x03\x04rest")
    visit(page, "/import")
    page.locator("input[type=file]").set_input_files(log)
    expect(page.locator(".jb-note")).to_contain_text(
        "log.jsonl is not JSON lines: it starts with 'PK', like a ZIP or Excel file."
    )


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


def test_grades_of_a_file_are_those_of_the_person_with_that_name(reviewer, site, tmp_path: Path) -> None:
    grades = write(tmp_path / "grades.jsonl", {"response_id": "claims", "annotator": "zoe", "label": "grounded"})
    import_file(site.store, grades, kind="grades")
    page = reviewer("Zoe")
    page.goto("/my-reviews")
    expect(page.get_by_text("1 review, newest first.")).to_be_visible()


def test_words_for_labels_are_shown_and_chosen(reviewer, tmp_path: Path) -> None:
    words = (("claims", "inconsistent"), ("good", "so so"))
    rows = [{"response_id": name, "annotator": "lea", "label": word} for name, word in words]
    page = reviewer("Mara")
    page.goto("/import?kind=People%27s+grades")
    page.locator("input[type=file]").set_input_files(write(tmp_path / "labels.jsonl", *rows))
    card = page.locator(".st-key-import_card")
    expect(card).to_contain_text("1 of 2 rows can be imported.")
    expect(card).to_contain_text("Labels: hallucinated (bad) from 'inconsistent' (1 row).")
    expect(card).to_contain_text("Some labels are not known: choose what they mean.")
    words_field = page.locator(".st-key-import_label_words")
    expect(words_field).to_contain_text("The label so so means")
    words_field.get_by_text("Grounded (good)").last.click()
    expect(card).to_contain_text("grounded (good) from 'so so' (1 row)")
    expect(card).to_contain_text("2 of 2 rows can be imported.")
