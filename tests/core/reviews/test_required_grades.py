"""A queue requires the grades that it asks for: without them a review stores and reveals nothing."""

import json

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision, DimensionScore, Grade, Label
from judgeboard.errors import BadInput
from judgeboard.judges.rubric_file import SCALE
from judgeboard.reviews.bundles import export_bundle, merge_bundle
from judgeboard.reviews.changes import edit
from judgeboard.reviews.queues import MissingGrades, QueueRules

ASKS = {"grades": ("label", "groundedness"), "optional_grades": ("quality",)}


def test_label_is_required_by_default_and_quality_is_optional() -> None:
    rules = QueueRules("q")
    assert (rules.grades, rules.optional_grades) == (("label", "groundedness"), ("quality",))
    assert QueueRules("q", grades=("quality",)).optional_grades == (), "a grade is either required or optional"


@on_sqlite
def test_a_review_without_a_required_grade_stores_and_reveals_nothing(case) -> None:
    case.flagged(0.1)
    case.queue(**ASKS, blind_judge=True, order="random")
    leased = case.lease(case.mara)
    with pytest.raises(MissingGrades, match="requires label, groundedness; missing: label"):
        case.say(leased, case.mara, groundedness=0.0)
    for decision in (Decision.CONFIRM, Decision.DISMISS, None):
        with pytest.raises(BadInput, match="missing: label, groundedness"):
            case.say(leased, case.mara, decision, note="made up")
    assert case.reviews() == []
    decided = case.say(leased, case.mara, label=Label.HALLUCINATED, groundedness=0.0)
    assert decided.reveal, "the same lease still takes the whole review"
    assert [review["quality"] for review in case.reviews()] == [None]


@on_sqlite
def test_unsure_needs_no_grade_and_a_dimension_can_be_required(case) -> None:
    case.flagged(0.1, 0.2)
    case.queue(grades=("tone",), optional_grades=("label",))
    case.review(case.mara, Decision.UNSURE)
    leased = case.lease(case.mara)
    with pytest.raises(MissingGrades, match="missing: tone"):
        case.say(leased, case.mara, label=Label.GROUNDED)
    case.say(leased, case.mara, scores=(DimensionScore("tone", 4, SCALE),))


@on_sqlite
def test_an_edit_keeps_the_required_grades(case) -> None:
    case.flagged(0.1)
    case.queue(**ASKS)
    first = case.review(case.mara, label=Label.HALLUCINATED, groundedness=0.0)
    change = {"review_id": first.review_id, "reviewer": case.mara, "decision": Decision.CONFIRM}
    with pytest.raises(MissingGrades, match="missing: label"):
        edit(case.store, **change, grade=Grade(groundedness=0.2), request_key="half")
    edit(case.store, **change, grade=Grade(label=Label.HALLUCINATED, groundedness=0.2), request_key="whole")


@on_sqlite
def test_a_bundle_names_what_is_required_and_its_lines_are_refused_without_it(case, tmp_path) -> None:
    case.flagged(0.1, 0.2)
    case.queue(**ASKS)
    file = tmp_path / "mara.jsonl"
    export_bundle(case.store, "q", case.mara, file, items=2, by=case.mara, now=case.now)
    head, *lines = map(json.loads, file.read_text().splitlines())
    assert head["required"] == ["decision", "label", "groundedness"]
    assert list(lines[0])[7:11] == ["decision", "label", "groundedness", "quality"]
    lines[0] |= {"decision": "confirm", "groundedness": 0.2, "note": "half"}
    lines[1] |= {"decision": "dismiss", "label": "grounded", "groundedness": 1}
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (head, *lines)))
    merged = merge_bundle(case.store, file, by=case.mara, now=case.now)
    [refused] = merged.refused
    assert (merged.merged, refused.line, refused.kept) == (1, 2, False)
    assert "missing: label" in refused.reason
    lines[0]["label"] = "hallucinated"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (head, *lines)))
    assert merge_bundle(case.store, file, by=case.mara, now=case.now).merged == 1
