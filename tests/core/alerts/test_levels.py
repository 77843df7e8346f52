"""Alerts on a level on both engines: a mean or a share over the newest answers, above or below a threshold."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from alert_checks import check
from engines import on_sqlite
from graded_log import GradedLog, read
from judgeboard.alerts import levels
from judgeboard.alerts.levels import level_figures, levels_now
from judgeboard.alerts.rules import WrittenRule, add_alert_rule, checked_rule, limits_words
from judgeboard.cli.app import run
from judgeboard.domain import AlertCondition, DimensionScore
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.notes import note
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
SLICES = "only: a slice is query_type=VALUE, source=VALUE or metadata.KEY=VALUE"


def level(**fields):
    return WrittenRule(
        **({"name": "low", "when": "level", "to": ("webhook:env:HOOK_URL",)} | fields)
    )


def figures(store, **fields):
    """The subject, value, n and whether the threshold is passed, of each slice."""
    every = list(read(store, level_figures, checked_rule(level(**fields)), NOW))
    return [(each.subject, each.value, each.n, each.is_met) for each in every]


def sentences(store, **fields):
    return read(store, levels_now, checked_rule(level(**fields)), NOW)


@on_sqlite
def test_a_level_sends_one_message_when_it_begins_and_one_when_it_ends(store, hook):
    log = GradedLog(store)
    version = log.version()
    log.say_all(version, log.answers(20, day=TODAY - 1), groundedness=0.9)
    add_alert_rule(store, level(below=0.7, last="10"), "Mara", NOW)
    check(store, NOW)
    assert hook.kinds == []
    log.say_all(version, log.answers(10, day=TODAY), groundedness=0.5)
    for minute in (1, 2, 3):
        check(store, NOW + minute * MINUTE)
    assert hook.kinds == ["opened"]
    body = hook.bodies[0]
    assert all(part in body["text"] for part in ("rag", "10", "0.50", "0.7"))
    assert (body["condition"], body["value"], body["threshold"]) == ("level", 0.5, 0.7)
    log.say_all(version, log.answers(10, day=TODAY), groundedness=0.9)
    check(store, NOW + 10 * MINUTE)
    assert hook.kinds == ["opened", "resolved"]


@on_sqlite
def test_a_level_at_the_threshold_is_neither_above_nor_below(store):
    log = GradedLog(store)
    ids = log.answers(30, day=TODAY)
    log.say(
        log.version(),
        {each: {"groundedness": (0.1, 0.7, 0.7)[place % 3]} for place, each in enumerate(ids)},
    )
    # The sum of such floats is not exactly 15.
    assert [figures(store, **{side: 0.5}) for side in ("above", "below")] == [
        [("", 0.5, 30, False)]
    ] * 2
    assert [figures(store, **{side: 0.499})[0][3] for side in ("above", "below")] == [True, False]
    assert [figures(store, **{side: 0.501})[0][3] for side in ("above", "below")] == [False, True]
    share = {"measure": "low_share"}
    third = pytest.approx(1 / 3)
    assert figures(store, **share, above=33) == [("", third, 30, True)]
    assert figures(store, **share, above=34) == [("", third, 30, False)]
    assert "33 %" in sentences(store, **share, above=33)[0]


@on_sqlite
def test_too_few_answers_say_so_and_do_not_fire(store, hook):
    log = GradedLog(store)
    assert figures(store, below=0.7) == [("", None, 0, False)]
    log.say_all(log.version(), log.answers(9, day=TODAY, query_type="QA"), groundedness=0.1)
    add_alert_rule(
        store,
        level(below=0.7, last="7d", only=("query_type=QA", "query_type=none such")),
        "Mara",
        NOW,
    )
    check(store, NOW)
    assert hook.kinds == []
    with store.reading() as connection:
        (rule,) = list_rules(connection, AlertRule)
        words = levels_now(connection, rule, NOW)
    assert rule.problem is None
    of_type, of_none = words
    assert all(part in of_type for part in ("rag", "query_type=QA", "7 days", "n = 9", "10"))
    assert all(part in of_none for part in ("query_type=none such", "n = 0"))
    log.say_all(log.version(), log.answers(1, day=TODAY, query_type="QA"), groundedness=0.1)
    check(store, NOW + MINUTE)
    assert [event.subject for _, event in read(store, open_events)] == ["query_type=QA"]


@on_sqlite
def test_each_slice_has_its_own_figure(store):
    log = GradedLog(store)
    version = log.version()
    for name, score in (("QA", 0.2), ("sql", 0.8)):
        ids = log.answers(10, day=TODAY, query_type=name, metadata={"tenant": f"of {name}"})
        log.say_all(version, ids, groundedness=score)
    slices = ("query_type=QA", "metadata.tenant=of sql", "source=log", "source=other")
    assert figures(store, below=0.7, only=slices) == [
        ("query_type=QA", 0.2, 10, True),
        ("metadata.tenant=of sql", 0.8, 10, False),
        ("source=log", 0.5, 20, True),
        ("source=other", None, 0, False),
    ]


@on_sqlite
def test_the_last_answers_are_those_asked_last_and_days_end_today(store):
    log = GradedLog(store)
    version = log.version()
    for day, score in (
        (TODAY, 0.9),
        (TODAY - 6, 0.6),
        (TODAY - 7, 0.1),
    ):  # as in a file with the newest rows first
        log.say_all(version, log.answers(10, day=day), groundedness=score)
    assert figures(store, below=0.7, last="10") == [("", 0.9, 10, False)]
    assert figures(store, below=0.7, last="20") == [("", 0.75, 20, False)]
    assert figures(store, below=0.7, last="7d") == [("", 0.75, 20, False)]
    assert figures(store, below=0.7, last="1d") == [("", 0.9, 10, False)]


@on_sqlite
def test_wrong_dates_do_not_count_and_are_named(store):
    log = GradedLog(store)
    version = log.version()
    for day, n in ((0, 3), (TODAY + 400, 2), (None, 4)):
        log.say_all(version, log.answers(n, day=day), groundedness=0.0)
    log.say_all(version, log.answers(10, day=TODAY), groundedness=0.9)
    assert (
        figures(store, below=0.7, last="10")
        == figures(store, below=0.7, last="7d")
        == [("", 0.9, 10, False)]
    )
    # Without a time: counted as the oldest.
    assert figures(store, below=0.7, last="20")[0][2] == 14
    left_out = sentences(store, below=0.7, last="7d")[0].partition("Left out")[2]
    assert re.findall(r"\d+", left_out) == ["4", "3", "2002", "2"]


@on_sqlite
def test_a_criterion_of_a_rubric_judge_has_a_level(store):
    log = GradedLog(store)
    ids = log.answers(12, day=TODAY)
    log.say_all(log.version(), ids, groundedness=1.0)
    scores = (DimensionScore("completeness", 2, "1-5"), DimensionScore("tone", None, "1-5"))
    log.say_all(log.version("rubric"), ids, scores=scores)
    assert figures(store, criterion="completeness", below=3.5) == [("", 2.0, 12, True)]
    assert figures(store, criterion="completeness", judge="rubric", above=2) == [
        ("", 2.0, 12, False)
    ]
    assert figures(store, criterion="tone", below=3.5) == [("", None, 0, False)]
    unknown = "Not available: no judge has the criterion 'nope'; known: completeness, tone."
    assert sentences(store, criterion="nope", below=3) == [unknown]


@on_sqlite
def test_a_level_of_an_unknown_judge_or_criterion_is_refused_with_the_known_ones(store, tmp_path):
    log = GradedLog(store)
    version, ids = log.version("rubric"), log.answers(12, day=TODAY)
    log.say_all(version, ids, scores=(DimensionScore("completeness", 2, "1-5"),))
    for fields, reason in (
        ({"judge": "rubrc"}, "no judge 'rubrc'; judges: rubric"),
        ({"judge": "rubrc", "criterion": "completeness"}, "no judge 'rubrc'; judges: rubric"),
        ({"criterion": "complete"}, "no judge has the criterion 'complete'; known: completeness"),
    ):
        with pytest.raises(NotFound, match=reason):
            add_alert_rule(store, level(above=0.7, **fields), "Mara", NOW)
    assert read(store, list_rules, AlertRule) == []
    add_alert_rule(store, level(criterion="completeness", below=3), "Mara", NOW)
    (rule,) = read(store, list_rules, AlertRule)
    assert (rule.level.measure, rule.level.criterion) == (None, "completeness")


def test_a_level_whose_criterion_vanished_has_a_problem_and_no_traceback(store, tmp_path, caplog):
    log = GradedLog(store)
    version = log.version("rubric")
    log.say_all(
        version, log.answers(12, day=TODAY), scores=(DimensionScore("completeness", 2, "1-5"),)
    )
    add_alert_rule(store, level(criterion="completeness", below=3), "Mara", NOW)
    log.say_all(version, log.answers(20, day=TODAY), scores=(DimensionScore("tone", 2, "1-5"),))
    check(store, NOW)
    problem = "no judge has the criterion 'completeness'; known: tone"
    assert [rule.problem for rule in read(store, list_rules, AlertRule)] == [problem]
    assert [record.exc_info for record in caplog.records if record.name == "judgeboard.alerts"] == [
        None
    ]


@on_sqlite
def test_a_window_of_days_says_when_it_is_cut(store, monkeypatch):
    for module in (day_sums, levels):
        monkeypatch.setattr(module, "NEWEST", 20)
    log = GradedLog(store)
    version = log.version()
    for day in (TODAY - 10, TODAY - 3, TODAY):
        log.say_all(version, log.answers(20, day=day), groundedness=0.5)
    whole, cut = "in the last", "in the newest 20 answers of the last"
    for last, window in (
        ("1d", f"{whole} 1 day"),
        ("3d", f"{whole} 3 days"),
        ("4d", f"{cut} 4 days"),
    ):
        figure = f"Mean groundedness of rag {window} (UTC): 0.50 (n = 20; threshold: below 0.7)."
        assert sentences(store, below=0.7, last=last) == [figure]


def test_a_level_reads_the_newest_answers_only(store, monkeypatch):
    monkeypatch.setattr(day_sums, "NEWEST", 20)
    log = GradedLog(store)
    version = log.version()
    ids = log.answers(300, day=TODAY, metadata={"tenant": "acme"})
    scores = (DimensionScore("completeness", 2, "1-5"),)
    log.say_all(version, ids, groundedness=0.5, scores=scores)
    slices = ("query_type=unknown", "source=log", "metadata.tenant=acme")
    for fields in ({"measure": "low_share"}, {"criterion": "completeness"}):
        with plans_of(store) as plans:
            assert [
                n for _, _, n, _ in figures(store, above=1, only=slices, last="366d", **fields)
            ] == [0, 20, 20]
        if store.is_sqlite:
            steps = [step for plan in plans for step in plan.splitlines()]
            large = ("current_judgment", "response", "judgment_score")
            assert not [
                step for step in steps if step.startswith(tuple(f"SCAN {each}" for each in large))
            ]
            assert any("ix_current_judgment_response (response_id>?)" in step for step in steps)


@on_sqlite
def test_a_level_is_stored_listed_and_imported_unchanged(store, capsys, tmp_path, monkeypatch):
    GradedLog(store).version()
    rule = level(below=0.7, last="7d", judge="rag", only=("query_type=QA",), remind="2h")
    add_alert_rule(store, rule, "Mara", NOW)
    (stored,) = read(store, list_rules, AlertRule)
    assert (stored.condition, stored.level, stored.subjects) == (
        AlertCondition.LEVEL,
        checked_rule(rule).level,
        ("query_type=QA",),
    )
    limits = ("groundedness < 0.7", "7 days", "judge rag", "query_type=QA")
    assert all(part in limits_words(stored) for part in limits)
    if not store.is_sqlite:
        return
    words = [
        "share",
        "--when",
        "level",
        "--measure",
        "low_share",
        "--above",
        "20",
        "--last",
        "50",
        "--to",
        "slack:env:S",
    ]
    assert run(["rule", "add", "alert", *words, "--db", address(store)]) == 0
    printed, warned = capsys.readouterr()
    unset = note("unset_webhooks", variables=["S"]).text
    assert f"warning: {unset}" in warned
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
    with pytest.raises(BadInput) as refusal:
        checked_rule(level(**fields))
    assert str(refusal.value).startswith(reason)
