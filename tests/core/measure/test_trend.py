import math
from datetime import UTC, datetime
from itertools import product
from random import Random

import numpy as np
import pandas as pd
import pytest

from engines import on_sqlite
from estimates import value_and_ends
from graded_log import GOOD, read
from judgeboard.domain import Decision, DimensionScore, ResponseKind, Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.changes import Figure
from judgeboard.measure.periods import start_of
from judgeboard.measure.trend import trend
from judgeboard.measure.trend_figures import ALL_ANSWERS, MEASURES, alarm_limits
from judgeboard.stats.monitor import DIRECTIONS, detect, found_changes
from judgeboard.store.metadata import index_metadata
from judgeboard.text import utc_day
from result_parts import values_of_note

MONDAY = (datetime(2026, 1, 5, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).days


def shown(log, **asked):
    return read(log.store, trend, **asked)


def told(note, *names):
    """The code of a note, and some of its values."""
    return (note.code, *(note.values[name] for name in names))  # noqa: PD011 - no frame


def judged(log, n, groundedness=None, quality=None, **fields):
    """Store answers with the same scores of the judge, and return their ids."""
    ids = log.answers(n, **fields)
    log.say_all(log.version(), ids, groundedness=groundedness, quality=quality)
    return ids


def opens_its_answers(log, *points):
    """Whether each point opens as many answers as it counts."""
    return [log.opened_by(each.where) for each in points] == [each.estimate.n for each in points]


def left_out(log, drawn):
    """Return the reasons, each with how many answers it counts and how many it opens."""
    return [(each.reason, each.n, log.opened_by(each.where)) for each in drawn.left_out]


def first_estimate(log, **asked):
    return shown(log, **asked).panels[0].points[0].estimate


def random_log(log):
    """Four months of three query types with gaps, times missing, scores missing, and a second judge beside."""
    random = Random(5)
    rows, verdicts = [], {}
    for query_type in ("simple", "complex", "sql"):
        for week in (None, 0, 0, 1, 2, 4, 5, 5, 5, 9, 16):
            day = None if week is None else MONDAY + 7 * week + random.randrange(7)
            for id_ in log.answers(random.randint(1, 12), query_type=query_type, day=day):
                verdicts[id_] = {"quality": random.randint(1, 4)}
                if random.random() < 0.9:
                    verdicts[id_]["groundedness"] = round(random.random(), 3)
                rows.append({"id": id_, "query_type": query_type, "day": day} | verdicts[id_])
    version, second = log.version(), log.version("nli")
    log.say(version, verdicts)
    log.say_all(second, list(verdicts)[::3], groundedness=0.99)
    return version, pd.DataFrame(rows)


def by_pandas(frame, measure, period):
    """The same points from the raw rows."""
    frame = frame.dropna(subset=["day"]).copy()
    moments = pd.to_datetime(frame["day"], unit="D", utc=True).dt.tz_localize(None)
    starts = moments.dt.to_period("W-SUN").dt.start_time if period == "week" else moments
    frame["start"] = (starts - pd.Timestamp("1970-01-01")).dt.days
    if measure == "flagged_share":
        frame["value"] = ((frame["groundedness"] < 0.5) | (frame["quality"] <= 2)).astype(float)
    elif measure == "failed_check_share":
        frame["value"] = 0.0  # no check is defined
    elif measure == "low_share":
        frame = frame.dropna(subset=["groundedness"])
        frame["value"] = (frame["groundedness"] < 0.5).astype(float)
    else:
        frame["value"] = frame[measure]
        frame = frame.dropna(subset=["value"])
    points = frame.groupby(["query_type", "start"])["value"].agg(["size", "mean"])
    return {key: tuple(row) for key, row in points.iterrows()}


@on_sqlite
@pytest.mark.parametrize("period", ["week", "day"])
def test_every_point_equals_pandas_and_opens_exactly_its_answers(log, period):
    version, frame = random_log(log)
    # The second judge differs from low scores by 0.4 or more: that flags too.
    differs = (frame.index % 3 == 0) & (0.99 - frame["groundedness"] >= 0.4 - 1e-9)
    flagged = frame.assign(groundedness=frame["groundedness"].where(~differs, 0.0))
    for measure in MEASURES:
        drawn = shown(log, measure=measure, period=period, judge="rag")
        expected = by_pandas(flagged if measure == "flagged_share" else frame, measure, period)
        whole, *groups = drawn.panels
        assert whole.group == ALL_ANSWERS
        assert {point.start: point.estimate.n for point in whole.points} == {
            start: sum(n for (_, each), (n, _) in expected.items() if each == start)
            for _, start in expected
        }
        points = {(panel.group, point.start): point for panel in groups for point in panel.points}
        assert points.keys() == expected.keys()
        for key, point in points.items():
            figure = point.estimate.n, point.estimate.value
            assert figure == pytest.approx(expected[key], abs=1e-9)
        assert opens_its_answers(log, *whole.points[:3], *list(points.values())[::3])
        by_slice = drawn.frame.fillna({"slice": ALL_ANSWERS}).groupby("slice")["n"].sum()
        assert by_slice.to_dict() == {panel.group: panel.n for panel in drawn.panels}
    of_version, of_judge = (shown(log, period=period, judge=each) for each in (version.id, "rag"))
    assert of_version.judge == "rag v1"
    estimates = [
        {point.estimate for panel in each.panels for point in panel.points}
        for each in (of_version, of_judge)
    ]
    assert estimates[0] == estimates[1]


def test_intervals_are_students_t_and_wilson(sqlite_log):
    ids = sqlite_log.answers(4, day=MONDAY)
    sqlite_log.say_scores(sqlite_log.version(), ids, (0.2, 0.4, 0.6, 0.8))
    mean, share = (
        value_and_ends(first_estimate(sqlite_log, measure=each))
        for each in ("groundedness", "low_share")
    )
    assert mean == pytest.approx((0.5, 0.5 - 0.410852, 0.5 + 0.410852), abs=1e-5)
    assert share == pytest.approx((0.5, 0.150039, 0.849961), abs=1e-5)


def test_weeks_begin_on_monday_in_utc():
    starts = [start_of(MONDAY + offset, "week") - MONDAY for offset in (-1, 0, 6, 7)]
    assert starts == [-7, 0, 0, 7]
    assert start_of(0, "week") == -3
    assert start_of(MONDAY + 3, "day") == MONDAY + 3


def test_an_empty_week_stays_a_gap_also_before_and_after_the_points_of_a_query_type(sqlite_log):
    for week, query_type in ((0, "sql"), (1, "plain"), (2, "plain"), (5, "sql")):
        judged(sqlite_log, 2, 0.9, day=MONDAY + 7 * week, query_type=query_type)
    figures = shown(sqlite_log)
    weeks = {
        panel.group: (
            [((point.start - MONDAY) // 7, point.segment) for point in panel.points],
            [(start - MONDAY) // 7 for start in panel.empty],
        )
        for panel in figures.panels
    }
    assert weeks == {
        "All answers": ([(0, 0), (1, 0), (2, 0), (5, 1)], [3, 4]),
        "sql": ([(0, 0), (5, 1)], [1, 2, 3, 4]),
        "plain": ([(1, 0), (2, 0)], [0, 3, 4, 5]),
    }
    assert {point.end - point.start for panel in figures.panels for point in panel.points} == {6}


@pytest.mark.parametrize(
    ("n", "day", "code"),
    [(0, None, "not_judged"), (3, None, "no_times"), (1, 0, "no_plausible_date")],
)
def test_a_trend_without_points_says_why(sqlite_log, n, day, code):
    if n:
        judged(sqlite_log, n, quality=3, day=day)
    drawn = shown(sqlite_log, measure="quality")
    assert [panel.points for panel in drawn.panels] in ([], [()])
    assert [sqlite_log.opened_by(each.where) for each in drawn.left_out] == [n] * bool(n)
    assert (drawn.judge, drawn.changes.headline.code) == ("rag" if n else None, code)


@pytest.mark.parametrize(
    ("wrong", "reason"), [("2126-05-01", "future"), ("1970-01-01", "old"), ("2001-12-31", "old")]
)
def test_answers_with_a_wrong_date_do_not_stretch_a_trend(sqlite_log, wrong, reason):
    for day in (utc_day(datetime.fromisoformat(wrong).replace(tzinfo=UTC)), MONDAY, MONDAY + 7):
        judged(sqlite_log, 12, quality=3, day=day)
    now = datetime.fromtimestamp((MONDAY + 8) * 86_400, UTC)
    drawn = shown(sqlite_log, measure="quality", now=now)
    (panel,) = drawn.panels
    starts = [MONDAY, MONDAY + 7]
    assert ([point.start for point in panel.points], panel.empty, panel.n) == (starts, (), 24)
    assert left_out(sqlite_log, drawn) == [(reason, 12, 12)]
    assert told(drawn.changes.headline, "span")[1:] == ("2 weeks",)
    newest = shown(sqlite_log, measure="quality", last=1, now=now).panels[0]
    assert [point.start for point in newest.points] == [MONDAY + 7]


def test_the_first_plausible_day_is_drawn(sqlite_log):
    first = utc_day(datetime(2002, 1, 1, tzinfo=UTC))
    judged(sqlite_log, 3, quality=3, day=first)
    drawn = shown(sqlite_log, measure="quality", period="day")
    assert ([each.start for each in drawn.panels[0].points], drawn.left_out) == ([first], ())


@on_sqlite
def test_every_answer_is_drawn_or_left_out_with_one_reason_that_opens_it(log):
    judged(log, 4, 0.5, day=MONDAY)
    judged(log, 3, 0.5)
    judged(log, 2, quality=2, day=MONDAY)
    judged(log, 1, quality=2)
    version = log.version()
    log.say_all(version, log.answers(1, day=MONDAY), status=Status.ERROR)
    log.answers(5, day=MONDAY)
    log.answers(1, kind=ResponseKind.CONTROL)
    for judge in ("rag", version.id):
        drawn = shown(log, judge=judge)
        assert left_out(log, drawn) == [("no_time", 3, 3), ("no_score", 3, 3), ("no_verdict", 6, 6)]
        assert sum(panel.n for panel in drawn.panels) == 4
    of_quality = left_out(log, shown(log, measure="quality"))
    assert [counts for _, *counts in of_quality] == [[1, 1], [7, 7], [6, 6]]
    assert [each.n for each in shown(log, measure="flagged_share").left_out] == [4]


@on_sqlite
def test_the_share_flagged_counts_each_answer_once_and_all_answers(log):
    version = log.version()
    twice, decided, superseded, clean, _unjudged = log.answers(5, day=MONDAY)
    log.say_all(version, [twice, decided], groundedness=0.1, quality=1)
    log.decide(decided, "low_quality", Decision.DISMISS)
    log.say_all(version, [superseded], groundedness=0.1)
    log.say_all(version, [superseded, clean], groundedness=0.9, quality=4)
    judged(log, 1, 0.1, day=MONDAY, kind=ResponseKind.CONTROL)
    (panel,) = shown(log, measure="flagged_share").panels
    (point,) = panel.points
    assert (point.estimate.n, point.estimate.value) == (5, 0.4)
    assert opens_its_answers(log, point)


def test_the_random_sample_is_not_a_reason(sqlite_log):
    sqlite_log.set("random_share", 1)
    sqlite_log.answers(3, day=MONDAY)
    assert first_estimate(sqlite_log, measure="flagged_share").value == 0


@on_sqlite
def test_a_new_version_is_marked_where_it_begins_to_lead(log):
    old = [each for week in range(3) for each in judged(log, 3, 0.9, 4, day=MONDAY + 7 * week)]
    second = log.version(prompt="new")
    # One answer of the first week is judged again.
    new = [old[0], *log.answers(3, day=MONDAY + 21)]
    log.say_all(second, new, groundedness=0.9, quality=4)
    for measure in MEASURES:
        marks = shown(log, measure=measure).marks
        assert [(mark.start, mark.title) for mark in marks] == [(MONDAY + 21, "rag v2")]
    assert shown(log, judge=second.id).marks == ()
    log.say_all(second, old, groundedness=0.9)
    assert shown(log).marks == ()


@on_sqlite
def test_a_rejudge_counts_the_current_verdict_only(log):
    ids = judged(log, 2, 0.1, day=MONDAY)
    log.say_all(log.version(), ids, groundedness=0.7)
    log.say_all(log.version(), ids[:1], status=Status.ERROR)
    (point,) = shown(log).panels[0].points
    assert (point.estimate.n, point.estimate.value) == (2, 0.7)


def test_a_trend_of_a_criterion_names_no_measure(sqlite_log):
    ids = sqlite_log.answers(12, day=MONDAY)
    sqlite_log.say_all(
        sqlite_log.version("rubric"), ids, scores=(DimensionScore("tone", 2, "1-5"),)
    )
    drawn = shown(sqlite_log, criterion="tone")
    assert (drawn.measure, drawn.name) == (None, "criterion tone")
    assert [point.estimate.value for point in drawn.panels[0].points] == [2.0]


def test_the_panel_that_fell_comes_first_and_the_sentence_says_when(sqlite_log):
    for query_type in ("a", "b", "c"):
        for week in range(6):
            level = 0.3 if query_type == "c" and week >= 4 else 0.8
            ids = sqlite_log.answers(15, day=MONDAY + 7 * week, query_type=query_type)
            scores = [level + at / 100 for at in range(15)]
            sqlite_log.say_scores(sqlite_log.version(), ids, scores)
    drawn = shown(sqlite_log)
    assert [panel.group for panel in drawn.panels] == [ALL_ANSWERS, "c", "a", "b"]
    assert [panel.change.from_day for panel in drawn.panels[:2]] == [MONDAY + 28] * 2
    changes = drawn.changes
    assert told(changes.headline, "day") == ("mean_fell", MONDAY + 28)
    assert changes.figure("mean_before").value == pytest.approx(0.87)
    assert changes.figure("mean_since", "c").value == pytest.approx(0.37)
    assert {row.slice for row in changes.rows if row.figure == "changed"} == {None, "c"}
    low = shown(sqlite_log, measure="low_share").changes
    assert (low.figure("share_before", "c").value, low.figure("share_since", "c").value) == (0, 1)
    ids = sqlite_log.answers(20, day=MONDAY + 42, query_type="a")
    sqlite_log.say_all(sqlite_log.version(prompt="new"), ids, groundedness=0.85)
    mark = values_of_note(shown(sqlite_log).changes.caveats, "version_changed")
    assert (mark["day"], mark["judge"]) == (MONDAY + 42, "rag v2")


@pytest.mark.parametrize(("kind", "size"), [("mean", "0.01"), ("share", "1 point")])
def test_no_detectable_change_is_of_size_zero(kind, size):
    assert told(Figure("the mean", kind).unchanged(0.0004, "12 weeks"), "size")[1] == size


def test_no_change_is_said_only_where_a_change_would_have_been_found(sqlite_log):
    for week in range(12):
        judged(sqlite_log, 12, 0.9, day=MONDAY + 7 * week)
        if week == 2:
            few = shown(sqlite_log).changes.headline
            assert told(few, "size") == ("change_unclear", "0.42")
    enough = shown(sqlite_log).changes.headline
    assert told(enough, "size", "span") == ("no_change", "0.06", "12 weeks")
    judged(sqlite_log, 5, 0.9, day=MONDAY, query_type="rare")
    changes = shown(sqlite_log).changes
    assert changes.headline == enough
    assert changes.figure("mean_detectable", "rare").reason == "too few answers"


def test_each_group_that_is_too_small_has_the_change_that_it_would_have_shown(sqlite_log):
    sizes = {"large": 24, "small": 11, "smaller": 9, "tiny": 3}
    places = [
        (query_type, week, place)
        for query_type, n in sizes.items()
        for week, place in product(range(12), range(n))
    ]
    ids = sqlite_log.answers_of(
        {"day": MONDAY + 7 * week, "query_type": query_type} for query_type, week, _ in places
    )
    scores = [0.5 + 0.4 * (-1) ** (place + week) for _, week, place in places]
    sqlite_log.say_scores(sqlite_log.version(), ids, scores)
    drawn = shown(sqlite_log)
    seen = {panel.group: panel.seen for panel in drawn.panels}
    assert seen[ALL_ANSWERS] < seen["large"] < 0.3 < seen["small"] < seen["smaller"] < 0.5
    # A mean of about 0.5 cannot change by more than about 0.5.
    assert seen["tiny"] is None
    # A change of 0.15 would not have been found.
    assert drawn.changes.headline.code == "change_unclear"
    for name in ("large", "small", "tiny"):
        assert drawn.changes.figure("mean_detectable", name).value == pytest.approx(seen[name])


def test_a_group_that_changed_is_named_after_all_answers_that_did_not(sqlite_log):
    sizes = {"falls": -0.2, "rises": 0.2}
    places = list(product(sizes, range(10), range(30)))
    ids = sqlite_log.answers_of(
        {"day": MONDAY + 7 * week, "query_type": query_type} for query_type, week, _ in places
    )
    scores = [
        0.5 + (sizes[query_type] if week >= 5 else 0.0) + place % 5 / 100
        for query_type, week, place in places
    ]
    sqlite_log.say_scores(sqlite_log.version(), ids, scores)
    changes = shown(sqlite_log).changes
    assert changes.headline.code == "no_change"
    for group, size in sizes.items():
        before, since = (
            changes.figure(f"mean_{when}", group).value for when in ("before", "since")
        )
        assert since - before == pytest.approx(size)


def test_the_query_types_share_one_false_alarm_and_all_answers_have_their_own():
    assert alarm_limits([ALL_ANSWERS], "week") == {ALL_ANSWERS: 104}
    assert alarm_limits([ALL_ANSWERS, *"abc"], "week") == {ALL_ANSWERS: 104} | dict.fromkeys(
        "abc", 312
    )


def test_while_nothing_changes_all_answers_and_their_query_types_raise_as_few_false_alarms_as_promised():
    """A year of independent normal figures of three query types; all answers are their mean."""
    rng, years = np.random.default_rng(2), 400
    limits = alarm_limits([ALL_ANSWERS, *"abc"], "week")
    alarms = dict.fromkeys(limits, 0)
    for _ in range(years):
        types = rng.normal(size=(3, 52))
        for name, figures in zip(limits, [types.mean(axis=0) * math.sqrt(3), *types], strict=True):
            rates = [(figure, 1.0) for figure in figures.tolist()]
            states = {direction: detect(rates, direction) for direction in DIRECTIONS}
            alarms[name] += len(found_changes(states, limits[name]))
    whole = alarms.pop(ALL_ANSWERS)
    # The promise is one a year.
    assert whole / years < 0.2
    # One a year for the types together.
    assert sum(alarms.values()) / years < 0.2


def test_the_figures_before_and_after_a_change_count_the_questions_that_recur(sqlite_log):
    """The two intervals are as wide as those of a bootstrap over questions."""
    random, version = Random(3), sqlite_log.version()
    shares = [random.betavariate(0.4, 1.2) for _ in range(40)]
    before, after = ([[] for _ in shares] for _ in range(2))
    questions = [question for question in range(40) for _ in range(2)]
    for week in range(20):
        ids = sqlite_log.answers_of(
            {"day": MONDAY + 7 * week, "group": question} for question in questions
        )
        is_low = [
            random.random() < shares[question] + (0.3 if week >= 12 else 0.0)
            for question in questions
        ]
        for question, low in zip(questions, is_low, strict=True):
            (after if week >= 12 else before)[question].append(low)
        sqlite_log.say_scores(version, ids, [0.2 if low else 0.8 for low in is_low])
    change = shown(sqlite_log, measure="low_share").panels[0].change
    assert change.from_day == MONDAY + 7 * 12
    for side, of_questions in ((change.before, before), (change.after, after)):
        means = [sum(each) / len(each) for each in of_questions]
        drawn = sorted(sum(random.choices(means, k=40)) / 40 for _ in range(2_000))
        width = side.high - side.low
        assert width == pytest.approx(drawn[1_950] - drawn[50], rel=0.15)


def test_the_primary_judge_is_shown_unless_another_is_named(sqlite_log):
    answer = judged(sqlite_log, 1, 0.9, day=MONDAY)
    sqlite_log.say_all(sqlite_log.version("nli"), answer, groundedness=0.2, label=GOOD)
    assert shown(sqlite_log).judge == "rag"
    assert first_estimate(sqlite_log, judge="nli").value == 0.2


@pytest.mark.parametrize("asked", [{"measure": "truth"}, {"period": "year"}, {"last": 0}])
def test_what_a_trend_cannot_show_is_refused(sqlite_log, asked):
    with pytest.raises(BadInput, match=r"^a trend "):
        shown(sqlite_log, **asked)


def test_an_unknown_version_is_said(sqlite_log):
    with pytest.raises(NotFound, match="version 7"):
        shown(sqlite_log, judge=7)


@pytest.mark.parametrize("indexed", [False, True])
def test_a_trend_by_a_metadata_field_opens_exactly_its_answers(log, indexed):
    by = "metadata.user.tenant"
    tenants = [("acme", 5), ("globex", 3), (3, 2), ("3", 2), (True, 1), (None, 2)]
    for number, (tenant, n) in enumerate(tenants):
        day = MONDAY + 7 * (number % 2)
        judged(log, n, number / 10, 3, day=day, metadata={"user": {"tenant": tenant}})
    judged(log, 1, 1.0, 4, metadata={"user": {"tenant": "acme"}})
    if indexed:
        index_metadata(log.store, "user.tenant")
    for measure in MEASURES:
        drawn = shown(log, measure=measure, by=by)
        panels = {panel.group: panel for panel in drawn.panels}
        assert {name: panel.n for name, panel in panels.items()} == {
            ALL_ANSWERS: 15,
            "acme": 5,
            "globex": 3,
            "3": 4,
            "true": 1,
            "(no value)": 2,
        }
        assert panels["acme"].without_time == 1
        assert opens_its_answers(log, *(point for panel in drawn.panels for point in panel.points))
    assert first_estimate(log, by=by).value is not None
    assert left_out(log, shown(log, by=by)) == [("no_time", 1, 1)]


@pytest.mark.parametrize(("by", "names"), [("model", {"small", "large"}), ("source", set())])
def test_a_trend_by_a_text_of_the_log_opens_exactly_its_answers(log, by, names):
    for model in ("small", "large", None):
        judged(log, 3, 0.5, 3, day=MONDAY, generator_model=model)
    for measure in MEASURES:
        drawn = shown(log, measure=measure, by=by)
        assert {panel.group for panel in drawn.panels} == {ALL_ANSWERS, *names}
        assert opens_its_answers(log, *(point for panel in drawn.panels for point in panel.points))
        assert sum(each.n for each in drawn.left_out if each.reason == "other_value") == (
            3 if by == "model" else 0
        )


def test_values_of_a_field_without_a_panel_are_left_out_and_counted(sqlite_log):
    for number in range(35):
        judged(sqlite_log, 1, 0.5, day=MONDAY, metadata={"session": f"s{number}"})
    drawn = shown(sqlite_log, by="metadata.session")
    assert len(drawn.panels) == 1 + 30
    assert [(each.reason, each.n) for each in drawn.left_out] == [("other_value", 5)]
    with pytest.raises(BadInput, match="not 'mood'"):
        shown(sqlite_log, by="mood")


@pytest.mark.parametrize("shared", [False, True])
def test_answers_that_share_evidence_do_not_count_as_many(sqlite_log, shared):
    for week, levels in enumerate([(0.9, 0.5)] * 4 + [(0.5, 0.3)] * 2):
        for place, level in enumerate(levels):
            group = 2 * week + place if shared else None
            judged(sqlite_log, 6, level, day=MONDAY + 7 * week, group=group)
    (panel,) = shown(sqlite_log).panels
    # Twelve questions show no change; seventy-two answers do.
    assert (panel.change is None) is shared
    first = panel.points[0].estimate
    assert (first.high - first.low > 0.5) is shared


def test_periods_that_are_not_shown_do_not_widen_the_errors(sqlite_log):
    version = sqlite_log.version()

    def fill(weeks, groups):
        for week in weeks:
            ids = sqlite_log.answers_of(
                {"day": MONDAY + 7 * week, "group": 100 * (week + 50) + place % groups}
                for place in range(24)
            )
            sqlite_log.say_scores(version, ids, (0.4, 0.9) * 12)

    fill(range(6), 24)
    seen = shown(sqlite_log).panels[0].seen
    fill(range(-6, 0), 2)
    assert shown(sqlite_log, last=6).panels[0].seen == seen
    assert shown(sqlite_log).panels[0].seen != seen


@pytest.mark.parametrize("recurring", [False, True])
def test_a_change_is_seen_also_where_the_same_questions_come_each_week(sqlite_log, recurring):
    places = list(product(range(16), range(12), range(3)))
    ids = sqlite_log.answers_of(
        {"day": MONDAY + 7 * week, "group": question if recurring else 12 * week + question}
        for week, question, _ in places
    )
    # Half of the questions have much better answers than the others; from week 10 on, all are a
    # bit worse.
    scores = [
        (0.9 if question % 2 else 0.3) - (0.12 if week >= 10 else 0) + index / 50
        for week, question, index in places
    ]
    sqlite_log.say_scores(sqlite_log.version(), ids, scores)
    (panel,) = shown(sqlite_log).panels
    # 192 questions may differ by chance; the same 12 do not.
    assert (panel.change is not None) is recurring
