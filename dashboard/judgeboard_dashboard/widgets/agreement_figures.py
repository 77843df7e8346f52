"""The charts and tables of a judge beside people: where they differ, slices, calibration, weeks, versions, figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.agreement.answer_pairs import GradeName
from judgeboard.agreement.cells import PairCell, cell_names
from judgeboard.agreement.choice import SLICES, By, Of
from judgeboard.agreement.disagreement import disagreement_page
from judgeboard.agreement.flag_worth import FlagsWorth
from judgeboard.agreement.notes import PEOPLE_SAY
from judgeboard.agreement.page import AgreementPage, SameAnswers, TimePoint
from judgeboard.agreement.ratings import PairSource
from judgeboard.agreement.result import (
    AgreementResult,
    AgreementSlice,
    Statistics,
    headline_name,
    is_share,
    shown_statistics,
    statistic_name,
)
from judgeboard.domain import Estimate
from judgeboard.reports.agreement import report_page, report_results
from judgeboard.reports.json_output import to_json
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.detection import MIN_CALIBRATION, Tenth
from judgeboard.stats.estimates import complement
from judgeboard.stats.ratings import SCALES, Human
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.reviewers import Reviewer
from judgeboard.trends import day_words, period_words
from judgeboard_dashboard.session import as_now, reading
from judgeboard_dashboard.widgets.charts import grid, scores, trend
from judgeboard_dashboard.widgets.charts.intervals import Slice, whisker_chart, whisker_height
from judgeboard_dashboard.widgets.disagreement import TENTHS, picture_table
from judgeboard_dashboard.widgets.filters import EVERYBODY, as_date, people_names
from judgeboard_dashboard.widgets.navigation import cell_rows
from judgeboard_dashboard.widgets.tables import (
    both_words,
    figure,
    file_of,
    frame,
    in_percent,
    interval_words,
    value_words,
)
from judgeboard_dashboard.widgets.texts import capital, heading, instead, rule_words

OF_NAMES: dict[Of, str] = {
    "judge": "Judge and people",
    "people": "People and people",
    "judges": "Judge and judge",
    "repeats": "Judge and its repeats",
}
BY_NAMES: dict[By, str] = {
    by: {"time": "Month", "length": "Length"}.get(by, by.replace("_", " ").capitalize())
    for by in SLICES
    if by != "judge_version"  # these have a table of their own
}
_EVERYBODY, _WITHOUT_GOLD, _EACH = "Everybody", "Everybody, gold aside", "Each by themselves"
_HUMANS: dict[str, Human] = {_EVERYBODY: "gold", _WITHOUT_GOLD: "majority", _EACH: "each"}


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose word counts as people's: one reviewer's, or everybody's as ``human`` says; ``chosen`` as in the address."""

    reviewer_id: int | None
    human: Human
    chosen: str

    @property
    def query(self) -> dict[str, str]:
        """What an address carries of it."""
        return {} if self.chosen == _EVERYBODY else {"people": self.chosen}


def of_field() -> Of:
    """Ask who is compared with whom."""
    names = {name: of for of, name in OF_NAMES.items()}
    chosen = st.selectbox("Compare", list(names), key="compare", bind="query-params", width=195)
    return names.get(chosen, "judge")


def whose_field(graders: Sequence[Reviewer], grade: GradeName, *, disabled: bool) -> Whose:
    """Ask whose word counts as people's."""
    names = people_names(graders)
    together = PEOPLE_SAY["majority"][grade].removeprefix("the ")
    words = {_EVERYBODY: EVERYBODY[grade], _WITHOUT_GOLD: together.capitalize()} if len(graders) > 1 else {}
    chosen = st.selectbox(
        "People",
        [*_HUMANS, *names],
        key="people",
        bind="query-params",
        width=215,
        disabled=disabled,
        format_func=lambda name: words.get(name, name),
        help="What a lead settled stands before what people say together. Without it, or with each person's grade as a "
        "row of its own, the same answers may say something else.",
    )
    return Whose(names.get(chosen), _HUMANS.get(chosen, "gold"), chosen)


def by_field(*, disabled: bool) -> By:
    """Ask for the slices."""
    names = {name: by for by, name in BY_NAMES.items()}
    chosen = st.selectbox("By", list(names), key="by", bind="query-params", width=125, disabled=disabled)
    return names.get(chosen, "query_type")


