"""The queue page: what it lists, how it is narrowed, what it says when empty."""

import re
from datetime import UTC, datetime

import pytest

from app_pages import (
    button_labels,
    check_markup,
    check_shown,
    click,
    enter,
    in_address,
    keys,
    markup,
    press,
    shown,
    text_with,
    with_label,
)
from graded_log import GradedLog
from judgeboard.domain import Response
from judgeboard.formats.output import Table
from judgeboard.reviews.queue_work import NothingLeft
from judgeboard.store.filters import RowFilter
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import QUEUE
from judgeboard_dashboard.review.queues import (
    PEOPLE_COLUMNS,
    list_table,
    progress_words,
    short_sample_note,
)
from judgeboard_dashboard.widgets.tables import table_frame
from judgeboard_dashboard.widgets.texts import day
from queue_case import CONFIRM, DISMISS, UNSURE
from stored_rows import write_to

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def ids(page):
    return [str(value) for table in page.dataframe for value in table.value["Id"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"query_type": "complex"}, {f"plain-{number:02}" for number in (2, 4, 6, 8, 10, 12)}),
        ({"min_score": 0.08, "max_score": 0.1}, {"plain-03"}),
        ({"from": "2026-03-10", "to": "2026-03-10", "rule": "low_groundedness"}, {"plain-08"}),
    ],
)
def test_a_filter_of_the_address_narrows_the_list(page_rows, open_page, query, expected):
    page = open_page("open_flags", **query)
    assert set(ids(page)) == expected


def test_a_field_narrows_and_the_address_follows(page_rows, open_page):
    page = open_page("open_flags", rule="low_groundedness")
    assert ids(page)[:3] == ["plain-01", "plain-02", "plain-03"]
    enter(page, "open_flags_text", "plain-05")
    assert ids(page) == ["plain-05"]
    assert in_address(page, "text") == "plain-05"
    click(page, "open_flags_clear")
    assert "text" not in page.query_params
    assert len(ids(page)) > 10


def test_the_name_is_asked_on_the_first_page_and_can_be_changed(page_rows, open_page):
    page = open_page("open_flags", reviewer="")
    enter(page, "who_name", "Jon")
    assert page.button(key="person").label == "Jon"
    click(page, "person")
    enter(page, "who_name", "  Mara\t*M*")
    assert page.button(key="person").label == r"Mara \*M\*"


def test_an_empty_database_names_the_next_command(page_store, open_page):
    page = open_page("open_flags")
    assert "No answers yet." in markup(page)
    assert "step_Import a log" in keys(page)
    write_to(page_store, store_responses, [Response("log", "one", "q", "a", ("p",))])
    page = open_page("open_flags")
    check_markup(page, "1 answer, ", "--judge lexical")


def test_a_missing_database_is_said_and_no_page_breaks(tmp_path, monkeypatch, open_page):
    monkeypatch.setenv("JUDGEBOARD_DB", str(tmp_path / "none.db"))
    page = open_page("open_flags")
    assert "no database at" in markup(page)


def test_the_reveal_compares_with_the_judge_that_has_a_verdict(open_page, page_store, case):
    case.flagged(0.9)  # the primary judge's only verdict
    [response_id] = case.add("second alone")
    case.judge(response_id, 0.1, judge="second")
    write_to(page_store, set_setting, "primary_judge", "rag", "test")
    alone = RowFilter(ids=("second alone",))
    case.queue(where=alone, flagged_only=False, max_items=1, blind_judge=True, order="oldest")
    page = press(press(open_page("item", queue="q"), "groundednessD_"), "confirm_")
    assert text_with(page, "You: 0.50", "second v1: 0.10")
    assert "rag has not" in shown(page)


def test_one_line_shows_the_progress_of_a_queue_and_ones_own(case):
    case.queue_of(0.1, 0.2, 0.3, 0.4, needed=2, order="oldest", assigned=(case.mara, case.jon))
    for of_jon in (DISMISS, CONFIRM):
        case.review(case.mara)
        case.review(case.jon, of_jon)
    case.review(case.mara, UNSURE)
    case.lease(case.mara)
    one = case.progress()
    (row,) = table_frame(list_table([one], case.mara.id)).to_dict("records")
    assert (
        row.items()
        >= {
            "Queue": "q",
            "Items": "4 answers",
            "You": 3,
            "Reviews": "5 / 8",
            "Open": 1,
            "Leased": 1,
            "Conflicts": 1,
            "Finished": 25,
            "Assigned to": "Jon, Mara",
        }.items()
    )
    assert re.findall(r"\d+", progress_words(one)) == ["1", "4", "1", "1", "1"]
    assert table_frame(list_table([one], case.ada.id))["You"].tolist() == [0]
    people = table_frame(Table.of(one.people, PEOPLE_COLUMNS)).set_index("Person")
    assert people.loc["Mara", ["Done", "Unsure", "Leased"]].tolist() == [3, 1, 1]


