"""The page Agreement: one sentence on whether the judge can be trusted, with figures."""

from dataclasses import replace
from functools import partial
from io import BytesIO

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgeboard.errors import NotFound
from judgeboard.formats.output import to_json
from judgeboard.judges.evidence_alignment import NOTICE, SERVED
from judgeboard.measure.agreement import agreement_of, stand_in_test
from judgeboard.measure.agreement_notes import compared_with
from judgeboard.measure.agreement_page import (
    AgreementPage,
    agreement_details,
    agreement_page,
    flags_worth,
)
from judgeboard.measure.agreement_result import AgreementResult, answers_words, left_out_sentence
from judgeboard.measure.choice import AgreementChoice, By, CountedGrades, GradeName, Of
from judgeboard.measure.disagreement import disagreement_page
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.reliance import reliance_of, verdict
from judgeboard.measure.result import Result
from judgeboard.measure.sample import log_revision
from judgeboard.measure.samples import judging_version, scored_version
from judgeboard.reports.agreement import (
    OF_NAMES,
    TITLES,
    all_and_alone,
    figures_file,
    figures_table,
    next_command,
    part_table,
    report_page,
    report_results,
)
from judgeboard.reports.front_page import log_summary
from judgeboard.stats.estimates import MIN_PAIRS, one_in
from judgeboard.stats.ratings import Human
from judgeboard.store.export import RATINGS, export_tables, ratings_table
from judgeboard.store.filters import METADATA, RowFilter, filter_sentence
from judgeboard.store.judge_versions import versions_asked_again
from judgeboard.store.metadata import metadata_fields
from judgeboard.store.reviewers import graders_by_name, reviewer_names
from judgeboard.store.tables import StoredVersion
from judgeboard_dashboard.session import (
    as_now,
    current_query,
    in_row,
    kept_until_new_rows,
    page,
    read,
    reading,
    seen,
    stacking_columns,
)
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
from judgeboard_dashboard.widgets.differing import CELL, cell_in_address
from judgeboard_dashboard.widgets.filters import (
    PART_FIELDS,
    choose,
    grade_field,
    part_of_log,
    table_switch,
    version_field,
)
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import Rows, cell_rows, follow, plan_button, responses
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import capital, caption, empty, heading, note, sentence

FIELDS = (
    *(
        "version",
        "grade",
        "people",
        "tables",
        "compare",
        "by",
        "epsilon",
        "judge",
        "implied",
        "all",
        CELL,
    ),
    *PART_FIELDS,
)
MOST_DIFFERING = 100
HUMANS: dict[str, Human] = {
    "Everybody": "gold",
    "Everybody, without gold": "majority",
    "Each person alone": "each",
}


def agreement() -> None:
    """Show the agreement of a judge version with people, or the agreement among people or repeats."""
    follow("agreement", own=FIELDS)
    with in_row("filters_agreement", align="bottom"):
        with reading() as connection:
            graders = graders_by_name(connection)
            metadata = [f"{METADATA}{each.field}" for each in metadata_fields(connection)]
        judge_field = st.container(width=190)
        grade = grade_field()
        of: Of = choose(
            "Compare",
            {name: of for of, name in OF_NAMES.items() if of != "judges"},
            key="compare",
            width=175,
        )
        # Show the field of the people; return the one reviewer, or how everybody counts, and the
        # field in the address.
        disabled = of != "judge"
        words = {
            name: capital(compared_with(human, grade))
            for name, human in HUMANS.items()
            if len(graders) > 1
        }
        people = st.selectbox(
            "People",
            [*HUMANS, *graders],
            key="people",
            bind="query-params",
            width=243,
            disabled=disabled,
            format_func=lambda name: str(words.get(name, name)).replace(
                "else lower median of people", "else lower median"
            ),
            help="The grades that the judge is compared with. A lead's gold label replaces the grades of other people. "
            "Figures may differ if gold labels are left out, or if each person's grade counts separately.",
        )
        reviewer_id = graders.get(people)
        human = HUMANS.get(people, "gold")
        fields = {name: by for by, name in BY_NAMES.items()} | dict(
            zip(metadata, metadata, strict=True)
        )
        by = choose("By", fields, key="by", width=125, disabled=of == "repeats")
        st.space("stretch")
        table_switch()
        where, implied_labels = part_of_log(implied_matter=grade == "label" and of != "repeats")
        grades = CountedGrades(reviewer_id, human, implied_labels, where)
        report = st.container(width="content")
        choice, judge_page = None, None
        if of == "judge":
            with reading() as connection:
                versions = PairSource(connection, grades).versions(grade)
            version = version_field(judge_field, versions)
            id_ = version.id if version else None
            judge_page = kept_until_new_rows(
                log_revision,
                lambda connection: agreement_page(
                    PairSource(connection, grades), version_id=id_, grade=grade, by=by
                ),
                ("agreement_page", id_, grade, grades, by),
            )
        else:
            choice = _choice_of_raters(judge_field, of, grade, grades, by)
        with report:
            _report_buttons(grade, grades, None if judge_page is None else judge_page.version)
    if judge_page is not None:
        _show_judge(judge_page)
    elif choice is not None:
        _show_raters(choice)
    else:
        empty("No judge has repeats. Make some: `judgeboard judge --repeats 3`")