def report_buttons(grade: GradeName, version_id: int | None, human: Human) -> None:
    """Show both downloads; they are made when they are pressed.

    Args:
        grade: The grade that the page shows.
        version_id: The judge version that it shows; None where it shows none.
        human: What that is compared with.
    """
    with st.popover("Report", icon=":material/download:"):
        for label, ending, mime in (
            ("As one HTML file", "html", "text/html"),
            ("As JSON", "json", "application/json"),
        ):
            st.download_button(
                label,
                data=as_now(partial(_report, ending, grade, version_id, human)),
                file_name=f"judgeboard-agreement.{ending}",
                mime=mime,
                on_click="ignore",
                key=f"report_{ending}",
                width="stretch",
            )


def _report(ending: str, grade: GradeName, version_id: int | None, human: Human) -> bytes:
    with reading() as connection:
        results = report_results(connection, grade, version_id, human)
    return (report_page(results) if ending == "html" else to_json(results)).encode()


PERCENT = st.column_config.NumberColumn(format="%.0f %%")
MOST_SLICES = 8
WEEK = 7
CALIBRATED = "On the dashed line, people call 70 % of the answers grounded that are scored 0.7. Numbers: answers."
LISTED = ("Click a line to open its answers.",)
INTERVAL = {"Value": "str", "95 %": "str"}


@dataclass(frozen=True, slots=True)
class AgreementFigures:
    """The charts of one judge version beside what people say, as ``whose`` chooses."""

    page: AgreementPage
    version: StoredVersion
    result: AgreementResult
    whose: Whose
    by: By
    as_tables: bool

    def show(self) -> None:
        """Show them, three beside each other; two at 800 px and the third across."""
        with st.container(key="wrap_agreement"):
            first, second, third = st.columns([1, 1.15, 1.05], gap="medium")
        with first:
            heading("Where they differ")
            self._differ()
        with second:
            heading(f"By {BY_NAMES[self.by].lower()}")
            self._slices()
        with third:
            if self.page.grade == "label":
                heading("Calibration")
                self._calibration()
            else:
                heading("Over time")
                self.over_time()

    def _cell(self, people: str | None = None, judge: str | None = None, score: str | None = None) -> PairCell:
        return PairCell(
            self.version.id, self.page.grade, people, judge, score, self.whose.reviewer_id, self.whose.human
        )

    def _differ(self) -> None:
        table = self.result.confusion
        if table is None:
            self._heat()
            return
        figure(
            lambda: grid.confusion_chart(table),
            grid.CONFUSION_HEIGHT,
            _confusion_table(table),
            [cell_rows(self._cell(people, judge)) for people in table.categories for judge in table.categories],
            key=f"confusion_{self.page.grade}",
            says=f"Confusion table of {self.result.n} answers, people in the rows, the judge in the columns",
            as_table=self.as_tables,
            under=(None if self.result.people_say is None else f"People: {self.result.people_say}.",),
            drawn=("Answers. Click a cell to read them.",),
            listed=LISTED,
            columns={"% of row": PERCENT},
        )

    def _heat(self) -> None:
        with reading() as connection:
            found = disagreement_page(
                connection,
                version_id=self.version.id,
                grade="groundedness",
                limit=0,
                source=PairSource.open(connection, self.whose.reviewer_id, self.whose.human),
            )
        names = found.picture.axis
        places = grid.heat_places(found.picture)
        figure(
            lambda: grid.heat_chart(found.picture, found.gap),
            340,
            picture_table(found, places),
            [cell_rows(self._cell(names[people], names[judge])) for people, judge in places],
            key="heat_agreement",
            says=f"{self.result.n} answers by tenths of groundedness, people across, the judge upwards",
            as_table=self.as_tables,
            drawn=(
                "Answers per tenth.",
                grid.outlined_words(found.picture, found.gap),
                "Click a cell to read them.",
            ),
            listed=(TENTHS, *LISTED),
        )

    def _slices(self) -> None:
        lead = headline_name(SCALES[self.page.grade])
        name, headline = statistic_name(lead), self.result.statistics[lead]
        if headline.value is None:
            instead(f"{name}: {headline.reason}.")
            return
        shown = sorted(self.result.slices, key=lambda each: -each.n)[:MOST_SLICES]
        left_out = len(self.result.slices) - len(shown)
        slices_figure(
            [AgreementSlice("All", self.result.n, self.result.statistics), *shown],
            lead,
            BY_NAMES[self.by],
            [
                cell_rows(self._cell()),
                *(cell_rows(replace(self._cell(), by=self.by, slice=each.name)) for each in shown),
            ],
            key=f"slices_{self.page.grade}_{self.by}",
            as_table=self.as_tables,
            under=(
                "0: no order in common, 1: the same order."
                if lead == "spearman"
                else "0 is what chance would give, 1 is full agreement.",
                next((each.text for each in self.page.notes if each.code == "slices"), None),
                f"The {MOST_SLICES} with most answers; {left_out} others are in the file below." if left_out else None,
            ),
        )

    def _calibration(self) -> None:
        tenths = self.result.calibration
        if tenths is None:
            scored = self.result.statistics["auroc"].n
            instead(f"Calibration needs at least {MIN_CALIBRATION} scored and graded answers; there are {scored:,}.")
            return
        names = cell_names("groundedness")
        figure(
            lambda: scores.calibration_chart(tenths),
            scores.CALIBRATION_HEIGHT,
            _calibration_table(tenths),
            [cell_rows(self._cell(score=names[place])) for place in scores.drawn_tenths(tenths)],
            key="calibration",
            says="Share of answers that people call grounded, by tenths of the judge's groundedness",
            as_table=self.as_tables,
            drawn=(CALIBRATED,),
            listed=LISTED,
            columns={"Mean": st.column_config.NumberColumn(format="%.2f")},
        )

    def over_time(self) -> None:
        """Show agreement by the week in which the answers were asked."""
        points = self.page.over_time
        if not points:
            instead("None of these answers says when it was asked. Import with `--map YOURS=asked_at`")
            return
        share = self.page.grade != "groundedness"
        title = "Same grade" if share else "Mean difference"
        starts = [point.start for point in points]
        missing = self.page.without_time
        axis = trend.TrendAxis(
            title, 0.0, 1.0, share, WEEK, min(starts), max(starts), max(point.estimate.n for point in points)
        )
        figure(
            lambda: trend.trend_chart([_drawn(point) for point in points], (), axis),
            260,
            _time_table(points, share=share),
            [cell_rows(self._cell(), **_days(point)) for point in points],
            key=f"over_time_{self.page.grade}",
            says=f"{title} per week with 95 % interval",
            as_table=self.as_tables,
            under=(
                "By the week (UTC) in which the answers were asked.",
                f"{missing:,} have no time and are left out." if missing else None,
            ),
            drawn=("Click a point to open its answers.",),
            listed=LISTED,
        )


