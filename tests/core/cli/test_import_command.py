"""What an import says of columns that it does not read and of rows that it does not take."""

import json
import os
import pty
import re
import shlex
import shutil
import threading
from pathlib import Path

import pytest

from command_lines import run_line
from judgeboard.cli.app import run
from judgeboard.store.clock import utc_now
from judgeboard.store.export import export_tables
from judgeboard.store.opening import open_store
from judgeboard.store.storing import start_batch
from judgeboard.text import counted
from stored_rows import write_to
from tool_files import written as written_rows


@pytest.fixture
def database(sqlite_template, tmp_path):
    """An empty database; to make one takes longer than an import. `lines` and `asked` import into it."""
    return Path(shutil.copyfile(sqlite_template, tmp_path / "judgeboard.db"))


@pytest.fixture
def asked(database, tmp_path, capsys):
    """Return ``asked(name, text, words)``: the exit code of an import of this file, and what it prints."""

    def ran(name, text, words=""):
        (tmp_path / name).write_text(text, encoding="utf-8")
        capsys.readouterr()
        code = run_line(f"import {tmp_path / name} {words} --db {database}")
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return ran


@pytest.fixture
def lines(asked):
    """Return ``lines(rows, words)``: what `judgeboard import` prints of a file of these rows."""
    return lambda rows, words="": asked("log.jsonl", "\n".join(map(json.dumps, rows)), words)[1]


def ticket(number, **more):
    row = {"ticket": f"T-{number}", "usr": f"why {number}?", "bot": "because", "snippets": ["p"]}
    return row | more


def stored(database):
    """The answers, as they are exported."""
    file = database.with_suffix(".jsonl")
    export_tables(open_store(database), {"responses": file})
    return [json.loads(line) for line in file.read_text().splitlines()]


BOTH = "--map usr=query --map bot=answer"
RAGAS = {"user_input": "q", "response": "a", "retrieved_contexts": ["p"], "faithfulness": 0.5}


def line_with(printed, part):
    """Return the one printed line that has this part."""
    (line,) = (line for line in printed.splitlines() if part in line)
    return line


def date_order(printed):
    """What comes first in dates, day or month, and the date that shows it."""
    orders = re.findall(r"\n  dates: (day|month) first, as (.+) in dates ", printed)
    assert len(orders) <= 1
    return orders[0] if orders else None


def not_read(printed):
    """How often a value of a date is not read."""
    return printed.count("1 value of dates ")


def labels_read(printed):
    """Each label with the word of the file that means it, and the number of rows."""
    labels = line_with(printed, "  labels: ")
    return re.findall(r"(\w+) \(\w+\) from '(\w+)' \((\d+) ", labels)


def test_an_export_of_another_tool_brings_its_answers_and_then_its_scores(tmp_path, shell):
    log = written_rows(tmp_path, RAGAS | {"confidence": 0.9})
    database = tmp_path / "judgeboard.db"
    printed = shell(f"import {log} --db {database}")
    assert "a ragas dataset" in printed
    assert " 1 verdict" in printed
    assert printed.count("1 new") == 2
    assert shell(f"import {log} --db {database}").count("0 new") == 2


def test_an_export_in_a_pipe_is_read_once_and_the_other_kind_is_named(lines, tmp_path, shell):
    lines([ticket(1)], BOTH)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(json.dumps(RAGAS),), daemon=True)
    writer.start()
    assert "verdicts too" in shell(f"import {pipe} --db {tmp_path / 'judgeboard.db'}")


def test_scores_beside_the_answers_are_imported_with_them(lines):
    row = {"id": "1", "question": "why?", "answer": "because", "groundedness": 0.5, "quality": 3}
    printed = lines([row])
    assert "verdicts.judge is metrics" in printed
    assert printed.count("1 new") == 2
    assert "verdicts.judge from 'judge'" in lines([row | {"id": "2", "judge": "gpt"}])


