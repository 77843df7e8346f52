"""Refinements and audits as tables: what they began with, what came of it, who said so."""

from datetime import UTC, datetime

from judgeboard.domain import DimensionScore, Response, ResponseKind, Status, StepRecord
from judgeboard.methods.refining.queries import insert_refinements
from judgeboard.methods.refining.tables import Refinement
from judgeboard.store.export import exports
from judgeboard.store.generations import NewGeneration, store_generations
from judgeboard.store.judgments import step_values
from judgeboard.store.runs import start_import_run
from judgeboard.store.tables import JUDGMENT_REVIEW
from stored_rows import insert_row

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PAID = StepRecord(Status.OK, raw="as it came", cost_micro=1_500)


def rows(case, name):
    table = exports()[name]
    found = case.read(lambda connection: list(table.rows(connection)))
    return [{column.name: row.get(column.name) for column in table.columns} for row in found]


def test_refinements_and_audits_name_the_answer_they_are_of(case):
    root, version = case.answer(), case.version()
    case.say(version, root, groundedness=0.2, quality=2, scores=(DimensionScore("care", 3, "1-5"),))
    made = Response(
        "log", "a/again", "query", "better", kind=ResponseKind.REGENERATED, derived_from=root
    )
    run = case.write(start_import_run, version, "me").id
    case.write(store_generations, run, [NewGeneration(str(root), 1, "m", PAID, made)], NOW)
    again = root + 1
    case.say(version, again, groundedness=0.9, quality=4, reasoning="good now")
    attempt = Refinement(
        run_id=run,
        method="reflect",
        subject=str(root),
        number=1,
        root_response_id=root,
        outcome="kept_new",
        response_id=again,
        judgment_id=2,
        judgment_before_id=1,
        feedback="be brief",
    )
    case.write(insert_refinements, [attempt])
    audit = {"correct": False, "inclusion_probability": 0.1} | step_values(PAID, run, NOW)
    ids = {"judgment": 1, "judge_version": version.id}
    insert_row(case.store, JUDGMENT_REVIEW, ids, **audit)
    (refined,) = rows(case, "refinements")
    assert refined == refined | {
        "source": "log",
        "external_id": "a",
        "answer_id": "a/again",
        "answer": "better",
        "groundedness_before": 0.2,
        "groundedness": 0.9,
        "outcome": "kept_new",
        "generation_cost": 0.0015,
        "evaluation": "good now",
        "feedback": "be brief",
    }
    (audited,) = rows(case, "audits")
    assert audited == audited | {
        "external_id": "a",
        "judge": "rag",
        "supreme_judge": "rag",
        "correct": False,
        "inclusion_probability": 0.1,
        "cost": 0.0015,
    }
    first, second = rows(case, "judgments")
    assert first["scores"] == [{"dimension": "care", "value": 3, "scale": "1-5", "reasoning": None}]
    assert second["scores"] is None


def test_an_export_shows_a_verdict_before_the_call_that_returned_it():
    verdicts = {"judgments": "groundedness", "comparisons": "reasoning", "audits": "correct"}
    for table, verdict in verdicts.items():
        names = [column.name for column in exports()[table].columns]
        assert names[:2] == ["source", "external_id"]
        assert names.index(verdict) < names.index("run") < names.index("raw")
