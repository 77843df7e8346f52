"""Agreement: one sentence a week that says whether the judge can be trusted, and the figures behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.agreement.answer_pairs import GradeName
from judgeboard.agreement.cells import PairCell
from judgeboard.agreement.choice import AgreementChoice, By, Of
from judgeboard.agreement.measure import agreement_of, stand_in_test
from judgeboard.agreement.page import AgreementPage, agreement_page
from judgeboard.agreement.ratings import PairSource
from judgeboard.agreement.result import Note, headline_name
from judgeboard.errors import NotFound
from judgeboard.stats.estimates import MIN_PAIRS, one_in
from judgeboard.stats.ratings import SCALES
from judgeboard.store.judge_versions import list_versions, versions_asked_again
from judgeboard.store.reviewers import list_graders, reviewer_names
from judgeboard.store.settings import primary_judge
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.agreement_figures import (
    AgreementFigures,
    Whose,
    by_field,
    figures_file,
    figures_table,
    flags_table,
    of_field,
    report_buttons,
    versions_table,
    whose_field,
)
from judgeboard_dashboard.widgets.agreement_raters import after_they_saw, epsilon_field, show_raters, stand_in
from judgeboard_dashboard.widgets.filters import grade_field, version_field
from judgeboard_dashboard.widgets.navigation import Rows, cell_rows, follow
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, empty, heading, note, sentence

MOST_NOTES = 2
FIELDS = ("version", "grade", "people", "tables", "compare", "by", "epsilon", "judge")
LEADS = {
    "one_class": "Only one kind.",
    "too_early": "Too early to decide.",
    "judges_alike": "Judges alike.",
    "few_of_rarer": "Few of one kind.",
}
READ_WITH_CARE = "Read with care."
# Said where they belong, not above the page: under the slices, and in small letters.
SMALL = {
    "slices",
    "some_flagged",
    "cut",
    "ties",
    "only_gold",
    "without_verdict",
    "judged_again",
    "temperature",
    "other_grades",
}
PERCENT = st.column_config.ProgressColumn(min_value=0, max_value=100, format="%.0f %%", color="primary", width=96)
COUNT = st.column_config.NumberColumn(format="localized", width=66)
TWO_DIGITS = st.column_config.NumberColumn(format="%.2f", width=62)
VERSION_COLUMNS: dict[str, Any] = {
    "Judge version": st.column_config.TextColumn(width=185),
    "Answers": COUNT,
    "Agree": PERCENT,
    "Same quality": PERCENT,
    "95 %": st.column_config.TextColumn(width=80),
    "95 % ": st.column_config.TextColumn(width=92),
    "Kappa": TWO_DIGITS,
    "Weighted kappa": st.column_config.NumberColumn(format="%.2f", width=110),
    "Mean difference": st.column_config.NumberColumn(format="%.2f", width=120),
    "Rank correlation": st.column_config.NumberColumn(format="%.2f", width=120),
    "Bad answers missed": st.column_config.TextColumn(width=130),
    "False alarms": st.column_config.TextColumn(width=98),
    "Weakest on": st.column_config.TextColumn(width=92),
}
FLAG_COLUMNS: dict[str, Any] = {
    "Rule": st.column_config.TextColumn(width=145),
    "Decided": COUNT,
    "Confirmed": PERCENT,
    "95 %": st.column_config.TextColumn(width=70),
    "Minutes each": st.column_config.NumberColumn(format="%.1f", width=90),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the filter row asks for; ``place`` is kept in it for the judge version."""

    place: Any
    of: Of
    grade: GradeName
    whose: Whose
    by: By
    as_tables: bool


def agreement() -> None:
    """Show how far one judge version agrees with people, or people, judges or repeats with each other."""
    follow("agreement", own=FIELDS)
    with st.container(key="filters_agreement", horizontal=True, vertical_alignment="bottom", gap="small"):
        asked = _filters()
        report = st.container(width="content")
        if asked.of != "judge":
            chosen = _choice_of_raters(asked)
            version = None
        else:
            shown = _judge_and_people(asked)
            version = None if shown.version is None else shown.version.id
        with report:
            report_buttons(asked.grade, version, asked.whose.human)
    if asked.of == "judge":
        _show_judge(shown, asked)
    elif chosen is None:
        empty("No judge was asked twice about any answer: `judgeboard judge --repeats 3` does.")
    else:
        _show_raters(chosen, as_tables=asked.as_tables)


def _filters() -> Asked:
    with reading() as connection:
        graders = list_graders(connection)
    place = st.container(width=215)
    grade = grade_field("label")
    of = of_field()
    whose = whose_field(graders, grade, disabled=of != "judge")
    by = by_field(disabled=of == "repeats")
    st.space("stretch")
    as_tables = st.toggle("Tables", key="tables", bind="query-params", width="content")
    return Asked(place, of, grade, whose, by, as_tables)


def _judge_and_people(asked: Asked) -> AgreementPage:
    with reading() as connection:
        source = PairSource.open(connection, asked.whose.reviewer_id, asked.whose.human)
        versions = source.paired(list_versions(connection), asked.grade, primary_judge(connection))
        version = version_field(asked.place, versions)
        return agreement_page(
            connection, version_id=version.id if version else None, grade=asked.grade, by=asked.by, source=source
        )


