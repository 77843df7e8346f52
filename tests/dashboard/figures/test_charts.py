"""What the charts draw: gaps stay open, dates stay right, text stays readable, every mark says which one it is."""

import math
import re
from inspect import getmembers, isfunction
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from judgeboard.domain import Estimate
from judgeboard.health.record import LevelCounts
from judgeboard.measure.agreement_page import TimePoint
from judgeboard.measure.disagreement import Picture
from judgeboard.measure.result import Row
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.detection import Tenth
from judgeboard_dashboard.theme import DARK, LIGHT
from judgeboard_dashboard.widgets import charts
from judgeboard_dashboard.widgets.charts import framed, grid, intervals, scores, trend
from judgeboard_dashboard.widgets.charts.grid import STEPS, heat_step

MONDAY = 20_514  # 2 March 2026
AXIS = trend.TrendAxis(
    "Groundedness", share=False, days=7, first=MONDAY, last=MONDAY + 35, most=10, threshold=0.5
)


def point(week, value=0.5, reach=0.1, segment=0, n=10):
    ends = (None, None) if reach is None else (value - reach, value + reach)
    return TimePoint(MONDAY + 7 * week, Estimate(value, *ends, n=n), segment)


def specification(chart):
    return framed(chart, 300).to_dict(validate=True)


def rows(spec, name):
    """One column of the largest data set of a chart that has it."""
    return list(max((data for data in spec["datasets"].values() if name in data), key=len)[name])


def layers(spec, mark):
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == mark]


def test_a_line_is_drawn_within_a_segment_only():
    spec = specification(
        trend.trend_chart([point(0), point(1), point(3, segment=1), point(4, segment=1)], (), AXIS)
    )
    assert layers(spec, "line")[0]["encoding"]["detail"]["field"] == "segment"
    assert rows(spec, "segment") == [0, 0, 1, 1]
    assert rows(spec, "band") == [1, 1, 2, 2]


def test_a_point_by_itself_has_a_whisker_and_one_answer_neither():
    table = trend.frame_of(
        [point(0), point(2, segment=1), point(3, reach=None, segment=1), point(4, segment=1)], AXIS
    )
    assert table["alone"].tolist() == [1, 1, 2, 1]
    joined = trend.frame_of([point(0), point(1), point(2)], AXIS)
    assert joined["alone"].tolist() == [0, 0, 0]
    assert joined["band"].tolist() == [1, 1, 1]


def test_weeks_are_dates_on_a_utc_scale_with_ticks_of_our_own():
    spec = specification(trend.trend_chart([point(0), point(5)], [(MONDAY + 14, "rag v2")], AXIS))
    x = layers(spec, "line")[0]["encoding"]["x"]
    assert x["scale"]["type"] == "utc"
    days = ("03-02", "03-09", "03-16", "03-23", "03-30", "04-06")
    assert x["axis"]["values"] == [f"2026-{day}" for day in days]
    assert rows(spec, "start") == ["2026-03-02", "2026-04-06"]
    marks = next(data for data in spec["datasets"].values() if "title" in data)
    assert marks.to_dict("records") == [
        {"start": "2026-03-12T12:00:00Z", "title": "rag v2", "top": 1}
    ]


TENTHS = [
    Tenth(0.0, 0.1, 0.1, Estimate(0.1, 0.05, 0.15, 20)),
    Tenth(0.0, 0.1, None, Estimate(None, n=0, reason="none")),
    Tenth(0.0, 0.1, 0.9, Estimate(0.9, 0.85, 0.95, 80)),
]


def each_kind_of_chart():
    """A chart of each function that makes one, by its name."""
    share = Estimate(0.5, 0.4, 0.6, 20)
    threshold = SimpleNamespace(low_groundedness=0.5, flags=5, recall=share, precision=share)
    return {
        "trend_chart": trend.trend_chart([point(0), point(1)], (), AXIS),
        "quadrant_chart": grid.quadrant_chart({("low", "down"): 3}),
        "confusion_chart": grid.confusion_chart(Confusion(("bad", "good"), ((1, 2), (3, 4)))),
        "heat_chart": grid.heat_chart(
            Picture(("0.0", "0.5"), ((1, 0), (2, 3)), ((0, 0), (2, 0))), 0.4
        ),
        "whisker_chart": intervals.whisker_chart([Row.of("kappa", "QA", share)], "kappa"),
        "calibration_chart": scores.calibration_chart(TENTHS),
        "trade_off_chart": scores.trade_off_chart([threshold], 10, {"in force": threshold}),
        "levels_chart": scores.levels_chart(LevelCounts(("1", "2"), np.array([3, 0])), "Quality"),
    }


def test_every_kind_of_chart_is_as_vega_lite_describes_it():
    drawn = each_kind_of_chart()
    made = [
        each
        for module in (grid, intervals, scores, trend)
        for each in getmembers(module, isfunction)
    ]
    own = {name for name, made_by in made if made_by.__module__.startswith(charts.__name__)}
    assert drawn.keys() == {name for name in own if name.endswith("_chart")}
    assert all(map(specification, drawn.values()))