def _report_buttons(grade: GradeName, grades: CountedGrades, version: StoredVersion | None) -> None:
    """Show both downloads; a report is made when the button is pressed."""
    with st.popover("Report", icon=":material/download:"):
        for label, ending, mime in (
            ("As one HTML file", "html", "text/html"),
            ("As JSON", "json", "application/json"),
        ):
            st.download_button(
                label,
                data=as_now(partial(_report, ending, grade, grades, version)),
                file_name=f"judgeboard-agreement.{ending}",
                mime=mime,
                on_click="ignore",
                key=f"report_{ending}",
                width="stretch",
            )
        if version is None:
            return
        st.download_button(
            "Ratings as CSV",
            data=as_now(partial(_ratings, grades.where, version.id)),
            file_name="judgeboard-ratings.csv",
            mime="text/csv",
            on_click="ignore",
            key="report_ratings",
            width="stretch",
            help="One row for each answer of the filter and each person who graded it, with the verdict of this judge. "
            "An answer without a grade has one row.",
        )


def _ratings(where: RowFilter, version_id: int) -> bytes:
    tables = {RATINGS: ratings_table(read(scored_version, version_id))}
    file = BytesIO()
    now = seen()
    export_tables(
        now.store,
        {RATINGS: file},
        format="csv",
        viewer=now.viewer,
        where=where,
        known=tables,
    )
    return file.getvalue()


def _report(
    ending: str, grade: GradeName, grades: CountedGrades, version: StoredVersion | None
) -> bytes:
    with reading() as connection:
        results = report_results(connection, grade, None if version is None else version.id, grades)
        page = (
            report_page(results, log_summary(connection, results))
            if ending == "html"
            else to_json(results)
        )
    return page.encode()


def _choice_of_raters(
    judge_field: DeltaGenerator, of: Of, grade: GradeName, grades: CountedGrades, by: By
) -> AgreementChoice | None:
    if of != "repeats":
        with judge_field:
            st.selectbox("Judge version", ["All"], key="all_versions", disabled=True)
        return AgreementChoice(of, grade=grade, by=by, counted=grades.of_everybody())
    names = list(dict.fromkeys(each.name for each in read(versions_asked_again)))
    with judge_field:
        name = st.selectbox(
            "Judge",
            names,
            key="judge",
            bind="query-params",
            placeholder="No repeats",
            disabled=not names,
        )
    of_log = CountedGrades(where=grades.where)
    return AgreementChoice("repeats", (name,), grade=grade, counted=of_log) if name else None


def _show_raters(choice: AgreementChoice) -> None:
    with reading() as connection:
        try:
            result = agreement_of(connection, choice)
        except NotFound as error:
            empty(f"{capital(str(error))}.")
            return
        ids = {name: id_ for id_, name in reviewer_names(connection).items()}
    sentence(result.sentence)
    _first_caveat(result)
    _more_notes(result)
    _next_step(result)
    if result.n:
        show_raters(result, ids, choice.counted)


def _next_step(result: AgreementResult) -> None:
    """Show the command that gives more rating pairs or ratings."""
    if (command := next_command(result)) is not None:
        caption(
            f"To {'let people grade' if result.unjudged is None else 'judge'} them: `{command}`"
        )


def _show_judge(judge_page: AgreementPage) -> None:
    result, version, grades = judge_page.result, judge_page.version, judge_page.choice.counted
    if version is None:
        empty_page(result.sentence)
        _more_notes(result)
        version_of_judge = read(judging_version)
        if version_of_judge is not None and judge_page.grade == "label":
            plan_button(key="rate_plan")
        return
    reliance = verdict(result)
    sentence(result.sentence, lead="" if reliance is None else reliance.text)
    _first_caveat(result)
    if grades.where != RowFilter():
        caption(filter_sentence(grades.where))
    if result.to_label is not None and not result.to_label.hidden:
        plan_button(key="rate_plan")
    place = cell_in_address(judge_page.grade)
    with reading() as connection:
        source = PairSource(connection, grades)
        differ = disagreement_page(
            source, version.id, judge_page.grade, cell=place, limit=MOST_DIFFERING
        )
    figures = AgreementFigures(judge_page, version, differ, place)
    if result.n < MIN_PAIRS:
        _more_notes(result)
        _next_step(result)
        figures.differing()
        return
    left, right = stacking_columns("agreement", [1, 1.15])
    with left:
        figures.leading()
    with right:
        figures.confusion()
    figures.differing()
    if st.toggle("All figures", key="all", bind="query-params"):
        _details(figures)