def test_a_column_whose_name_is_no_plain_text_is_named_without_its_codes(lines):
    odd = {"": "a", "\x1b[31mred": "b", "two\nlines": "c", "ünder way": "d"}
    said = r"(no name), '\x1b[31mred', 'two\nlines', ünder way"
    counted = said.replace(",", " (1 time),") + " (1 time)"
    printed = lines([{"id": "1", "query": "why?", "answer": "because"} | odd])
    assert f"\n  not read: {counted} (kept in metadata)\n" in printed


def test_very_many_columns_are_counted_from_below(lines):
    printed = lines(
        [{"id": "1", "query": "why?", "answer": "so"} | {f"c{n}": n for n in range(10_000)}]
    )
    assert " and others " in line_with(printed, "c29 (1 time)")


@pytest.mark.parametrize("rows", ["", "only one\n", "1,2,3\n1,2,3,4\n"])
def test_nothing_is_said_of_columns_where_no_row_could_be_read(tmp_path, capsys, rows):
    log = tmp_path / "log.csv"
    log.write_text(f"query,answer\n{rows}")
    run_line(f"import {log} --db {tmp_path / 'judgeboard.db'}")
    printed = capsys.readouterr().out
    assert printed.startswith(f"{log}: {counted(rows.count(chr(10)), 'row')} of ")
    assert not [word for word in ("read:", "no column", "--map") if word in printed]


def test_without_an_id_it_is_said_of_new_answers_that_another_map_brings_the_rows_once_more(lines):
    def says_so(number, words):
        return "\n  ids: derived from the content\n" in lines([ticket(number)], f"{BOTH} {words}")

    assert says_so(1, "")
    # The answer is stored, has an id, or no column is left.
    assert not says_so(1, "")
    assert not says_so(2, "--map ticket=id")
    assert not says_so(3, "--map ticket=extra --map snippets=extra")


def test_nothing_is_said_of_columns_where_all_are_read_or_left_out_on_purpose(lines):
    extra = "--map ticket=id --map snippets=extra"
    assert "not read" not in lines([ticket(1)], f"{BOTH} {extra}")


SUPPORT = """id,ts,user_message,bot_reply,kb_articles,channel,thumbs
1,2026-03-01,How do I reset it?,Press the button.,Press the button to reset.|Hold it.,web,up
2,2026-03-02,Where is my bill?,In your account.,Bills are in the account.|See there.,app,-1
"""


def test_rows_that_differ_name_the_import_to_undo_and_the_command_to_repeat(asked):
    asked("log.csv", SUPPORT, "--map kb_articles=extra")
    code, printed = asked("log.csv", SUPPORT, "--map kb_articles=passages")
    assert code == 2 or "2 rejected" in printed
    line = line_with(printed, "`judgeboard import undo")
    undo, again = line.split("`")[1::2]
    assert shlex.split(undo)[2:4] == ["undo", "1"]
    assert line.index("undo") < line.index("--source NAME")
    # The printed commands work.
    assert [run(shlex.split(command)[1:]) for command in (undo, again)] == [0, 0]


def the_command(printed):
    """Return the words of the command that an import prints."""
    return shlex.split(line_with(printed, "  judgeboard import"))[1:]


def test_passages_of_a_support_bot_are_found_by_their_values(asked, database):
    code, printed = asked("log.csv", SUPPORT)
    assert code == 0
    counts = re.findall(r"\d+ (?:new|unchanged|rejected|feedback)", printed.partition("\n")[0])
    assert counts == ["2 new", "0 unchanged", "0 rejected", "2 feedback"]
    passages = ("Press the button to reset.|Hold it.", "Bills are in the account.|See there.")
    assert [row["context"] for row in stored(database)] == [[each] for each in passages]


OTHER_NAMES = """ticket,kunde,bot,kanal
T-1,Wo ist die Rechnung?,Sie liegt im Konto.,web
T-2,Was kostet das?,Zehn Euro im Monat.,web
"""


def test_a_file_of_unknown_columns_gives_one_table_with_the_command_to_run(
    asked, database, tmp_path
):
    database.unlink()
    code, printed = asked("log.csv", OTHER_NAMES)
    assert code == 2
    table = [" ".join(line.split()[:3]) for line in printed.splitlines()[2:5]]
    assert table == ["external_id ticket T-1", "query kunde Wo", "answer bot Sie"]
    assert not list(tmp_path.glob("*.rejected.jsonl"))
    assert not database.exists()
    # The printed command imports the file.
    assert run(the_command(printed)) == 0


