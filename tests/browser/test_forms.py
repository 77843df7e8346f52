"""Forms in a browser: a label schema is made, as YAML too; a file is tried and imported."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.overview import count_log
from page_state import idle, visit
from stored_rows import read

pytestmark = pytest.mark.browser


def press(page, name):
    """Press a button of the form, and wait until the server has drawn what follows."""
    button = page.get_by_role("dialog").get_by_role("button", name=name)
    idle(page)  # a run that is still drawing also shows the button of the run before it
    button.click()
    idle(page)


def test_a_schema_is_made_by_the_form(page, site):
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
    (stored,) = [each for each in read(site.store, list_schemas) if each.title == "form v1"]
    assert [field.name for field in stored.content.fields] == [
        "label",
        "verdict",
        "tone",
        "yes or no",
    ]


def write(path, *lines):
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines),
        encoding="utf-8",
    )
    return path


def test_a_file_is_tried_and_imported(page, site, tmp_path):
    rows = [{"id": f"up-{n}", "question": f"q{n}", "response": f"a{n}"} for n in range(4)]
    log = write(tmp_path / "may-log.jsonl", *rows, "{broken")
    visit(page, "/sources")
    page.locator("input[type=file]").set_input_files(log)
    card = page.locator(".st-key-import_card")
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


def test_nothing_of_a_hostile_file_acts(page, site, tmp_path):
    evil = "<img src=x onerror='window.hacked=1'> :red[red] ![i](http://evil.example/i.png)"
    log = write(tmp_path / "evil.jsonl", {"id": evil, "question": evil, "response": evil, evil: 1})
    elsewhere = []
    page.on(
        "request",
        lambda request: None if "localhost" in request.url else elsewhere.append(request.url),
    )
    visit(page, "/sources")
    page.locator("input[type=file]").set_input_files(log)
    expect(page.locator(".st-key-import_card")).to_contain_text("1 of 1 row can be imported.")
    assert page.evaluate("window.hacked") is None
    assert [url for url in elsewhere if not url.startswith(("data:", "blob:"))] == []
