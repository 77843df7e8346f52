"""The overview: open flags, how the judge does, where the signals collide, in every state of a database."""

from dataclasses import replace
from datetime import date

import pytest

from app_pages import OpenPage, charts, labels, shown, table_rows, texts
from figures_log import HOSTILE, FiguresLog
from graded_log import GradedLog
from judgeboard.domain import Estimate
from judgeboard.store.engine import Store
from judgeboard.store.flags import DecidedFlags
from judgeboard.store.overview import DayCounts, JudgeDay, Overview
from judgeboard.store.tables import FLAG
from judgeboard_dashboard.views.overview import (
    average_words,
    cost_words,
    decided_words,
    open_flags_words,
    pace_words,
    precision_words,
    rows_of,
    since_yesterday,
    types_of,
    usable_help,
    usable_words,
)
from judgeboard_dashboard.widgets.tables import table_frame
from judgeboard_dashboard.widgets.texts import day
from sent_traces import PROTOBUF, Sent, gathered, receiving, request, trace
from stored_rows import rows_of as stored_rows

DAY = date(2026, 3, 9)  # a Monday


def case(open_flags: int = 12, decided: tuple[int, ...] = (0,) * 7, raised: int = 0, mine: int = 0) -> Overview:
    days = [DayCounts(DAY, raised, each, mine, open_flags + 3) for each in decided]
    days[-1] = replace(days[-1], open_answers=open_flags)
    return Overview(tuple(days), DecidedFlags(0, 0, 0), "rag", (JudgeDay(DAY),), (JudgeDay(DAY),), 0, {}, ())


def test_an_empty_database_says_what_to_do(open_page: OpenPage) -> None:
    assert "Import a log" in labels(open_page("overview"))


def test_a_log_that_nobody_judged_says_what_to_do(open_page: OpenPage, sqlite_store: Store) -> None:
    GradedLog(sqlite_store).answers(3)
    assert "Judge answers" in labels(open_page("overview"))


def test_traces_without_an_answer_are_counted_with_their_reason_and_a_link_to_them(
    open_page: OpenPage, page_store: Store
) -> None:
    assert "no answer" not in shown(open_page("overview"))
    with receiving(page_store) as http:
        unanswered = [Sent(2, 1), Sent(3, 1), Sent(4, 1, service="chat & co")]
        http.post("/v1/traces", content=request([*trace(1), *unanswered]), headers=PROTOBUF)
    gathered(page_store, after=100)
    app = open_page("overview")
    [said] = texts(app, "jb-note")
    assert said == (
        "3 traces have no answer. Received in the last 7 days, 2 of them from shop. "
        "Reason: The trace has no answer, only spans of these kinds: retrieval."
    )
    app = app.button(key="unused_open").click().run()
    assert app.toggle(key="unused").value
    assert {row[1] for row in table_rows(app, "Result")} == {"no answer"}
    assert {row[-1] for row in table_rows(app, "Result")} == {Sent(2).trace_id, Sent(3).trace_id}
    assert "judgeboard sources map shop question=PATH" in shown(app)
    assert "judgeboard db forget --unused --source shop" in shown(app)


def test_what_waits_adds_up(open_page: OpenPage, figures: FiguresLog, sqlite_store: Store) -> None:
    app = open_page("overview")
    by_rule = app.dataframe[0].value
    total = int(by_rule["all"].sum())
    answers = len({flag["response_id"] for flag in stored_rows(sqlite_store, FLAG) if flag["state"] == "open"})
    assert texts(app, "jb-say")[0].startswith(f"{answers} answers have open flags.")
    assert app.metric[0].value == str(answers)
    assert answers < total, "an answer with two reasons is in two rows"
    assert by_rule.filter(like="type_").sum().sum() == total


def test_the_quadrant_has_a_table_with_the_same_counts(open_page: OpenPage, figures: FiguresLog) -> None:
    assert len(charts(open_page("overview"))) == 1
    table = next(each.value for each in open_page("overview", table="true").dataframe if "User" in each.value)
    assert table["Answers"].sum() == 3 * 36 + 5
    assert table[table["User"] == "thumbs down"]["Answers"].sum() > 0


