"""Agreement: one sentence a week that says whether the judge can be trusted, and the figures behind it."""

import json
from dataclasses import dataclass
from typing import Any

import streamlit as st

from judgeboard.agreement import AgreementRow, PairSource
from judgeboard.agreement_notes import headline
from judgeboard.agreement_page import AgreementPage, agreement_page
from judgeboard.answer_pairs import GradeName
from judgeboard.report import measure
from judgeboard.stats.words import one_in
from judgeboard.store.judgments.judge_versions import list_versions
from judgeboard.store.reviews.reviewers import list_graders
from judgeboard.store.settings_table import primary_judge
from judgeboard_dashboard.agreement_figures import AgreementFigures
from judgeboard_dashboard.agreement_tables import figures_file, figures_table, flags_table, versions_table
from judgeboard_dashboard.figure import table
from judgeboard_dashboard.graded_filter import grade_field, people_field, version_field
from judgeboard_dashboard.picking import Rows, follow
from judgeboard_dashboard.saying import caption, empty, heading, note, sentence
from judgeboard_dashboard.session import page, store

MOST_NOTES = 2
FIELDS = ("version", "grade", "people", "tables")
LEADS = {
    "one_class": "Only one kind.",
    "too_early": "Too early to decide.",
    "judges_alike": "Judges alike.",
}
READ_WITH_CARE = "Read with care."
# Said where they belong, not above the page: under the slices, and in small letters.
SMALL = {"slices", "cut", "ties", "without_verdict", "judged_again"}
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
class Shown:
    """The page as asked for."""

    page: AgreementPage
    reviewer_id: int | None
    people: str
    as_tables: bool


def agreement() -> None:
    """Show how far one judge version agrees with people."""
    follow("agreement", own=FIELDS)
    shown = _asked()
    if shown.page.row is None:
        empty(shown.page.sentence)
        return
    sentence(shown.page.sentence)
    _notes(shown.page)
    if shown.page.row.n < 10:
        _worth(shown.page)
        return
    figures = AgreementFigures(shown.page, shown.page.row, shown.reviewer_id, as_tables=shown.as_tables)
    figures.show()
    with st.container(key="stack_versions"):
        left, right = st.columns([1.9, 1], gap="medium")
    with left:
        _versions(shown)
    with right:
        _worth(shown.page)
    with st.container(key="stack_figures"):
        left, right = st.columns([1, 1.2], gap="medium")
    with left:
        _all_figures(shown.page, shown.page.row)
    with right:
        if shown.page.grade == "label":
            heading("Over time")
            figures.over_time()


def _asked() -> Shown:
    with store().reading() as connection:
        with st.container(key="filters_agreement", horizontal=True, vertical_alignment="bottom", gap="small"):
            place = st.container(width=230)
            grade = grade_field("label")
            people = people_field(list_graders(connection), grade)
            st.space("stretch")
            as_tables = st.toggle("Tables", key="tables", bind="query-params", width="content")
            st.download_button(
                "Report",
                data=lambda: json.dumps(measure(store()), ensure_ascii=False, indent=2).encode(),
                file_name="judgeboard-report.json",
                mime="application/json",
                icon=":material/download:",
                on_click="ignore",
                help="All figures of all judge versions, as `judgeboard stats --json` prints them",
            )
        source = PairSource.open(connection, people.reviewer_id)
        versions = source.paired(list_versions(connection), grade, primary_judge(connection))
        version = version_field(place, versions)
        found = agreement_page(
            connection,
            version_id=version.id if version else None,
            grade=grade,
            reviewer_id=people.reviewer_id,
            source=source,
        )
    return Shown(found, people.reviewer_id, people.words, as_tables)


def _notes(found: AgreementPage) -> None:
    loud = [each for each in found.notes if each.code not in SMALL]
    for each in loud[:MOST_NOTES]:
        note(each.text, lead=LEADS.get(each.code, READ_WITH_CARE))
    rest = [*loud[MOST_NOTES:], *(each for each in found.notes if each.code in SMALL - {"slices"})]
    if rest:
        caption(*(each.text for each in rest))


def _versions(shown: Shown) -> None:
    same = shown.page.same_answers
    heading("All judge versions on the same answers" + (f", {same.n:,}" if same.n else ""))
    if not same.rows:
        caption("No ten answers that these judge versions and people all graded.")
        return
    grade = shown.page.grade
    left_out = ", ".join(version.title for version in same.left_out)
    table(
        versions_table(same, grade),
        [_this_page(row.version.title, grade, shown.people, shown.reviewer_id) for row in same.rows],
        key="versions",
        under=(
            "Click a line to see that version.",
            f"Left out, since it shares too few answers with the others: {left_out}." if left_out else None,
        ),
        csv=figures_file(same.rows),
        columns=VERSION_COLUMNS,
    )


def _this_page(title: str, grade: GradeName, people: str, reviewer_id: int | None) -> Rows:
    query: dict[str, str | list[str]] = {"version": title}
    if grade != "label":
        query["grade"] = grade.capitalize()
    if reviewer_id is not None:
        query["people"] = people
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


def _all_figures(found: AgreementPage, row: AgreementRow) -> None:
    heading(f"All figures of {row.version.title}")
    rows = figures_table(row)
    unit = headline(row.statistics).unit
    table(
        rows,
        [None] * len(rows),
        key="figures",
        under=(f"Intervals: 95 %, by {unit}." if unit else None, "The file has every query type too."),
        csv=figures_file([row, *found.by_query_type]),
        columns={"Answers": COUNT},
    )


with page("Agreement"):
    agreement()