def test_the_marks_of_every_chart_name_their_place():
    for name, chart in each_kind_of_chart().items():
        spec = specification(chart)
        (chosen,) = spec["params"]
        assert chosen["select"] == {"type": "point", "fields": ["at"], "toggle": False}
        assert set(rows(spec, "at")) == set(range(len(set(rows(spec, "at"))))), name
    drawn = rows(specification(scores.calibration_chart(TENTHS)), "at")
    assert len(drawn) == len(scores.drawn_tenths(TENTHS)) == 2


def test_the_quadrant_has_a_third_row_only_for_answers_without_verdict():
    assert len(grid.quadrant_sides({("low", "up"): 1})) == 8
    assert len(grid.quadrant_sides({("none", "none"): 1})) == 12
    spec = specification(grid.quadrant_chart({("low", "down"): 41, ("high", "up"): 2_260}))
    assert rows(spec, "count") == ["41", "0", "0", "0", "0", "0", "2,260", "0"]
    assert rows(spec, "ground")[0] == LIGHT.bad[1]
    # Nothing in it: nothing to look at.
    assert rows(spec, "ground")[2] == LIGHT.quiet[1]


def test_a_row_of_the_confusion_table_without_answers_says_so():
    spec = specification(grid.confusion_chart(Confusion(("bad", "good"), ((0, 0), (3, 97)))))
    empty, also_empty, bad, good = rows(spec, "word")
    assert empty == also_empty
    assert "%" not in empty
    assert bad.startswith("3 % ")
    assert good.startswith("97 % ")


def test_only_cells_with_answers_are_drawn_and_those_apart_outlined():
    picture = Picture(("0.0", "0.4"), ((4, 0), (1, 9)), ((0, 0), (1, 0)))
    assert grid.heat_places(picture) == [(0, 0), (1, 0), (1, 1)]
    spec = specification(grid.heat_chart(picture, 0.4))
    assert rows(spec, "width") == [0, 2, 0]
    chosen = specification(grid.heat_chart(picture, 0.4, place=(1, 0)))
    assert rows(chosen, "opacity") == [0.45, 1, 0.45]


def test_the_large_numbers_of_outlined_cells_add_up_to_the_answers_apart():
    picture = Picture(("0.0", "0.4"), ((4, 2_500), (31_000, 9)), ((0, 2_500), (1_200, 0)))
    spec = specification(grid.heat_chart(picture, 0.4))
    outlined = [place for place, width in enumerate(rows(spec, "width")) if width]
    assert [(rows(spec, "count")[place], rows(spec, "word")[place]) for place in outlined] == [
        ("2,500", ""),
        ("1,200", "of 31k"),
    ]
    tip = rows(spec, "tip")[2]
    assert re.findall(r"\d[\d,.]*\d", tip) == ["31,000", "1,200", "0.4", "0.0", "0.4"]


def test_a_slice_without_a_value_stays_with_its_reason():
    name, reason = "a very long name of a query type", "too few (n = 4)"
    slices = [
        Row.of("kappa", None, Estimate(0.5, 0.3, 0.7, 40)),
        Row.of("kappa", name, Estimate(None, n=4, reason=reason)),
    ]
    spec = specification(intervals.whisker_chart(slices, "kappa"))
    first, second = (label.split(" · ") for label in rows(spec, "label"))
    assert first == ["All", "40"]
    assert name.startswith(second[0].removesuffix("…"))
    assert second[1] == "4"
    assert rows(spec, "reason") == ["", reason]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_on_every_ground_can_be_read(colours):
    texts = [heat_step(share, colours) for share in (0, *STEPS)]
    assert len(set(texts)) == 5
    for ink, ground in (colours.good, colours.doubt, colours.bad, colours.quiet):
        texts += [(ground, ink), (ground, colours.ink)]
    texts += [(colours.quiet[1], colours.muted), (colours.page, colours.muted)]
    for ground, ink in texts:
        assert contrast(ground, ink) >= 4.5, (ground, ink)
    for mark in colours.series:
        assert contrast(colours.page, mark) >= 3, mark


def _linear(colour):
    values = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values
    ]


def contrast(first, second):
    """The contrast ratio of WCAG 2."""
    dark, light = sorted(
        np.dot((0.2126, 0.7152, 0.0722), _linear(each)) for each in (first, second)
    )
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_hold_for_colour_blind_readers(colours):
    grounds = colours.good[1], colours.doubt[1], colours.bad[1]
    for pairs, least in (
        (combinations(colours.series, 2), 20),
        (combinations(grounds, 2), 9),
        (pairwise(colours.heat), 9),
    ):
        for first, second in pairs:
            assert distance(deuteranopia(first), deuteranopia(second)) >= least, (first, second)


def deuteranopia(colour):
    """Linear RGB as seen without green cones (Machado, Oliveira and Fernandes 2009, severity 1)."""
    matrix = (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    )
    return np.maximum(0, np.dot(matrix, _linear(colour)))


def distance(first, second):
    """The CIE 1976 difference of two linear RGB colours."""
    return math.dist(_lab(first), _lab(second))


def _lab(linear):
    matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    root = [
        value ** (1 / 3) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116
        for value in np.dot(matrix, linear) / white
    ]
    return 116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])
