"""`judgeboard queue`, as people type it."""

import json
from dataclasses import fields

import pytest

from command_lines import run_line
from judgeboard.cli.app import run
from judgeboard.cli.options import echo
from judgeboard.domain import Label
from judgeboard.reviews.person_work import everybodys_work
from judgeboard.reviews.queues import close_queue
from judgeboard.store.filters import RowFilter
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.tables import QUEUE
from judging_log import address
from queue_case import CONFIRM, DISMISS, queue_case
from stored_rows import read, write_to


@pytest.fixture
def case(sqlite_store):
    return queue_case(sqlite_store)


@pytest.fixture
def typed(case, shell, monkeypatch):
    """Run a command, as the lead or another user; return what it printed, parsed where it is asked for JSON."""

    def type_(line, user="lead", code=0):
        monkeypatch.setenv("LOGNAME", user)
        printed = shell(f"{line} --db {address(case.store)}", code=code)
        return json.loads(printed) if "--json" in line else printed

    return type_


def test_a_queue_is_made_worked_through_adjudicated_and_closed(case, typed, tmp_path):
    case.flagged(0.4, 0.1)
    guide = tmp_path / "guide.txt"
    guide.write_text("Read every clause.")
    options = f"--needed 2 --order oldest --guidelines {guide} --grades label --json"
    made = typed(f"queue create legal {options}")
    counts = {"items": 2, "sampled": 0, "short": 0}
    assert made == counts | {"queue": "legal", "assigned_to": [], "invited": []}
    case.review(case.mara, CONFIRM, "legal", label=Label.HALLUCINATED)
    disputed = case.review(case.jon, DISMISS, "legal", label=Label.GROUNDED)
    lines = [line.split() for line in typed("queue list legal").splitlines()]
    assert ["In", "conflict", "1"] in lines
    case.adjudicate(disputed.item_id, CONFIRM, "clause 3", label=Label.HALLUCINATED)
    shown = typed("queue list legal --json")
    assert (shown["items"], shown["waiting"], shown["adjudicated"]) == (2, 1, 1)
    people = [(each["reviewer"]["name"], each["done"]) for each in shown["people"]]
    assert people == [("Jon", 1), ("Mara", 1)]
    close_queue(case.store, "legal", by="cli:lead")
    assert typed("queue list --open --json") == {"queues": []}
    assert case.flag_states() == ["confirmed", "open"]


def test_the_json_of_a_queue_has_its_columns(case, typed):
    case.flagged(0.1)
    typed("queue create q --where query_type=QA --order oldest --needed 2")
    shown = typed("queue list q --json")["queue"]
    assert list(shown) == [column.name for column in QUEUE.c]
    assert shown["sort"] == "oldest"
    assert shown["reviews_needed"] == 2
    assert shown["filter"]["query_types"] == ["QA"]
    assert shown["filter"].keys() == {field.name for field in fields(RowFilter)}
    assert typed("queue list --json")["queues"][0]["queue"] == shown


def test_a_blind_queue_must_name_its_people(case, typed):
    case.flagged(0.123)
    line = "queue create q --blind-judge --grades groundedness"
    command = f"judgeboard {line} --db {address(case.store)} --assign cli:lead"
    assert f"`{command}`" in typed(line, code=2)
    named = f"{line} --assign cli:lead,cli:ann,Newcomer --json"
    assert typed(named)["assigned_to"] == ["cli:lead", "cli:ann", "Newcomer"]


def test_a_queue_is_given_to_names(case, typed):
    case.flagged(0.1)
    made = typed("queue create misspelt --assign Marra").splitlines()
    assert [line.split() for line in made if "Marra" in line or "Mara" in line] == [
        ["Invited", "Marra"],
        ["Similar", "names", "Mara"],
    ]
    typed("queue create other --assign cli:ann", user="ann")
    assert typed("queue create q --assign 'mara, cli:ann' --json")["assigned_to"] == [
        "Mara",
        "cli:ann",
    ]
    refused = typed("queue create new --assign eve@example.org", code=2)
    assert "eve@example.org " in refused


