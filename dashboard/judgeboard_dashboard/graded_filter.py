"""The filters that Agreement and Disagreement share: judge version, grade, people."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgeboard.answer_pairs import GradeName
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.reviews.reviewers import Reviewer

GRADE_NAMES: dict[GradeName, str] = {"label": "Label", "groundedness": "Groundedness", "quality": "Quality"}
EVERYBODY: dict[GradeName, str] = {
    "label": "Settled, else majority",
    "groundedness": "Settled, else mean",
    "quality": "Settled, else lower median",
}
"""What people together say where several graded: what a lead settled, else what they make together."""


@dataclass(frozen=True, slots=True)
class People:
    """Whose grades count: one reviewer's, or (None) what all together say; in words."""

    reviewer_id: int | None
    words: str


def grade_field(first: GradeName) -> GradeName:
    """Ask for the grade; ``first`` where none is chosen."""
    chosen = st.segmented_control(
        "Grade",
        list(GRADE_NAMES),
        format_func=GRADE_NAMES.__getitem__,
        default=first,
        required=True,
        key="grade",
        bind="query-params",
    )
    return chosen or first


def people_field(graders: Sequence[Reviewer], grade: GradeName) -> People:
    """Ask whose grades count."""
    names = people_names(graders)
    everybody = "Everybody"
    chosen = st.selectbox(
        "People",
        [everybody, *names],
        key="people",
        bind="query-params",
        width=220,
        format_func=lambda name: EVERYBODY[grade] if name == everybody and len(graders) > 1 else name,
    )
    return People(names.get(chosen), chosen if chosen in names else EVERYBODY[grade])


def people_names(graders: Sequence[Reviewer]) -> dict[str, int]:
    """Return ids by name; where several have one name, with where they come from."""
    all_names = [grader.name for grader in graders]
    return {
        grader.name if all_names.count(grader.name) == 1 else f"{grader.name} ({grader.origin})": grader.id
        for grader in graders
    }


def version_field(place: DeltaGenerator, versions: Sequence[StoredVersion]) -> StoredVersion | None:
    """Ask for the judge version in a place kept for it; the first of them where none is chosen, None without any."""
    titles = {version.title: version for version in versions}
    with place:
        chosen = st.selectbox(
            "Judge version",
            list(titles),
            key="version",
            bind="query-params",
            placeholder="No judge version",
            disabled=not titles,
        )
    return titles.get(chosen or "")
