"""Each field of a label schema is measured with the statistic of its scale: people, and a judge with people."""

import json

import pytest

from engines import on_sqlite
from graded_log import read
from judgeboard.formats.label_schema import schema_in
from judgeboard.judges.rubric_file import rubric_of
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.measure.fields import field_agreement
from judgeboard.reports.agreement import fields_table
from judgeboard.reviews.queues import add_schema, create_queue
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.stats.pair_statistics import STATISTICS
from judgeboard.store.filters import RowFilter
from judgeboard.store.queues import new_queue
from judgeboard.store.responses import external_ids
from judging_log import number_in
from queue_case import CONFIRM, queue_case

SCHEMA = schema_in("""
name: s
fields:
  - {name: verdict, type: category, options: [good, bad]}
  - {name: causes, type: category, many: true, options: [x, y]}
  - {name: tone, type: scale, levels: {1: a, 2: b, 3: c}}
  - {name: safe, type: yes_no}
  - {name: minutes, type: number}
  - {name: why, type: text}
  - {name: errors, type: spans, options: [fact]}
  - {name: best, type: ranking}
""")


def fill_in(case, people, n, values):
    """Store ``n`` answers for which people fill in the schema, without seeing each other; ``values`` by its number."""
    responses = case.flagged(*[0.1] * n)
    add_schema(case.store, SCHEMA, by=case.lead)
    rules = new_queue("q", needed=len(people), blind_people=True)
    create_queue(case.store, rules, by=case.lead, assigned=case.people, schema="s", now=case.now)
    for who in people * n:
        leased = case.lease(who)
        grade = SCHEMA.grade(values(responses.index(leased.response_id), who))
        fields = {name: getattr(grade, name) for name in ("scores", "spans", "choices", "texts")}
        case.say(leased, who, CONFIRM, **fields)
    return responses


@on_sqlite
def test_each_field_has_the_statistic_of_its_scale(store):
    case = queue_case(store)

    def values(number, who):
        even, differs = number % 2 == 0, who is case.jon and number == 0
        return {
            "verdict": "good" if even != differs else "bad",
            "causes": ["x", "y"] if even and not differs else ["x"],
            "tone": 1 + number % 3,
            "safe": even,
            "minutes": number + (0.5 if differs else 0.0),
            "why": "because",
            "errors": [] if differs else [{"type": "fact", "start": 0, "end": 6}],
            "best": [1],
        }

    fill_in(case, (case.mara, case.jon), 12, values)
    by_name = {each.field: each for each in read(store, field_agreement, "s v1")}
    assert set(by_name) == {"verdict", "causes", "tone", "safe", "minutes", "errors", "best"}
    assert all(each.n == 12 for each in by_name.values())
    assert by_name["verdict"].statistics["kappa"].value == pytest.approx(5 / 6, abs=0.01)
    assert by_name["tone"].statistics["weighted_kappa"].value == 1
    assert by_name["safe"].statistics["agreement"].value == 1
    assert by_name["minutes"].statistics["spearman"].value == pytest.approx(1)
    assert by_name["causes"].statistics["set_alpha"].value == pytest.approx(
        1 - 23 * (4 / 3) / (2 * 11 * 13 * 2 / 3)
    )
    assert set(by_name["causes"].options) == {"x", "y"}
    assert by_name["errors"].statistics["span_f1"].value == pytest.approx(2 * 66 / (66 + 72))
    assert by_name["errors"].statistics["word_alpha"].value == pytest.approx(0.92, abs=0.03)
    # Each answer has one passage.
    assert by_name["best"].statistics["ranking_tau"].value is None
    assert by_name["safe"].judges == {}
    assert STATISTICS["span_f1"].name in [
        row[3] for row in fields_table(list(by_name.values())).rows
    ]