@pytest.mark.parametrize("typed", ["", "--map kanal=query_type"])
def test_broken_rows_among_the_first_are_rejected_by_the_printed_command(asked, database, typed):
    good = "".join(
        f"T-{n},Wo ist Paket {n}?,Es kommt am Montag um {n} Uhr.,web\n" for n in range(24)
    )
    broken = "T-90,nur eine Frage,,web\nT-91,,Antwort ohne Frage,web\n"
    code, printed = asked("log.csv", "ticket,kunde,bot,kanal\n" + good + broken, typed)
    assert code == 2
    assert run(the_command(printed)) == 1
    assert len(stored(database)) == 24


def test_a_mapping_is_remembered_for_its_source(asked):
    _, printed = asked("log.csv", OTHER_NAMES, "--source shop")
    assert run(the_command(printed)) == 0
    later = OTHER_NAMES.replace("T-", "U-")
    assert asked("later.csv", later, "--source shop")[0] == 0
    assert asked("later.csv", later, "--source other")[0] == 2


@pytest.mark.parametrize(
    ("answers", "code", "types"),
    [
        ("\n", 0, ["unspecified"]),
        ("kanal=query_type\nnonsense\nticket=query_type\nkanal=query_type\n\n", 0, ["web"]),
        ("kanal=query_type\nq\n", 2, []),
    ],
)
def test_in_a_terminal_enter_takes_the_table_and_another_column_is_chosen_in_place(
    database, tmp_path, monkeypatch, answers, code, types
):
    log = tmp_path / "log.csv"
    log.write_text(OTHER_NAMES)
    ours, theirs = pty.openpty()
    os.write(ours, answers.encode())
    with os.fdopen(theirs) as terminal, monkeypatch.context() as typing:
        typing.setattr("sys.stdin", terminal)
        assert run_line(f"import {log} --db {database}") == code
    os.close(ours)
    assert sorted({row["query_type"] for row in stored(database)}) == types


def test_a_required_field_that_no_column_fits_has_no_command(asked):
    code, printed = asked("log.csv", "nr,Frage\n1,Wo?\n2,Was?\n")
    assert code == 2
    fields = [line_with(printed, f"  {name} ").split()[:2] for name in ("query", "answer")]
    assert fields == [["query", "Frage"], ["answer", "?"]]
    assert "judgeboard import" not in printed


def test_the_columns_show_the_kind_of_a_file(asked):
    assert asked("log.csv", "id,question,answer\na1,Why?,So.\n")[0] == 0
    code, printed = asked(
        "log.jsonl", json.dumps({"response_id": "a1", "annotator": "Ada", "quality": 2})
    )
    assert code == 0
    assert "1 grade" in printed
    code, printed = asked("thumbs.csv", "id,thumbs,said\na1,up,Thanks a lot for this.\n")
    assert code == 0
    assert "1 user rating" in printed


def test_a_text_inside_an_object_is_proposed_by_its_path(asked):
    answer = "It is there, in the account."
    row = {"input": {"question": "Where is it?"}, "output": {"text": answer}}
    code, printed = asked("log.jsonl", json.dumps(row))
    assert code == 2
    assert " output.text=answer" in line_with(printed, " input.question=query")


@pytest.mark.parametrize(
    ("dates", "first"),
    [
        (("03/04/2026 10:00", "25/04/2026"), "2026-04-03T10:00:00Z"),
        (("03/04/2026 2:05 PM", "04/25/2026"), "2026-03-04T14:05:00Z"),
        (("03.04.2026 10:00:30", "04.04.2026"), "2026-04-03T10:00:30Z"),
        (("2026-04-03", "2026-04-04"), "2026-04-03T00:00:00Z"),
    ],
)
def test_the_file_decides_whether_its_dates_have_the_day_first(asked, database, dates, first):
    between = [
        f"a{n},q{n},a{n},{dates[0]}" for n in range(2_000)
    ]  # the date that decides comes after the first rows
    text = "\n".join(["id,query,answer,date", *between, f"z,q,a,{dates[1]}"])
    code, _ = asked("log.csv", text)
    assert code == 0
    assert stored(database)[0]["asked_at"] == first


