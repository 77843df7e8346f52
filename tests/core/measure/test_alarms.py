"""Corrected trends and alarms on stored answers: raised once, acknowledged by a lead, then watched anew."""

import json
import re
import shlex
from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD, GradedLog, labels_in, read
from judgeboard import raise_flags
from judgeboard.cli.app import run
from judgeboard.domain import MODEL_CHANGED, Role, Status
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.measure.alarms import acknowledge, open_alarms, watch
from judgeboard.measure.corrected_trend import corrected_trend
from judgeboard.measure.plans import draw_plan, plan_labels, plan_versions
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.sample import answers_of
from judgeboard.measure.trend_figures import ALL_ANSWERS
from judgeboard.reports.trends import corrected_lines
from judgeboard.reviews.queues import create_queue
from judgeboard.settings.sections import PLANNED
from judgeboard.store.filters import RowFilter, parse_where
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.queues import new_queue
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.tables import EVENT
from result_parts import codes, values_of_note
from stored_rows import values_of

MONDAY = 20_003  # 2024-10-07
WEEKLY = 40
LATER = datetime(2026, 1, 1, tzinfo=UTC)


def numbers_in(words):
    """The whole numbers of a text: 40, 31 and 49 of "40 points [31, 49]"."""
    return tuple(map(int, re.findall(r"\d+", str(words))))


def size_of(alarm):
    """By how many points a share changed, with the interval."""
    return numbers_in(alarm.explanation)[:3]


def watched(store, now=LATER):
    return watch(store, by="cli:mara", now=now)


def alarms_of(store):
    return [each.alarm for each in watched(store).alarms]


def trend_of(store, **options):
    return read(store, corrected_trend, **({"now": LATER} | options))


def left_out(trend):
    return [(each.reason, each.n) for each in trend.left_out]


def nine_weeks(log):
    """Yield the number of each week, and its answers of one query type."""
    for week in range(9):
        yield week, log.answers(WEEKLY, day=MONDAY + 7 * week, query_type="QA")


def judge_notes(trend):
    """The notes on whether the judge changed."""
    return [code for code in codes(trend.changes.caveats) if code.startswith("judge_")]


def fill(log, shares, *, query_type="QA", first=MONDAY, labelled=WEEKLY):
    """Each week has answers of which this share is bad; the judge finds all of them, and people label the first."""
    days = [first + 7 * week for week in range(len(shares)) for _ in range(WEEKLY)]
    ids = log.answers_of({"day": day, "query_type": query_type} for day in days)
    weeks = [ids[start : start + WEEKLY] for start in range(0, len(ids), WEEKLY)]
    bad = {
        id_ for week, share in zip(weeks, shares, strict=True) for id_ in week[:: round(1 / share)]
    }
    log.say(log.version(), labels_in(ids, bad))
    log.reviews(labels_in((id_ for week in weeks for id_ in week[:labelled]), bad))


RISE = [0.1] * 4 + [0.5] * 5


@pytest.fixture
def log(graded_once):
    """A rise in the fifth of nine weeks, all answers labelled."""
    return graded_once("a rise in the fifth week", lambda new: fill(new, RISE))[0]


@pytest.fixture
def risen(log):
    return log.store


@on_sqlite
def test_hidden_answers_are_the_reason_why_a_trend_has_no_points(store):
    log = GradedLog(store)
    fill(log, [0.1] * 4, labelled=0)
    with store.writing() as connection:
        lead = store_reviewer(connection, "cli", "lena", Role.LEAD)
    plan = read(store, draw_plan, RowFilter())
    queue = new_queue("q", max_items=30, **PLANNED.given())
    create_queue(store, queue, by="cli:lena", assigned=(lead,), plan=plan)
    seen = Seen(store, lead.id)
    rate, trend = measure_rate(seen), trend_of(seen)
    assert (rate.headline.code, rate.share.value) == ("rate_unknown", None)
    headline = trend.changes.headline
    assert headline.code == "hidden"
    assert {"30", "160"} <= set(headline.text.split())
    (panel,) = trend.panels
    assert (panel.points, panel.waiting) == ((), 4)
    assert "random_share" not in "\n".join(corrected_lines(trend))
    assert "hidden" not in "\n".join(corrected_lines(trend_of(store)))


