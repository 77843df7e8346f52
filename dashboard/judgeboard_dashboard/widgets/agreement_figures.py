"""Charts and tables of agreement: judge and people, several raters, and the judge as a replacement for a person."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations

from judgeboard.domain import Estimate
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.agreement_page import AgreementDetails, AgreementPage, FlagsWorth, TimePoint
from judgeboard.measure.agreement_result import (
    AgreementResult,
    answers_words,
    headline_name,
    left_out_sentence,
    pair_name,
    shown_rows,
)
from judgeboard.measure.cells import ALL, Cell, Raters, cell_names
from judgeboard.measure.choice import GRADES, SLICES, By, CountedGrades, GradeName
from judgeboard.measure.disagreement import DisagreementPage
from judgeboard.measure.notes import note
from judgeboard.measure.reliance import Reliance
from judgeboard.measure.result import Result
from judgeboard.reports.agreement import (
    TITLES,
    calibration_table,
    confusion_table,
    figures_table,
    part_table,
    slices_table,
    stand_in_table,
    stand_in_words,
)
from judgeboard.stats.alternative_annotator import EPSILONS, AlternativeAnnotatorTest
from judgeboard.stats.detection import MIN_CALIBRATION
from judgeboard.stats.pair_statistics import STATISTICS
from judgeboard.stats.ratings import SCALES
from judgeboard.store.filters import RowFilter
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdict_pairs import WhyCounts
from judgeboard.text import day_words
from judgeboard_dashboard.session import stacking_columns
from judgeboard_dashboard.widgets.charts import grid, scores, trend
from judgeboard_dashboard.widgets.charts.intervals import HEIGHT, slice_name, whisker_chart
from judgeboard_dashboard.widgets.differing import (
    Place,
    list_differing,
    missed_table,
    this_page_with,
)
from judgeboard_dashboard.widgets.filters import as_date, choose
from judgeboard_dashboard.widgets.navigation import Rows, cell_rows
from judgeboard_dashboard.widgets.tables import figure, table
from judgeboard_dashboard.widgets.texts import (
    WHY_DIFFERS,
    capital,
    caption,
    heading,
    instead,
    rule_words,
)

BY_NAMES: dict[By, str] = {
    by: {"time": "Month", "length": "Length"}.get(by, by.replace("_", " ").capitalize())
    for by in SLICES
    if by != "judge_version"  # judge versions have a separate table
}
VERSION_STATISTICS: dict[GradeName, tuple[str, ...]] = {
    "label": ("agreement", "kappa", "missed", "false_alarms"),
    "quality": ("agreement", "weighted_kappa", "at_most_one_apart"),
    "groundedness": ("mean_absolute_difference", "spearman", "bias"),
}
"""The statistics in the table of judge versions."""

LEADING: dict[GradeName, tuple[str, ...]] = {
    "label": ("kappa", "sensitivity", "specificity"),
    "quality": ("weighted_kappa", "agreement", "at_most_one_apart"),
    "groundedness": ("spearman", "mean_absolute_difference", "bias"),
}
"""The three figures of each grade; misses and false alarms are the complements of sensitivity and specificity."""

MOST_SLICES = 8
WEEK = 7
CHANCE = "0 means agreement by chance, 1 means full agreement."


@dataclass(frozen=True, slots=True)
class AgreementFigures:
    """The charts of one judge version compared with people, and the answers on which judge and people ``differ``.

    ``place`` is the chosen cell of the matrix.
    """

    page: AgreementPage
    version: StoredVersion
    differ: DisagreementPage
    place: Place | None

    @property
    def result(self) -> AgreementResult:
        """The figures."""
        return self.page.result

    def cell(self, people: str | None = None, score: str | None = None) -> Cell:
        """Return the answers behind a figure."""
        grades = self.page.choice.counted
        return Cell(self.page.grade, self.version.id, people=people, score=score, counted=grades)

    @property
    def _alone(self) -> str | None:
        """The answers that a chart describes; None for all answers."""
        return (
            f"{capital(answers_words(self.result.n, None))}." if self.result.is_of_graded else None
        )

    def leading(self) -> None:
        """Show the three figures that the verdict depends on."""
        heading(capital(answers_words(self.result.n, self.result.answers)))
        leading = {
            name: self.result.statistics[name]
            for name in LEADING[self.page.grade]
            if name in self.result.statistics
        }
        rows = figures_table(leading)
        table(rows, [cell_rows(self.cell())] * len(rows.rows), key="leading")

    def confusion(self) -> None:
        """Show the confusion table, or for groundedness the heat map by tenths. A click on a cell lists the answers."""
        heading(TITLES["confusion"])
        confusion, picture, grade = self.result.confusion, self.differ.picture, self.page.grade
        names = picture.axis
        compared_with = self.result.about.people
        if confusion is None:
            places = grid.heat_places(picture)
            height, rows = grid.HEAT_HEIGHT, grid.picture_table(self.differ, places)
            legend = note("outlined", gap=self.differ.gap).text
        else:
            places = [
                (people, judge) for people in range(len(names)) for judge in range(len(names))
            ]
            height, rows, legend = grid.CONFUSION_HEIGHT, confusion_table(confusion), None
        figure(
            lambda: (
                grid.heat_chart(picture, self.differ.gap, place=self.place)
                if confusion is None
                else grid.confusion_chart(confusion, place=self.place)
            ),
            height,
            rows,
            [this_page_with(grade, names[people], names[judge]) for people, judge in places],
            key=f"matrix_{grade}_{self.place}",  # so that the chart forgets the selection without the cell
            says=f"{self.result.n} answers by the grades of people and the judge",
            under=(self._alone, None if compared_with is None else f"People: {compared_with}."),
            chart_only=("Number of answers. Click a cell to list them.", legend),
        )

    def differing(self) -> None:
        """List the answers on which judge and people differ."""
        list_differing(self.differ, self.cell(), self.version, self.place)

    def missed(self) -> None:
        """Show what the judge misses by failure mode."""
        missed_table(self.cell(), self.version)

    def slices(self) -> None:
        """Show the headline statistic by slice."""
        by = self.page.choice.by or "query_type"
        heading(f"By {BY_NAMES[by].lower() if by in BY_NAMES else by}")
        lead = headline_name(SCALES[self.page.grade])
        if self.result.statistics[lead].value is None:
            instead(f"{STATISTICS[lead].name}: {self.result.statistics[lead].reason}.")
            return
        slices = _largest_slices(self.result)
        more_slices = len(self.result.slices) - len(slices.slices)
        slices_figure(
            slices,
            lead,
            BY_NAMES.get(by, by),
            [
                *(cell_rows(replace(self.cell(), by=by, slice=each)) for each in slices.slices),
                cell_rows(self.cell()),
            ],
            key=f"slices_{self.page.grade}_{by}",
            # A chart invites comparisons, which slices of chosen answers do not allow.
            chart=self.result.answers is not None,
            under=(
                "0 means no common order, 1 means the same order."
                if lead == "spearman"
                else CHANCE,
                _no_line(slices, lead),
                next((each.text for each in self.result.caveats if each.code == "slices"), None),
                f"The CSV file below has {more_slices} more slices with fewer answers."
                if more_slices
                else None,
            ),
        )

    def calibration(self) -> None:
        """Show the share of grounded answers by tenth of the judge's score."""
        heading(TITLES["calibration"])
        tenths = self.result.calibration
        if tenths is None:
            scored = self.result.statistics["auroc"].n
            instead(
                f"Too few answers with score and grade (n = {scored:,}, at least {MIN_CALIBRATION} needed)."
            )
            return
        names = cell_names("groundedness")
        figure(
            lambda: scores.calibration_chart(tenths),
            scores.CALIBRATION_HEIGHT,
            calibration_table(tenths),
            [cell_rows(self.cell(score=names[place])) for place in scores.drawn_tenths(tenths)],
            key="calibration",
            says="Share of answers that people call grounded, by tenths of the judge's groundedness",
            under=(self._alone,),
            chart_only=(
                "Dashed line: perfect calibration. On it, people call 70 % of the answers with score 0.7 grounded.",
                scores.POINT_NUMBERS,
            ),
        )

    def over_time(self, details: AgreementDetails) -> None:
        """Show agreement by week of the answers. Labels and qualities also have kappa, in weeks with enough answers."""
        heading("Over time")
        points = details.over_time
        if not points:
            instead(
                "These answers have no time. To import a column of times: `--map YOURS=asked_at`"
            )
            return
        share = self.page.grade != "groundedness"
        kappa = STATISTICS[headline_name(SCALES[self.page.grade])].name
        without_time = details.without_time
        title = "Same grade" if share else "Mean difference"
        columns: Columns[TimePoint] = {
            Column("Week of"): lambda point: day_words(point.start),
            Column("n", "count"): lambda point: point.estimate.n,
            Column(title, "share estimate" if share else "estimate"): lambda point: point.estimate,
            **({Column(kappa, "estimate"): lambda point: point.kappa} if share else {}),
        }
        axis = trend.TrendAxis(title, days=WEEK, share=share).over(points)
        days = [
            (str(as_date(point.start)), str(as_date(point.start + WEEK - 1))) for point in points
        ]
        figure(
            lambda: trend.trend_chart(points, (), axis),
            260,
            Table.of(points, columns),
            [cell_rows(self.cell(), **{"from": first, "to": last}) for first, last in days],
            key=f"over_time_{self.page.grade}",
            says=f"{title} per week with 95 % interval",
            under=(self._alone, f"Weeks (UTC) of the questions. Without a time: {without_time:,}."),
            chart_only=(
                "Click a point to open its answers.",
                f"*Tables* shows {kappa} of each week." if share else None,
            ),
        )


