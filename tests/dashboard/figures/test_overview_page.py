"""The overview: the five questions of a lead, in every state of a database."""

import json
import re
from dataclasses import replace
from datetime import date, timedelta
from itertools import count

import pytest
from sqlalchemy import insert

from app_pages import check_shown, enter, press, shown, table, table_rows, text_with, texts, titles
from figures_log import HOSTILE
from graded_log import GOOD, GradedLog, labels_in
from judgeboard.domain import Status
from judgeboard.measure.alarms import watch
from judgeboard.reports.lead_questions import pace_note, unusable_note
from judgeboard.stats.intervals import share_intervals
from judgeboard.store.clock import utc_now
from judgeboard.store.overview import DayCounts, Overview
from judgeboard.store.runs import Counts
from judgeboard.store.tables import FLAG, TRACE
from judgeboard_dashboard.views.overview import rows_of, types_of
from judgeboard_dashboard.widgets import log_figures
from judgeboard_dashboard.widgets.tables import table_frame
from sent_traces import Sent, gathered, receiving, send_spans, trace
from stored_rows import values_of

DAY = date(2026, 3, 9)  # a Monday
QUESTIONS = [
    "1. How good are the answers now?",
    "2. Can this judge be trusted?",
    "3. What does the judge miss?",
    "4. Which answers should people read today?",
    "5. What is getting worse, and what failed to arrive?",
]


def case(open_flags=12, decided=(0,) * 7, raised=0, mine=0):
    days = [DayCounts(DAY, raised, each, mine, open_flags + 3) for each in decided]
    days[-1] = replace(days[-1], open_answers=open_flags)
    return Overview(tuple(days), "rag", Counts())


def fill_labelled(store):
    """Store nine weeks of two query types, all labelled by Mara, 24 also by Jon; sql is bad, prose is good.

    The judge calls one in five bad answers good, and no good answer bad.
    """
    log = GradedLog(store)
    version = log.version()
    for week in range(9):
        for query_type, bad_in in (("sql", 2), ("prose", 10)):
            ids = log.answers(20, day=20_003 + 7 * week, query_type=query_type)
            bad = ids[::bad_in]
            log.say(version, labels_in(ids, [each for each in bad if each not in bad[::5]]))
            log.reviews(labels_in(ids, bad, seconds=60.0), "Mara")
            if week < 3:
                log.reviews(labels_in(ids[:4], bad), "Jon")


def flagged(store):
    """How many answers have an open flag."""
    return len(set(values_of(store, FLAG.c.response_id, FLAG.c.state == "open")))


@pytest.fixture
def labelled(page_store, fill_once):
    """A log that people labelled whole."""
    fill_once("labelled", page_store, fill_labelled)
    return GradedLog(page_store, numbers=count(1_000))


def test_the_five_questions_have_their_figures_and_lead_on(open_page, labelled):
    page = open_page("overview", tables="true")
    assert [text for text in texts(page, "jb-part") if text[1] == "."] == QUESTIONS
    assert [row[0] for row in table_rows(page, "Bad answers")] == ["All", "sql", "prose"]
    waiting = flagged(labelled.store)
    for figures in (["30 %"], ["rag v1", "93 % ["], ["misses", "25 % ["], [f"{waiting} minutes"]):
        assert text_with(page, *figures, cls="jb-say")
    assert table_rows(page, "User")
    for button, title in (("trend", "Trends"), ("differ", "Judges")):
        opened = press(open_page("overview"), f"overview_{button}")
        assert titles(opened) == [title]
    assert press(open_page("overview"), "overview_start").query_params["flag"]


def test_without_labels_it_says_how_many_are_missing_and_plans_them(open_page, log):
    log.say_all(log.version(), log.answers(100), groundedness=0.9)
    log.review_all(log.answers(), quality=3, seconds=12.0)
    page = open_page("overview")
    assert text_with(page, "not known yet", cls="jb-say")
    check_shown(page, "rag v1 alone", "Missing: 60", "12 minutes")
    press(page, "rate_plan")
    assert titles(page) == ["Review"]
    assert "Label " in shown(page)


def test_without_a_second_reviewer_it_starts_a_queue_for_two(open_page, log):
    ids = log.answers(40)
    bad = {*ids} - {*ids[::3]}
    log.say(log.version(), labels_in(ids, bad))
    log.reviews(labels_in(ids, bad, seconds=30.0))
    page = open_page("overview")
    assert text_with(page, "Missing: ", "10 more answers", "10 minutes")
    press(page, "overlap_queue")
    assert page.session_state["nq_reviews_needed"] == 2


def test_what_failed_to_arrive_or_to_run_has_a_button(open_page, log, page_store):
    log.say_all(log.version(), log.answers(3), groundedness=0.9)
    before = open_page("overview")
    assert texts(before, "jb-note") == []
    assert "No alarm" in shown(before)
    long_ago = utc_now() - timedelta(days=3)
    with page_store.writing() as connection:
        row = {"external_id": "t", "owner": "", "source": "shop", "state": "made"}
        connection.execute(insert(TRACE), row | {"first_at": long_ago, "last_at": long_ago})
    log.say_all(log.version(), log.answers(2), status=Status.ERROR)
    page = open_page("overview")
    silent, unusable = texts(page, "jb-note")
    assert "shop" in silent
    assert re.search(r"rag.*40 % \[.*\(2 error\)\.$", unusable)
    assert "No alarm" not in shown(page)
    assert titles(press(page, "failure_0_open")) == ["Data & settings"]