def filled_in_by_the_judge(request, _number):
    number = number_in(request, after="answer a")
    scores = {"verdict": 1 + number % 2, "tone": 1 + number % 3, "safe": 1 if number else 2}
    return completion(
        json.dumps({name: {"reasoning": "So.", "score": score} for name, score in scores.items()})
    )


def judge_the_schema(store):
    """Judge all answers by the schema; return the first message."""
    with RecordingEndpoint(filled_in_by_the_judge) as endpoint:
        rubric = rubric_of(SCHEMA)
        judge = make_judge("rubric", rubric=rubric, model="m", base_url=endpoint.base_url)
        assert judge_pending(store, judge).exit_code == 0
        return endpoint.requests[0].body["messages"][0]["content"]


@on_sqlite
def test_a_judge_that_fills_in_the_schema_is_compared_with_people_on_each_field(store):
    case = queue_case(store)
    fill_in(
        case,
        (case.mara, case.jon, case.ada),
        30,
        lambda number, _who: {
            "verdict": ("good", "bad")[number % 2],
            "tone": 1 + number % 3,
            "safe": True,
        },
    )
    system = judge_the_schema(store)
    options = [line for line in system.splitlines() if line in {"- 2: bad", "- 1: good"}]
    assert options == ["- 2: bad", "- 1: good"]
    assert "minutes" not in system
    fields = {each.field: each for each in read(store, field_agreement, "s", epsilon=0.2)}
    assert {name for name, each in fields.items() if each.judges} == {"verdict", "tone", "safe"}
    assert fields["verdict"].judges["s v1"]["kappa"].value == 1
    assert fields["tone"].judges["s v1"]["weighted_kappa"].value == 1
    assert fields["safe"].judges["s v1"]["agreement"].value == pytest.approx(29 / 30)
    assert 90 in [
        row[2]
        for row in fields_table(list(fields.values())).rows
        if row[0] == "verdict" and "s v1" in row[1]
    ]
    # A judge may replace a person on categories and on yes or no too.
    assert {
        name: each.tests["s v1"].passed for name, each in fields.items() if each.tests
    } == dict.fromkeys(("verdict", "tone", "safe"), True)


def test_labels_that_decisions_imply_can_be_left_out(store):
    case = queue_case(store)
    case.flagged(0.1)
    add_schema(store, schema_in("name: l\nfields: [label]"), by=case.lead)
    rules = new_queue("q", needed=2, blind_people=True, implied_labels=True)
    create_queue(store, rules, by=case.lead, assigned=case.people, schema="l", now=case.now)
    for who in (case.mara, case.jon):
        case.say(case.lease(who), who, CONFIRM)
    with store.reading() as connection:
        ((implied,), (own,)) = (
            field_agreement(connection, "l", implied_labels=each) for each in (True, False)
        )
    assert (implied.n, own.n) == (1, 0)


def test_a_filter_limits_people_and_judges_to_the_answers_that_match(sqlite_store):
    store = sqlite_store
    case = queue_case(store)
    responses = fill_in(
        case,
        (case.mara, case.jon),
        24,
        lambda number, who: {
            "verdict": ("good", "bad")[(number + (number < 12 and who is case.jon)) % 2],
            "safe": True,
        },
    )
    judge_the_schema(store)
    with store.reading() as connection:
        names = external_ids(connection, responses)
        second_half = RowFilter(ids=tuple(names[each] for each in responses[12:]))
        of_all, of_half, of_none = (
            {each.field: each for each in field_agreement(connection, "s", where=where)}["verdict"]
            for where in (None, second_half, RowFilter(query_types=("no such type",)))
        )
    assert (of_all.n, of_half.n, of_none.n) == (24, 12, 0)
    assert (of_all.statistics["agreement"].value, of_half.statistics["agreement"].value) == (0.5, 1)
    assert [each.judges["s v1"]["agreement"].n for each in (of_all, of_half)] == [48, 24]
    assert of_half.judges["s v1"]["agreement"].value == 1
    assert of_none.judges == {}
