"""A text that CONTRIBUTING adds to reviews has its places: added to a copy of the packages in this way, it works."""

import json
import sqlite3
from contextlib import closing

import pytest

from command_lines import run_line
from package_copy import Copy
from stored_rows import columns

PAGES = """
import json
from pathlib import Path
import judgeboard_dashboard
from app_pages import press, shown, table
from judgeboard.cli.app import run
from streamlit.testing.v1 import AppTest

def opened(name, reviewer, **query):
    app = AppTest.from_file(str(Path(judgeboard_dashboard.__file__).parent / "app.py"), default_timeout=60)
    app.session_state["reviewer_name"] = reviewer
    for field, value in query.items():
        app.query_params[field] = str(value)
    app.switch_page(f"views/{name}.py").run()
    assert not app.exception, app.exception
    return app

def picture(app):
    [field] = [each for each in app.text_input if (each.key or "").startswith("picture_")]
    return field

picture(opened("item", "Mara", queue="q")).input("a.example/page").run()
again = opened("item", "Mara", queue="q")
kept = picture(again).value
press(press(again, "quality4_"), "dismiss_")
assert run(["queue", "create", "sides", "--subject", "pairs", "--assign", "Mara", "--db", "log.db"]) == 0
pair = opened("item", "Mara", queue="sides")
picture(pair).input("a.example/pair")
press(pair, "left_")
assert run(["judge", "--judge", "lexical", "--db", "log.db"]) == 0
differing = opened("agreement", "Lead", grade="Groundedness")
pages = (opened("conflicts", "Lead", conflict=1), opened("item", "Mara", response=1), differing)
own = [table(opened("my_reviews", "Mara", **query), "Review")["Picture"] for query in ({}, {"on": "pairs"})]
print(json.dumps([kept, [picture for column in own for picture in column if picture], *map(shown, pages)]))
"""
PUSHED = """
import json
from judgeboard.store.opening import open_store
from judgeboard.store.tools import What, due_items
from judgeboard.tools.target import facts

with open_store(None).reading() as connection:
    items = due_items(connection, "tool", What.REVIEWS)
print(json.dumps([facts(item).get("picture") for item in items]))
"""


class ReviewedCopy(Copy):
    """A copy of the packages with the files of a log."""

    def write(self, file, *lines):
        (self.folder / file).write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    def read(self, file):
        return [json.loads(line) for line in (self.folder / file).read_text().splitlines()]

    def pictures(self, database="log.db"):
        """Return the author and the picture of each review that has one."""
        query = "SELECT name, picture FROM review JOIN reviewer ON reviewer.id = reviewer_id WHERE picture IS NOT NULL"
        with closing(sqlite3.connect(self.folder / database)) as opened:
            return sorted(opened.execute(query).fetchall())

    def follow_the_recipe(self):
        """Add a text to reviews as CONTRIBUTING describes."""
        self.revise("picture", 'op.add_column("review", sa.Column("picture", sa.String()))')
        line = "    modes: tuple[str, ...] = ()\n\n    def"
        self.line(
            "domain.py",
            line,
            line.replace("\n", '\n    picture: str | None = grade_text("picture", "image")\n', 1),
        )
        line = "    corrected_answer: str | None = column(forgotten=True)\n"
        self.line(
            "store/tables.py", line, f"{line}    picture: str | None = column(forgotten=True)\n"
        )


@pytest.fixture
def copy(tmp_path):
    copy = ReviewedCopy(tmp_path)
    yield copy
    copy.close()


def test_a_text_of_a_grade_takes_the_places_of_the_recipe(copy, monkeypatch):
    """It is typed, kept, shown, exported, pushed, imported and forgotten; old files are not imported again."""
    pair = {"id": "p", "question": "Which?", "answer_a": "This.", "answer_b": "That."}
    ann = {"annotator": "ann", "note": "too loud"}
    log = {"question": "Is it loud?", "context": ["Very."]}
    copy.write("log.jsonl", log | {"id": "1", "answer": "YES"}, log | {"id": "2", "answer": "no"})
    copy.write("pairs.jsonl", pair | {"human": [ann | {"preference": "a"}]})
    copy.write("grades.jsonl", ann | {"response_id": "2", "quality": 2})
    pairs, grades = "import --kind pairs pairs.jsonl", "import --kind grades grades.jsonl"
    monkeypatch.chdir(copy.folder)
    for line in ("import log.jsonl", pairs, grades):
        assert run_line(line, "--db", "log.db") == 0
    copy.follow_the_recipe()
    copy.with_dashboard()

    create = "queue create q --all-answers --limit 2 --order oldest --needed 2 --grades quality"
    _, *again, _, _ = copy.commands(
        "db migrate", pairs, grades, create, "queue export q --reviewer Jon jon.jsonl"
    )
    assert all("0 new" in output for output in again)
    head, first, second = copy.read("jon.jsonl")
    assert first["picture"] is None
    copy.write(
        "jon.jsonl",
        head,
        first | {"decision": "confirm", "quality": 1, "picture": "a.example/bundle"},
        second,
    )
    copy.write(
        "grades.jsonl",
        {"annotator": "bo", "response_id": "2", "groundedness": 0, "image": "a.example/file"},
    )
    copy.write(
        "pairs.jsonl",
        pair | {"human": [{"annotator": "bo", "preference": "b", "picture": "a.example/human"}]},
    )
    merge = "queue merge jon.jsonl"
    *_, merged, graded, preferred = copy.commands(merge, grades, pairs, merge, grades, pairs)
    assert "1 stored before" in merged
    assert "0 new" in graded
    assert "0 new" in preferred
    kept, own, *pages = json.loads(copy.run(PAGES).splitlines()[-1])
    assert kept == "a.example/page"
    assert own == ["a.example/page", "a.example/pair"]
    pushed = json.loads(copy.run(PUSHED))
    assert [picture for picture in pushed if picture] == ["a.example/bundle", "a.example/page"]
    shown = {"conflict": ("bundle", "page"), "item": ("bundle", "page"), "agreement": ("file",)}
    for (name, ends), page in zip(shown.items(), pages, strict=True):
        assert all(f"Picture: a.example/{end}" in page for end in ends), name
    assert copy.pictures() == [
        ("Jon", "a.example/bundle"),
        ("Mara", "a.example/page"),
        ("Mara", "a.example/pair"),
        ("bo", "a.example/file"),
        ("bo", "a.example/human"),
    ]

    copy.commands(
        "export reviews -o reviews.jsonl",
        "export preferences -o preferences.jsonl",
        "export pairs -o exported_pairs.jsonl",
        "export ratings -o ratings.jsonl --judge-version lexical",
    )
    assert [each.get("picture") for each in copy.read("exported_pairs.jsonl")[0]["human"]] == [
        None,
        "a.example/human",
    ]
    assert {"a.example/file", "a.example/page"} <= set(
        columns(copy.read("ratings.jsonl"), "picture")
    )
    files = [f"import --kind grades {name}.jsonl" for name in ("reviews", "preferences")]
    to_another = (
        f"{command} --db other.db" for command in ("import log.jsonl", pairs, *files, *files)
    )
    *_, reviews, preferences = copy.commands(*to_another)
    assert "0 new" in reviews
    assert "0 new" in preferences
    assert set(copy.pictures("other.db")) == set(copy.pictures())
    copy.commands("db forget 1 --yes")
    assert copy.pictures() == [
        ("Mara", "a.example/pair"),
        ("bo", "a.example/file"),
        ("bo", "a.example/human"),
    ]
