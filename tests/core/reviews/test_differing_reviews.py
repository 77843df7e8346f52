"""Why a person and the judge differ: asked where they do, said in place of one's own review, counted per version."""

from dataclasses import dataclass

import pytest

from engines import on_sqlite
from judgeboard.agreement.page import agreement_page
from judgeboard.agreement.ratings import PairSource
from judgeboard.domain import Decision, Grade, Label, WhyDiffers
from judgeboard.errors import BadInput
from judgeboard.reviews.changes import differs, explain_difference
from judgeboard.store.tables import JUDGMENT
from judgeboard.store.verdict_pairs import why_counts
from review_case import ReviewCase


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
def judgments(team: ReviewCase) -> list[int]:
    """Two versions' judgments of the one answer."""
    team.judge(0.3, version=1)
    team.judge(0.2, version=2)
    return [row["id"] for row in team.rows(JUDGMENT)]


def counts(team: ReviewCase) -> list[tuple[str, int, dict[str, int]]]:
    with team.store.reading() as connection:
        return [
            (each.title, each.answers, {reason.value: n for reason, n in each.reasons.items() if n})
            for each in why_counts(connection)
        ]


@on_sqlite
def test_reasons_are_counted_by_the_version_that_was_seen(team: ReviewCase, judgments: list[int]) -> None:
    first, second = judgments
    team.grade(team.mara, quality=1, why_differs=WhyDiffers.FLUENT_TEXT, judgment_seen_id=first)
    team.grade(team.jon, quality=1, why_differs=WhyDiffers.OTHER, judgment_seen_id=first)
    assert counts(team) == [("rag v1", 1, {"fluent_text": 1, "other": 1})], "one answer, two opinions"
    team.grade(team.mara, quality=1, why_differs=WhyDiffers.FLUENT_TEXT, judgment_seen_id=second)
    assert counts(team) == [("rag v1", 1, {"other": 1}), ("rag v2", 1, {"fluent_text": 1})], "a later word counts"
    team.undo(team.reviews()[-1]["id"], team.mara)
    assert counts(team) == [("rag v1", 1, {"other": 1})]


@on_sqlite
def test_the_agreement_page_counts_them_alike(team: ReviewCase, judgments: list[int]) -> None:
    for who in (team.mara, team.jon):
        team.grade(who, groundedness=1.0, why_differs=WhyDiffers.OTHER, judgment_seen_id=judgments[0])
    with team.store.reading() as connection:
        (counted,) = why_counts(connection)
        page = agreement_page(PairSource(connection), version_id=counted.version_id, grade="groundedness")
    assert page.differing == counted
    assert counted.reasons[WhyDiffers.OTHER] == 1, "two people, one answer"


def test_why_is_said_later_in_place_of_ones_own_review(team: ReviewCase, judgments: list[int]) -> None:
    flag = team.flags()[-1]["id"]
    given_grade = Grade(quality=4, note="fine")
    team.decide(flag, team.mara, Decision.DISMISS, grade=given_grade, seconds=12.0)
    review_id = explain_difference(
        team.store,
        response_id=team.response_id,
        reviewer=team.mara,
        why=WhyDiffers.REFUSAL,
        judgment_id=judgments[1],
        request_key="why",
    )
    [row] = team.standing()
    assert (row["id"], row["decision"], row["quality"], row["note"]) == (review_id, "dismiss", 4, "fine")
    assert (row["why_differs"], row["judgment_seen_id"], row["seconds"]) == ("refusal", judgments[1], 12.0)
    assert team.state(flag) == "dismissed"
    assert counts(team) == [("rag v2", 1, {"refusal": 1})]


@on_sqlite
def test_only_who_graded_says_why(team: ReviewCase, judgments: list[int]) -> None:
    team.grade(team.mara, quality=1)
    with pytest.raises(BadInput, match="grade the answer first"):
        explain_difference(
            team.store,
            response_id=team.response_id,
            reviewer=team.jon,
            why=WhyDiffers.OTHER,
            judgment_id=judgments[0],
            request_key="why",
        )