def slices_figure(
    lines: Sequence[AgreementSlice],
    lead: str,
    by: str,
    targets: Sequence[Any],
    *,
    key: str,
    as_table: bool,
    under: Sequence[str | None],
) -> None:
    """Show the statistic ``lead`` of all and of each slice, with its interval."""
    name = statistic_name(lead)
    rows = [(each.name, each.n, each.statistics[lead]) for each in lines]
    figure(
        lambda: whisker_chart([Slice(*row) for row in rows], f"{name}, 95 % interval"),
        whisker_height(len(rows)),
        frame(
            {by: "str", "Answers": "Int64", name: "str", "95 %": "str"},
            ((slice_name, n, *_words(each, share=False)) for slice_name, n, each in rows),
        ),
        targets,
        key=key,
        says=f"{name} with 95 % interval by {by.lower()}",
        as_table=as_table,
        under=under,
        listed=LISTED,
    )


def figures_table(statistics: Statistics) -> pd.DataFrame:
    """Return every statistic with its interval and n."""
    return frame(
        {"Figure": "str", **INTERVAL, "Answers": "Int64"},
        (
            (statistic_name(name), *_words(each, share=is_share(name)), each.n)
            for name, each in shown_statistics(statistics).items()
        ),
    )


def figures_file(grade: str, lines: Iterable[tuple[str, str, Statistics]]) -> pd.DataFrame:
    """Return every statistic as plain numbers, of lines with the title of a judge version and the name of a slice."""
    return file_of(
        {"Judge version": "str", "Grade": "str", "Slice": "str", "Figure": "str"},
        (
            ((title, grade, name, statistic_name(figure_name)), estimate)
            for title, name, statistics in lines
            for figure_name, estimate in shown_statistics(statistics).items()
        ),
    )