def _details(figures: AgreementFigures) -> None:
    """Show the other caveats and figures, the slices, the judge versions, the flags and the people."""
    judge_page, grades = figures.page, figures.page.choice.counted
    details = kept_until_new_rows(
        log_revision,
        lambda connection: agreement_details(PairSource(connection, grades), judge_page),
        ("agreement_details", figures.version.id, judge_page.grade, grades),
    )
    _more_notes(figures.result)
    left, right = stacking_columns("parts", [1, 1])
    with left:
        figures.slices()
    with right:
        if judge_page.grade == "label":
            figures.calibration()
        else:
            figures.over_time(details)
    left, right = stacking_columns("versions", [1.65, 1])
    with left:
        _versions(details.same_answers)
    with right:
        _worth_of_flags()
    figures.missed()
    left, right = stacking_columns("figures", [1.35, 1])
    with left:
        heading(f"All figures of {figures.result.title}")
        of_all, alone = all_and_alone(figures.result)
        if figures.result.is_of_graded:
            caption(f"{answers_words(figures.result.n, figures.result.answers)}:")
        rows = figures_table(of_all)
        table(
            rows,
            [cell_rows(figures.cell())] * len(rows.rows),
            key="figures",
            most=len(rows.rows),
            under=("The CSV file also contains the figures of every slice.",),
            csv=lambda: figures_file([read(agreement_of, judge_page.choice)]),
        )
        if alone:
            caption(f"{answers_words(figures.result.n, None)}:")
            rows = figures_table(alone)
            table(
                rows,
                [cell_rows(figures.cell())] * len(rows.rows),
                key="figures_alone",
                most=len(rows.rows),
            )
        if (classes := figures.result.part("classes")) is not None:
            table(
                part_table(classes),
                [cell_rows(figures.cell(people=each)) for each in classes.slices],
                key="classes",
            )
    with right:
        if judge_page.grade == "label":
            figures.over_time(details)
        heading(TITLES["alt_test"])
        epsilon = epsilon_field()
        with reading() as connection:
            test = stand_in_test(connection, figures.version, judge_page.grade, epsilon, grades)
            people = {name: id_ for id_, name in reviewer_names(connection).items()}
        reliance, version_id = reliance_of(figures.result), figures.version.id
        stand_in(test, reliance, version_id, judge_page.grade, people, grades)
        anchoring = figures.result.part("anchoring")
        after_they_saw(anchoring, details.differing, version_id, grades.where)
        _notices_of_readers(figures)


def _first_caveat(result: AgreementResult) -> None:
    if result.caveats:
        note(result.caveats[0].text, lead="Note.")


def _more_notes(result: AgreementResult) -> None:
    """List the other caveats, the next steps and what is left out."""
    caption(*result.caveats[1:], *result.next, left_out_sentence(result.about.left_out))


def _versions(same: Result) -> None:
    if not same.rows:
        heading("Judge versions")
        caption(
            "Fewer than ten answers have a grade by people and a verdict of each judge version."
        )
        return
    heading(same.sentence)
    of_all = any(row.figure == "answers" for row in same.rows)
    table(
        versions_table(same),
        [Rows("agreement", {**current_query(), "version": each}) for each in same.slices],
        key="versions",
        under=(
            "Click a row to see that version.",
            "n counts the labels behind the figures." if of_all else None,
            *(each.text for each in same.caveats),
        ),
        csv=figures_file([same]),
    )


def _worth_of_flags() -> None:
    heading("How often flags are right")
    flags = kept_until_new_rows(log_revision, flags_worth, ("flags_worth",))
    if not flags.rules:
        caption("No rule has flagged an answer.")
        return
    bad = flags.not_flagged.value
    targets = [responses(RowFilter(rules=(each.rule,), graded=True)) for each in flags.rules]
    table(
        flags_table(flags),
        [*targets, None, None],
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


def _notices_of_readers(figures: AgreementFigures) -> None:
    """Show how many served answers are bad according to people, if there are labels of any."""
    if (notices := figures.result.part("notices")) is not None:
        heading(notices.sentence)
        where = replace(figures.page.choice.counted.where, graded=True)
        rows = []
        for name in notices.slices:
            level, _, query_type = name.partition(", ")
            metadata = (*where.metadata, f"{SERVED}.{NOTICE}={level}")
            types = (query_type,) if query_type else where.query_types
            rows.append(responses(replace(where, metadata=metadata, query_types=types)))
        under = [each.text for each in notices.caveats]
        table(part_table(notices), rows, key="notices", most=len(rows), under=under)


with page():
    agreement()
