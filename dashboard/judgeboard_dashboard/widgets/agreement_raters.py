"""Several raters by two and all together; and the judge beside single people, as a stand-in and after it was shown."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from judgeboard.agreement.answer_pairs import GRADES, GradeName
from judgeboard.agreement.cells import ALL, RaterCell, Raters
from judgeboard.agreement.notes import epsilon_sentence, not_tested_words, p_words, stand_in_sentence
from judgeboard.agreement.result import (
    AgreementResult,
    AgreementSlice,
    left_out_words,
    shown_statistics,
    statistic_name,
)
from judgeboard.domain import Estimate
from judgeboard.reports.agreement import RHO
from judgeboard.stats.alternative_annotator import EPSILONS, MIN_ITEMS, AlternativeAnnotatorTest
from judgeboard.stats.estimates import number_words
from judgeboard.stats.rater_agreement import RaterPair
from judgeboard.store.verdict_pairs import WhyCounts
from judgeboard_dashboard.widgets.agreement_figures import MOST_SLICES, figures_table, slices_figure
from judgeboard_dashboard.widgets.navigation import Rows, rater_rows
from judgeboard_dashboard.widgets.tables import file_of, frame, in_percent, interval_words, table, value_words
from judgeboard_dashboard.widgets.texts import WHY_DIFFERS, caption, heading, instead

COLUMNS = {
    "Agree": st.column_config.ProgressColumn(min_value=0, max_value=100, format="%.0f %%", color="primary", width=96),
    "95 %": st.column_config.TextColumn(width=96),
    "95 % ": st.column_config.TextColumn(width=100),
    **{
        statistic_name(name): st.column_config.NumberColumn(format="%.2f")
        for name in ("kappa", "weighted_kappa", "spearman")
    },
}
_PEOPLE = {"experts": "experts", "skilled": "skilled people", "crowd": "a crowd"}
_CHOICES = {f"{epsilon:g}: {_PEOPLE[who]}": epsilon for who, epsilon in EPSILONS.items()}
_BEYOND_CHANCE = ("kappa", "weighted_kappa", "spearman")
_RATERS: dict[str, Raters] = {"people": "people", "judges": "judges"}


def show_raters(found: AgreementResult, ids: Mapping[str, int], *, as_tables: bool) -> None:
    """Show a result of several raters; ``ids`` of people, or of judge versions, by name."""
    with st.container(key="stack_raters"):
        left, right = st.columns([1.45, 1], gap="medium")
    with left:
        _pairs(found, ids)
        _themselves(found, ids)
        _gold(found, ids)
    with right:
        _together(found)
        _slices(found, as_tables=as_tables)


def _together(found: AgreementResult) -> None:
    heading("All together")
    rows = figures_table(found.statistics)
    left_out = [f"Left out: {n:,} {left_out_words(why)}." for why, n in found.left_out.items()]
    units = {each.unit for each in found.statistics.values()} - {None}
    table(
        rows,
        [_all_of(found)] * len(rows),
        key="raters_together",
        under=(f"Intervals: 95 %, by {units.pop()}." if len(units) == 1 else None, *left_out),
        csv=file_of(
            {"Figure": "str"},
            (((statistic_name(name),), each) for name, each in shown_statistics(found.statistics).items()),
        ),
    )


def _pairs(found: AgreementResult, ids: Mapping[str, int]) -> None:
    heading("Pair by pair")
    if not found.rater_pairs:
        caption("No two of them rated the same answer.")
        return
    raters = _RATERS.get(found.of)
    table(
        _pair_table(found.rater_pairs, two=True),
        [_rows(raters, found.grade, ids, each.first, each.second) for each in found.rater_pairs],
        key=f"raters_{found.of}",
        under=("Click a line to read the answers that both rated.",) if raters else (),
        columns=COLUMNS,
        csv=file_of(
            {"First": "str", "Second": "str", "Figure": "str"},
            (
                ((each.first, each.second, statistic_name(name)), estimate)
                for each in found.rater_pairs
                for name, estimate in each.statistics.items()
            ),
        ),
    )


def _themselves(found: AgreementResult, ids: Mapping[str, int]) -> None:
    if not found.self_agreement:
        return
    heading("People with themselves")
    table(
        _pair_table(found.self_agreement, two=False),
        [_rows("twice", found.grade, ids, each.first, each.first) for each in found.self_agreement],
        key="raters_twice",
        under=("Answers that a queue served somebody again: the first grade and the one given then.",),
        columns=COLUMNS,
    )


def _gold(found: AgreementResult, ids: Mapping[str, int]) -> None:
    if not found.against_gold:
        return
    heading("People beside what a lead settled")
    pairs = [RaterPair(each.name, each.name, each.n, each.statistics) for each in found.against_gold]
    table(
        _pair_table(pairs, two=False),
        [_rows("gold", found.grade, ids, each.name, each.name) for each in found.against_gold],
        key="raters_gold",
        under=("Click a line to read those answers.",),
        columns=COLUMNS,
    )


def _slices(found: AgreementResult, *, as_tables: bool) -> None:
    if not found.slices:
        return
    by = (found.by or "").replace("_", " ")
    heading(f"By {by}")
    lead = found.statistics["alpha"]
    if lead.value is None:
        instead(f"{statistic_name('alpha')}: {lead.reason}.")
        return
    shown = sorted(found.slices, key=lambda each: -each.n)[:MOST_SLICES]
    slices_figure(
        [AgreementSlice("All", found.n, found.statistics), *shown],
        "alpha",
        by.capitalize(),
        [_all_of(found), *(_all_of(found, each.name) for each in shown)],
        key=f"raters_slices_{found.of}",
        as_table=as_tables,
        under=("0 is what chance would give, 1 is full agreement.",),
    )


def _all_of(found: AgreementResult, name: str | None = None) -> Rows | None:
    """Return the answers that two raters or more rated, or those of them in a slice."""
    raters = _RATERS.get(found.of)
    grade = next((each for each in GRADES if each == found.grade), None)
    if raters is None or grade is None:
        return None
    return rater_rows(RaterCell(raters, grade, ALL, ALL, None if name is None else found.by, name))


def _pair_table(pairs: Sequence[RaterPair], *, two: bool) -> pd.DataFrame:
    """Return a line per pair of raters: how often they agree, and beyond chance or in order."""
    lead = next((name for name in _BEYOND_CHANCE if any(name in each.statistics for each in pairs)), "spearman")
    if any("weighted_kappa" in each.statistics for each in pairs):
        lead = "weighted_kappa"
    shares = any("agreement" in each.statistics for each in pairs)
    names = {"First": "str", "Second": "str"} if two else {"Person": "str"}
    agree = {"Agree": "Float64", "95 %": "str"} if shares else {}
    columns = {**names, "Answers": "Int64", **agree, statistic_name(lead): "Float64", "95 % ": "str"}
    rows = []
    for each in pairs:
        who = (each.first, each.second) if two else (each.first,)
        agreed = each.statistics.get("agreement")
        share = (in_percent(agreed), interval_words(agreed, share=True)) if shares and agreed else ()
        led = each.statistics[lead]
        rows.append((*who, each.n, *share, led.value, interval_words(led, share=False)))
    return frame(columns, rows)


def _rows(raters: Raters | None, grade: str, ids: Mapping[str, int], first: str, second: str) -> Rows | None:
    known: GradeName | None = next((each for each in GRADES if each == grade), None)
    if raters is None or known is None or first not in ids or second not in ids:
        return None
    return rater_rows(RaterCell(raters, known, ids[first], ids[second]))


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


def after_they_saw(anchoring: Mapping[str, Estimate], differing: WhyCounts | None, version_id: int) -> None:
    """Show how far people move to the judge once it was shown, and why they differ from it."""
    heading("People after they saw the judge")
    if anchoring:
        rows = frame(
            {"Grade": "str", "Grades": "Int64", "Moved": "str", "95 %": "str"},
            (
                (grade, share.n, value_words(share, share=True), interval_words(share, share=True))
                for grade, share in anchoring.items()
            ),
        )
        table(
            rows,
            [rater_rows(RaterCell("shown", grade, version_id, ALL)) for grade in GRADES if grade in anchoring],
            key="anchoring",
            under=("How far people moved towards the judge's grade: 0 % not at all, 100 % all adopted it.",),
        )
    else:
        caption("Nobody graded before and after this judge was shown: a queue that is blind to the judge asks for it.")
    if differing is not None:
        given = sorted(((n, why) for why, n in differing.reasons.items() if n), reverse=True)
        rows = frame({"Why they differ": "str", "Answers": "Int64"}, ((WHY_DIFFERS[why], n) for n, why in given))
        table(rows, [None] * len(rows), key="why_differs")