def test_a_change_for_the_worse_is_named_once_with_or_without_an_alarm(open_page, log, page_store):
    version = log.version()
    for week in range(9):
        for query_type in ("sql", "prose"):
            ids = log.answers(30, day=20_003 + 7 * week, query_type=query_type)
            labels_ = labels_in(ids, ids[: 27 if week > 3 and query_type == "sql" else 3])
            log.say(version, labels_)
            log.reviews(labels_)
    rose = "The share of bad answers in query type sql rose about 4 Nov 2024"
    page = open_page("overview", tables="true")
    assert "sql answers" in texts(page, "jb-say")[0]
    assert "4 Nov 2024" in texts(page, "jb-say")[0]
    assert [row[0] for row in table_rows(page, "Bad before")] == ["sql", "all answers"]
    assert not any(rose in note for note in texts(page, "jb-note"))
    opened = press(page, "news_answers")
    assert opened.query_params["query_type"] == "sql"
    assert opened.query_params["from"] == "2024-11-04"
    watch(page_store, by="test")
    notes = texts(open_page("overview"), "jb-note")
    assert [rose in note for note in notes] == [False, True]


def test_traces_without_an_answer_are_counted_with_their_reason_and_a_link_to_them(
    open_page, page_store
):
    assert "no answer" not in shown(open_page("overview"))
    with receiving(page_store) as http:
        unanswered = [Sent(2, 1), Sent(3, 1), Sent(4, 1, service="chat & co")]
        send_spans(http, [*trace(1), *unanswered])
    gathered(page_store, after=100)
    app = open_page("overview")
    [said] = texts(app, "jb-note")
    assert re.fullmatch(r"3 traces\D* 2\D* shop: \D*: retrieval", said)
    press(app, "failure_0_open")
    assert app.toggle(key="unused").value
    assert {(row[1], row[-1]) for row in table_rows(app, "Result")} == {
        ("no answer", Sent(number).trace_id) for number in (2, 3)
    }
    check_shown(app, "map shop question=PATH", "--unused --source shop")
    app = open_page("sources", part="Receive", source="shop")
    [answer] = [row for row in table_rows(app, "Result") if row[1] == "answer"]
    assert f"answer from span {Sent(1).span_id}" in answer[3]
    [shop] = [row for row in table_rows(app, "Source") if row[0] == "shop"]
    assert shop[1:5] == [3, 1, 2, 0]


def test_the_log_is_measured_again_only_after_new_rows(open_page, labelled, monkeypatch):
    measured = []
    for name in ("rate_of", "agreement_of", "corrected_trend"):
        function = getattr(log_figures, name)
        monkeypatch.setattr(
            log_figures,
            name,
            lambda *of, name=name, function=function, **by: (
                measured.append(name) or function(*of, **by)
            ),
        )
    page = open_page("overview")
    once = sorted(measured)
    assert once == ["agreement_of", "agreement_of", "corrected_trend", "rate_of"]
    enter(page, "tables", True)
    open_page("overview")
    assert sorted(measured) == once
    labelled.reviews({labelled.answers()[0]: {"label": GOOD}})
    open_page("overview")
    assert sorted(measured) == sorted(once * 2)


def test_the_open_flags_add_up(open_page, figures, sqlite_store):
    app = open_page("overview")
    by_rule = table(app, "rule")
    total = int(by_rule["all"].sum())
    answers = flagged(sqlite_store)
    assert f"Open flags on {answers} answers." in shown(app)
    # An answer with two reasons is in two rows.
    assert answers < total
    assert by_rule.filter(like="type_").sum().sum() == total
    [looks] = [json.loads(each.proto.columns) for each in app.dataframe if "rule" in each.value]
    numbers = by_rule.columns.drop("rule")
    formats = {looks[name]["type_config"]["format"] for name in numbers}
    assert formats == {"localized"}


def test_query_types_with_any_name_are_columns():
    counts = [("low_quality", "rule", 2), ("low_quality", HOSTILE, 1), ("feedback_gap", "all", 5)]
    rows = table_frame(rows_of(counts))
    assert types_of(counts) == ["all", "rule", HOSTILE]
    assert rows.columns.tolist() == ["rule", "type_0", "type_1", "type_2", "all"]
    assert rows.iloc[1].tolist()[2:] == [2, 1, 3]


@pytest.mark.parametrize(
    ("open_flags", "raised", "days"),
    [(12, 0, 3), (4, 0, 1), (60, 0, 15), (12, 4, None), (4000, 0, None), (0, 0, None)],
)
def test_the_pace_is_said_where_the_queue_gets_shorter(open_flags, raised, days):
    pace = pace_note(case(open_flags, decided=(4,) * 7, raised=raised))
    assert (pace and pace.values["day"]) == (days and (DAY - date(1970, 1, 1)).days + days)


def test_the_judges_replies_add_up():
    judged = Counts(ok=2973, unparsable=21, refused=4, error=14)
    unusable = unusable_note(judged)
    assert unusable.values["share"] == share_intervals(39, 3012)[0]
    assert unusable.values["kinds"] == ["21 unparsable", "4 refused", "14 error"]
    assert unusable_note(Counts(ok=3)) is None
    assert unusable_note(Counts()) is None
