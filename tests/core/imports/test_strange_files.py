"""Files that nobody of ours has seen are imported whole: at once, or with the one command that the import prints."""

import json
import shlex
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook
from sqlalchemy import func, select

from judgeboard.cli.app import run
from judgeboard.imports.importing import import_file
from judgeboard.store.opening import open_store
from judgeboard.store.tables import (
    FEEDBACK,
    JUDGMENT,
    JUDGMENT_SCORE,
    RESPONSE,
    REVIEW,
    REVIEW_SCORE,
    VERSION,
)
from stored_rows import row_count, values_of
from tool_files import written, written_csv

TOPICS = (
    "return a lamp",
    "pair the speaker",
    "move the meeting",
    "cancel the trial",
    "reset the door code",
)


@pytest.fixture
def imported(sqlite_store, tmp_path):
    """Return ``imported(rows)``, which imports rows as a file, with all that stands beside its answers."""

    def bring(rows, name="log.csv"):
        file = rows if isinstance(rows, Path) else file_of(tmp_path / name, rows)
        summary = import_file(sqlite_store, file)
        assert summary.rejected == 0, summary.first_rejected
        for kind in summary.others:
            beside = import_file(sqlite_store, file, kind=kind, beside=summary.export is None)
            assert beside.rejected == 0, beside.first_rejected
        return answers_in(sqlite_store)

    return bring


def rows_of(store, query):
    with store.reading() as connection:
        return list(connection.execute(query))


def answers_in(store):
    return rows_of(store, select(RESPONSE).order_by(RESPONSE.c.id))


def file_of(path, rows):
    if path.suffix == ".csv":
        return written_csv(path, *rows)
    return written(path.parent, *rows, name=path.name)


def stored_as_printed(file, database, capsys):
    """Import a file at once or with the command that is printed, and return the stored answers."""
    command = ["import", str(file), "--db", str(database)]
    capsys.readouterr()
    code = run(command)
    if code == 2:
        printed = capsys.readouterr().err.splitlines()
        (command,) = (
            shlex.split(line)[1:] for line in printed if line.startswith("  judgeboard import")
        )
        code = run(command)
    assert code == 0
    return answers_in(open_store(database))


def answer(number, **more):
    topic = TOPICS[number % len(TOPICS)]
    return {
        "id": f"n{number}",
        "question": f"How do I {topic} {number}?",
        "answer": f"Open page {number}.",
        **more,
    }


def turns_of_conversations(answers):
    return Counter(each.extra["conversation"] for each in answers)


def test_dialogues_under_usual_names_are_a_conversation(imported):
    turns = [
        {"speaker": "customer", "text": "Is it open?"},
        {"speaker": "bot", "text": "Yes, until six."},
    ]
    rows = [{"dialog_id": f"d{n}", "topic": "hours", "transcript": turns * 2} for n in range(3)]
    answers = imported(rows, "log.jsonl")
    ids = [f"d{n}-{turn}" for n in range(3) for turn in (1, 2)]
    assert [each.external_id for each in answers] == ids
    assert answers[0].extra["topic"] == "hours"


def test_a_row_per_message_is_a_conversation_even_if_conversations_alternate(imported):
    rows = [
        {"session_id": f"s{n}", "seq": place, "sender": role, "message": text.format(TOPICS[n])}
        for place, (role, text) in enumerate(
            [("user", "Can I {}?"), ("assistant", "Yes, you can {}.")] * 2
        )
        for n in range(3)
    ]
    answers = imported(rows)
    assert turns_of_conversations(answers) == {"s0": 2, "s1": 2, "s2": 2}
    assert answers[0].query == f"Can I {TOPICS[0]}?"


def test_an_answer_repeated_for_each_rater_is_one_answer_with_two_grades(imported, sqlite_store):
    rows = [
        answer(n, rater=rater, rater_score=1 + (n + place) % 5)
        for n in range(5)
        for place, rater in enumerate("ab")
    ]
    assert len(imported(rows)) == 5
    assert values_of(sqlite_store, REVIEW_SCORE.c.scale) == ["1-5"] * 10


def test_rows_inside_an_object_are_found_and_the_summary_is_named(sqlite_store, tmp_path):
    report = {"cases": [answer(n) for n in range(4)]}
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"name": "nightly", "model": "m-9", "report": report}))
    summary = import_file(sqlite_store, file)
    assert (summary.new, summary.left_out) == (4, ("name", "model"))
    assert {*values_of(sqlite_store, RESPONSE.c.generator_model)} == {"m-9"}


