"""Refinements and audits as tables: what they began with, what came of it, who said so."""

from datetime import UTC, datetime

from sqlalchemy import insert

from judgeboard.domain import DimensionScore, Response, ResponseKind, Status, StepRecord
from judgeboard.methods.refining.queries import insert_refinements
from judgeboard.methods.refining.tables import Refinement
from judgeboard.store.export import exports
from judgeboard.store.generations import NewGeneration, store_generations
from judgeboard.store.judgments import step_values
from judgeboard.store.runs import start_import_run
from judgeboard.store.tables import JUDGMENT_REVIEW

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PAID = StepRecord(Status.OK, raw="as it came", cost_micro=1_500)


def rows(case, table):
    with case.store.reading() as connection:
        found = list(exports()[table].rows(connection))
    return [
        {column.name: row.get(column.name) for column in exports()[table].columns} for row in found
    ]


def test_refinements_and_audits_name_the_answer_they_are_of(case):
    root, version = case.answer(), case.version()
    case.say(version, root, groundedness=0.2, quality=2, scores=(DimensionScore("care", 3, "1-5"),))
    made = Response(
        "log", "a/again", "query", "better", kind=ResponseKind.REGENERATED, derived_from=root
    )
    with case.store.writing() as connection:
        run = start_import_run(connection, version, "me").id
        store_generations(connection, run, [NewGeneration(str(root), 1, "m", PAID, made)], NOW)
    again = root + 1
    case.say(version, again, groundedness=0.9, quality=4, reasoning="good now")
    with case.store.writing() as connection:
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
        insert_refinements(connection, [attempt])
        audit = {
            "judgment_id": 1,
            "judge_version_id": version.id,
            "correct": False,
            "inclusion_probability": 0.1,
        }
        connection.execute(insert(JUDGMENT_REVIEW), audit | step_values(PAID, run, NOW))
    (refined,) = rows(case, "refinements")
    assert (refined["source"], refined["external_id"], refined["answer_id"], refined["answer"]) == (
        *("log", "a", "a/again"),
        "better",
    )
    assert (refined["groundedness_before"], refined["groundedness"], refined["outcome"]) == (
        0.2,
        0.9,
        "kept_new",
    )
    assert (refined["generation_cost"], refined["evaluation"], refined["feedback"]) == (
        0.0015,
        "good now",
        "be brief",
    )
    (audited,) = rows(case, "audits")
    assert (audited["external_id"], audited["judge"], audited["supreme_judge"]) == (
        "a",
        "rag",
        "rag",
    )
    assert (audited["correct"], audited["inclusion_probability"], audited["cost"]) == (
        False,
        0.1,
        0.0015,
    )
    first, second = rows(case, "judgments")
    assert first["scores"] == [{"dimension": "care", "value": 3, "scale": "1-5", "reasoning": None}]
    assert second["scores"] is None


def test_an_export_shows_a_verdict_before_the_call_that_returned_it():
    for table, verdict in [
        ("judgments", "groundedness"),
        ("comparisons", "reasoning"),
        ("audits", "correct"),
    ]:
        names = [column.name for column in exports()[table].columns]
        assert names[:2] == ["source", "external_id"]
        assert names.index(verdict) < names.index("run") < names.index("raw")