def versions_table(same: SameAnswers, grade: GradeName) -> pd.DataFrame:
    """Return all judge versions on the same answers, one a line."""
    columns = _VERSION_COLUMNS[grade]
    return frame(
        {"Judge version": "str", "Answers": "Int64", **columns, "Weakest on": "str"},
        (
            (each.name, each.n, *_version_cells(each.statistics, grade), weakest)
            for each, weakest in zip(same.versions, same.weakest, strict=True)
        ),
    )


def flags_table(flags: FlagsWorth) -> pd.DataFrame:
    """Return what each rule's flags are worth; the random draw that no other rule raised comes last."""
    lines = [(capital(rule_words(each.rule)), each.confirmed, each.minutes) for each in flags.rules]
    if flags.random_bad.n:
        lines.append(("Random, no other rule", flags.random_bad, None))
    return frame(
        {"Rule": "str", "Decided": "Int64", "Confirmed": "Float64", "95 %": "str", "Minutes each": "Float64"},
        (
            (name, share.n, in_percent(share), interval_words(share, share=True), minutes)
            for name, share, minutes in lines
        ),
    )


def _words(estimate: Estimate, *, share: bool) -> tuple[str | None, str | None]:
    return value_words(estimate, share=share), interval_words(estimate, share=share)


def _confusion_table(table: Confusion) -> pd.DataFrame:
    """Return one line per cell, in the order of the chart's marks."""
    return frame(
        {"People say": "str", "Judge says": "str", "Answers": "Int64", "% of row": "Float64"},
        (
            (people, judge, count, None if share is None else share * 100)
            for people, counts, shares in zip(table.categories, table.counts, table.row_shares, strict=True)
            for judge, count, share in zip(table.categories, counts, shares, strict=True)
        ),
    )


def _calibration_table(tenths: Sequence[Tenth]) -> pd.DataFrame:
    """Return the tenths that hold any answer."""
    return frame(
        {"Judge scores": "str", "Mean": "Float64", "Answers": "Int64", "People: grounded": "str", "95 %": "str"},
        (
            (
                f"{tenth.low:.1f} to {tenth.high:.1f}",
                tenth.mean_score,
                tenth.share_grounded.n,
                *_words(tenth.share_grounded, share=True),
            )
            for tenth in tenths
            if tenth.mean_score is not None
        ),
    )


def _time_table(points: Sequence[TimePoint], *, share: bool) -> pd.DataFrame:
    return frame(
        {"Asked in": "str", "Answers": "Int64", **INTERVAL},
        (
            (
                f"the week of {day_words(point.start, year=True)}",
                point.estimate.n,
                *_words(point.estimate, share=share),
            )
            for point in points
        ),
    )


def _drawn(point: TimePoint) -> trend.TrendPoint:
    return trend.TrendPoint(point.start, period_words(point.start, "week", year=True), point.estimate, point.segment)


def _days(point: TimePoint) -> dict[str, str]:
    return {"from": str(as_date(point.start)), "to": str(as_date(point.start + WEEK - 1))}


_VERSION_COLUMNS: dict[GradeName, dict[str, str]] = {
    "label": {
        "Agree": "Float64",
        "95 %": "str",
        "Kappa": "Float64",
        "95 % ": "str",
        "Bad answers missed": "str",
        "False alarms": "str",
    },
    "quality": {
        "Same quality": "Float64",
        "95 %": "str",
        "Weighted kappa": "Float64",
        "95 % ": "str",
        "At most one apart": "str",
    },
    "groundedness": {
        "Mean difference": "Float64",
        "95 %": "str",
        "Rank correlation": "Float64",
        "95 % ": "str",
        "Judge minus people": "str",
    },
}


def _version_cells(statistics: Statistics, grade: GradeName) -> tuple[Any, ...]:
    """Return the cells of a judge version, in the order of its grade's columns."""
    if grade == "groundedness":
        apart, spearman = statistics["mean_absolute_difference"], statistics["spearman"]
        bias = both_words(statistics["bias"], share=False)
        return (*_number(apart), *_number(spearman), bias)
    agreed, lead = statistics["agreement"], statistics[headline_name(SCALES[grade])]
    rest = (
        [statistics["at_most_one_apart"]]
        if grade == "quality"
        else [complement(statistics[name]) for name in ("sensitivity", "specificity")]
    )
    words = (both_words(each, share=True) for each in rest)
    return (in_percent(agreed), interval_words(agreed, share=True), *_number(lead), *words)


def _number(estimate: Estimate) -> tuple[float | None, str | None]:
    return estimate.value, interval_words(estimate, share=False)
