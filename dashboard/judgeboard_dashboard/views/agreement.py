"""The page Agreement: one sentence on whether the judge can be trusted, with its figures."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import Any

import streamlit as st

from judgeboard.domain import Action
from judgeboard.errors import NotFound
from judgeboard.formats.output import Table, to_json
from judgeboard.judges.evidence_alignment import NOTICE, SERVED
from judgeboard.measure.agreement import agreement_of, stand_in_test
from judgeboard.measure.agreement_notes import compared_with
from judgeboard.measure.agreement_page import AgreementPage, agreement_page
from judgeboard.measure.agreement_result import AgreementResult, Note, left_out_sentence
from judgeboard.measure.choice import AgreementChoice, By, CountedGrades, GradeName, Of
from judgeboard.measure.flag_worth import flags_worth
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.reliance import reliance_of
from judgeboard.measure.sample import log_revision
from judgeboard.measure.samples import judging_version, scored_version
from judgeboard.reports.agreement import (
    NOTICES_WORDS,
    OF_NAMES,
    TITLES,
    all_and_alone,
    alone_title,
    classes_table,
    figures_file,
    figures_table,
    in_all_title,
    next_command,
    notices_table,
    report_page,
    report_results,
)
from judgeboard.reports.front_page import log_summary
from judgeboard.reports.rates import rate_table
from judgeboard.stats.estimates import MIN_PAIRS, one_in
from judgeboard.stats.ratings import Human
from judgeboard.store.export import export_tables
from judgeboard.store.filters import METADATA, RowFilter, filter_sentence
from judgeboard.store.judge_versions import StoredVersion, list_versions, versions_asked_again
from judgeboard.store.metadata import metadata_fields
from judgeboard.store.ratings_table import RATINGS, ratings_table
from judgeboard.store.reviewers import graders_by_name, reviewer_names
from judgeboard.text import counted
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import as_now, kept_until_new_rows, page, reading, seen, stacking_columns
from judgeboard_dashboard.widgets.agreement_figures import (
    BY_NAMES,
    AgreementFigures,
    after_they_saw,
    epsilon_field,
    flags_table,
    missing_shares,
    show_raters,
    stand_in,
    versions_table,
)
from judgeboard_dashboard.widgets.filters import (
    PART_FIELDS,
    Query,
    choose,
    grade_field,
    part_of_log,
    query_of,
    table_switch,
    version_field,
)
from judgeboard_dashboard.widgets.first_steps import STEPS, empty_page
from judgeboard_dashboard.widgets.log_figures import bad_share
from judgeboard_dashboard.widgets.navigation import Rows, cell_rows, follow, open_button, responses
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import bold_numbers, capital, caption, empty, heading, note, sentence

MOST_NOTES = 2
FIELDS = ("version", "grade", "people", "tables", "compare", "by", "epsilon", "judge", "implied", *PART_FIELDS)
LEADS = {
    "one_class": "Only one category.",
    "not_conclusive": "Wide interval.",
    "correlated_judges": "Correlated judges.",
    "few_of_rarer": "One category is rare.",
    "slice_apart": "One part differs.",
}
# These are captions, not notes at the top of the page.
SMALL = {"slices", "some_flagged", "cut", "judged_again", "temperature", "other_grades"}
HUMANS: dict[str, Human] = {"Everybody": "gold", "Everybody, without gold": "majority", "Each person alone": "each"}


@dataclass(frozen=True, slots=True)
class Filters:
    """The filter row; ``judge_field`` has the field of the judge version, ``query`` has ``counted`` for addresses."""

    judge_field: Any
    of: Of
    grade: GradeName
    counted: CountedGrades
    query: Query
    by: By
    as_tables: bool


def agreement() -> None:
    """Show the agreement of a judge version with people, or the agreement among people, judges or repeats."""
    follow("agreement", own=FIELDS)
    with st.container(key="filters_agreement", horizontal=True, vertical_alignment="bottom", gap="small"):
        filters = _filters()
        report = st.container(width="content")
        version_id, choice, shown = None, None, None
        if filters.of == "judge":
            shown = _judge_and_people(filters)
            version_id = None if shown.version is None else shown.version.id
        else:
            choice = _choice_of_raters(filters)
        with report:
            _report_buttons(filters, version_id)
    if shown is not None:
        _show_judge(shown, filters)
    elif choice is not None:
        _show_raters(choice, as_tables=filters.as_tables)
    else:
        empty("No judge has repeats. Make some: `judgeboard judge --repeats 3`")


def _filters() -> Filters:
    with reading() as connection:
        graders = graders_by_name(connection)
        metadata = [f"{METADATA}{each.field}" for each in metadata_fields(connection)]
    judge_field = st.container(width=190)
    grade = grade_field("label")
    of: Of = choose("Compare", {name: of for of, name in OF_NAMES.items()}, key="compare", width=175)
    reviewer_id, human, query = _people_field(graders, grade, disabled=of != "judge")
    fields = {name: by for by, name in BY_NAMES.items()} | dict(zip(metadata, metadata, strict=True))
    by = choose("By", fields, key="by", width=125, disabled=of == "repeats")
    st.space("stretch")
    as_tables = table_switch("Tables")
    where, implied_labels = part_of_log(implied_matter=grade == "label" and of not in {"judges", "repeats"})
    query |= {} if implied_labels else {"implied": ["false"]}
    counted = CountedGrades(reviewer_id, human, implied_labels, where)
    return Filters(judge_field, of, grade, counted, query, by, as_tables)


def _people_field(graders: Mapping[str, int], grade: GradeName, *, disabled: bool) -> tuple[int | None, Human, Query]:
    """Show the field of the people; return the one reviewer, or how everybody counts, and the field in the address."""
    words = {name: capital(compared_with(human, grade)) for name, human in HUMANS.items() if len(graders) > 1}
    chosen = st.selectbox(
        "People",
        [*HUMANS, *graders],
        key="people",
        bind="query-params",
        width=243,
        disabled=disabled,
        format_func=lambda name: str(words.get(name, name)).replace("else lower median of people", "else lower median"),
        help="The grades that the judge is compared with. A lead's gold label replaces the grades of other people. "
        "Figures may differ if gold labels are left out, or if each person's grade counts separately.",
    )
    return graders.get(chosen), HUMANS.get(chosen, "gold"), {} if chosen == "Everybody" else {"people": [chosen]}


def _report_buttons(filters: Filters, version_id: int | None) -> None:
    """Show both downloads; a report is made when its button is pressed."""
    with st.popover("Report", icon=":material/download:"):
        for label, ending, mime in (
            ("As one HTML file", "html", "text/html"),
            ("As JSON", "json", "application/json"),
        ):
            st.download_button(
                label,
                data=as_now(partial(_report, ending, filters, version_id)),
                file_name=f"judgeboard-agreement.{ending}",
                mime=mime,
                on_click="ignore",
                key=f"report_{ending}",
                width="stretch",
            )
        if version_id is None:
            return
        st.download_button(
            "Ratings as CSV",
            data=as_now(partial(_ratings, filters, version_id)),
            file_name="judgeboard-ratings.csv",
            mime="text/csv",
            on_click="ignore",
            key="report_ratings",
            width="stretch",
            help="One row for each answer of the filter and each person who graded it, with the verdict of this judge. "
            "An answer without a grade has one row.",
        )


def _ratings(filters: Filters, version_id: int) -> bytes:
    with reading() as connection:
        known = {RATINGS: ratings_table(scored_version(connection, version_id))}
    file = BytesIO()
    now = seen()
    export_tables(now.store, {RATINGS: file}, format="csv", viewer=now.viewer, where=filters.counted.where, known=known)
    return file.getvalue()


def _report(ending: str, filters: Filters, version_id: int | None) -> bytes:
    with reading() as connection:
        results = report_results(connection, filters.grade, version_id, filters.counted)
        page = report_page(results, log_summary(connection, results)) if ending == "html" else to_json(results)
    return page.encode()


def _judge_and_people(filters: Filters) -> AgreementPage:
    with reading() as connection:
        source = PairSource(connection, filters.counted)
        version = version_field(filters.judge_field, source.versions(filters.grade))
        return agreement_page(source, version_id=version.id if version else None, grade=filters.grade, by=filters.by)


def _choice_of_raters(filters: Filters) -> AgreementChoice | None:
    if filters.of != "repeats":
        with filters.judge_field:
            st.selectbox("Judge version", ["All"], key="all_versions", disabled=True)
        return AgreementChoice(filters.of, grade=filters.grade, by=filters.by, counted=filters.counted.of_everybody())
    with reading() as connection:
        names = list(dict.fromkeys(each.name for each in versions_asked_again(connection)))
    with filters.judge_field:
        name = st.selectbox(
            "Judge", names, key="judge", bind="query-params", placeholder="No repeats", disabled=not names
        )
    counted = CountedGrades(where=filters.counted.where)
    return AgreementChoice("repeats", (name,), grade=filters.grade, counted=counted) if name else None


def _show_raters(choice: AgreementChoice, *, as_tables: bool) -> None:
    with reading() as connection:
        try:
            result = agreement_of(connection, choice)
        except NotFound as error:
            empty(f"{capital(str(error))}.")
            return
        ids = (
            {name: id_ for id_, name in reviewer_names(connection).items()}
            if choice.of == "people"
            else {each.title: each.id for each in list_versions(connection)}
        )
    sentence(result.sentence)
    _notes(result.notes)
    _next_step(result)
    if result.n:
        show_raters(result, ids, choice.counted, as_tables=as_tables)


def _next_step(result: AgreementResult) -> None:
    """Show the command that gives more rating pairs or ratings."""
    if (command := next_command(result)) is not None:
        caption(f"To {'let people grade' if result.unjudged is None else 'judge'} them: `{command}`")


def _show_judge(shown: AgreementPage, filters: Filters) -> None:
    if shown.version is None or shown.result is None:
        with reading() as connection:
            judged = judging_version(connection)
        if judged is not None and shown.grade == "label":
            _rate(judged, implied_labels=filters.counted.implied_labels)
        empty_page("agreement", shown.sentence, among=STEPS)
        _notes(shown.notes)
        return
    everything = filters.counted.where == RowFilter()
    left_out = dict(shown.result.left_out)
    if shown.grade == "label" and filters.counted.reviewer_id is None and everything:
        of_rate = _rate(shown.version, implied_labels=filters.counted.implied_labels)
        # The caption of the rate names its answers. What both leave out stands there.
        left_out = {reason: n for reason, n in left_out.items() if of_rate.get(reason) != n}
    sentence(shown.sentence)
    _notes(shown.notes, left_out_sentence(left_out))
    if not everything:
        caption(f"{filter_sentence(filters.counted.where)} Flags are counted in the whole log.")
    if shown.result.n < MIN_PAIRS:
        _next_step(shown.result)
        _worth_of_flags()
        return
    figures = AgreementFigures(shown, shown.version, shown.result, filters.by, as_tables=filters.as_tables)
    # Three columns. At a width of 800 px, the third is below the other two.
    with st.container(key="wrap_agreement"):
        first, second, third = st.columns([1, 1.15, 1.05], gap="medium")
    with first:
        figures.confusion()
    with second:
        figures.slices()
    with third:
        if shown.grade == "label":
            figures.calibration()
        else:
            figures.over_time()
    left, right = stacking_columns("versions", [1.65, 1])
    with left:
        _versions(shown, filters)
    with right:
        _worth_of_flags()
    left, right = stacking_columns("figures", [1.35, 1])
    with left:
        _all_figures(figures)
    with right:
        if shown.grade == "label":
            figures.over_time()
        _single_people(figures)
        _notices_of_readers(figures)


def _rate(version: StoredVersion, *, implied_labels: bool) -> Mapping[str, int]:
    """Show how many of all answers are bad, and per query type; where that is not known, what to label.

    Return which answers it left out, by reason.
    """
    result = bad_share(version, implied_labels=implied_labels)
    show(tag("div", bold_numbers(result.sentence), cls="jb-rate jb-wide"))
    if result.to_label is not None and not result.to_label.hidden and permitted(Action.MAKE_QUEUES):
        open_button("Plan the labels", Rows("plan", {}), key="rate_plan", icon=":material/playlist_add:")
    caption(*(each.text for each in result.caveats), left_out_sentence(result.about.left_out))
    if result.about.counts["labels"] and len(result.slices) > 1:
        with st.expander("Bad answers by query type", key="rate_tables"):
            table(rate_table(result), key="rate_types", name="rates")
    return result.about.left_out


def _notes(notes: Sequence[Note], left_out: str | None = None) -> None:
    prominent = [shown for shown in notes if shown.code not in SMALL]
    for shown in prominent[:MOST_NOTES]:
        note(_on_page(shown), lead=LEADS.get(shown.code, "Note."))
    small = [*prominent[MOST_NOTES:], *(shown for shown in notes if shown.code in SMALL - {"slices"})]
    if small or left_out:
        caption(*map(_on_page, small), left_out)


def _on_page(shown: Note) -> str:
    """Return the text of a note with the page's field in the place of the option."""
    return re.sub(r"`--grade (\w+)`", r"Grade: \1", shown.text)