def test_a_judge_beside_the_answers_is_no_generator(imported, sqlite_store):
    rows = [
        answer(
            n,
            evaluator_model="big-1",
            evaluator_score=1 + n % 5,
            evaluator_verdict=("pass", "fail")[n % 2],
        )
        for n in range(10)
    ]
    answers = imported(rows, "log.jsonl")
    assert {each.generator_model for each in answers} == {None}
    verdicts = (
        select(VERSION.c.name, func.count(JUDGMENT.c.label)).join(JUDGMENT).group_by(VERSION.c.name)
    )
    assert rows_of(sqlite_store, verdicts) == [("big-1", 10)]
    assert {*values_of(sqlite_store, JUDGMENT_SCORE.c.scale)} == {"1-5"}


def test_scores_beside_the_name_of_a_person_are_grades(imported, sqlite_store):
    rows = [
        answer(n, annotator=who, quality=1 + (n + place) % 4)
        for n in range(6)
        for place, who in enumerate("abc")
    ]
    assert len(imported(rows)) == 6
    assert row_count(sqlite_store, JUDGMENT) == 0
    assert len(values_of(sqlite_store, REVIEW.c.quality, REVIEW.c.quality.is_not(None))) == 18


def test_a_rating_with_numbers_up_to_five_is_stars_also_where_it_is_one(imported, sqlite_store):
    rows = [answer(n, rating=1 + n % 5) for n in range(10)]
    imported(rows)
    assert values_of(sqlite_store, FEEDBACK.c.kind) == ["stars"] * 10


def test_a_metric_that_is_missing_in_a_row_is_no_verdict(imported, sqlite_store):
    rows = [answer(n, faithfulness="" if n == 3 else 0.25, context_recall=0.5) for n in range(6)]
    imported(rows)
    groundedness = values_of(sqlite_store, JUDGMENT.c.groundedness)
    assert Counter(groundedness) == {0.25: 5, None: 1}


def test_scores_on_two_scales_are_never_mixed(imported, sqlite_store):
    rows = [answer(n, groundedness=0.5, quality=3, coherence_score=80 + n) for n in range(6)]
    imported(rows)
    verdicts = rows_of(sqlite_store, select(JUDGMENT.c.groundedness, JUDGMENT.c.quality))
    assert {*verdicts} == {(0.5, 3)}
    assert row_count(sqlite_store, JUDGMENT_SCORE) == 0


def test_an_optional_value_in_another_writing_costs_no_row(imported, sqlite_store):
    rows = [
        answer(n, cost="0,0031", thumbs="gut", date="03.05.2026 09:00 MESZ", meta="see above")
        for n in range(3)
    ]
    (first, *_) = imported(rows)
    assert (first.generator_cost, first.asked_at.hour) == (0.0031, 7)
    assert first.extra == {"meta": "see above"}
    assert values_of(sqlite_store, FEEDBACK.c.value) == [1, 1, 1]


def test_rows_under_their_ids_are_found(sqlite_store, tmp_path):
    file = tmp_path / "run.json"
    rows = {
        f"case-{n}": {"question": f"Can I {topic}?", "prediction": "Yes."}
        for n, topic in enumerate(TOPICS)
    }
    file.write_text(json.dumps({"config": {"name": "nightly"}, "results": rows}))
    summary = import_file(sqlite_store, file)
    assert (summary.new, summary.left_out) == (len(TOPICS), ("config",))
    assert {*values_of(sqlite_store, RESPONSE.c.external_id)} == {*rows}


def test_the_values_show_a_row_per_message_under_unknown_names(imported, tmp_path):
    rows = [
        {
            "Gespräch": f"g{n}",
            "Sprecher": who,
            "Nachricht": f"{text} {TOPICS[n]}?",
            "Uhr": f"{9 + n}:0{place}",
        }
        for n in range(3)
        for place, (who, text) in enumerate([("Kunde", "Geht für"), ("Bot", "Ja, für")] * 2)
    ]
    file = written_csv(tmp_path / "log.csv", *rows)
    file.write_bytes(file.read_text("utf-8").encode("cp1252"))
    answers = imported(file)
    assert turns_of_conversations(answers) == {"g0": 2, "g1": 2, "g2": 2}
    assert answers[0].query == f"Geht für {TOPICS[0]}?"