def _largest_slices(result: AgreementResult) -> AgreementResult:
    largest = sorted(result.slices, key=lambda each: -result.figure("n", each).n)[:MOST_SLICES]
    rows = [row for name in (*largest, None) for row in result.rows if row.slice == name]
    return replace(result, rows=tuple(rows))


def _no_line(result: AgreementResult, lead: str) -> str | None:
    """Return why a point has no line; None if all points have one."""
    without = [row for row in shown_rows(result) if row.figure == lead]
    reasons = {row.reason or "" for row in without if row.value is not None and row.low is None}
    if not reasons:
        return None
    if all("label" in reason for reason in reasons):  # labels of a part, of a class, or of a figure
        return "No line: too few labels for an interval."
    return f"No line: {' or '.join(sorted(reason.removeprefix('no interval: ') for reason in reasons))}."


def slices_figure(
    result: AgreementResult,
    lead: str,
    by: str,
    targets: Sequence[Rows | None],
    *,
    key: str,
    chart: bool = True,
    under: Sequence[str | None],
) -> None:
    """Show the statistic ``lead`` of each slice with an interval. Below the chart: why a statistic is not available."""
    name = STATISTICS[lead].name
    lines = [row for row in shown_rows(result) if row.figure == lead]
    # The height of a chart of this many lines, axes included.
    figure(
        lambda: whisker_chart(lines, f"{name}, 95 % interval"),
        max(HEIGHT, len(lines) * 44 + 64),
        slices_table(result, (lead,)),
        targets,
        key=key,
        says=f"{name} with 95 % interval by {by.lower()}",
        chart=chart,
        under=under,
        chart_only=tuple(
            f"{slice_name(each)}: {each.reason}." for each in lines if each.value is None
        ),
    )


