"""One figure is the same, bit by bit, on its page, in its chart, in its CSV, from its command and as JSON."""

import csv
import io
import json

import pytest

from app_pages import shown, table, texts
from figures_log import FELL
from judgeboard.cli.app import run
from judgeboard.domain import Decision
from judgeboard.formats.output import UNKNOWN, to_csv, to_plain
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_page import flags_worth
from judgeboard.measure.agreement_result import headline_name, shown_statistics
from judgeboard.measure.choice import GRADES
from judgeboard.measure.corrected_trend import corrected_trend
from judgeboard.measure.news import news
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.trend import trend
from judgeboard.measure.trend_figures import MEASURES
from judgeboard.measure.words import FIGURES
from judgeboard.reports.lead_questions import now_note
from judgeboard.reports.trends import trend_table
from judgeboard.stats.estimates import percent_words
from judgeboard.stats.ratings import SCALES
from judgeboard_dashboard.widgets import agreement_figures, tables
from judgeboard_dashboard.widgets.charts import grid, intervals
from judgeboard_dashboard.widgets.charts.trend import axis_of, frame_of
from judgeboard_dashboard.widgets.tables import table_frame
from stored_rows import read

LOGS = ("demo", "six weeks")


@pytest.fixture(params=LOGS)
def log(request):
    """A database of the test's own: the demo, or six weeks whose flags were decided."""
    if request.param == "demo":
        return request.getfixturevalue("demo_store")
    figures = request.getfixturevalue("figures")
    for place, each in enumerate(figures.ids[FELL][-12:]):
        decision = Decision.DISMISS if place % 3 else Decision.CONFIRM
        figures.log.decide(each, "low_groundedness", decision, "Mara", seconds=30)
    return figures.log.store


def command(capsys, *words):
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_figures_of_overview(log, open_page):
    """They are those of the commands `labels rate`, `trends --corrected` and `agreement`."""
    says = shown(open_page("overview"))
    rate, judge, people = (
        measure_rate(log),
        measure_agreement(log),
        measure_agreement(log, of="people"),
    )
    with log.reading() as connection:
        shares = corrected_trend(connection)
        change = news(connection, shares)
        if change is None:
            change = (shares if len(shares.panels[0].points) > 1 else trend(connection)).changes
    assert change.sentence in says
    assert now_note(rate, shares.changes).text in says
    assert people.sentence in says
    errors = shown_statistics(judge.statistics)
    for name in ("agreement", "missed", "false_alarms"):
        assert percent_words(errors[name]) in says, name


DRAWN = [name for name in MEASURES if name != "failed_check_share"]  # which needs checks