def _versions(shown: AgreementPage, filters: Filters) -> None:
    same, grade = shown.same_answers, shown.grade
    answers = counted(same.n, "graded answer") if same.answers is None else counted(same.answers, "answer")
    heading(f"Judge versions on the {answers} that all of them judged" if same.versions else "Judge versions")
    if not same.versions:
        caption("Fewer than ten answers have a grade by people and a verdict of each judge version.")
        return
    left_out = ", ".join(same.left_out)
    table(
        versions_table(same, grade),
        [_this_page(each.name, filters) for each in same.versions],
        key="versions",
        under=(
            "Click a row to see that version.",
            None if same.answers is None else "n counts the labels behind the figures.",
            f"Left out: too few common answers ({left_out})." if left_out else None,
        ),
        csv=lambda: figures_file(grade, ((each.name, "all", each.statistics) for each in same.whole())),
    )


def _this_page(title: str, filters: Filters) -> Rows:
    query: dict[str, str | list[str]] = {"version": title, **filters.query, **query_of(filters.counted.where)}
    if filters.grade != "label":
        query["grade"] = filters.grade.capitalize()
    return Rows("agreement", query)


def _worth_of_flags() -> None:
    heading("How often flags are right")
    flags = kept_until_new_rows(log_revision, flags_worth, ("flags_worth",))
    if not flags.rules:
        caption("No rule has flagged an answer.")
        return
    bad = flags.not_flagged.value
    graded = [responses(RowFilter(rules=(each.rule,), graded=True)) for each in flags.rules]
    table(
        flags_table(flags),
        [*graded, None, None],
        key="flags",
        under=(
            "Bad answers: from the labels that count, weighted as in `judgeboard labels rate`.",
            *missing_shares(flags),
            "Confirmed: of the decided flags. People often decide the worst flags first.",
            "It is not known how many bad answers the rules miss: too few answers that no rule flagged are labelled."
            if bad is None
            else f"According to people, about {one_in(bad)} of the answers that no rule flagged are bad.",
        ),
    )


