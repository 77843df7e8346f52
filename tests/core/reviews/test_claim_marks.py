"""What a person says of single statements is saved with the grade, checked against the stored texts, and exported."""

import hashlib
import json

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    Claim,
    ClaimMark,
    ClaimStatus,
    Grade,
    JudgeVersion,
    Response,
    Status,
    Verdict,
    WhyDiffers,
)
from judgeboard.errors import BadInput
from judgeboard.imports.importing import import_file
from judgeboard.store.export import export_tables
from judgeboard.store.forgetting import forget_response
from judgeboard.store.items import load_item
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import JUDGMENT
from queue_case import CONFIRM
from result_fields import check_fields
from review_case import ANSWER
from stored_rows import write_to

LONG = "The rope is long."
CLAIMS = (
    Claim(LONG, ClaimStatus.SUPPORTED, answer_quote=ANSWER[:8], answer_start=0, answer_end=8),
    Claim("It is red.", ClaimStatus.UNSUPPORTED, answer_quote="red"),
)


@pytest.fixture
def judgment(team):
    """A judgment with a claim that stands in the answer, and one whose quote does not."""
    with team.store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        verdict = Verdict(Status.OK, groundedness=0.9, claims=CLAIMS)
        store_judgments(connection, version, None, [NewJudgment(team.response_id, 0, 0, verdict)])
    [row] = team.rows(JUDGMENT)
    return row["id"]


def mark(team, **given):
    """Let Mara mark one statement, as supported if nothing else is given."""
    given = ClaimMark(**{"status": ClaimStatus.SUPPORTED} | given)
    return team.grade(team.mara, claim_marks=(given,))


def marks(team):
    return team.read(load_item, team.response_id).reviews[0].grade.claim_marks


def test_a_mark_on_a_claim_is_stored_with_its_text_and_place(team, judgment):
    given = (
        ClaimMark(ClaimStatus.CONTRADICTED, "from the screen", judgment_id=judgment, number=2),
        ClaimMark(ClaimStatus.SUPPORTED, start=4, end=8, judgment_id=judgment, number=1),
    )
    team.grade(team.mara, quality=2, claim_marks=given)
    assert marks(team) == (
        ClaimMark(ClaimStatus.SUPPORTED, LONG, 4, 8, judgment, 1),
        ClaimMark(ClaimStatus.CONTRADICTED, "It is red.", None, None, judgment, 2),
    )


@on_sqlite
def test_a_mark_on_a_sentence_holds_what_stands_there(team):
    flag = team.judge(0.1)
    given = ClaimMark(ClaimStatus.UNSUPPORTED, "something else", 4, 8)
    team.decide(flag, team.mara, CONFIRM, grade=Grade(claim_marks=(given,)))
    assert marks(team) == (ClaimMark(ClaimStatus.UNSUPPORTED, "rope", 4, 8),)


@on_sqlite
def test_a_mark_alone_is_worth_saving(team):
    mark(team, start=0, end=3)
    assert len(marks(team)) == 1


@on_sqlite
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"start": 0, "end": 99}, r"inside the answer \(22 characters\)"),
        ({"start": 5, "end": 5}, "inside the answer"),
        ({"start": -1, "end": 5}, "inside the answer"),
        ({"start": True, "end": 5}, "inside the answer"),
        ({}, "inside the answer"),
        (
            {"status": "fine", "start": 0, "end": 5},
            "supported, unsupported, contradicted, not 'fine'",
        ),
        ({"start": 0, "end": 5, "number": 1}, "needs the id of its judgment"),
        ({"judgment_id": 99, "number": 1}, "judgment 99 does not belong to ragtruth-12260"),
        ({"judgment_id": 1, "number": 3}, "has no claim 3"),
        ({"judgment_id": 1}, "has no claim None"),
        ({"start": 3, "end": 99, "judgment_id": 1, "number": 1}, "inside the answer"),
    ],
)
def test_a_mark_that_speaks_of_nothing_is_refused(team, judgment, given, says):
    assert judgment == 1
    with pytest.raises(BadInput, match=says):
        mark(team, **given)
    assert team.reviews() == []


@on_sqlite
def test_a_mark_on_another_answers_judgment_is_refused(team, judgment):
    (other,) = write_to(
        team.store, store_responses, [Response("log", "other", "q", ANSWER, passages=("p",))]
    ).new
    team.response_id = other
    with pytest.raises(BadInput, match="other"):
        mark(team, judgment_id=judgment, number=1)


@on_sqlite
def test_a_statement_is_marked_once(team, judgment):
    twice = (ClaimMark(status, judgment_id=judgment, number=1) for status in ClaimStatus)
    many = (ClaimMark(ClaimStatus.SUPPORTED, start=0, end=1),) * 2_001
    for given, reason in ((tuple(twice), "twice"), (many, "at most 2,000")):
        with pytest.raises(BadInput, match=reason):
            team.grade(team.mara, claim_marks=given)


@on_sqlite
def test_why_one_differs_is_said_of_a_verdict_that_was_seen(team, judgment):
    why = {"quality": 1, "why_differs": WhyDiffers.FLUENT_TEXT}
    with pytest.raises(BadInput):
        team.grade(team.mara, **why)
    team.grade(team.mara, **why, judgment_seen_id=judgment)
    [review] = team.reviews()
    check_fields(review, why_differs="fluent_text", judgment_seen_id=judgment)


def test_the_export_has_the_marks_with_their_offsets_and_imports_again_without_a_change(
    team, judgment, tmp_path
):
    on_claim = {"judgment_id": judgment, "number": 1}
    given = (ClaimMark(ClaimStatus.CONTRADICTED, **on_claim),)
    why = {"why_differs": WhyDiffers.OTHER, "judgment_seen_id": judgment}
    team.grade(team.mara, quality=1, claim_marks=given, **why)
    grades = tmp_path / "grades.jsonl"
    export_tables(team.store, {"reviews": grades})
    [row] = map(json.loads, grades.read_text().splitlines())
    assert row["claim_marks"] == [
        {"status": "contradicted", "text": LONG, "start": 0, "end": 8} | on_claim
    ]
    check_fields(row, why_differs="other", judgment_seen=judgment)
    for _ in range(2):
        done = import_file(team.store, grades, kind="grades", mapping={"reviewer": "annotator"})
        check_fields(done, new=0, rejected=0)


@on_sqlite
def test_forgetting_an_answer_takes_the_marks_along(team, judgment):
    mark(team, start=0, end=8)
    write_to(team.store, forget_response, "ragtruth-12260", actor="Mara")
    assert marks(team) == ()


@on_sqlite
def test_a_grade_from_a_file_is_known_again_by_what_the_file_said(team, tmp_path):
    """The key that earlier versions stored: another would let every file of grades in a second time."""
    file = tmp_path / "grades.jsonl"
    file.write_text(json.dumps({"response_id": "ragtruth-12260", "annotator": "ann", "quality": 2}))
    import_file(team.store, file, kind="grades")
    nothing = dict.fromkeys(("label", "groundedness", "spans", "note", "corrected_answer"))
    content = ["log", "ragtruth-12260", "ann", {**nothing, "quality": 2, "scores": []}, None]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert team.reviews()[0]["request_key"] == f"import:{hashlib.sha256(text.encode()).hexdigest()}"
