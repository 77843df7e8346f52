"""Forms in a browser: a label schema is made, as YAML too, and filled in with keys; a file is tried and imported."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.queues import create_queue
from judgeboard.store.filters import RowFilter
from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.overview import count_log
from judgeboard.store.queues import new_queue
from judgeboard.store.tables import REVIEW, REVIEW_SCORE
from page_state import DECIDE, idle, settled, visit
from stored_rows import read, rows_of

pytestmark = pytest.mark.browser


def press(page: Page, name: str | re.Pattern[str]) -> None:
    """Press a button of the form, and wait until the server has drawn what follows."""
    button = page.get_by_role("dialog").get_by_role("button", name=name)
    idle(page)  # a run that is still drawing also shows the button of the run before it
    button.click()
    idle(page)


def make_schema(page: Page) -> None:
    """Make the schema "form" in the form for a new queue."""
    visit(page, "/queues?new=1")
    page.get_by_role("button", name="New schema").click()
    form = page.get_by_role("dialog")
    preview = form.locator(".st-key-schema_preview")
    expect(preview).to_contain_text("verdict")
    yaml = form.get_by_role("textbox", name="Schema as YAML")
    yaml.fill(
        yaml.input_value().replace("name: support", "name: form").replace("send\n", "publish\n")
    )
    yaml.press("Control+Enter")
    expect(preview.get_by_role("button", name="publish")).to_be_visible()
    press(page, "Add field")
    page.get_by_role("menuitem", name="Yes or no").click()
    expect(yaml).to_have_value(re.compile("type: yes_no"))
    preview.get_by_role("button", name="publish").click()  # the preview can be tried out
    expect(preview.locator("button[kind=primary]")).to_contain_text(["publish"])
    expect(preview).to_contain_text("yes or no")
    press(page, "Save version")
    expect(form).to_have_count(0)
    expect(page.get_by_role("combobox", name="Label schema")).to_have_value("form v1")


def test_a_schema_is_made_by_the_form_and_filled_in_with_keys(page: Page, site) -> None:
    make_schema(page)
    (stored,) = [each for each in read(site.store, list_schemas) if each.title == "form v1"]
    assert [field.name for field in stored.content.fields] == [
        "label",
        "verdict",
        "tone",
        "yes or no",
    ]
    rules = new_queue(
        "forms", RowFilter(query_types=("simple",)), order="random", flagged_only=False, max_items=1
    )
    create_queue(site.store, rules, by=ensure_reviewer(site.store, "page", "Mara"), schema="form")
    visit(page, "/item?queue=forms")
    settled(page, DECIDE)
    for key in "132":
        page.keyboard.press(key)
    chosen = page.locator(".st-key-rubric_group_fields button[kind=primary]")
    expect(chosen).to_contain_text(["publish", "friendly", "No"])
    page.keyboard.press("n")
    expect(page.get_by_text("Nothing is left for you")).to_be_visible()
    (review,) = [each for each in rows_of(site.store, REVIEW) if each["label_schema_id"]]
    assert review["choices"] == {"verdict": "publish", "yes or no": False}
    scores = [
        each for each in rows_of(site.store, REVIEW_SCORE) if each["review_id"] == review["id"]
    ]
    assert {each["dimension"]: each["value"] for each in scores} == {"tone": 3}


TONE = """
name: tone
fields:
  - {name: friendly, type: yes_no, required: true}
  - {name: why, type: category, options: [rude, cold], shown_when: {friendly: false}}
"""


def write(path: Path, *lines: object) -> Path:
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines),
        encoding="utf-8",
    )
    return path


def test_a_file_is_tried_mended_and_imported(page: Page, site, tmp_path: Path) -> None:
    rows = [
        {"id": f"up-{n}", "question": f"q{n}", "response": f"a{n}", "rating": n % 2}
        for n in range(4)
    ]
    log = write(tmp_path / "may-log.jsonl", *rows, "{broken")
    visit(page, "/sources")
    page.locator("input[type=file]").set_input_files(log)
    card = page.locator(".st-key-import_card")
    expect(card).to_contain_text("Not clear")
    for box, choice in (("Column", "rating"), ("Is read as", "thumbs")):
        page.get_by_role("combobox", name=box).fill(
            choice
        )  # a long list shows its first options alone
        page.get_by_role("option", name=choice, exact=True).click()
        idle(page)
    page.get_by_role("button", name="Change").click()
    expect(card).to_contain_text("4 with user feedback")
    expect(card).to_contain_text("4 of 5 rows can be imported.")
    with page.expect_download() as download:
        page.get_by_role("button", name="1 rejected row").click()
    assert download.value.suggested_filename == "may-log.jsonl.rejected.jsonl"
    (rejected,) = [
        json.loads(line) for line in Path(download.value.path()).read_text().splitlines()
    ]
    assert rejected["line"] == 5
    before = read(site.store, count_log)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(card).to_contain_text("4 answers were imported.")
    assert read(site.store, count_log) == before + 4
    page.get_by_role("button", name="Judge these answers").click()
    page.wait_for_url("**/rejudge?rows=plain**")
    expect(page.get_by_role("combobox", name="Answers")).to_have_value("Answers not judged yet")


def test_nothing_of_a_hostile_file_acts(page: Page, site, tmp_path: Path) -> None:
    evil = "<img src=x onerror='window.hacked=1'> :red[red] ![i](http://evil.example/i.png)"
    log = write(tmp_path / "evil.jsonl", {"id": evil, "question": evil, "response": evil, evil: 1})
    elsewhere: list[str] = []
    page.on(
        "request",
        lambda request: None if "localhost" in request.url else elsewhere.append(request.url),
    )
    visit(page, "/sources")
    page.locator("input[type=file]").set_input_files(log)
    expect(page.locator(".st-key-import_card")).to_contain_text("1 of 1 row can be imported.")
    assert page.evaluate("window.hacked") is None
    assert [url for url in elsewhere if not url.startswith(("data:", "blob:"))] == []