def test_two_models_that_are_reported_at_once_are_one_alarm(store):
    log = GradedLog(store)
    for answer, model in zip(log.answers(2), ("m-1", "m-2"), strict=True):
        log.say_all(log.version(), [answer], label=GOOD, model_reported=model)
    (alarm,) = alarms_of(store)
    assert alarm.measure == MODEL_CHANGED
    assert all(name in alarm.direction for name in ("rag v1", "m-1", "m-2"))


@on_sqlite
def test_a_rise_raises_one_alarm_however_often_somebody_looks(risen):
    result = watched(risen)
    assert len(result.new) == 1
    (alarm,) = (each.alarm for each in result.alarms)
    assert (alarm.query_type, alarm.direction, alarm.from_day) == (ALL_ANSWERS, "rose", MONDAY + 28)
    assert (alarm.rate_before, alarm.rate_after) == pytest.approx((0.1, 0.5))
    assert size_of(alarm) == (40, 31, 49)
    detectors = [(each.measure, each.direction, each.alarm) for each in result.detectors]
    assert detectors == [
        ("bad_share", "rose", alarm.id),
        ("bad_share", "fell", None),
        ("judge_error", "rose", None),
        ("judge_error", "fell", None),
        ("unusable", "rose", None),
        ("unusable", "fell", None),
    ]
    assert {(each.weeks, each.limit) for each in result.detectors} == {(9, 104)}
    again = watched(risen)
    assert (again.new, again.alarms) == ((), result.alarms)
    assert len(values_of(risen, EVENT.c.kind, EVENT.c.kind == "raise_alarm")) == 1


@on_sqlite
def test_a_rate_over_a_change_that_an_alarm_found_says_so_and_begins_with_the_share_since_then(
    risen,
):
    before = measure_rate(risen)
    assert (before.headline.code, before.caveats) == ("rate", ())
    assert not before.has("bad_answers_now")
    assert before.share.value == pytest.approx(0.32, abs=0.005)
    watched(risen)
    since = parse_where(["from=2024-11-04"])
    later = measure_rate(risen, where=since)
    # No note where the figure begins with the change.
    assert not later.caveats
    for _ in ("open", "acknowledged"):  # an acknowledged change still lies within the answers
        over = measure_rate(risen, by="query_type")
        note = values_of_note(over.caveats, "alarm")
        assert note == {"alarms": ["1"], "day": MONDAY + 28}
        assert over.headline.code == "rate_since"
        assert (over.figure("bad_answers_now"), over.share) == (later.share, before.share)
        if read(risen, open_alarms):
            acknowledge(risen, 1, "a new index", by="library")
    for choice in ({"grade": "groundedness"}, {"labels_from": since}):
        assert not measure_rate(risen, **choice).has("bad_answers_now")


@on_sqlite
def test_a_plan_over_a_change_is_not_done_for_today(risen):
    def over_a_change(*conditions):
        where = parse_where(conditions) if conditions else None
        versions = read(risen, plan_versions)
        (plan,) = read(risen, plan_labels, 0.9, versions=versions, where=where)
        return [each.values for each in plan.caveats if each.code == "plan_over_a_change"]

    since = "from=2024-11-04"
    watched(risen)
    (values,) = over_a_change()
    assert "Alarm 1" in values["change"]
    assert values["command"].endswith(f" --reach 0.9 --where {since}")
    assert over_a_change(since) == []


@on_sqlite
def test_a_judge_that_calls_more_answers_bad_raises_an_alarm_of_its_own(store):
    log = GradedLog(store)
    version = log.version()
    for week, ids in nine_weeks(log):
        # People find a tenth of the answers bad in every week. From the fifth week on, the judge
        # says four tenths.
        log.say(version, labels_in(ids, ids[:: 10 if week < 4 else 2]))
        log.reviews(labels_in(ids, ids[::10]))
    (alarm,) = alarms_of(store)
    assert (alarm.measure, alarm.direction, alarm.from_day) == ("judge_error", "rose", MONDAY + 28)
    trend = trend_of(store)
    ((rates,),) = (monitor.rates for _, monitor in trend.monitors if monitor.rates)
    assert rates.have_moved
    assert size_of(alarm) == (40, 32, 47)
    assert judge_notes(trend) == ["judge_errs_differently"]
    assert trend.changes.figure("specificity_before").value == 1
    assert trend.changes.figure("specificity_since").value == pytest.approx(0.5556, abs=1e-4)
    acknowledge(store, alarm.id, "The provider changed the model", by="cli:mara", now=LATER)
    assert alarms_of(store) == []