@pytest.mark.parametrize(
    ("name", "log", "period"),
    [(name, LOGS[place % 2], ("week", "day")[place // 2 % 2]) for place, name in enumerate(DRAWN)],
    indirect=["log"],
)
def test_the_points_of_a_trend(name, period, log, open_page):
    figures = read(log, trend, measure=name, period=period)
    panels = [panel for panel in figures.panels if panel.points]
    points = [point for panel in to_plain(panels) for point in panel["points"]]
    estimates = [
        tuple(point["estimate"][part] for part in ("n", "value", "low", "high")) for point in points
    ]
    assert estimates

    page = open_page(
        "trends", show=shown_as(name, log), by=period.capitalize(), last="All", tables="true"
    )
    columns = table_frame(trend_table(figures, panels)).columns.tolist()
    drawn = next(table.value for table in page.dataframe if table.value.columns.tolist() == columns)
    of_types = set(drawn["Query type"])
    in_table = [panel for panel in panels if panel.group in of_types]
    assert len(in_table) == min(len(panels), 6)
    table = trend_table(figures, in_table)
    shown = table_frame(table)  # shares in percent
    assert numbers_in(drawn) == numbers_in(shown)
    assert shown.iloc[0, 3] == table.rows[0][3] * (100 if table.columns[3].format == "share" else 1)
    rows = list(csv.reader(io.StringIO(to_csv(trend_table(figures, panels)))))[1:]
    assert [tuple(float(cell) if cell else None for cell in row[2:]) for row in rows] == estimates

    axis = axis_of(figures, panels)
    for panel in panels:
        chart = frame_of(panel.points, axis)
        assert chart["value"].tolist() == [each.estimate.value for each in panel.points]
        assert chart["n"].tolist() == [each.estimate.n for each in panel.points]


def shown_as(name, log):
    """What the page calls a measure: the share below is named by its threshold."""
    if name != "low_share":
        return {"groundedness": "Groundedness", "quality": "Quality"}.get(name, "Share flagged")
    return f"Share below {read(log, trend, measure='low_share').threshold:g}"


def numbers_in(frame):
    """The columns of a table after the first two."""
    return frame.astype(object).where(frame.notna(), None).to_numpy()[:, 2:].tolist()


def test_what_the_flags_are_worth(log, open_page):
    worth = read(log, flags_worth)
    expected = [(each.bad, each.confirmed, each.decided, each.minutes) for each in worth.rules]
    expected += [(share, None, None, None) for share in (worth.flagged, worth.not_flagged)]
    app = open_page("agreement", all="true")
    shown = table(app, "Confirmed")
    for (estimate, *counts), row in zip(expected, shown.to_dict("records"), strict=True):
        assert row["Labels"] == estimate.n
        is_known = estimate.value is not None
        assert known(row["Bad answers"]) in (
            {percent_words(estimate)} if is_known else {None, UNKNOWN}
        )
        reason = f"{row['Rule']}: {estimate.reason}."
        assert is_known or any(
            reason in each or f"{row['Rule']}, " in each for each in texts(app, "jb-cap")
        )
        assert [known(row[name]) for name in ("Confirmed", "Decided", "Minutes")] == counts


def known(value):
    return None if value != value or value is None or str(value) == "<NA>" else value  # noqa: PLR0124 - NaN differs


PEOPLE = {
    "gold": {},
    "majority": {"people": "Everybody, without gold"},
    "each": {"people": "Each person alone"},
}
SLICES = {"query_type": {}, "time": {"by": "Month"}}


@pytest.fixture
def files(monkeypatch):
    """The files behind the CSV buttons of the page, made at once, by name."""
    made = {}

    def button(rows, name, **_):
        made[name] = rows() if callable(rows) else rows

    monkeypatch.setattr(tables, "csv_button", button)
    return made


@pytest.fixture
def drawn(monkeypatch):
    """What the charts of the page are drawn from."""
    seen = {}
    slices, cells = agreement_figures.whisker_chart, grid.confusion_chart

    def whiskers(rows, *more):
        seen["slices"] = {intervals.slice_name(row): (row.n, row.estimate) for row in rows}
        return slices(rows, *more)

    def matrix(table, **more):
        seen["confusion"] = table
        return cells(table, **more)

    monkeypatch.setattr(agreement_figures, "whisker_chart", whiskers)
    monkeypatch.setattr(grid, "confusion_chart", matrix)
    return seen


@pytest.mark.parametrize(
    ("grade", "human", "by"),
    [
        (grade, human, list(SLICES)[place % 2])
        for place, (grade, human) in enumerate(
            zip(GRADES, ("majority", "each", "gold"), strict=True)
        )
    ],
)
def test_charts_and_files_hold_the_figures_of_the_command(
    open_page, figures, sqlite_store, files, drawn, grade, human, by
):
    open_page(
        "agreement",
        version="rag v1",
        grade=grade.capitalize(),
        all="true",
        **PEOPLE[human],
        **SLICES[by],
    )
    result = measure_agreement(
        sqlite_store, judge_versions=["rag v1"], grade=grade, human=human, by=by
    )
    expected = {
        (row.slice or "all", FIGURES[row.figure].title): numbers(row.estimate)
        for row in result.rows
    }
    assert {(row[2], row[3]): row[4:8] for row in files["figures"].rows} == expected
    lead = headline_name(SCALES[grade])
    assert drawn.get("slices", {}) == (
        {}
        if result.answers is None
        else {
            "All": (result.n, result.statistics[lead]),
            **{
                each: (result.figure("n", each).n, result.figure(lead, each))
                for each in result.slices
            },
        }
    )
    assert drawn.get("confusion") == result.confusion


def numbers(estimate):
    return estimate.value, estimate.low, estimate.high, estimate.n
