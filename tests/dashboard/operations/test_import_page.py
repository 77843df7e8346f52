"""The import page: what it says of a file before and after it comes in."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app_pages import click, enter, keys, markup, table, text_with, texts, with_label
from graded_log import GradedLog
from judgeboard.domain import Pair
from judgeboard.store.clock import utc_now
from judgeboard.store.overview import count_log
from judgeboard.store.pairs import store_pairs
from judgeboard.store.storing import list_batches, start_batch
from judgeboard.store.tables import EVENT, JUDGMENT
from judgeboard_dashboard import session
from judgeboard_dashboard.widgets.imports import MISSED, field_words
from stored_rows import read, rows_of, values_of, write_to

VIEW = Path(session.__file__).with_name("views") / "sources.py"
LOG = [
    {
        "id": f"a{n}",
        "question": f"question {n}",
        "response": f"answer {n}",
        "contexts": ["one", "two"],
        "type": "QA",
    }
    for n in range(4)
]


def opened(reviewer="Mara", **query):
    page = AppTest.from_file(VIEW, default_timeout=60)
    page.session_state["reviewer_name"] = reviewer
    for field, value in query.items():
        page.query_params[field] = value
    return page.run()


@pytest.fixture
def upload(page_store):
    """Opens the page and uploads rows (or bytes) under a name."""

    def uploaded(rows, name="log.jsonl", **query):
        page = opened(**query)
        content = (
            rows if isinstance(rows, bytes) else "\n".join(json.dumps(row) for row in rows).encode()
        )
        page.file_uploader(key="import_file").set_value((name, content, "text/plain"))
        return page.run()

    return uploaded


def lead(page):
    """Return the first sentence of the card: how many rows can be imported, or were."""
    return texts(page, "jb-say")[0]


def problems(page):
    """Return the one warning of the page."""
    (words,) = texts(page, "jb-note")
    return words


def responses(store):
    return read(store, count_log)


def test_without_a_file_the_page_says_what_it_takes(upload):
    page = opened()
    assert "judgeboard import FILE" in markup(page)
    assert len(texts(page, "jb-empty")) == 1
    assert not page.button


SAMPLE = {"user_input": "q", "response": "a", "retrieved_contexts": ["p"], "faithfulness": 0.5}


def test_the_verdicts_of_an_export_are_imported_with_its_answers(upload, sqlite_store):
    page = upload([SAMPLE])
    facts = dict(words.split(": ") for words in texts(page, "jb-cap") if ": " in words)
    assert "ragas" in facts["Recognised"]
    assert facts["Also has"] == "1 verdict"
    click(page, "import_start")
    assert "1 answer" in lead(page)
    assert "1 verdict" in lead(page)
    assert page.button(key="import_next").label == "Show agreement"
    assert responses(sqlite_store) == 1
    assert [batch.kind for batch in read(sqlite_store, list_batches)] == ["verdicts", "responses"]
    again = upload([SAMPLE])
    assert "0 of 1" in lead(again)
    assert again.button(key="import_start").disabled


def test_verdicts_of_stored_answers_are_imported_alone(upload, sqlite_store):
    answer = {key: value for key, value in SAMPLE.items() if key != "faithfulness"}
    click(upload([answer]), "import_start")
    page = upload([SAMPLE])
    assert "0 of 1" in lead(page)
    assert "1 verdict" in lead(page)
    click(page, "import_start")
    assert responses(sqlite_store) == len(rows_of(sqlite_store, JUDGMENT)) == 1


def test_a_file_is_tried_first_and_comes_in_on_a_press(upload, sqlite_store):
    page = upload([*LOG, {"id": "b", "question": "q", "response": 7}])
    assert "4 of 5" in lead(page)
    assert any(words.startswith("1 rejected") for words in texts(page, "jb-cap"))
    columns, rejected = (table.value for table in page.dataframe)
    theirs = dict(zip(columns["Judgeboard"], columns["In your file"], strict=True))
    assert theirs["passages"] == "contexts"
    assert theirs["asked at"] == "–"
    assert rejected["Line"].tolist() == [5]
    assert responses(sqlite_store) == 0
    click(page, "import_start")
    assert "4 answers" in lead(page)
    assert "1 flag" in lead(page)
    assert page.button(key="import_next").label == "Judge these answers"
    assert responses(sqlite_store) == 4
    (batch,) = read(sqlite_store, list_batches)
    assert batch.file == "log.jsonl"
    assert batch.actor == "Mara"


def box(page, label):
    return with_label(page.selectbox, label)


def read_as(page, theirs, ours):
    """Choose a column and a field, and press Change."""
    box(page, "Column").set_value(theirs)
    box(page, "Is read as").set_value(ours).run()
    return with_label(page.button, "Change").click().run()


OTHER_NAMES = b"nr,Frage,Antwort,Wann\n1,Was?,Das.,03/04/2026\n2,Wo?,Hier.,04/04/2026\n"


def test_a_file_of_other_names_gives_a_form_with_the_likely_columns(upload, sqlite_store):
    page = upload(OTHER_NAMES, name="log.csv")
    assert "import_start" not in keys(page)
    assert "--map" not in markup(page)
    columns = page.dataframe[0].value.set_index("Judgeboard")
    assert columns.loc["question"].tolist() == ["Frage", "Was?", "Wo?"]
    theirs = {"question": "Frage", "answer": "Antwort", "id": "nr", "asked at": "Wann"}
    assert columns["In your file"].to_dict() == theirs
    assert page.button(key="import_use").disabled
    page.radio[0].set_value("day-first").run()
    click(page, "import_use")
    assert "2 of 2" in lead(page)
    assert responses(sqlite_store) == 0


def test_a_file_with_broken_rows_is_read_by_its_likely_columns(upload):
    good = "".join(f"{n},Wo ist Paket {n}?,Es kommt am Montag um {n} Uhr.,web\n" for n in range(24))
    content = "nr,Frage,Antwort,Kanal\n" + good + "90,nur eine Frage,,web\n91,,nur Antwort,web\n"
    page = upload(content.encode(), name="log.csv")
    assert not page.button(key="import_use").disabled
    click(page, "import_use")
    assert "24 of 26" in lead(page)


def test_columns_that_are_not_read_are_named_and_so_is_what_a_missing_id_means(upload):
    page = upload(
        [{"question": f"q{n}", "answer": "a", "<b>ticket</b>": n, "kb": "x"} for n in range(3)]
    )
    assert "&lt;b&gt;ticket&lt;/b&gt; (3 times), kb (3 times)" in markup(page)
    assert {"Not read", "Ids"} <= {words.partition(": ")[0] for words in texts(page, "jb-cap")}
    assert "Not read" not in markup(upload(LOG))


def test_a_column_with_values_that_cannot_be_read_is_named_as_in_the_file(upload):
    page = upload([{**row, "asked_at": "soon"} for row in LOG])
    assert text_with(page, "4 values", " asked_at ", "soon", cls="jb-cap")


@pytest.mark.parametrize(
    ("content", "kind", "why"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "Verdicts", "like a picture"),
        (list(LOG), "People's grades", "No column was recognised as"),
        (b'{"response_id": "' + b"x" * 3_000_000, "Verdicts", "0 of 1"),
    ],
)
def test_a_wrong_file_gives_a_sentence(upload, content, kind, why):
    page = upload(content, "rows.jsonl", kind=kind)
    assert why in markup(page)
    assert "Something went wrong" not in markup(page)
    assert all(button.disabled for button in page.button if button.key == "import_start")


def test_words_for_labels_are_shown_and_chosen(upload):
    click(upload(LOG), "import_start")
    words = (("a0", "inconsistent"), ("a1", "so so"))
    rows = [{"response_id": name, "annotator": "lea", "label": word} for name, word in words]
    page = upload(rows, "labels.jsonl", kind="People's grades")
    assert "1 of 2" in lead(page)
    assert text_with(page, "Labels: ", "hallucinated", "'inconsistent'", cls="jb-cap")
    assert "'so so'" not in text_with(page, "Labels: ", cls="jb-cap")
    word = next(each for each in page.get("button_group") if "so so" in each.label)
    word.set_value("grounded").run()
    assert "2 of 2" in lead(page)
    assert text_with(page, "Labels: ", "grounded", "'so so'", cls="jb-cap")


def test_nothing_is_imported_without_a_name(sqlite_store, upload):
    page = upload(LOG[:1], reviewer="")
    click(page, "import_start")
    assert "your name" in problems(page)
    assert responses(sqlite_store) == 0
    page.session_state["reviewer_name"] = "Ann"
    click(page, "import_start")
    assert "1 answer" in lead(page)
    assert responses(sqlite_store) == 1


def test_hostile_rows_stay_text(upload):
    evil = "<script>alert(1)</script> :red[x] =1+1"
    page = upload([{"id": evil, "question": evil, "response": evil, evil: 1}])
    assert "<script>" not in markup(page)
    assert evil in page.dataframe[0].value["In your file"].tolist()


PAIR = {"id": "p1", "question": "which?", "answer_a": "left", "answer_b": "right"}
RECORDED = {
    "Pairs of answers": (
        {
            **PAIR,
            "judge": "j",
            "verdict_order_ab": {"depth": "a"},
            "human": [{"annotator": "ada", "preference": "b"}],
        },
        "1 row",
    ),
    "Verdicts on pairs": (
        {"pair_id": "p0", "judge": "j", "order": "ba", "verdict": "n"},
        "1 verdict",
    ),
    "People's grades": (
        {"pair_id": "p0", "annotator": "ada", "depth": 1, "preference": "tie"},
        "1 grade",
    ),
    "Samples of answers": (
        {"id": "q", "question": "how many?", "samples": ["A", None], "model": "m"},
        "1 question",
    ),
    "Repeated scores": (
        {
            "id": "r",
            "question": "?",
            "answer": "a",
            "rubric": "care",
            "scale": "1-5",
            "model": "m",
            "samples": [5, 4],
        },
        "1 answer",
    ),
}


@pytest.mark.parametrize("kind", RECORDED)
def test_recorded_material_is_tried_and_comes_in(upload, sqlite_store, kind):
    write_to(sqlite_store, store_pairs, [Pair("default", "p0", "which?", "left", "right")])
    row, done = RECORDED[kind]
    page = upload([row], kind=kind)
    assert "1 of 1" in lead(page)
    (columns,) = (table.value for table in page.dataframe)
    # No required column is missing.
    missing = columns.loc[columns["In your file"] == "–", "Judgeboard"]
    assert set(missing) <= set(map(field_words, MISSED))
    click(page, "import_start")
    assert done in lead(page)


def test_values_inside_objects_are_offered_as_columns(upload):
    page = upload(
        [{"id": n, "input": {"question": f"q {n}"}, "run": {"text": f"a {n}"}} for n in range(3)]
    )
    assert {"input.question", "run.text"} <= set(box(page, "Column").options)
    read_as(page, "input.question", "query")
    read_as(page, "run.text", "answer")
    assert "3 of 3" in lead(page)


def test_an_import_is_undone_with_one_button_that_says_what_it_takes_back(upload, sqlite_store):
    click(upload(LOG), "import_start")
    GradedLog(sqlite_store).review(2, "Ann", label="grounded")

    page = enter(opened(), "import_undo_number", 1)
    withdraws, kept = (
        words for words in texts(page, "jb-cap") if "3 answers" in words or "decided" in words
    )
    assert "review" not in withdraws
    assert "1 " in kept
    click(page, "import_undo")
    assert lead(page).startswith("log.jsonl: ")
    assert "3 answers" in lead(page)
    assert responses(sqlite_store) == 1
    assert not page.selectbox(key="kind").disabled
    assert values_of(sqlite_store, EVENT.c.actor, EVENT.c.kind == "undo_import") == ["Mara"]
    assert "3 of 4" in lead(upload(LOG))


def test_the_latest_imports_show_which_is_not_finished(upload, sqlite_store):
    click(upload(LOG), "import_start")
    batch = {"file": "may.jsonl", "sha256": None, "importer": "x", "kind": "responses"}
    write_to(sqlite_store, start_batch, actor="ann", now=utc_now(), **batch)
    unfinished, finished = table(opened(), "Finished")["Finished"]
    assert unfinished == "not finished" != finished