def test_what_is_finished_is_told_in_whole_per_cent_and_all_of_it_once_all_is(case):
    case.queue_of(0.1, 0.2, 0.3)
    shares = []
    for _ in range(3):
        case.review(case.mara)
        shares.append(table_frame(list_table([case.progress()], case.mara.id))["Finished"].item())
    assert shares == [33, 66, 100]


def test_a_random_sample_that_is_short_is_explained(case):
    case.queue_of(0.1, 0.2, 0.3, 0.4, sampling_rate=0.5)
    short = short_sample_note(case.progress())
    assert short.values == {"sampled": 0, "short": 4}
    case.queue("plain")
    assert short_sample_note(case.progress("plain")) is None


@pytest.fixture
def queues(case):
    case.flagged(0.1, 0.2, *[0.9] * 150)
    return case


def test_a_preset_fills_the_form_which_says_how_many_match(queues, open_page):
    page = open_page("queues", reviewer="Lead", new="1")
    check_markup(page, "2 answers match.", "will have 2.")
    enter(page, "nq_preset", "random")
    check_markup(page, "152 answers match.", "will have 100,")
    assert page.text_input(key="nq_name").value == f"Random answers, {day(datetime.now(UTC))}"
    enter(page, "nq_preset", "worst")
    # A proposal follows the preset.
    assert page.text_input(key="nq_name").value.startswith("Most doubtful answers, ")
    enter(page, "nq_preset", "random")
    enter(page, "nq_name", "")
    enter(page, "nq_size", 20)
    assert "will have 20," in markup(page)
    click(page, "nq_create")
    assert text_with(page, "Not created: ", "name", "60", cls="jb-note")
    enter(page, "nq_name", "gold")
    click(page, "nq_create")
    assert text_with(page, "Not created: ", "blind", "reviewers", cls="jb-note")
    assert queues.rows(QUEUE) == []
    enter(page, "nq_people", ["Mara", "Jon"])
    click(page, "nq_create")
    [row] = queues.rows(QUEUE)
    assert queues.progress("gold").assigned_to == (queues.jon, queues.mara)
    names = "flagged_only", "max_items", "drawn_from", "sort", "reviews_needed"
    assert [row[name] for name in names] == [False, 20, 152, "random", 2]
    assert row["blind_judge"] is True
    assert row["blind_people"] is True
    assert row["grades"] == ("label", "groundedness")
    assert row["optional_grades"] == ("quality",)


def test_a_lead_makes_a_queue_of_what_a_filter_found(page_rows, open_page):
    flags = open_page("open_flags", reviewer="Lead", query_type="complex", rule="low_groundedness")
    page = open_page("queues", reviewer="Lead", **press(flags, "open_flags_queues").query_params)
    check_shown(page, "complex, low groundedness", "6 answers match.")
    name = "Of the form"
    enter(page, "nq_name", name)
    order = with_label(page.selectbox, "Order")
    assert "Most doubtful first" in order.options
    page.checkbox(key="nq_blind_judge").check().run()
    order = with_label(page.selectbox, "Order")
    # The worst first would tell what the judge said.
    assert len(order.options) == 2
    assert "Most doubtful first" not in order.options
    order.select("Oldest first").run()
    enter(page, "nq_people", ["Lead"])
    press(page, "nq_create")
    assert f"{name} with 6" in shown(page)
    press(page, "queue_review")
    assert f"“{name}”" in shown(page)


