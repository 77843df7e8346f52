"""Alerts on a level on both engines: a mean or a share over the newest answers, above or below a threshold."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from alert_checks import check
from command_lines import run_line
from engines import on_sqlite
from graded_log import read
from judgeboard.alerts import levels
from judgeboard.alerts.levels import level_figures, levels_now
from judgeboard.alerts.rules import add_alert_rule, checked_rule, limits_words
from judgeboard.domain import AlertCondition, DimensionScore
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.notes import note
from judgeboard.settings.sections import AlertSettings
from judgeboard.store import day_sums
from judgeboard.store.alerts import open_events
from judgeboard.store.rules import list_rules
from judgeboard.store.tables import AlertRule
from judgeboard.text import utc_day
from judging_log import address
from query_plans import plans_of

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
TODAY = utc_day(NOW)
MINUTE = timedelta(minutes=1)
COMPLETE = DimensionScore("completeness", 2, "1-5")
SLICES = "only: a slice is query_type=VALUE, source=VALUE or metadata.KEY=VALUE"


def level(**fields):
    return AlertSettings(**{"when": "level", "to": ("webhook:env:HOOK_URL",)} | fields)


def add(log, **fields):
    add_alert_rule(log.store, "low", level(**fields), "Mara", NOW)


def rules(log):
    return read(log.store, list_rules, AlertRule)


def figures(log, **fields):
    """The subject, value, n and whether the threshold is passed, of each slice."""
    every = read(log.store, level_figures, checked_rule("low", level(**fields)), NOW)
    return [(each.subject, each.value, each.n, each.is_met) for each in every]


def sentences(log, **fields):
    return read(log.store, levels_now, checked_rule("low", level(**fields)), NOW)


@on_sqlite
def test_a_level_sends_one_message_when_it_begins_and_one_when_it_ends(log, hook):
    version = log.version()
    log.say_all(version, log.answers(20, day=TODAY - 1), groundedness=0.9)
    add(log, below=0.7, last="10")
    check(log.store, NOW)
    assert hook.kinds == []
    log.say_all(version, log.answers(10, day=TODAY), groundedness=0.5)
    for minute in (1, 2, 3):
        check(log.store, NOW + minute * MINUTE)
    [body] = hook.bodies
    assert all(part in body["text"] for part in ("rag", "10", "0.50", "0.7"))
    assert body == body | {"kind": "opened", "condition": "level", "value": 0.5, "threshold": 0.7}
    log.say_all(version, log.answers(10, day=TODAY), groundedness=0.9)
    check(log.store, NOW + 10 * MINUTE)
    assert hook.kinds == ["opened", "resolved"]


@on_sqlite
def test_a_level_at_the_threshold_is_neither_above_nor_below(log):
    ids = log.answers(30, day=TODAY)
    version = log.version()
    log.say_all(version, ids[:10], groundedness=0.1)
    log.say_all(version, ids[10:], groundedness=0.7)
    # The sum of such floats is not exactly 15.
    for limit, above, below in ((0.5, False, False), (0.499, True, False), (0.501, False, True)):
        assert figures(log, above=limit) == [("", 0.5, 30, above)]
        assert figures(log, below=limit) == [("", 0.5, 30, below)]
    third = pytest.approx(1 / 3)
    assert figures(log, measure="low_share", above=33) == [("", third, 30, True)]
    assert figures(log, measure="low_share", above=34) == [("", third, 30, False)]
    assert "33 %" in sentences(log, measure="low_share", above=33)[0]


@on_sqlite
def test_too_few_answers_say_so_and_do_not_fire(log, hook):
    assert figures(log, below=0.7) == [("", None, 0, False)]
    log.say_all(log.version(), log.answers(9, day=TODAY, query_type="QA"), groundedness=0.1)
    add(log, below=0.7, last="7d", only=("query_type=QA", "query_type=none such"))
    check(log.store, NOW)
    assert hook.kinds == []
    (rule,) = rules(log)
    assert rule.problem is None
    of_type, of_none = read(log.store, levels_now, rule, NOW)
    assert all(part in of_type for part in ("rag", "query_type=QA", "7 days", "n = 9", "10"))
    assert all(part in of_none for part in ("query_type=none such", "n = 0"))
    log.say_all(log.version(), log.answers(1, day=TODAY, query_type="QA"), groundedness=0.1)
    check(log.store, NOW + MINUTE)
    assert [event.subject for _, event in read(log.store, open_events)] == ["query_type=QA"]


@on_sqlite
def test_each_slice_has_its_own_figure(log):
    version = log.version()
    for name, score in (("QA", 0.2), ("sql", 0.8)):
        ids = log.answers(10, day=TODAY, query_type=name, metadata={"tenant": f"of {name}"})
        log.say_all(version, ids, groundedness=score)
    slices = ("query_type=QA", "metadata.tenant=of sql", "source=log", "source=other")
    assert figures(log, below=0.7, only=slices) == [
        ("query_type=QA", 0.2, 10, True),
        ("metadata.tenant=of sql", 0.8, 10, False),
        ("source=log", 0.5, 20, True),
        ("source=other", None, 0, False),
    ]


@on_sqlite
def test_the_last_answers_are_those_asked_last_and_days_end_today(log):
    version = log.version()
    # As in a file with the newest rows first.
    for day, score in ((TODAY, 0.9), (TODAY - 6, 0.6), (TODAY - 7, 0.1)):
        log.say_all(version, log.answers(10, day=day), groundedness=score)
    for last, value, n in (("10", 0.9, 10), ("20", 0.75, 20), ("7d", 0.75, 20), ("1d", 0.9, 10)):
        assert figures(log, below=0.7, last=last) == [("", value, n, False)]


@on_sqlite
def test_wrong_dates_do_not_count_and_are_named(log):
    version = log.version()
    for day, n in ((0, 3), (TODAY + 400, 2), (None, 4)):
        log.say_all(version, log.answers(n, day=day), groundedness=0.0)
    log.say_all(version, log.answers(10, day=TODAY), groundedness=0.9)
    for last in ("10", "7d"):
        assert figures(log, below=0.7, last=last) == [("", 0.9, 10, False)]
    # Without a time: counted as the oldest.
    assert figures(log, below=0.7, last="20")[0][2] == 14
    left_out = sentences(log, below=0.7, last="7d")[0].partition("Left out")[2]
    assert re.findall(r"\d+", left_out) == ["4", "3", "2002", "2"]


@on_sqlite
def test_a_criterion_of_a_rubric_judge_has_a_level(log):
    ids = log.answers(12, day=TODAY)
    log.say_all(log.version(), ids, groundedness=1.0)
    scores = (COMPLETE, DimensionScore("tone", None, "1-5"))
    log.say_all(log.version("rubric"), ids, scores=scores)
    assert figures(log, criterion="completeness", below=3.5) == [("", 2.0, 12, True)]
    of_rubric = figures(log, criterion="completeness", judge="rubric", above=2)
    assert of_rubric == [("", 2.0, 12, False)]
    assert figures(log, criterion="tone", below=3.5) == [("", None, 0, False)]
    unknown = "Not available: no judge has the criterion 'nope'; known: completeness, tone."
    assert sentences(log, criterion="nope", below=3) == [unknown]


@on_sqlite
def test_a_level_of_an_unknown_judge_or_criterion_is_refused_with_the_known_ones(log):
    log.say_all(log.version("rubric"), log.answers(12, day=TODAY), scores=(COMPLETE,))
    for fields, reason in (
        ({"judge": "rubrc"}, "no judge 'rubrc'; judges: rubric"),
        ({"judge": "rubrc", "criterion": "completeness"}, "no judge 'rubrc'; judges: rubric"),
        ({"criterion": "complete"}, "no judge has the criterion 'complete'; known: completeness"),
    ):
        with pytest.raises(NotFound, match=reason):
            add(log, above=0.7, **fields)
    assert rules(log) == []
    add(log, criterion="completeness", below=3)
    (rule,) = rules(log)
    assert (rule.level.measure, rule.level.criterion) == (None, "completeness")


def test_a_level_whose_criterion_vanished_has_a_problem_and_no_traceback(log, caplog):
    version = log.version("rubric")
    log.say_all(version, log.answers(12, day=TODAY), scores=(COMPLETE,))
    add(log, criterion="completeness", below=3)
    log.say_all(version, log.answers(20, day=TODAY), scores=(DimensionScore("tone", 2, "1-5"),))
    check(log.store, NOW)
    problem = "no judge has the criterion 'completeness'; known: tone"
    assert [rule.problem for rule in rules(log)] == [problem]
    logged = [each.exc_info for each in caplog.records if each.name == "judgeboard.alerts"]
    assert logged == [None]


@on_sqlite
def test_a_window_of_days_says_when_it_is_cut(log, monkeypatch):
    for module in (day_sums, levels):
        monkeypatch.setattr(module, "NEWEST", 20)
    version = log.version()
    for day in (TODAY - 10, TODAY - 3, TODAY):
        log.say_all(version, log.answers(20, day=day), groundedness=0.5)
    whole, cut = "in the last", "in the newest 20 answers of the last"
    windows = {"1d": f"{whole} 1 day", "3d": f"{whole} 3 days", "4d": f"{cut} 4 days"}
    for last, window in windows.items():
        figure = f"Mean groundedness of rag {window} (UTC): 0.50 (n = 20; threshold: below 0.7)."
        assert sentences(log, below=0.7, last=last) == [figure]


def test_a_level_reads_the_newest_answers_only(log, monkeypatch):
    monkeypatch.setattr(day_sums, "NEWEST", 20)
    ids = log.answers(300, day=TODAY, metadata={"tenant": "acme"})
    log.say_all(log.version(), ids, groundedness=0.5, scores=(COMPLETE,))
    slices = ("query_type=unknown", "source=log", "metadata.tenant=acme")
    for fields in ({"measure": "low_share"}, {"criterion": "completeness"}):
        with plans_of(log.store) as plans:
            every = figures(log, above=1, only=slices, last="366d", **fields)
        assert [n for _, _, n, _ in every] == [0, 20, 20]
        if log.store.is_sqlite:
            steps = [step for plan in plans for step in plan.splitlines()]
            large = ("SCAN current_judgment", "SCAN response", "SCAN judgment_score")
            assert not [step for step in steps if step.startswith(large)]
            assert any("ix_current_judgment_response (response_id>?)" in step for step in steps)


@on_sqlite
def test_a_level_is_stored_listed_and_imported_unchanged(log, capsys):
    log.version()
    rule = {"below": 0.7, "last": "7d", "judge": "rag", "only": ("query_type=QA",)}
    add(log, **rule)
    (stored,) = rules(log)
    assert (stored.condition, stored.level, stored.subjects) == (
        AlertCondition.LEVEL,
        checked_rule("low", level(**rule)).level,
        ("query_type=QA",),
    )
    limits = ("groundedness < 0.7", "7 days", "judge rag", "query_type=QA")
    assert all(part in limits_words(stored) for part in limits)
    words = "share --when level --measure low_share --above 20 --last 50 --to slack:env:S"
    assert run_line(f"rule add alert {words}", "--db", address(log.store)) == 0
    printed, warned = capsys.readouterr()
    assert f"warning: {note('unset_webhooks', variables=['S']).text}" in warned
    head, now, *_ = printed.splitlines()
    assert all(
        part in head for part in ("alert share: no worker", "slack:env:S", "> 20 %", "50 answers")
    )
    assert now.startswith("  now: ")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "above: a level needs one threshold: give either above or below"),
        ({"above": 0.2, "below": 0.1}, "above: a level needs one threshold"),
        ({"below": 2}, "below: the threshold of groundedness must be from 0 to 1, not 2"),
        (
            {"measure": "quality", "below": 0.5},
            "below: the threshold of quality must be from 1 to 4, not 0.5",
        ),
        (
            {"measure": "low_share", "above": 101},
            "above: the threshold of low_share must be from 0 to 100 %, not 101",
        ),
        ({"measure": "style", "above": 1}, "measure: no measure 'style'"),
        (
            {"measure": "quality", "criterion": "tone", "above": 1},
            "criterion: a level is of a measure or",
        ),
        ({"below": 0.5, "last": "9"}, "last: write a number of answers from 10 to 20,000"),
        ({"below": 0.5, "last": "367d"}, "last: write a number of answers"),
        ({"below": 0.5, "last": "2h"}, "last: write a number of answers"),
        ({"below": 0.5, "after": "2d"}, "after: the condition level does not use it"),
        ({"below": 0.5, "only": ("text=x",)}, f"{SLICES}, not 'text=x'"),
        (
            {"below": 0.5, "only": ("channel=web",)},
            f"{SLICES}, not 'channel=web'; write metadata.channel=web",
        ),
        ({"below": 0.5, "only": ("source=",)}, f"{SLICES}, not 'source='"),
        (
            {"when": "open_flags", "above": 1, "last": "7d"},
            "last: the condition open_flags does not use it",
        ),
        ({"when": "open_flags", "below": 1}, "below: the condition open_flags does not use it"),
    ],
)
def test_a_level_that_cannot_be_read_is_refused_with_its_field(fields, reason):
    with pytest.raises(BadInput, match=f"^{re.escape(reason)}"):
        checked_rule("low", level(**fields))