def test_dates_that_may_be_either_are_asked_for_once_and_then_read_as_chosen(asked, database):
    database.unlink()
    text = "id,query,answer,date\n1,q,a,03/04/2026\n2,q,b,05/04/2026\n"
    code, printed = asked("log.csv", text)
    assert code == 2
    assert "'date'" in printed
    orders = re.findall(r"\n  judgeboard .* (\S+)", printed)
    assert orders == ["day-first", "month-first"]
    assert not database.exists()
    assert asked("log.csv", text, "--dates month-first")[0] == 0
    assert stored(database)[0]["asked_at"].startswith("2026-03-04")


DAY_FIRST = ("day", "25/04/2026")


@pytest.mark.parametrize(
    ("dates", "shown", "unread"),
    [
        (["25/04/2026", "04/25/2026"], DAY_FIRST, 1),
        (["31/02/2026", "04/25/2026"], ("month", "04/25/2026"), 1),  # no date, shows no order
        (["31/02/2026", "25/04/2026"], DAY_FIRST, 1),
        (["2026-04-03", "31/02/2026"], None, 1),
        (["2026-04-03", "03/04/2026"], None, 1),
        (["", "03/04/2026", "25/04/2026"], DAY_FIRST, 0),
        (["2026-04-03", "03/04/2026", "25/04/2026"], DAY_FIRST, 0),
        (["unknown", "03/04/2026", "25/04/2026"], DAY_FIRST, 1),
        (["31/02/2026", "03/04/2026", "25/04/2026"], DAY_FIRST, 1),
        (["25/04/2026 25:61", "03/04/2026"], ("day", "25/04/2026 25:61"), 1),
        (["31/12/9999", "03/04/2026"], ("day", "31/12/9999"), 1),
    ],
)
def test_dates_show_their_order_and_one_that_is_not_read_is_kept(asked, dates, shown, unread):
    rows = [f"{number},q,a{number},{date}" for number, date in enumerate(dates)]
    # A column may have the name of a fact.
    log = "\n".join(["id,query,answer,dates", *rows])
    code, printed = asked("log.csv", log, "--map dates=asked_at")
    assert (code, date_order(printed), not_read(printed)) == (0, shown, unread)
    assert f"{len(dates)} new, 0" in printed


def test_beside_a_date_that_does_not_exist_a_date_that_may_be_either_is_asked_for(asked):
    code, printed = asked("log.csv", "id,query,answer,date\n1,q,a,31/02/2026\n2,q,b,03/04/2026\n")
    assert code == 2
    assert "'date'" in printed


def test_an_import_says_how_many_flags_it_raised(asked):
    log = "id,query,answer,thumbs\n1,q,a,down\n2,q,b,up\n"
    assert "  flags: " not in asked("log.csv", log, "--dry-run")[1]
    assert "\n  flags: 1\n" in asked("log.csv", log)[1]
    assert "  flags: " not in asked("log.csv", log)[1]
    verdicts = "response_id,judge,groundedness\n1,one,0.1\n2,one,0.2\n"
    assert "\n  flags: " in asked("verdicts.csv", verdicts, "--kind verdicts")[1]


def test_a_row_whose_own_words_name_the_option_is_not_taken_for_one_of_another_kind(lines):
    row = ticket(1, ticket="(--kind grades)")
    named = f"{BOTH} --map ticket=id"
    lines([row], named)
    printed = lines([row | {"bot": "so"}, ticket(2)], named)
    assert ": answer differs" in line_with(printed, "'(--kind grades)' ")
    assert "\n  not read: snippets" in printed


