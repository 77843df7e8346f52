"""Several raters, pair by pair and together; the judge as a replacement of a person, and after people saw it."""

from collections.abc import Mapping

import streamlit as st

from judgeboard.agreement.answer_pairs import GRADES, GradeName
from judgeboard.agreement.cells import ALL, Cell, Raters
from judgeboard.agreement.choice import By
from judgeboard.agreement.result import AgreementResult, AgreementSlice, statistic_name
from judgeboard.domain import Estimate
from judgeboard.reports.agreement import (
    anchoring_table,
    figures_table,
    pairs_table,
    persons_table,
    stand_in_table,
    stand_in_words,
)
from judgeboard.reports.tables import Column, Table
from judgeboard.stats.alternative_annotator import EPSILONS, AlternativeAnnotatorTest
from judgeboard.store.verdict_pairs import WhyCounts
from judgeboard_dashboard.widgets.agreement_figures import CHANCE, MOST_SLICES, slices_figure
from judgeboard_dashboard.widgets.navigation import Rows, cell_rows
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import WHY_DIFFERS, caption, heading, instead

_PEOPLE = {"experts": "experts", "skilled": "skilled people", "crowd": "a crowd"}
_CHOICES = {f"{epsilon:g}: {_PEOPLE[who]}": epsilon for who, epsilon in EPSILONS.items()}


def show_raters(result: AgreementResult, ids: Mapping[str, int], *, as_tables: bool) -> None:
    """Show a result of several raters; ``ids`` of people, or of judge versions, by name."""
    raters: Raters | None = "people" if result.of == "people" else "judges" if result.of == "judges" else None
    with st.container(key="stack_raters"):
        left, right = st.columns([1.45, 1], gap="medium")
    with left:
        heading("Pair by pair")
        if result.rater_pairs:
            table(
                pairs_table(result.rater_pairs),
                [
                    _target(raters, result.grade, ids.get(each.first), ids.get(each.second))
                    for each in result.rater_pairs
                ],
                key=f"raters_{result.of}",
                under=("Click a row to open the answers that both rated.",) if raters else (),
            )
        else:
            caption("No two of them rated the same answer.")
        if result.self_agreement:
            heading("People with themselves")
            table(
                persons_table(result, "self_agreement"),
                [_target("twice", result.grade, ids.get(each.first)) for each in result.self_agreement],
                key="raters_twice",
                under=("Compares the first and the second grade of answers that a queue served again.",),
            )
        if result.against_gold:
            heading("People and gold labels")
            table(
                persons_table(result, "against_gold"),
                [_target("gold", result.grade, ids.get(each.name)) for each in result.against_gold],
                key="raters_gold",
                under=("Click a row to open its answers.",),
            )
    with right:
        _together(result, raters)
        _slices(result, raters, as_tables=as_tables)


def _together(result: AgreementResult, raters: Raters | None) -> None:
    heading("All together")
    figures = figures_table(result.statistics)
    table(
        figures,
        [_target(raters, result.grade)] * len(figures.rows),
        key="raters_together",
        under=(result.left_out_sentence,),
    )


def _slices(result: AgreementResult, raters: Raters | None, *, as_tables: bool) -> None:
    if not result.slices:
        return
    by = (result.by or "").replace("_", " ")
    heading(f"By {by}")
    alpha = result.statistics["alpha"]
    if alpha.value is None:
        instead(f"{statistic_name('alpha')}: {alpha.reason}.")
        return
    shown = sorted(result.slices, key=lambda each: -each.n)[:MOST_SLICES]
    slices_figure(
        [AgreementSlice("All", result.n, result.statistics), *shown],
        "alpha",
        by.capitalize(),
        [
            _target(raters, result.grade),
            *(_target(raters, result.grade, by=result.by, part=each.name) for each in shown),
        ],
        key=f"raters_slices_{result.of}",
        as_table=as_tables,
        under=(CHANCE,),
    )


def _target(
    raters: Raters | None, grade: str, *rater_ids: int | None, by: By | None = None, part: str | None = None
) -> Rows | None:
    """Return the answers of raters, or of all together; None if they cannot be opened."""
    known: GradeName | None = next((each for each in GRADES if each == grade), None)
    ids = [each for each in rater_ids if each is not None]
    if raters is None or known is None or len(ids) < len(rater_ids):
        return None
    first, second = (*ids, ALL, ALL)[:2]
    return cell_rows(Cell(known, first, second, raters, by=by, slice=part))


def epsilon_field() -> float:
    """Ask for ε."""
    chosen = st.selectbox("ε, by type of reviewer", list(_CHOICES), key="epsilon", bind="query-params", width=190)
    return _CHOICES.get(chosen, EPSILONS["experts"])


def stand_in(test: AlternativeAnnotatorTest, version_id: int, grade: GradeName, people: Mapping[str, int]) -> None:
    """Show the alternative annotator test; ``people`` are ids by name."""
    result, epsilon, *rest = stand_in_words(test)
    caption(result, epsilon)
    if test.omega.value is None:
        caption("The test needs two people per answer, and 30 answers per person.", *rest)
        return
    targets = [_target("standin", grade, version_id, people.get(each.name)) for each in test.people]
    table(stand_in_table(test), targets, key="stand_in", under=rest)


def after_they_saw(anchoring: Mapping[str, Estimate], differing: WhyCounts | None, version_id: int) -> None:
    """Show how far people moved to the judge after they saw it, and why they differ from it."""
    heading("People after they saw the judge")
    if anchoring:
        table(
            anchoring_table(anchoring),
            [_target("shown", grade, version_id) for grade in anchoring],
            key="anchoring",
            under=("How far people moved towards the judge's grade (0 % = not at all, 100 % = adopted it).",),
        )
    else:
        caption(
            "Nobody has graded an answer before and after seeing this judge. A queue blind to the judge asks for both."
        )
    if differing is not None:
        counts = sorted(((n, why) for why, n in differing.reasons.items() if n), reverse=True)
        rows = tuple((WHY_DIFFERS[why], n) for n, why in counts)
        table(Table((Column("Why they differ"), Column("Answers", "count")), rows), key="why_differs")