def test_judge_health_counts_every_request(open_page: OpenPage, figures: FiguresLog) -> None:
    app = open_page("overview")
    assert [(metric.label, metric.value) for metric in app.metric][3:] == [
        ("Usable replies, 7 days", "100 %"),
        ("Judge cost, 7 days", "unknown"),
    ]


def test_query_types_with_any_name_are_columns() -> None:
    counts = [("low_quality", "rule", 2), ("low_quality", HOSTILE, 1), ("feedback_gap", "all", 5)]
    rows = table_frame(rows_of(counts))
    assert types_of(counts) == ["all", "rule", HOSTILE]
    assert rows.columns.tolist() == ["rule", "type_0", "type_1", "type_2", "all"]
    assert rows.iloc[1].tolist()[2:] == [2, 1, 3]


def test_words_of_the_case() -> None:
    assert open_flags_words(case(1)) == "1 answer has open flags."
    assert open_flags_words(case(0)) == "No open flags."
    assert decided_words(case(), named=True) == "No decisions yet today."
    today = (0,) * 6 + (5,)
    assert decided_words(case(decided=today, mine=2, raised=9), named=True) == "5 decisions today, 2 of them yours."
    assert decided_words(case(decided=today, raised=9), named=False) == "5 decisions today."
    assert since_yesterday(case(12)) == "-3"
    assert average_words(case(decided=(4, 4, 4, 0, 0, 0, 5))) == "+3 vs. daily average"
    assert average_words(case(decided=(0,) * 6 + (5,))) is None


@pytest.mark.parametrize(
    ("open_flags", "raised", "said"),
    [
        (12, 0, "At this week’s pace the queue is empty on Thursday."),
        (4, 0, "At this week’s pace the queue is empty tomorrow."),
        (60, 0, f"At this week’s pace the queue is empty on {day(date(2026, 3, 24))}."),
        (12, 4, None),
        (4000, 0, None),
        (0, 0, None),
    ],
)
def test_the_pace_is_said_where_the_queue_gets_shorter(open_flags: int, raised: int, said: str | None) -> None:
    assert pace_words(case(open_flags, decided=(4,) * 7, raised=raised)) == said


def test_with_too_few_labels_the_precision_of_flags_is_what_people_decided() -> None:
    assert precision_words(Estimate(None), DecidedFlags(0, 0, 0)) == ("–", "none decided yet")
    decided = DecidedFlags(confirmed=9, flags=11, answers=7)
    of_decided = ("9 of 11", "decided flags confirmed (7 answers)")
    assert precision_words(Estimate(0.5, 0.2, 0.8, n=8), decided) == of_decided
    assert precision_words(Estimate(None, n=40), decided) == of_decided
    assert precision_words(Estimate(0.64, 0.6, 0.68, n=611), decided) == ("64 %", "n = 611, [60, 68]")


def test_the_judges_numbers_add_up_and_unknown_is_not_nothing() -> None:
    judged = JudgeDay(DAY, ok=2973, unparsable=21, refused=4, error=14, cost_micro=4_180_000, unpriced=26)
    assert usable_words(judged) == ("99 %", "39 of 3,012 unusable")
    assert usable_help(judged).endswith("3,012 asked = 2,973 ok + 21 unparsable + 4 refused + 14 error")
    assert usable_words(judged, 6) == ("99 %", "39 of 3,012 unusable, 6 answers without groundedness")
    assert "6 answers got a reply without groundedness" in usable_help(judged, 6)
    assert cost_words(judged) == ("$ 4.18", "$ 0.0014 per judgment, 26 unknown")
    # Verdicts of an offline judge beside those of a paid model do not make the paid ones look cheaper.
    assert cost_words(JudgeDay(DAY, ok=400, cost_micro=10_000, free=300)) == ("$ 0.01", "$ 0.0001 per paid judgment")
    assert cost_words(JudgeDay(DAY, ok=3, cost_micro=0, free=3)) == ("$ 0", "no cost")
    assert cost_words(JudgeDay(DAY, ok=3, unpriced=3)) == ("unknown", "no price known")
    assert cost_words(JudgeDay(DAY)) == ("–", "no requests in 7 days")
    assert usable_words(JudgeDay(DAY)) == ("–", "no requests in 7 days")
    assert usable_words(JudgeDay(DAY, ok=99_999, error=1))[0] == "over 99 %"