def test_a_column_of_a_graded_pair_is_an_aspect_but_beside_aspects(lines):
    pair = {"pair_id": "p1", "annotator": "Ada"}
    beside = pair | {"aspects": {"style": "A"}, "mood": "good"}
    assert "\n  not read: mood " in lines([beside], "--kind grades")
    assert "not read" not in lines([pair | {"consistency": "A"}], "--kind grades")


def test_differing_rows_are_shown_beside_other_rejections_with_the_fields_that_differ(lines):
    first = [ticket(number) for number in range(5)]
    lines(first, f"{BOTH} --map ticket=id")
    unusable = [ticket(number, bot="") for number in range(9, 39)]
    printed = lines([*unusable, *first], f"{BOTH} --map ticket=id --map snippets=context")
    assert "35 rejected, 5 " in printed
    first_that_differs = line_with(printed, "  line 31: id: 'T-0' ")
    assert first_that_differs.endswith(": context, metadata differ")
    assert "\n  and 27 more\n" in printed
    assert "\n  and 2 more" in printed
    assert "--source NAME" in printed


def test_every_field_that_a_known_id_brings_otherwise_is_named(lines):
    whole = {
        "id": "a1",
        "query": "why?",
        "answer": "because",
        "cost": 0.1,
        "model": "m",
        "type": "QA",
        "reference": "r",
        "ts": "2026-05-14T08:30:00Z",
        "messages": [{"role": "user", "content": "why?"}],
    }
    lines([whole])
    for column, field, value in (
        ("query", "query", "how?"),
        ("answer", "answer", "so"),
        ("cost", "generator_cost", 0.2),
        ("model", "generator_model", "n"),
        ("type", "query_type", "chat"),
        ("reference", "reference", None),
        ("ts", "asked_at", "2026-05-14T08:30:01Z"),
        ("messages", "messages", None),
    ):
        printed = lines([whole | {column: value}])
        differing = line_with(printed, "  line 1: id: 'a1' ")
        assert differing.endswith(f": {field} differs")


def test_a_rating_of_ones_and_noughts_is_left_out_until_a_mapping_names_its_scale(lines):
    rows = [{"id": str(n), "query": "why?", "answer": "so", "rating": n % 2} for n in range(4)]
    printed = lines(rows)
    assert "4 new, 0" in printed
    unsure = line_with(printed, "thumbs")
    assert all(
        way in unsure for way in ("'rating':", "--map 'rating=thumbs'", "--map 'rating=stars'")
    )
    assert "4 feedback added" in lines(rows, "--map rating=thumbs")


def test_it_is_said_which_label_is_bad_and_how_to_turn_it_around(lines):
    lines([ticket(number, id=f"r{number}") for number in (1, 2, 3)], BOTH)
    graded = [{"response_id": f"r{n}", "annotator": "ann", "label": n == 1} for n in (1, 2, 3)]
    printed = lines(graded, "--kind grades --dry-run")
    assert labels_read(printed) == [("hallucinated", "false", "2"), ("grounded", "true", "1")]
    turn = "--map-value label:false=grounded --map-value label:true=hallucinated"
    assert f"{turn}\n" in printed
    printed = lines(graded, f"--kind grades {turn}")
    assert labels_read(printed) == [("hallucinated", "true", "1"), ("grounded", "false", "2")]
    assert "--map-value" not in printed
    assert "labels:" not in lines([graded[0] | {"label": "grounded"}], "--kind grades")


def test_a_new_folder_of_the_database_is_said_and_several_are_refused(tmp_path, capsys, shell):
    typed = f"import {written_rows(tmp_path, {'id': '1', 'query': 'why?', 'answer': 'so'})} --db"
    new = tmp_path / "new"
    assert f" {new}" in shell(f"{typed} {new / 'folder' / 'x.db'}", code=2)
    assert not new.exists()
    for database, said in ((new / "x.db", True), (new / "x.db", False), (tmp_path / "y.db", False)):
        assert run_line(f"{typed} {database}") == 0
        assert (f"created the folder {new}" in capsys.readouterr().err) is said


def test_old_rejected_rows_are_named_as_such(lines, tmp_path):
    good = {"id": "1", "query": "why?", "answer": "so"}
    lines([good, {"id": "2"}])
    assert f"\n  earlier import: {tmp_path / 'log.jsonl.rejected.jsonl'}\n" in lines([good])


