"""`judgeboard labels plan` and `judgeboard queue create --plan`, as people type them."""

import json
import re

import pytest

from command_lines import run_line
from graded_log import BAD, GOOD, GradedLog
from judgeboard.cli.options import actor
from judgeboard.measure.notes import note
from judgeboard.store.tables import RESPONSE
from judging_log import address
from queue_case import queue_case
from stored_rows import values_of


@pytest.fixture
def case(sqlite_store):
    case = queue_case(sqlite_store)
    case.flagged(*([0.1] * 40), *([0.9] * 80))
    case.flagged(*([0.9] * 80), query_type="legal")
    return case


@pytest.fixture
def typed(case, capsys):
    def type_(line, code=0):
        assert run_line(f"{line} --db {address(case.store)}") == code
        output = capsys.readouterr()
        return output.err if code else json.loads(output.out) if "--json" in line else output

    return type_


def values_in(plan):
    return {(row["figure"], row["slice"]): row["value"] for row in plan["rows"]}


def test_a_plan_names_the_labels_and_the_queue_that_draws_them(case, typed):
    (plan,) = typed("labels plan --reach 0.1 --target these --json")["plans"]
    rows = values_in(plan)
    more = rows["more", None]
    assert rows["answers", None] == 200
    assert rows["labelled", None] == 0
    assert plan["headline"]["code"] == "plan_label"
    assert (
        sum(rows[key] for key in rows if key[0] == "more") == 2 * more == 2 * rows["labels", None]
    )
    shown = typed("labels plan --reach 0.1 --target these")
    assert shown.out.startswith(f"Label {more} answers")
    assert "flagged, judged bad" in shown.out
    assert f" --plan rate --n {more} --db " in shown.err
    made = typed(f"queue create rate --plan rate --n {more} --assign cli:me --json")
    assert made["items"] == more
    stored = typed("queue list rate --json")["queue"]["plan"]
    assert [stratum["answers"] for stratum in stored["strata"]] == [40, 160]
    assert stored["judge"] == "rag v1"
    queue = typed("queue list rate --json")["queue"]
    assert queue["blind_judge"] is True
    assert queue["reveal"] is False
    assert queue["grades"] == []
    assert queue["implied_labels"] is True
    typed("queue create graded --assign Mara --plan rate --n 9 --grades label,quality --json")
    assert typed("queue list graded --json")["queue"]["grades"] == ["label", "quality"]


def test_each_query_type_has_a_plan(case, typed):
    plans = typed("labels plan --reach 0.1 --by query_type --json")["plans"]
    types = [
        (plan["about"]["where"].get("query_type"), plan["about"]["counts"]["answers"])
        for plan in plans
    ]
    assert types == [(None, 200), ("QA", 120), ("legal", 80)]
    where = "--where query_type=legal"
    plan = f"labels plan --reach 0.1 --target these {where}"
    only = typed(f"{plan} --json")["plans"]
    assert only[0]["about"]["counts"]["answers"] == 80
    more = values_in(only[0])["more", None]
    next_command = typed(plan).err
    # The queue draws from the planned answers.
    assert f"--plan rate --n {more} {where} --db " in next_command
    made = typed(f"queue create legal --plan rate --n {more} {where} --json")
    # Without names, the queue is yours.
    assert made["items"] == more
    assert made["assigned_to"] == [actor()]


@pytest.mark.parametrize("reach", ["0.0000001", "0.0004", "0.05"])
@pytest.mark.parametrize("question", ["rate", "kappa"])
def test_a_small_reach_is_neither_nothing_nor_in_powers_of_ten(typed, reach, question):
    goal = typed(f"labels plan --reach {reach} --for {question}").out.splitlines()[0]
    assert "e-" not in goal
    assert not re.search(r"[ ±]0 percentage", goal)
    assert ("under" in goal) == (reach == "0.0000001" or (reach, question) == ("0.0004", "kappa"))


def test_what_does_not_fit_is_refused(case, typed):
    assert "give --judge-version twice" in typed("labels plan --reach 0.1 --for judges", code=2)
    assert "below 1" in typed("labels plan --reach 1", code=2)
    assert "1e-09" in typed("labels plan --reach 1e-300", code=2)
    assert "--plan needs " in typed("queue create q --plan rate", code=2)
    assert "needs --plan" in typed("queue create q --judge-version rag", code=2)
    worst = "queue create q --plan rate --n 3 --preset worst"
    assert "--preset worst" in typed(worst, code=2)
    assert "random order" in typed(
        "queue create q --assign Mara --plan rate --n 3 --order oldest", code=2
    )


def test_an_empty_planned_queue_says_why(case, typed):
    log = GradedLog(case.store)
    ids = values_of(case.store, RESPONSE.c.id)
    log.say_all(log.version("other"), ids, groundedness=0.9)
    rag = "--judge-version rag"
    create = f"queue create j --assign Mara --plan judges --n 9 {rag}"
    for line in (f"labels plan --reach 0.1 --for judges {rag}", create):
        assert "with itself" in typed(f"{line} --judge-version 'rag v1'", code=2)
    log.review_all(ids, label=GOOD)
    made = typed("queue create r --assign Mara --plan rate --n 9").out
    assert note("queue_all_labelled").text in made
    made = typed(f"{create} --judge-version other").out
    assert note("queue_judges_alike", first="rag v1", second="other v1").text in made
    assert "0 of 200\n" in typed("queue list r").out
    made = typed("queue create n --assign Mara --plan rate --n 9 --where id=no").out
    assert note("queue_no_match").text in made


def test_the_queue_of_a_plan_for_judges_keeps_the_filter(case, typed):
    log = GradedLog(case.store)
    ids = values_of(case.store, RESPONSE.c.id)
    # The versions differ on 40 answers of QA and on 80 legal ones.
    log.say_all(log.version("other"), ids[:120], label=GOOD)
    log.say_all(log.version("other"), ids[120:], label=BAD)
    judges = "--judge-version rag --judge-version other"
    plan = typed(f"labels plan --for judges {judges} --reach 0.02 --where query_type=legal").err
    (printed,) = re.findall(r"next: judgeboard (queue create judges .*)", plan)
    typed(printed.partition(" --db ")[0])
    # The queue draws from the planned answers only.
    assert sorted(item["response_id"] for item in case.items()) == ids[120:]


def test_answers_that_are_too_few_are_not_put_into_a_queue(typed):
    printed = typed("labels plan --reach 0.02")
    assert ": 200 are too few" in printed.out
    # Rate says: label them.
    assert "`judgeboard labels rate" in printed.out
    assert "queue create" not in printed.err


def test_a_plan_that_would_show_nothing_gives_one_advice(sqlite_store, capsys, shell):
    GradedLog(sqlite_store).answers(1)
    command = f"labels plan --reach 0.05 --db {address(sqlite_store)}"
    (plan,) = json.loads(shell(f"{command} --json"))["plans"]
    assert plan["headline"]["code"] == "plan_shows_nothing"
    assert run_line(command) == 0
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 1
    assert "queue create" not in printed.err