@pytest.mark.parametrize(
    ("words", "message"),
    {
        "--blind-judge --order severity": "order by oldest or random",
        "--where colour=red": "colour",
        "--guidelines none.txt": "--guidelines none.txt",
        "--subject pairs --assign Mara --where rule=low_groundedness": "pairs can be filtered only by",
        "--where rule=lowgroundedness": "no rule 'lowgroundedness'; rules: low_groundedness, ",
        "--where state=confirmed": "leave out state=confirmed",
        "--needed 0": "--needed",
        "--overlap 1.5": "--overlap",
        "--overlap 0.5": "remove --overlap",
        "--subject pairs --assign Mara --grades label": "remove --grades",
        "--assign ,": "--assign",
        "--sampling-rate 1": "--sampling-rate",
        "--order worst": "--order",
        "--lease-seconds 5": "'--lease-seconds': must be a number from 10 to 86400, not '5'",
    }.items(),
)
def test_a_queue_that_cannot_be_made_says_why(words, message, typed):
    assert message in typed(f"queue create q {words}", code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    {
        "--where query_type=QA --where state=open --where rule=low_quality": "",
        "--where query_type=qa": "no answer has the query type 'qa'\n",
        "--where source=logs": "no answer has the source 'logs'\n",
        "--grades quality,groundednes": "nothing is scored on 'groundednes' yet: reviewers score it as a dimension",
        "--needed 2 --assign Mara": "an item needs 2 reviews",
        "--subject pairs --assign Mara": "there are no pairs yet: add some with `judgeboard import FILE --kind pairs",
    }.items(),
)
def test_what_a_new_queue_asks_for_and_occurs_nowhere_is_said(words, message, case, capsys):
    case.flagged(0.1)
    assert run_line(f"queue create q {words} --db {address(case.store)}") == 0
    heard = capsys.readouterr().err
    assert message in heard
    assert bool(message) == bool(heard)


def test_the_next_command_that_is_printed_works_for_who_made_the_queue(case, capsys, monkeypatch):
    case.flagged(0.1)
    monkeypatch.setenv("LOGNAME", "lead")
    for name, options in (
        ("mine", "--assign Mara,cli:lead"),
        ("theirs", "--assign Mara"),
        ("all", ""),
    ):
        assert run_line(f"queue create {name} {options} --db {address(case.store)}") == 0
        printed = capsys.readouterr().err.splitlines()[-1].removeprefix("next: judgeboard ").split()
        assert printed[-2:] == ["--db", address(case.store)]
        assert run(printed) == 0
        assert name in capsys.readouterr().out


def test_a_text_does_not_steer_the_terminal(capsys):
    echo("\x1b[2J \x9b2Jevil\u202e")
    assert capsys.readouterr().out == "\ufffd[2J \ufffd2Jevil\ufffd\n"


def test_a_bundle_goes_out_and_comes_back_and_a_bad_line_is_named(case, typed, tmp_path):
    case.flagged(0.1, 0.2)
    typed("queue create q --grades ''")
    file = tmp_path / "mara.jsonl"
    made = typed(f"queue export q {file} --reviewer Mara --limit 9 --json")
    assert made["items"] == 2
    assert made["reviewer"] == "Mara"
    bundle = file.read_text()

    def decide(decision):
        file.write_text(bundle.replace('"decision": null', f'"decision": "{decision}"', 1))

    decide("perhaps")
    assert f"{file}, line 2, decision: " in typed(f"queue merge {file}", code=2)
    decide("confirm")
    merged = typed(f"queue merge {file} --json")
    assert merged == {
        "bundle": made["bundle"],
        "queue": "q",
        "reviewer": "Mara",
        "merged": 1,
        "already": 0,
        "unfilled": 1,
        "refused": [],
    }
    again = typed(f"queue merge {file} --json")
    assert again == merged | {"merged": 0, "already": 1}
    assert "exists already" in typed(f"queue export q {file} --reviewer Mara", code=2)


def test_people_work_shows_how_each_person_reviews(case, typed):
    case.flagged(0.1)
    case.queue("gold", needed=2)
    case.review(case.mara, CONFIRM, "gold", label=Label.HALLUCINATED)
    disputed = case.review(case.jon, DISMISS, "gold", label=Label.GROUNDED)
    case.adjudicate(disputed.item_id, CONFIRM, "the fee is made up", label=Label.HALLUCINATED)
    typed("queue create t --training --grades label --assign Ada")
    assert "reviews as Ada" in typed("people link ada", user="ann")
    trained = write_to(case.store, store_reviewer, "page", "Ada")
    case.review(trained, CONFIRM, "t", label=Label.GROUNDED)
    people = read(case.store, everybodys_work)
    assert {each.person.name: (each.gold.value, each.training.value) for each in people} == {
        "Ada": (None, 0),  # also as the terminal's user ann
        "Jon": (0, None),
        "Mara": (1, None),
    }
    assert typed("people link --remove", user="ann").count("cli:ann") == 2
    assert "cli:ann" in typed("people link cli:ann", user="bob", code=2)
    linked = typed("people link ada --annotator zoe", user="bob")
    assert linked.startswith("zoe ")
    assert linked.endswith(" Ada\n")