def test_the_command_after_pairs_is_the_one_that_uses_them(tmp_path, capsys):
    pair = {"question": "q", "answer_a": "a", "answer_b": "b", "winner": "llama"}
    log = written_rows(tmp_path, pair | {"model_a": "gpt-4o", "model_b": "llama"})
    assert run_line(f"import --kind pairs {log} --db {tmp_path / 'judgeboard.db'}") == 0
    command = capsys.readouterr().err.splitlines()[-1].removeprefix("next: judgeboard ")
    assert run(command.split()) == 0


def test_the_list_shows_an_import_that_may_be_running_as_not_finished_and_each_import_on_one_line(
    database, shell
):
    batch = {"file": "may\nlog.jsonl", "sha256": None, "importer": "x", "kind": "grades"}
    write_to(open_store(database), start_batch, actor="ann", now=utc_now(), **batch)
    (line,) = shell(f"import list --db {database}").splitlines()
    assert r"'may\nlog.jsonl'  grades: " in line
    assert "not finished" in line
    assert line.endswith("by ann")


def test_an_import_is_undone_by_its_number_and_a_file_may_be_called_undo(
    tmp_path, shell, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("log.jsonl", "undo"):
        rows = [
            {"id": f"{name}{number}", "question": "q", "answer": "a", "thumbs": "up"}
            for number in range(2)
        ]
        written_rows(tmp_path, *rows, name=name)
    shell("import log.jsonl --db log.db")
    shell("import ./undo --db log.db")
    said = shell("import undo 1 --db log.db")
    assert said.startswith("import 1 (log.jsonl): ")
    assert ": 2 answers, 2 " in said
    latest, first = (line.split("  ") for line in shell("import list --db log.db").splitlines())
    for line, number, name in ((latest, "2", "undo"), (first, "1", "log.jsonl")):
        assert line[0] == number
        assert line[2] == name
        assert "responses: 2 new, " in line[3]
        assert ("undone" in line[3]) is (line is first)
    undone = json.loads(shell("import undo --db log.db --json"))
    assert undone["batch"]["file"] == "undo"
    assert undone["rows"]["response"] == 2
    assert undone["kept"] == []
    assert ": 2 (undo), 1 (log.jsonl)" in shell("import undo --db log.db", code=2)
    assert "2 new" in shell("import log.jsonl --db log.db")


def test_what_an_undo_leaves_is_listed(tmp_path, shell):
    rows = [{"id": id_, "question": "q", "answer": "a"} for id_ in ("kept", "gone")]
    grade = {"response_id": "kept", "annotator": "ann", "label": "grounded"}
    log, database = written_rows(tmp_path, *rows), str(tmp_path / "log.db")
    grades = written_rows(tmp_path, grade, name="grades.jsonl")
    shell(f"import {log} --db {database}")
    shell(f"import --kind grades {grades} --db {database}")
    printed = shell(f"import undo 1 --db {database}", code=1)
    assert "withdrawn: 1 answer" in printed
    assert ": kept\n" in printed
    assert f" 1 --with-reviews --db {database}`" in printed
    assert shell(f"import undo --db {database}").startswith("import 2 (grades.jsonl): ")
    shell(f"import undo 1 --db {database}")


def test_labels_beside_answers_are_read_as_grades_with_the_command_that_the_import_names(
    tmp_path, monkeypatch, shell
):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"k{n},What is {n}?,It is {n}.,It is {n}.,{'good' if n % 2 else 'bad'}" for n in range(12)
    ]
    Path("known.csv").write_text("\n".join(["id,question,answer,context,label", *rows]))
    shown = shell("import known.csv --source known --db log.db")
    assert "thumbs" not in shown
    command = re.search(
        r"a person's label of each answer: to read it too, run `judgeboard (.*)`", shown
    )
    assert run(shlex.split(command[1])) == 0
    shell("judge lexical --db log.db")
    assert '"n": 12' in shell("agreement --where source=known --db log.db --json")
