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


def by_field(store, *asked, **options):
    return {each.field: each for each in read(store, field_agreement, *asked, **options)}


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
    by_name = by_field(store, "s v1")
    assert {name: each.n for name, each in by_name.items()} == dict.fromkeys(
        ("verdict", "causes", "tone", "safe", "minutes", "errors", "best"), 12
    )
    for field, statistic, value in (
        ("verdict", "kappa", pytest.approx(5 / 6, abs=0.01)),
        ("tone", "weighted_kappa", 1),
        ("safe", "agreement", 1),
        ("minutes", "spearman", pytest.approx(1)),
        ("causes", "set_alpha", pytest.approx(1 - 23 * (4 / 3) / (2 * 11 * 13 * 2 / 3))),
        ("errors", "span_f1", pytest.approx(2 * 66 / (66 + 72))),
        ("errors", "word_alpha", pytest.approx(0.92, abs=0.03)),
        ("best", "ranking_tau", None),  # each answer has one passage
    ):
        assert by_name[field].statistics[statistic].value == value, statistic
    assert set(by_name["causes"].options) == {"x", "y"}
    assert by_name["safe"].judges == {}
    rows = fields_table(list(by_name.values())).rows
    assert STATISTICS["span_f1"].name in [row[3] for row in rows]


def filled_in_by_the_judge(request, _number):
    number = number_in(request, after="answer a")
    scores = {"verdict": 1 + number % 2, "tone": 1 + number % 3, "safe": 1 if number else 2}
    verdicts = {name: {"reasoning": "So.", "score": score} for name, score in scores.items()}
    return completion(json.dumps(verdicts))


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

    def values(number, _who):
        return {"verdict": ("good", "bad")[number % 2], "tone": 1 + number % 3, "safe": True}

    fill_in(case, (case.mara, case.jon, case.ada), 30, values)
    system = judge_the_schema(store)
    options = [line for line in system.splitlines() if line in {"- 2: bad", "- 1: good"}]
    assert options == ["- 2: bad", "- 1: good"]
    assert "minutes" not in system
    fields = by_field(store, "s", epsilon=0.2)
    judged = {name: each.judges["s v1"] for name, each in fields.items() if each.judges}
    assert set(judged) == {"verdict", "tone", "safe"}
    assert judged["verdict"]["kappa"].value == judged["tone"]["weighted_kappa"].value == 1
    assert judged["safe"]["agreement"].value == pytest.approx(29 / 30)
    rows = fields_table(list(fields.values())).rows
    assert 90 in [row[2] for row in rows if row[0] == "verdict" and "s v1" in row[1]]
    # A judge may replace a person on categories and on yes or no too.
    passed = {name: each.tests["s v1"].passed for name, each in fields.items() if each.tests}
    assert passed == dict.fromkeys(judged, True)


def test_labels_that_decisions_imply_can_be_left_out(store):
    case = queue_case(store)
    case.flagged(0.1)
    add_schema(store, schema_in("name: l\nfields: [label]"), by=case.lead)
    rules = new_queue("q", needed=2, blind_people=True, implied_labels=True)
    create_queue(store, rules, by=case.lead, assigned=case.people, schema="l", now=case.now)
    for who in (case.mara, case.jon):
        case.say(case.lease(who), who, CONFIRM)
    implied, own = (by_field(store, "l", implied_labels=each)["label"].n for each in (True, False))
    assert (implied, own) == (1, 0)


def test_a_filter_limits_people_and_judges_to_the_answers_that_match(sqlite_store):
    case = queue_case(sqlite_store)

    def values(number, who):
        differs = number < 12 and who is case.jon
        return {"verdict": ("good", "bad")[(number + differs) % 2], "safe": True}

    responses = fill_in(case, (case.mara, case.jon), 24, values)
    judge_the_schema(sqlite_store)
    second_half = tuple(case.read(external_ids, responses[12:]).values())
    of_all, of_half, of_none = (
        by_field(sqlite_store, "s", where=where)["verdict"]
        for where in (None, RowFilter(ids=second_half), RowFilter(query_types=("no such type",)))
    )
    assert (of_all.n, of_half.n, of_none.n) == (24, 12, 0)
    assert (of_all.statistics["agreement"].value, of_half.statistics["agreement"].value) == (0.5, 1)
    assert [each.judges["s v1"]["agreement"].n for each in (of_all, of_half)] == [48, 24]
    assert of_half.judges["s v1"]["agreement"].value == 1
    assert of_none.judges == {}