@on_sqlite
def test_a_judge_whose_error_moves_because_more_answers_are_bad_is_not_said_to_have_changed(store):
    log = GradedLog(store)
    version = log.version()
    for week, ids in nine_weeks(log):
        # The judge misses every second bad answer in every week. From the fifth week on, far more
        # answers are bad.
        bad = ids[::10] if week < 4 else ids[: 3 * WEEKLY // 4]
        log.say(version, labels_in(ids, bad[::2]))
        log.reviews(labels_in(ids, bad))
    trend = trend_of(store)
    assert [each.have_moved for _, monitor in trend.monitors for each in monitor.rates] == [False]
    assert judge_notes(trend) == ["judge_errs_alike"]
    alarms = alarms_of(store)
    assert [each.direction for each in alarms if each.measure == "judge_error"] == ["fell"]


@on_sqlite
def test_a_judge_that_fails_more_often_raises_an_alarm_without_any_label(store):
    log = GradedLog(store)
    version = log.version()
    for week, ids in nine_weeks(log):
        failures = 0 if week < 4 else 12
        log.say_all(version, ids[failures:], label=GOOD)
        log.say_all(version, ids[:failures], status=Status.UNPARSABLE)
    (alarm,) = alarms_of(store)
    assert (alarm.measure, alarm.direction, alarm.rate_before) == ("unusable", "rose", 0)
    assert size_of(alarm) == (30, 24, 37)


@on_sqlite
def test_after_an_acknowledgement_the_reference_starts_anew(risen, log):
    (alarm,) = alarms_of(risen)
    seen = acknowledge(risen, alarm.id, "  New retriever ", by="cli:mara", now=LATER)
    note = seen.acknowledgement
    assert (note.note, note.by, note.at) == ("New retriever", "cli:mara", LATER)
    result = watched(risen)
    assert (result.new, result.alarms) == ((), ())
    weeks = {(each.measure, each.weeks) for each in result.detectors}
    # Only the figure of the alarm starts anew.
    assert weeks == {("bad_share", 5), ("judge_error", 9), ("unusable", 9)}
    fill(log, [0.1] * 5, first=MONDAY + 63)
    (back,) = alarms_of(risen)
    assert (back.direction, back.from_day) == ("fell", MONDAY + 63)


@on_sqlite
def test_the_trend_still_names_an_acknowledged_change_and_says_which_weeks_count_since(risen, log):
    (alarm,) = alarms_of(risen)
    acknowledge(risen, alarm.id, "New retriever", by="cli:mara", now=LATER)
    changes = trend_of(risen).changes
    headline = changes.headline
    assert (headline.code, headline.values["size"]) == ("change_unclear", "44 points")
    (known,) = (each for each in changes.caveats if each.code == "acknowledged")
    assert known.values == {"alarm": 1, "part": ALL_ANSWERS, "day": MONDAY + 28}
    fill(log, [0.1] * 5, first=MONDAY + 63)
    later, early = (
        trend_of(risen, now=now).changes for now in (LATER, datetime(2024, 11, 6, tzinfo=UTC))
    )
    assert (later.headline.code, later.headline.values["day"]) == ("bad_fell", MONDAY + 63)
    assert known in later.caveats
    # No week has ended since the change.
    assert early.headline.code == "change_unfindable"
    assert known in early.caveats


@on_sqlite
def test_a_lead_acknowledges_with_a_note_and_once(risen):
    (alarm,) = alarms_of(risen)
    with risen.writing() as connection:
        reviewer = store_reviewer(connection, "oidc", "ann@example.org", role=Role.REVIEWER)
        lead = store_reviewer(connection, "oidc", "bob@example.org", role=Role.LEAD)
    with pytest.raises(NotAllowed):
        acknowledge(risen, alarm.id, "why", by=reviewer)
    for note in ("", "  ", "x" * 3_000, "\0"):
        with pytest.raises(BadInput, match="note"):
            acknowledge(risen, alarm.id, note, by=lead)
    with pytest.raises(NotFound, match="no alarm 99"):
        acknowledge(risen, 99, "why", by=lead)
    acknowledge(risen, alarm.id, "why", by=lead)
    with pytest.raises(BadInput, match=r"bob@example\.org"):
        acknowledge(risen, alarm.id, "why", by=lead)


@on_sqlite
def test_a_week_that_has_not_ended_is_shown_and_not_watched(risen):
    last = datetime(2024, 12, 4, tzinfo=UTC)
    (panel,) = trend_of(risen, now=last).panels
    assert [point.rose is None for point in panel.points] == [False] * 8 + [True]
    assert {each.weeks for each in watched(risen, now=last).detectors} == {8}
    assert not watch(risen, by="cli:mara", since=MONDAY + 28, now=LATER).new


@on_sqlite
def test_without_a_change_the_sentence_tells_which_change_would_have_been_found(store):
    fill(GradedLog(store), [0.25] * 8)
    result = watched(store)
    assert (result.new, result.alarms) == ((), ())
    headline = trend_of(store).changes.headline
    assert (headline.code, headline.values["span"]) == ("change_unclear", "8 weeks")
    assert headline.values["size"] == "25 points"


def test_a_week_with_labels_does_not_wait_for_weeks_without(sqlite_store):
    log = GradedLog(sqlite_store)
    fill(log, [0.25] * 2)
    fill(log, [0.25] * 2, first=MONDAY + 14, labelled=0)
    fill(log, [0.25], first=MONDAY + 28)
    fill(log, [0.25], first=MONDAY + 35, labelled=0)
    (panel,) = trend_of(sqlite_store).panels
    # The labels of the fifth week are no sample of the two weeks before it, but they are all of its
    # own answers.
    periods = {point.start - MONDAY: point.periods for point in panel.points}
    assert (periods, panel.waiting) == ({0: 1, 7: 1, 28: 1}, 3)


def test_a_point_covers_as_many_weeks_as_its_random_sample_needs(sqlite_store):
    log = GradedLog(sqlite_store)
    log.set("random_share", 0.1)
    fill(log, [0.25] * 20, labelled=0)
    raise_flags(sqlite_store)
    answers = read(sqlite_store, answers_of, None)
    drawn = answers.response_ids[answers.drawn].tolist()
    log.review_all(drawn, label=GOOD)
    (panel,) = trend_of(sqlite_store).panels
    periods = [point.periods for point in panel.points]
    assert sum(periods) + panel.waiting == 20
    assert max(periods) > 1
    assert sum(point.share.n for point in panel.points) <= len(drawn)
    for point in panel.points:
        assert all(stratum.labelled for stratum in point.strata)
        assert sum(stratum.answers for stratum in point.strata) == WEEKLY * point.periods


@on_sqlite
def test_query_types_that_differ_follow_all_answers(store):
    log = GradedLog(store)
    fill(log, [0.25] * 9, query_type="steady")
    fill(log, RISE, query_type="risen")
    fill(log, [0.5] * 4 + [0.1] * 5, query_type="fallen")
    fill(log, [0.25] * 9, query_type="unlabelled", labelled=0)
    changes = trend_of(store).changes
    assert changes.headline.code == "change_unfindable"
    assert {row.slice for row in changes.rows if row.figure == "changed"} == {"fallen", "risen"}
    assert changes.figure("bad_since", "risen").value == pytest.approx(0.5)
    assert changes.figure("detectable", "steady").value is not None
    assert changes.figure("detectable", "unlabelled").reason == "too few answers"


@on_sqlite
def test_a_rate_by_query_type_names_the_alarms_of_its_query_types(store):
    log = GradedLog(store)
    fill(log, RISE, query_type="risen")
    fill(log, [0.25] * 9, query_type="steady")
    query_types = {each.id: each.query_type for each in alarms_of(store)}
    assert query_types == {1: ALL_ANSWERS, 2: "risen"}
    # A table without query types names the alarm of all answers alone.
    for by, alarms in (("query_type", ["1", "2"]), (None, ["1"])):
        assert values_of_note(measure_rate(store, by=by).caveats, "alarm")["alarms"] == alarms


@on_sqlite
def test_after_an_acknowledgement_only_the_weeks_that_are_read_count(store):
    """The answers of the first weeks are to few questions, so they vary more. Later answers have a question each."""
    log = GradedLog(store)
    version = log.version()
    for week in range(16):
        is_early = week < 8
        ids = log.answers_of(
            {"day": MONDAY + 7 * week, "group": 1_000 * week + (place // 10 if is_early else place)}
            for place in range(WEEKLY)
        )
        labels = labels_in(ids, ids[: 10 if is_early else 36 - week % 3])
        log.say(version, labels)
        log.reviews(labels)
    (alarm,) = alarms_of(store)
    acknowledge(store, alarm.id, "New retriever", by="cli:mara", now=LATER)
    acknowledged, alone = (
        trend_of(store, since=since).panels[0].monitor() for since in (None, alarm.from_day)
    )
    assert acknowledged == alone


def test_without_labels_only_unusable_verdicts_are_watched(sqlite_store):
    assert watch(sqlite_store, by="cli:mara").detectors == ()
    fill(GradedLog(sqlite_store), [0.25] * 3, labelled=0)
    result = watched(sqlite_store)
    # It needs no labels.
    assert {each.measure for each in result.detectors} == {"unusable"}
    assert "random_share" in result.promise


def test_answers_without_a_time_are_left_out_and_not_asked_for_labels(sqlite_store):
    log = GradedLog(sqlite_store)
    version = log.version()
    log.say_all(version, log.answers(12), label=GOOD)
    assert trend_of(sqlite_store).changes.headline.code == "no_times"
    log.say_all(version, log.answers(30, day=MONDAY), label=GOOD)
    trend = trend_of(sqlite_store)
    assert trend.changes.headline.code == "no_labels_over_time"
    assert left_out(trend) == [("no_time", 12)]


@on_sqlite
def test_wrong_dates_move_no_detector_and_are_counted(store):
    log = GradedLog(store)
    fill(log, [0.1] * 4)
    before = trend_of(store)
    version = log.version()
    for day, n in ((0, 2), (MONDAY + 40_000, 1)):
        wrong = log.answers(n, day=day, query_type="QA")
        log.say_all(version, wrong, label=BAD)
        log.review_all(wrong, label=BAD)
    after = trend_of(store)
    parts = [
        [(panel.points, panel.monitors, panel.with_time) for panel in trend.panels]
        for trend in (before, after)
    ]
    assert parts[0] == parts[1]
    assert left_out(after) == [("old", 2), ("future", 1)]
    assert [log.opened_by(each.where) for each in after.left_out] == [2, 1]


def test_the_command_exits_with_1_on_a_new_alarm_only(sqlite_store, tmp_path, capsys):
    fill(GradedLog(sqlite_store), RISE)
    db = ["--db", str(tmp_path / "judgeboard.db")]
    assert run(["trends", "watch", *db]) == 1
    out, err = capsys.readouterr()
    # First look at the answers.
    assert err.startswith("next: ")
    assert shlex.split(err)[2:4] == ["trends", "--corrected"]
    (printed,) = re.findall(r"acknowledge it: `judgeboard (.*)`", out)
    assert "New alarm 1:" in out
    rows = [line.rstrip() for line in out.splitlines() if line.startswith(ALL_ANSWERS)]
    assert [row.endswith("1 (rose)") for row in rows] == [True, False, False]
    assert run(["trends", "watch", *db]) == 0
    again = capsys.readouterr().out
    assert "New alarm" not in again
    assert again.startswith("Alarm 1 ")
    # An open alarm is acknowledged in a later run, too.
    assert f"acknowledge it: `judgeboard {printed}`" in again
    assert run(["trends", *db]) == 0
    alarm, _, uncorrected, *_ = capsys.readouterr().out.splitlines()
    # The alarm comes before what the judge's own scores show.
    assert alarm.startswith("Alarm 1 ")
    assert "groundedness" in uncorrected
    assert run(["trends", "watch", "--acknowledge", "1", *db]) == 2
    # The printed command works as it is.
    assert run(shlex.split(printed)) == 0
    capsys.readouterr()
    assert run(["trends", "watch", "--json", *db]) == 0
    assert json.loads(capsys.readouterr().out)["alarms"] == []
    assert run(["trends", "--before", "2024-10-07..2024-11-03", *db]) == 2
    assert run(["trends", "--corrected", "--measure", "quality", *db]) == 2
    assert run(["trends", "--corrected", "--before", "March", "--after", "April", *db]) == 2