def versions_table(same: Result) -> Table:
    """Return the agreement of all judge versions on the same answers, one version per row."""
    grade: GradeName = next(each for each in GRADES if each == same.about.grade)
    return same.table("n", *VERSION_STATISTICS[grade])


_Flags = tuple[str, Estimate, int | None, int | None, float | None]
FLAG_COLUMNS: Columns[_Flags] = {
    Column("Rule"): lambda line: line[0],
    Column("Labels", "count", help="Labels that count"): lambda line: line[1].n,
    Column(
        "Bad answers",
        "share estimate",
        width=112,
        help="Share of bad answers among the answers that the rule flagged",
    ): lambda line: None if line[1].value is None else line[1],
    Column("Decided", "count", help="Flags that people decided"): lambda line: line[3],
    Column("Confirmed", "count", help="Of the flags that people decided"): lambda line: line[2],
    Column("Minutes", "number", help="Median minutes per decision"): lambda line: line[4],
}


def flags_table(flags: FlagsWorth) -> Table:
    """Return how many answers that each rule flagged are bad. The last row has the answers that no rule flagged."""
    lines: list[_Flags] = [
        (capital(rule_words(each.rule)), each.bad, each.confirmed, each.decided, each.minutes)
        for each in flags.rules
    ]
    lines.append(("Any rule", flags.flagged, None, None, None))
    return Table.of([*lines, ("No rule", flags.not_flagged, None, None, None)], FLAG_COLUMNS)


def missing_shares(flags: FlagsWorth) -> Iterator[str]:
    """Yield why a share of bad answers is not available, one sentence for each reason."""
    shares = {capital(rule_words(each.rule)): each.bad for each in flags.rules}
    shares |= {"Any rule": flags.flagged, "No rule": flags.not_flagged}
    names_by_reason: dict[str, list[str]] = {}
    for name, share in shares.items():
        if share.value is None and share.reason is not None:
            names_by_reason.setdefault(share.reason, []).append(name)
    for reason, names in names_by_reason.items():
        yield f"{', '.join(names)}: {reason}."


_PEOPLE = {"experts": "experts", "skilled": "trained annotators", "crowd": "a crowd"}
_CHOICES = {f"{epsilon:g}: {_PEOPLE[who]}": epsilon for who, epsilon in EPSILONS.items()}


