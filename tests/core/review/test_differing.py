"""Why a person and the judge differ: asked where they do, said in place of one's own review, counted per version."""

from dataclasses import dataclass

import pytest

from judgeboard.agreement.page import agreement_page
from judgeboard.domain import Decision, Grade, Label, WhyDiffers
from judgeboard.errors import BadInput
from judgeboard.reviews.changes import differs, explain_difference
from judgeboard.store.tables import JUDGMENT
from judgeboard.store.verdict_pairs import why_counts
from review_desk import Desk


@dataclass(frozen=True)
class Said:
    groundedness: float | None = None
    quality: int | None = None
    label: str | None = None


@pytest.mark.parametrize(
    ("grade", "judged", "expected"),
    [
        (Grade(quality=2), Said(quality=3), True),
        (Grade(quality=3), Said(quality=3), False),
        (Grade(groundedness=0.5), Said(0.42), False),
        (Grade(groundedness=0.5), Said(0.3), True),
        (Grade(groundedness=0.8), Said(0.6), True),
        (Grade(label=Label.GROUNDED), Said(label="hallucinated"), True),
        (Grade(label=Label.GROUNDED), Said(0.49), True),
        (Grade(label=Label.GROUNDED), Said(0.5), False),
        (Grade(groundedness=0.2), Said(label="grounded"), True),
        (Grade(quality=1), Said(0.2), False),
        (Grade(note="hm"), Said(0.2, 1, "hallucinated"), False),
        (Grade(quality=1), Said(), False),
    ],
)
def test_they_differ_on_what_both_give(grade: Grade, judged: Said, expected: bool) -> None:
    assert differs(grade, judged, low=0.5) is expected


@pytest.fixture
def judgments(desk: Desk) -> list[int]:
    """Two versions' judgments of the one answer."""
    desk.judge(0.3, version=1)
    desk.judge(0.2, version=2)
    return [row["id"] for row in desk.rows(JUDGMENT)]


def counts(desk: Desk) -> list[tuple[str, int, dict[str, int]]]:
    with desk.store.reading() as connection:
        return [
            (each.title, each.answers, {reason.value: n for reason, n in each.reasons.items() if n})
            for each in why_counts(connection)
        ]


def test_reasons_are_counted_by_the_version_that_was_seen(desk: Desk, judgments: list[int]) -> None:
    first, second = judgments
    desk.grade(desk.mara, quality=1, why_differs=WhyDiffers.FLUENT_TEXT, judgment_seen_id=first)
    desk.grade(desk.jon, quality=1, why_differs=WhyDiffers.OTHER, judgment_seen_id=first)
    assert counts(desk) == [("rag v1", 1, {"fluent_text": 1, "other": 1})], "one answer, two opinions"
    desk.grade(desk.mara, quality=1, why_differs=WhyDiffers.FLUENT_TEXT, judgment_seen_id=second)
    assert counts(desk) == [("rag v1", 1, {"other": 1}), ("rag v2", 1, {"fluent_text": 1})], "a later word counts"
    desk.undo(desk.reviews()[-1]["id"], desk.mara)
    assert counts(desk) == [("rag v1", 1, {"other": 1})]


def test_the_agreement_page_counts_them_alike(desk: Desk, judgments: list[int]) -> None:
    for who in (desk.mara, desk.jon):
        desk.grade(who, groundedness=1.0, why_differs=WhyDiffers.OTHER, judgment_seen_id=judgments[0])
    with desk.store.reading() as connection:
        (counted,) = why_counts(connection)
        page = agreement_page(connection, version_id=counted.version_id, grade="groundedness")
    assert page.differing == counted
    assert counted.reasons[WhyDiffers.OTHER] == 1, "two people, one answer"


def test_why_is_said_later_in_place_of_ones_own_review(desk: Desk, judgments: list[int]) -> None:
    flag = desk.flags()[-1]["id"]
    given = Grade(quality=4, note="fine")
    desk.decide(flag, desk.mara, Decision.DISMISS, grade=given, seconds=12.0)
    said = explain_difference(
        desk.store,
        response_id=desk.response_id,
        reviewer=desk.mara,
        why=WhyDiffers.REFUSAL,
        judgment_id=judgments[1],
        request_key="why",
    )
    [row] = desk.standing()
    assert (row["id"], row["decision"], row["quality"], row["note"]) == (said.review_id, "dismiss", 4, "fine")
    assert (row["why_differs"], row["judgment_seen_id"], row["seconds"]) == ("refusal", judgments[1], 12.0)
    assert desk.state(flag) == "dismissed"
    assert counts(desk) == [("rag v2", 1, {"refusal": 1})]


def test_only_who_graded_says_why(desk: Desk, judgments: list[int]) -> None:
    desk.grade(desk.mara, quality=1)
    with pytest.raises(BadInput, match="grade the answer first"):
        explain_difference(
            desk.store,
            response_id=desk.response_id,
            reviewer=desk.jon,
            why=WhyDiffers.OTHER,
            judgment_id=judgments[0],
            request_key="why",
        )