def test_pairs_of_a_chat_widget_are_a_conversation(imported):
    rows = [
        {"hash": f"h{n}", "chatbot": [[f"Is it {n}?", "It is."], ["Since when?", "Monday."]]}
        for n in range(3)
    ]
    answers = imported(rows, "log.jsonl")
    assert [each.query for each in answers[:2]] == ["Is it 0?", "Since when?"]


def test_further_passages_may_stand_in_rows_without_question_and_answer(tmp_path, capsys):
    rows = [
        {
            "Nr": f"A{n}",
            "Frage": "" if part else f"Wer pflegt {n}?",
            "Textstelle": f"Teil {part}",
            "Antwort": "" if part else "Team A.",
        }
        for n in range(9)
        for part in range(3)
    ]
    answers = stored_as_printed(
        written_csv(tmp_path / "log.csv", *rows), tmp_path / "log.db", capsys
    )
    assert [len(each.passages) for each in answers] == [3] * 9


def test_a_column_of_the_retrieval_is_no_verdict(imported, sqlite_store):
    rows = [answer(n, judge_model="j", similarity=0.5, retrieval_score=n / 10) for n in range(8)]
    imported(rows)
    assert row_count(sqlite_store, JUDGMENT) == 0


def test_reasons_of_several_scores_are_the_reason_of_none(imported, sqlite_store):
    scores = {
        "Faithfulness (score)": 0.5,
        "Faithfulness (reason)": "A.",
        "Relevancy (score)": 0.25,
        "Relevancy (reason)": "Because of B.",
    }
    imported([answer(n, **scores) for n in range(6)])
    assert {*values_of(sqlite_store, JUDGMENT.c.reasoning)} == {None}


def test_the_answer_of_a_model_stands_before_the_right_answer(imported):
    rows = [
        {"prompt": "v1.txt", **answer(n), "model_answer": f"Page {n}, I think."} for n in range(6)
    ]
    answers = imported(rows)
    assert (answers[2].query, answers[2].answer) == (answer(2)["question"], rows[2]["model_answer"])


def test_the_longest_text_of_a_passage_with_keys_of_its_own_is_the_passage(imported):
    rows = [
        answer(n, contexts=[{"ref": "d1", "titulo": "Ayuda uno", "texto": f"La página {n} abre."}])
        for n in range(3)
    ]
    answers = imported(rows, "log.jsonl")
    assert answers[1].passages == (rows[1]["contexts"][0]["texto"],)


def test_objects_between_commas_are_rows(sqlite_store, tmp_path):
    file = tmp_path / "log.json"
    file.write_text(",\n".join(json.dumps(answer(n), indent=2) for n in range(5)) + ",\n")
    assert import_file(sqlite_store, file).new == 5


def test_a_title_above_the_names_of_a_sheet_is_no_name(imported, tmp_path):
    book = Workbook()
    head = (["Export of May"], [], ["question", "answer", "contexts", "cost"])
    for row in (*head, *([f"Can I {topic}?", "Yes.", '["One.", "Two."]', 0.5] for topic in TOPICS)):
        book.active.append(row)
    book.save(tmp_path / "log.xlsx")
    answers = imported(tmp_path / "log.xlsx")
    assert [(each.passages, each.generator_cost) for each in answers] == [
        (("One.", "Two."), 0.5)
    ] * len(TOPICS)


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        (
            ("Nº ticket", "Pregunta", "Respuesta", "Categoría", "Valoración"),
            ("¿Cómo va {}?", "Va bien {}.", "buena"),
        ),
        (
            ("Réf.", "Question posée", "Réponse", "Thème", "Avis"),
            ("Comment aller à {} ?", "À pied, {}.", "bien"),
        ),
        (
            ("Номер", "Вопрос", "Ответ", "Тема", "Оценка"),
            ("Где находится {}?", "Где-то здесь {}.", "да"),
        ),
        (
            ("番号", "質問", "回答", "category", "評価"),
            ("返品はできますか{}", "はい、{}日以内なら可能です。", "👍"),
        ),
    ],
)
def test_columns_in_other_languages_are_found(names, texts, tmp_path, capsys):
    question, reply, thumbs = texts
    cells = [
        (f"T-{n:03}", question.format(n), reply.format(n), ("a", "b")[n % 2], thumbs)
        for n in range(12)
    ]
    rows = [dict(zip(names, row, strict=True)) for row in cells]
    answers = stored_as_printed(
        written_csv(tmp_path / "log.csv", *rows), tmp_path / "log.db", capsys
    )
    assert (answers[3].query, answers[3].answer) == cells[3][1:3]
    assert {each.query_type for each in answers} == {"a", "b"}
    assert row_count(open_store(tmp_path / "log.db"), FEEDBACK) == 12