def test_reviewing_starts_only_where_something_is_left_and_the_end_says_why_nothing_is(
    queues, open_page
):
    queues.queue("legal")

    def starts(who):
        page = open_page("queues", reviewer=who)
        return "Start reviewing" in button_labels(page), markup(page)

    assert starts("Mara")[0]
    for _ in range(2):
        queues.review(queues.mara, CONFIRM, "legal", label="hallucinated")
    for who, reviewed in (("Mara", 2), ("Jon", 0)):
        reason = NothingLeft(2, reviewed, with_others=0, skipped=0).note.text
        offered, words = starts(who)
        assert not offered
        assert reason in words
        end = markup(open_page("item", reviewer=who, queue="legal"))
        assert "“legal”" in end
        assert reason in end


def test_a_proposed_name_is_free_and_a_typed_name_stays(queues, open_page):
    today = day(datetime.now(UTC))
    queues.queue(f"Most doubtful answers, {today}")
    page = open_page("queues", reviewer="Lead", new="1")
    enter(page, "nq_preset", "worst")
    assert page.text_input(key="nq_name").value == f"Most doubtful answers, {today} (2)"
    enter(page, "nq_name", "mine")
    enter(page, "nq_preset", "random")
    assert page.text_input(key="nq_name").value == "mine"


def test_an_assigned_reviewer_lands_on_their_queues(queues, open_page):
    queues.queue("legal", assigned=(queues.mara,), blind_judge=True, order="oldest")
    for name in ("overview", "open_flags"):
        page = open_page(name, reviewer="Mara")
        assert "2 left for" in markup(page), name
        assert "0 done" in markup(page)
        assert button_labels(page).count("Start") == 1
        assert "No open flags" not in markup(page)
        assert "left for you" not in markup(open_page(name, reviewer="Jon"))
    for _ in range(2):
        queues.review(queues.mara, CONFIRM, "legal")
    assert "left for you" not in markup(open_page("open_flags", reviewer="Mara"))


@pytest.fixture
def stored_queues(case):
    case.flagged(*[0.1] * 40, *[0.9] * 160)
    return case


def test_a_lead_chooses_the_number_of_labels_and_creates_the_queue(stored_queues, open_page):
    page = open_page("queues", reviewer="Lead", new="plan")
    # All answers are to one question from the same passages: labels of more of them tell little
    # more of the app.
    check_markup(page, "±38.5 percentage points", "(correlation 0.15)")
    slider = with_label(page.select_slider, "Answers to label")
    slider.set_value(50).run()
    assert "±40.3 percentage points" in markup(page)
    enter(page, "plan_people", ["Mara"])
    click(page, "plan_create_queue")
    assert "with 50 answers" in markup(page)
    [row] = stored_queues.rows(QUEUE)
    assert row["name"].endswith(": 50 labels")
    assert row["max_items"] == 50
    assert row["drawn_from"] == 200
    assert row["blind_judge"] is True
    assert row["implied_labels"] is True
    assert [stratum["answers"] for stratum in row["plan"]["strata"]] == [40, 160]
    # The queue leads to its figure after the first review.
    assert "queue_rate" not in keys(page)
    stored_queues.review(stored_queues.mara, name=row["name"])
    page = open_page("queues", reviewer="Lead")
    assert not page.button(key="queue_rate").disabled


def test_the_review_of_a_fresh_log_begins_with_a_blind_random_sample(stored_queues, open_page):
    page = open_page("overview", reviewer="Mara").button(key="overview_start").click().run()
    assert not page.exception
    [row] = stored_queues.rows(QUEUE)
    names = "sort", "max_items", "flagged_only", "blind_judge", "blind_people"
    assert [row[name] for name in names] == ["random", 20, False, True, True]
    assert in_address(page, "queue") == row["name"]
    for name in ("Mara", "Jon"):  # the sample is there for the others too, and is not drawn again
        page = press(open_page("overview", reviewer=name), "your_queue_")
        assert in_address(page, "queue") == row["name"], name
    assert stored_queues.rows(QUEUE) == [row]


def test_open_answers_of_the_random_sample_come_before_a_plan(stored_queues, open_page):
    GradedLog(stored_queues.store).flag(range(1, 200, 10), "random_sample", severity=0.0)
    page = open_page("queues", reviewer="Lead", new="plan")
    assert text_with(page, "20 open answers", "of the 200")
    click(page, "plan_sample")
    assert not page.exception
    assert in_address(page, "rule") == "random_sample"


def test_without_answers_there_is_no_plan(page_store, open_page):
    page = open_page("queues", reviewer="Lead", new="plan")
    assert "No answers yet." in markup(page)
    assert "plan_create_queue" not in keys(page)