def show_raters(result: AgreementResult, ids: Mapping[str, int], grades: CountedGrades) -> None:
    """Show the agreement of several raters. ``ids`` maps names of people to ids."""
    raters: Raters | None = "people" if result.of == "people" else None
    target = partial(_target, grade=result.about.grade, grades=grades)
    of_two = {pair_name(*names): [ids[each] for each in names] for names in permutations(ids, 2)}
    of_parts: dict[str, Callable[[str], Rows | None]] = {
        "rater_pairs": lambda name: target(raters, *of_two.get(name, (None,))),
        "self_agreement": lambda name: target("twice", ids.get(name)),
        "against_gold": lambda name: target("gold", ids.get(name)),
    }
    left, right = stacking_columns("raters", [1.1, 1])
    with left:
        for part in result.parts:
            code = part.headline.code
            heading(part.sentence)
            table(
                part_table(part),
                [of_parts[code](name) for name in part.slices],
                key=f"{code}_{result.of}",
            )
        if result.part("rater_pairs") is None:
            caption("No two of them rated the same answer.")
    with right:
        heading("All together")
        figures = figures_table(result.statistics)
        targets = [target(raters)] * len(figures.rows)
        table(
            figures,
            targets,
            key="raters_together",
            under=(left_out_sentence(result.about.left_out),),
        )
        if result.slices:
            by = (result.about.by or "").replace("_", " ")
            heading(f"By {by}")
            alpha = result.statistics["alpha"]
            if alpha.value is None:
                instead(f"{STATISTICS['alpha'].name}: {alpha.reason}.")
            else:
                slices = _largest_slices(result)
                parts = [target(raters, by=result.about.by, part=each) for each in slices.slices]
                slices_figure(
                    slices,
                    "alpha",
                    by.capitalize(),
                    [*parts, target(raters)],
                    key=f"raters_slices_{result.of}",
                    under=(CHANCE,),
                )


def _target(
    raters: Raters | None,
    *rater_ids: int | None,
    grade: str,
    grades: CountedGrades,
    by: By | None = None,
    part: str | None = None,
) -> Rows | None:
    """Return the answers of these raters (no ids: of all raters); None if no page can show the answers."""
    grade_name: GradeName | None = next((each for each in GRADES if each == grade), None)
    ids = [each for each in rater_ids if each is not None]
    if raters is None or grade_name is None or len(ids) < len(rater_ids):
        return None
    first, second = (*ids, ALL, ALL)[:2]
    # Charts of raters compare everybody's own grades.
    return cell_rows(
        Cell(grade_name, first, second, raters, counted=grades.of_everybody(), by=by, slice=part)
    )


def epsilon_field() -> float:
    """Show the field for ε and return the value."""
    return choose("ε, by type of reviewer", _CHOICES, key="epsilon", width=190)


def stand_in(
    test: AlternativeAnnotatorTest,
    may_rely: Reliance,
    version_id: int,
    grade: GradeName,
    people: Mapping[str, int],
    grades: CountedGrades,
) -> None:
    """Show the alternative annotator test, and how far people may rely on the judge; ``people`` maps names to ids."""
    result, epsilon, *rest = stand_in_words(test, may_rely)
    caption(result, epsilon)
    if test.omega.value is None:
        caption("The test needs two people per answer, and 30 answers per person.", *rest)
        return
    target = partial(_target, "standin", version_id, grade=grade, grades=grades)
    targets = [target(people.get(each.name)) for each in test.people]
    table(stand_in_table(test), targets, key="stand_in", under=rest)


def after_they_saw(
    part: Result | None, differing: WhyCounts | None, version_id: int, where: RowFilter
) -> None:
    """Show how far people moved to the judge after seeing the judge, and why people differ from the judge."""
    heading(note("anchoring").text)
    if part is not None:
        table(
            part_table(part),
            [
                _target("shown", version_id, grade=grade, grades=CountedGrades(where=where))
                for grade in part.slices
            ],
            key="anchoring",
            under=[each.text for each in part.caveats],
        )
    else:
        caption(
            "Nobody has graded an answer before and after seeing this judge. "
            "To ask for both grades, create a queue that is blind to the judge."
        )
    if differing is not None:
        counts = sorted(((n, why) for why, n in differing.reasons.items() if n), reverse=True)
        rows = tuple((WHY_DIFFERS[why], n) for n, why in counts)
        table(
            Table((Column("Why they differ"), Column("Answers", "count")), rows), key="why_differs"
        )
