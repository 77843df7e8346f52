"""The pictures of the agreement page: where both differ, by query type, calibration, over time."""

from dataclasses import dataclass, replace

import streamlit as st

from judgeboard.agreement import AgreementRow, PairSource
from judgeboard.agreement.choice import By
from judgeboard.agreement.notes import headline
from judgeboard.agreement.page import AgreementPage, TimePoint
from judgeboard.agreement.words import PEOPLE_SAY
from judgeboard.disagreement import disagreement_page
from judgeboard.pair_cells import PairCell, cell_names
from judgeboard.stats.calibration import MIN_CALIBRATION
from judgeboard.trend_words import period_words
from judgeboard_dashboard.address import as_date
from judgeboard_dashboard.agreement_filters import BY_NAMES, Whose
from judgeboard_dashboard.agreement_tables import (
    HEADLINES,
    calibration_table,
    confusion_table,
    slices_table,
    time_table,
)
from judgeboard_dashboard.charts import calibration, confusion, heat, trend
from judgeboard_dashboard.charts.whisker import Slice, whisker_chart, whisker_height
from judgeboard_dashboard.disagreement_pictures import TENTHS, picture_table
from judgeboard_dashboard.drill import cell_rows
from judgeboard_dashboard.figure import figure
from judgeboard_dashboard.saying import heading, instead
from judgeboard_dashboard.session import reading

PERCENT = st.column_config.NumberColumn(format="%.0f %%")
MOST_SLICES = 8
WEEK = 7
CALIBRATED = "On the dashed line, people call 70 % of the answers grounded that are scored 0.7. Numbers: answers."
LISTED = ("Click a line to open its answers.",)


@dataclass(frozen=True, slots=True)
class AgreementFigures:
    """The pictures of one judge version's row beside what people say, as ``whose`` chooses."""

    page: AgreementPage
    row: AgreementRow
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
            if self.row.grade == "label":
                heading("Calibration")
                self._calibration()
            else:
                heading("Over time")
                self.over_time()

    def _cell(self, people: str | None = None, judge: str | None = None, score: str | None = None) -> PairCell:
        return PairCell(
            self.row.version.id, self.row.grade, people, judge, score, self.whose.reviewer_id, self.whose.human
        )

    def _differ(self) -> None:
        table = self.row.statistics.confusion
        if table is None:
            self._heat()
            return
        figure(
            lambda: confusion.confusion_chart(table),
            confusion.HEIGHT,
            confusion_table(table),
            [cell_rows(self._cell(people, judge)) for people in table.categories for judge in table.categories],
            key=f"confusion_{self.row.grade}",
            says=f"Confusion table of {self.row.n} answers, people in the rows, the judge in the columns",
            as_table=self.as_tables,
            under=(self._people,),
            drawn=("Answers. Click a cell to read them.",),
            listed=LISTED,
            columns={"% of row": PERCENT},
        )

    def _heat(self) -> None:
        with reading() as connection:
            found = disagreement_page(
                connection,
                version_id=self.row.version.id,
                grade="groundedness",
                limit=0,
                source=PairSource.open(connection, self.whose.reviewer_id, self.whose.human),
            )
        names = found.picture.axis
        places = heat.heat_places(found.picture)
        figure(
            lambda: heat.heat_chart(found.picture, found.gap),
            340,
            picture_table(found, places),
            [cell_rows(self._cell(names[people], names[judge])) for people, judge in places],
            key="heat_agreement",
            says=f"{self.row.n} answers by tenths of groundedness, people across, the judge upwards",
            as_table=self.as_tables,
            drawn=(
                "Answers per tenth.",
                heat.outlined_words(found.picture, found.gap),
                "Click a cell to read them.",
            ),
            listed=(TENTHS, *LISTED),
        )

    @property
    def _people(self) -> str | None:
        """What one side of every pair is."""
        if self.whose.reviewer_id is not None:
            return None
        return f"People: {PEOPLE_SAY[self.whose.human][self.row.grade]}."

    def _slices(self) -> None:
        if headline(self.row.statistics).value is None:
            instead(f"{HEADLINES[self.row.grade]}: {headline(self.row.statistics).reason}.")
            return
        shown = sorted(self.page.slices, key=lambda each: -each.n)[:MOST_SLICES]
        lines = [("All", self.row.n, headline(self.row.statistics))]
        lines += [(each.name, each.n, each.headline) for each in shown]
        targets = [
            cell_rows(self._cell()),
            *(cell_rows(replace(self._cell(), by=self.by, slice=each.name)) for each in shown),
        ]
        luck = next((each.text for each in self.page.notes if each.code == "slices"), None)
        left_out = len(self.page.slices) - len(shown)
        figure(
            lambda: whisker_chart(
                [Slice(*line) for line in lines],
                f"{HEADLINES[self.row.grade]}, 95 % interval",
            ),
            whisker_height(len(lines)),
            slices_table(lines, self.row.grade, BY_NAMES[self.by]),
            targets,
            key=f"slices_{self.row.grade}_{self.by}",
            says=f"{HEADLINES[self.row.grade]} with 95 % interval by {BY_NAMES[self.by].lower()}",
            as_table=self.as_tables,
            under=(
                "0: no order in common, 1: the same order."
                if self.row.grade == "groundedness"
                else "0 is what chance would give, 1 is full agreement.",
                luck,
                f"The {MOST_SLICES} with most answers; {left_out} others are in the file below." if left_out else None,
            ),
            listed=LISTED,
        )

    def _calibration(self) -> None:
        tenths = self.row.calibration
        if tenths is None:
            scored = self.row.statistics.auroc.n
            instead(f"Calibration needs at least {MIN_CALIBRATION} scored and graded answers; there are {scored:,}.")
            return
        names = cell_names("groundedness")
        figure(
            lambda: calibration.calibration_chart(tenths),
            calibration.HEIGHT,
            calibration_table(tenths),
            [cell_rows(self._cell(score=names[place])) for place in calibration.drawn_tenths(tenths)],
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
        share = self.row.grade != "groundedness"
        title = "Same grade" if share else "Mean difference"
        starts = [point.start for point in points]
        missing = self.page.without_time
        axis = trend.TrendAxis(
            title, 0.0, 1.0, share, WEEK, min(starts), max(starts), max(point.estimate.n for point in points)
        )
        figure(
            lambda: trend.trend_chart([_drawn(point) for point in points], (), axis),
            260,
            time_table(points, share=share),
            [cell_rows(self._cell(), **_days(point)) for point in points],
            key=f"over_time_{self.row.grade}",
            says=f"{title} per week with 95 % interval",
            as_table=self.as_tables,
            under=(
                "By the week (UTC) in which the answers were asked.",
                f"{missing:,} have no time and are left out." if missing else None,
            ),
            drawn=("Click a point to open its answers.",),
            listed=LISTED,
        )


def _drawn(point: TimePoint) -> trend.TrendPoint:
    return trend.TrendPoint(point.start, period_words(point.start, "week", year=True), point.estimate, point.segment)


def _days(point: TimePoint) -> dict[str, str]:
    return {"from": str(as_date(point.start)), "to": str(as_date(point.start + WEEK - 1))}
