"""The judge beside single people: may it stand in for one, do they move to it, why do they differ from it."""

from collections.abc import Mapping

import streamlit as st

from judgeboard.agreement.page import AgreementPage
from judgeboard.agreement.rater_cells import ALL, RaterCell
from judgeboard.agreement.report_page import RHO
from judgeboard.agreement.words import epsilon_sentence, not_tested_words, p_words, stand_in_sentence
from judgeboard.answer_pairs import GRADES, GradeName
from judgeboard.stats.alternative_annotator import EPSILONS, MIN_ITEMS, AlternativeAnnotatorTest
from judgeboard.stats.words import number_words
from judgeboard_dashboard.drill import rater_rows
from judgeboard_dashboard.estimates import interval_words, value_words
from judgeboard_dashboard.figure import table
from judgeboard_dashboard.saying import caption, heading
from judgeboard_dashboard.tables import frame
from judgeboard_dashboard.words import WHY_DIFFERS

_PEOPLE = {"experts": "experts", "skilled": "skilled people", "crowd": "a crowd"}
_CHOICES = {f"{epsilon:g}: {_PEOPLE[who]}": epsilon for who, epsilon in EPSILONS.items()}


def epsilon_field() -> float:
    """Ask for the price of people."""
    chosen = st.selectbox("ε, by who your people are", list(_CHOICES), key="epsilon", bind="query-params", width=190)
    return _CHOICES.get(chosen, EPSILONS["experts"])


def stand_in(test: AlternativeAnnotatorTest, version_id: int, grade: GradeName, people: Mapping[str, int]) -> None:
    """Show the alternative annotator test: what it came to, what ε means, each person (``people`` by name)."""
    left_out = not_tested_words(test)
    caption(stand_in_sentence(test), epsilon_sentence(test.epsilon))
    if test.omega.value is None:
        caption(f"It needs two people on an answer, and 30 answers of each. Left out: {left_out}" if left_out else None)
        return
    rows = frame(
        {"Person": "str", "Answers": "Int64", "As near as they": "str", "p": "str", "Holds": "str"},
        (
            (
                each.name,
                each.n,
                None if each.advantage is None else f"{each.advantage * 100:.0f} %",
                p_words(each.p),
                f"under {MIN_ITEMS}: not tested" if each.p is None else "yes" if each.rejected else "no",
            )
            for each in test.people
        ),
    )
    targets = [
        rater_rows(RaterCell("standin", grade, version_id, people[each.name])) if each.name in people else None
        for each in test.people
    ]
    table(
        rows,
        targets,
        key="stand_in",
        under=(
            f"ω {test.omega.value:.2f}, {RHO} {number_words(test.rho)} on {test.n:,} answers.",
            f"Left out: {left_out}" if left_out else None,
        ),
    )


def after_they_saw(found: AgreementPage, version_id: int) -> None:
    """Show how far people move to the judge once it was shown, and why they differ from it."""
    heading("People after they saw the judge")
    if found.anchoring:
        rows = frame(
            {"Grade": "str", "Grades": "Int64", "Moved": "str", "95 %": "str"},
            (
                (
                    each.grade,
                    each.share.n,
                    value_words(each.share, share=True),
                    interval_words(each.share, share=True),
                )
                for each in found.anchoring
            ),
        )
        table(
            rows,
            [
                rater_rows(RaterCell("shown", grade, version_id, ALL))
                for each in found.anchoring
                for grade in GRADES
                if grade == each.grade
            ],
            key="anchoring",
            under=("Of the way from their own grade to the judge's: 0 % nobody moves, 100 % all take over its grade.",),
        )
    else:
        caption("Nobody graded before and after this judge was shown: a queue that is blind to the judge asks for it.")
    if found.differing is not None:
        given = sorted(((n, why) for why, n in found.differing.reasons.items() if n), reverse=True)
        rows = frame({"Why they differ": "str", "Answers": "Int64"}, ((WHY_DIFFERS[why], n) for n, why in given))
        table(rows, [None] * len(rows), key="why_differs")
