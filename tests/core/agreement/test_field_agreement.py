"""Each field of a label schema is measured with the statistic of its scale."""

import pytest

from judgeboard.agreement.fields import field_agreement
from judgeboard.formats.label_schema import schema_in
from judgeboard.reports.agreement import fields_table
from judgeboard.reviews.label_schemas import add_schema
from judgeboard.reviews.queues import QueueRules, create_queue
from judgeboard.store.engine import Store
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


def test_each_field_has_the_statistic_of_its_scale(store: Store) -> None:
    case = queue_case(store)
    case.flagged(*[0.1] * 12)
    add_schema(store, SCHEMA, by=case.lead)
    create_queue(store, QueueRules("q", needed=2, blind_people=True), by=case.lead, schema="s", now=case.now)
    for number in range(12):
        even = number % 2 == 0
        for who in (case.mara, case.jon):
            differs = who is case.jon and number == 0
            values = {
                "verdict": "good" if even != differs else "bad",
                "causes": ["x", "y"] if even and not differs else ["x"],
                "tone": 1 + number % 3,
                "safe": even,
                "minutes": number + (0.5 if differs else 0.0),
                "why": "because",
                "errors": [] if differs else [{"type": "fact", "start": 0, "end": 6}],
                "best": [1],
            }
            grade = SCHEMA.grade(values)
            fields = {name: getattr(grade, name) for name in ("scores", "spans", "choices", "texts")}
            case.say(case.lease(who), who, CONFIRM, **fields)
    with store.reading() as connection:
        by_name = {each.field: each for each in field_agreement(connection, "s v1")}
    assert set(by_name) == {"verdict", "causes", "tone", "safe", "minutes", "errors", "best"}
    assert all(each.n == 12 for each in by_name.values())
    assert by_name["verdict"].statistics["kappa"].value == pytest.approx(5 / 6, abs=0.01)
    assert by_name["tone"].statistics["weighted_kappa"].value == 1
    assert by_name["safe"].statistics["agreement"].value == 1
    assert by_name["minutes"].statistics["spearman"].value == pytest.approx(1)
    assert by_name["causes"].statistics["set_alpha"].value == pytest.approx(1 - 23 * (4 / 3) / (2 * 11 * 13 * 2 / 3))
    assert set(by_name["causes"].options) == {"x", "y"}
    assert by_name["errors"].statistics["span_f1"].value == pytest.approx(2 * 66 / (66 + 72))
    assert by_name["errors"].statistics["word_alpha"].value == pytest.approx(0.92, abs=0.03)
    assert by_name["best"].statistics["ranking_tau"].value is None, "each answer has one passage"
    assert "F1 of spans, by character" in [row[2] for row in fields_table(list(by_name.values())).rows]