def test_a_file_name_is_no_question_and_a_gold_text_no_answer(tmp_path, capsys):
    rows = [
        {"input_file": "prompts.txt", "golden": f"Gold text {n}.", "raw": f"It opens at {n}."}
        for n in range(9)
    ]
    file = written_csv(tmp_path / "log.csv", *rows)
    assert run(["import", str(file), "--db", str(tmp_path / "log.db")]) == 2
    printed = capsys.readouterr().err.splitlines()
    words = [line.split() for line in printed if line.startswith("  ")]
    mapped = {each[0]: each[1] for each in words if len(each) > 1}
    assert mapped.get("query") == "?"
    assert mapped.get("answer") != "golden"


COLUMNS = {
    "question": lambda n: f"How do I {TOPICS[n % 5]}, case {n}?",
    "answer": lambda n: f"Open page {n}, then choose {TOPICS[n % 5]}.",
    "contexts": lambda n: [f"Page {n} is about {TOPICS[n % 5]}.", "Settings are on the left."],
    "id": lambda n: f"case-{n}",
    "timestamp": lambda n: f"2026-05-{1 + n % 28:02}T10:00:00Z",
    "judge_score": lambda n: 1 + n % 5,
    "channel": lambda n: ("web", "app")[n % 2],
}
OTHER_NAMES = {
    "question": "Kundenfrage",
    "answer": "Bot Antwort",
    "contexts": "sources",
    "id": "nr",
    "timestamp": "Zeit",
}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.permutations(list(COLUMNS)),
    renamed=st.sets(st.sampled_from(sorted(OTHER_NAMES))),
    left_out=st.sets(st.sampled_from(["contexts", "id", "timestamp", "judge_score"])),
    shape=st.sampled_from(["jsonl", "csv", "wrapped", "cp1252"]),
)
def test_what_is_printed_imports_the_file_and_no_field_is_wrong(
    tmp_path_factory, sqlite_template, capsys, order, renamed, left_out, shape
):
    folder = tmp_path_factory.mktemp("file")
    names = {
        name: OTHER_NAMES[name] if name in renamed else name
        for name in order
        if name not in left_out
    }
    rows = [{names[name]: COLUMNS[name](number) for name in names} for number in range(30)]
    end = " Schöne Grüße." if shape == "cp1252" else ""
    for row in rows:
        row[names["answer"]] += end
    file = file_of(folder / ("log.csv" if shape in {"csv", "cp1252"} else "log.jsonl"), rows)
    if shape == "cp1252":
        file.write_bytes(file.read_text(encoding="utf-8").encode("cp1252"))
    if shape == "wrapped":
        file = folder / "log.json"
        file.write_text(json.dumps({"created": "today", "entries_of_run": rows}))
    stored = stored_as_printed(file, shutil.copyfile(sqlite_template, folder / "log.db"), capsys)
    assert len(stored) == 30
    for number, response in enumerate(stored):
        text = COLUMNS["answer"](number) + end
        assert (response.query, response.answer) == (COLUMNS["question"](number), text)
        assert response.passages in {None, tuple(COLUMNS["contexts"](number))}
        assert response.generator_model is None


STRANGERS = {
    "01-bi-export.csv": 40,
    "02-long-grades.answers.jsonl": 24,
    "04-turns.json": 20,
    "05-nested-results.json": 12,
    "06-row-per-passage.csv": 8,
    "07-older-ragas.csv": 15,
    "08-pretty-objects.jsonl": 9,
    "09-own-judge.jsonl": 30,
    "10-repeated-id.jsonl": 20,
    "11-row-per-message.csv": 12,
}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_is_imported_at_once_or_with_the_command_that_is_printed(
    shared, tmp_path, capsys, name
):
    file = shared / "strangers" / name
    if not file.exists():
        pytest.skip("the folder shared/strangers is not there")
    copy = shutil.copyfile(file, tmp_path / name)  # rejected rows are written beside the file
    assert len(stored_as_printed(copy, tmp_path / "log.db", capsys)) == STRANGERS[name]
