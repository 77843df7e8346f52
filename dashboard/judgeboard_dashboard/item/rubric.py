"""The rubric on the item page: what judges gave beside what people gave, and the fields to give one's own."""

import streamlit as st

from judgeboard.judges.rubric_file import LEVELS
from judgeboard.store.judgments.rubric_scores import RubricScores, RubricVerdict
from judgeboard_dashboard.evidence import Html, as_label, tag
from judgeboard_dashboard.item.desk import Draft
from judgeboard_dashboard.item.fields import rubric_key
from judgeboard_dashboard.words import UNKNOWN, score, short

MOST_PEOPLE = 3


def rubric_block(rubric: RubricScores) -> Html | None:
    """Return the lines of the pane of signals; None where no rubric judge judged the answer."""
    if not rubric.verdicts:
        return None
    return tag("div", *(part for one in rubric.verdicts for part in _lines(one, rubric)), cls="jb-block")


def rubric_fields(rubric: RubricScores, draft: Draft) -> None:
    """Show the button with a field for each dimension; nothing where no rubric judge judged the answer."""
    if not rubric.words:
        return
    with st.popover("Rubric", type="primary" if draft.scores else "secondary", key="rubric_grades"):
        for place, (dimension, words) in enumerate(rubric.words.items()):
            st.segmented_control(
                as_label(dimension),
                list(LEVELS),
                key=rubric_key(place, draft),
                help="  \n".join(f"{level}: {as_label(said)}" for level, said in zip(LEVELS, words, strict=False)),
            )


def _lines(verdict: RubricVerdict, rubric: RubricScores) -> list[Html]:
    overall = UNKNOWN if verdict.overall is None else score(verdict.overall)
    rows = []
    for dimension, (value, why) in verdict.dimensions.items():
        said = "not scored" if value is None else f"{short(value)} / 5"
        people = rubric.people.get(dimension, ())
        rows += [
            tag("span", dimension),
            tag("span", ", ".join(f"{name} {short(given)}" for name, given in people[-MOST_PEOPLE:]), cls="jb-who"),
            tag("b", said),
            tag("span", why, cls="jb-cap jb-across") if why else tag("span", cls="jb-across"),
        ]
    return [
        tag("div", "Rubric", tag("span", f"{verdict.version_title} · {overall} overall"), cls="jb-label"),
        tag("div", *rows, cls="jb-scores jb-rubric"),
        *([tag("div", verdict.note, cls="jb-cap")] if verdict.note else []),
    ]