def _choice_of_raters(asked: Asked) -> AgreementChoice | None:
    """Return what is measured where a judge is not held against people; None: there are no repeats."""
    if asked.of != "repeats":
        with asked.place:
            st.selectbox("Judge version", ["All"], key="all_versions", disabled=True)
        return AgreementChoice(asked.of, grade=asked.grade, by=asked.by)
    with reading() as connection:
        names = list(dict.fromkeys(each.name for each in versions_asked_again(connection)))
    with asked.place:
        name = st.selectbox(
            "Judge", names, key="judge", bind="query-params", placeholder="No repeats", disabled=not names
        )
    return AgreementChoice("repeats", (name,), grade=asked.grade) if name else None


def _show_raters(chosen: AgreementChoice, *, as_tables: bool) -> None:
    with reading() as connection:
        try:
            found = agreement_of(connection, chosen)
        except NotFound as error:
            empty(f"{str(error)[:1].upper()}{str(error)[1:]}.")
            return
        ids = (
            {name: id_ for id_, name in reviewer_names(connection).items()}
            if chosen.of == "people"
            else {each.title: each.id for each in list_versions(connection)}
        )
    sentence(found.sentence)
    _notes(found.notes)
    if found.n:
        show_raters(found, ids, as_tables=as_tables)


def _show_judge(shown: AgreementPage, asked: Asked) -> None:
    if shown.version is None or shown.result is None:
        empty(shown.sentence)
        _notes(shown.notes)
        return
    sentence(shown.sentence)
    _notes(shown.notes)
    if shown.result.n < MIN_PAIRS:
        _worth(shown)
        return
    figures = AgreementFigures(shown, shown.version, shown.result, asked.whose, asked.by, as_tables=asked.as_tables)
    figures.show()
    with st.container(key="stack_versions"):
        left, right = st.columns([1.9, 1], gap="medium")
    with left:
        _versions(shown, asked.whose)
    with right:
        _worth(shown)
    with st.container(key="stack_figures"):
        left, right = st.columns([1, 1.2], gap="medium")
    with left:
        _all_figures(figures)
    with right:
        if shown.grade == "label":
            heading("Over time")
            figures.over_time()
        _beside_people(figures)


def _beside_people(figures: AgreementFigures) -> None:
    heading("May the judge stand in for a person?")
    epsilon = epsilon_field()
    version, grade = figures.version, figures.page.grade
    with reading() as connection:
        test = stand_in_test(connection, version, grade, epsilon)
        people = {name: id_ for id_, name in reviewer_names(connection).items()}
    stand_in(test, version.id, grade, people)
    after_they_saw(figures.result.anchoring, figures.page.differing, version.id)


def _notes(notes: Sequence[Note]) -> None:
    loud = [each for each in notes if each.code not in SMALL]
    for each in loud[:MOST_NOTES]:
        note(each.text, lead=LEADS.get(each.code, READ_WITH_CARE))
    rest = [*loud[MOST_NOTES:], *(each for each in notes if each.code in SMALL - {"slices"})]
    if rest:
        caption(*(each.text for each in rest))


def _versions(shown: AgreementPage, whose: Whose) -> None:
    same, grade = shown.same_answers, shown.grade
    heading("All judge versions on the same answers" + (f", {same.n:,}" if same.n else ""))
    if not same.versions:
        caption("No ten answers that these judge versions and people all graded.")
        return
    left_out = ", ".join(same.left_out)
    table(
        versions_table(same, grade),
        [_this_page(each.name, grade, whose) for each in same.versions],
        key="versions",
        under=(
            "Click a line to see that version.",
            f"Left out, since it shares too few answers with the others: {left_out}." if left_out else None,
        ),
        csv=lambda: figures_file(grade, ((each.name, "all", each.statistics) for each in same.whole())),
        columns=VERSION_COLUMNS,
    )


def _this_page(title: str, grade: GradeName, whose: Whose) -> Rows:
    query: dict[str, str | list[str]] = {"version": title, **whose.query}
    if grade != "label":
        query["grade"] = grade.capitalize()
    return Rows("agreement", query)


def _worth(found: AgreementPage) -> None:
    heading("What the flags are worth")
    flags = found.flags
    if not flags.rules:
        caption("No flag was decided yet: decide some in the queue.")
        return
    rows = flags_table(flags)
    targets = [Rows("responses", {"rule": each.rule, "state": ["confirmed", "dismissed"]}) for each in flags.rules]
    bad = flags.random_bad
    table(
        rows,
        [*targets, *[None] * (len(rows) - len(targets))],
        key="flags",
        under=(
            "How much the rules miss is not known: too few randomly drawn answers were decided."
            if bad.value is None
            else f"Of randomly drawn answers that no other rule raised, people found about {one_in(bad.value)} bad.",
        ),
        columns=FLAG_COLUMNS,
    )


def _all_figures(figures: AgreementFigures) -> None:
    heading(f"All figures of {figures.result.title}")
    grade, whose = figures.page.grade, figures.whose
    rows = figures_table(figures.result.statistics)
    unit = figures.result.statistics[headline_name(SCALES[grade])].unit
    behind = cell_rows(PairCell(figures.version.id, grade, None, None, None, whose.reviewer_id, whose.human))
    table(
        rows,
        [behind] * len(rows),
        key="figures",
        under=(f"Intervals: 95 %, by {unit}." if unit else None, "The file has every slice too."),
        csv=lambda: _file_with_slices(figures.page.choice),
        columns={"Answers": COUNT},
    )


def _file_with_slices(choice: AgreementChoice) -> pd.DataFrame:
    with reading() as connection:
        found = agreement_of(connection, choice)
    lines = [("all", found.statistics), *((each.name, each.statistics) for each in found.slices)]
    return figures_file(found.grade, ((found.title, name, statistics) for name, statistics in lines))


with page("Agreement"):
    agreement()