def _all_figures(figures: AgreementFigures) -> None:
    heading(f"All figures of {figures.result.title}")
    of_all, alone = all_and_alone(figures.result)
    if alone:
        caption(f"{in_all_title(figures.result)}:")
    elif figures.result.is_of_graded:
        caption(f"{alone_title(figures.result)}:")
    rows = figures_table(of_all)
    table(
        rows,
        [cell_rows(figures.cell())] * len(rows.rows),
        key="figures",
        most=len(rows.rows),
        under=("The CSV file also contains the figures of every slice.",),
        csv=lambda: _file_with_slices(figures.page.choice),
    )
    if alone:
        caption(f"{alone_title(figures.result)}:")
        rows = figures_table(alone)
        table(rows, [cell_rows(figures.cell())] * len(rows.rows), key="figures_alone", most=len(rows.rows))
    if classes := figures.result.classes:
        rows = classes_table(classes)
        table(rows, [cell_rows(figures.cell(people=each.category)) for each in classes], key="classes")


def _file_with_slices(choice: AgreementChoice) -> Table:
    with reading() as connection:
        result = agreement_of(connection, choice)
    parts = [("all", result.statistics), *((each.name, each.statistics) for each in result.slices)]
    if result.graded:
        parts.insert(1, (alone_title(result), result.graded))
    return figures_file(result.grade, ((result.title, name, statistics) for name, statistics in parts))


def _single_people(figures: AgreementFigures) -> None:
    heading(TITLES["alt_test"])
    epsilon = epsilon_field()
    version, grade, counted = figures.version, figures.page.grade, figures.page.choice.counted
    with reading() as connection:
        test = stand_in_test(connection, version, grade, epsilon, counted)
        people = {name: id_ for id_, name in reviewer_names(connection).items()}
    stand_in(test, reliance_of(figures.result), version.id, grade, people, counted)
    after_they_saw(figures.result.anchoring, figures.page.differing, version.id, counted.where)


def _notices_of_readers(figures: AgreementFigures) -> None:
    """Show how many served answers are bad according to people, if there are labels of any."""
    if notices := figures.result.notices:
        heading(TITLES["notices"])
        where = replace(figures.page.choice.counted.where, graded=True)
        rows = [
            responses(
                replace(
                    where,
                    metadata=(*where.metadata, f"{SERVED}.{NOTICE}={each.notice}"),
                    query_types=where.query_types if each.query_type is None else (each.query_type,),
                )
            )
            for each in notices
        ]
        table(notices_table(notices), rows, key="notices", most=len(rows), under=(NOTICES_WORDS,))


with page():
    agreement()
