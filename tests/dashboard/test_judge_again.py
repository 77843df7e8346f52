"""Judging the answer on the screen again: a button and the key F6, with the primary judge's last settings."""

import re

import pytest

from app_pages import check_markup, in_address, labels, markup, press, text_with, texts, with_label
from job_steps import ended, working
from judgeboard.domain import Response
from judgeboard.llm.recording_endpoint import failure, verdict
from judgeboard.runs.estimates import flag_words
from judgeboard.runs.jobs import recent_jobs
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import find_responses
from judgeboard.store.storing import store_responses
from judgeboard_dashboard.review.again import last_settings
from query_plans import statements_of
from stored_rows import read, write_to

GOOD = verdict(groundedness=0.9, quality=4)


def add(store, *names):
    """Store answers with these ids."""
    rows = [Response("log", name, "Which rock?", "Basalt.", ("Granite.",), "QA") for name in names]
    write_to(store, store_responses, rows)


def judged(store, endpoint):
    """Store an answer with a verdict of the judge at the endpoint; return its id."""
    add(store, "one")
    endpoint.reply = verdict(groundedness=0.2, quality=2)
    judge_pending(store, make_judge("rag", model="gpt-4o-mini", base_url=endpoint.url))
    return read(store, find_responses, "one")[0][0]


def worked(page, store):
    """Let a worker finish the newest job, then draw the page again."""
    with working(store):
        ended(store, recent_jobs(store)[0].id)
    return page.run()


def head(page):
    return texts(page, "jb-head")[0]


def verdicts_beside(page):
    """Return the verdicts before and now, as the page shows them."""
    return dict(re.findall(r"<span>(Before|Now)</span><b>([^<]*)</b>", markup(page)))


def test_one_press_judges_again_and_both_verdicts_stand_beside_each_other(
    page_store, open_page, endpoint
):
    answer = judged(page_store, endpoint)
    page = open_page("item", response=answer)
    assert with_label(page.button, "Judge again").proto.shortcut == "f6"
    # The cost is known before the press.
    assert text_with(page, "(gpt-4o-mini)", "$ 0.0")
    calls = len(endpoint.server.requests)
    endpoint.reply = GOOD
    press(page, "judge_again")
    (job,) = recent_jobs(page_store)
    assert job.actor == "Mara"
    assert job.where == RowFilter(response_ids=(answer,))
    assert job.selected == 1
    press(page, "quality3")  # keys go on working while it runs
    press(page, "judge_again")  # and a second press starts no second job
    assert len(recent_jobs(page_store)) == 1
    page = worked(page, page_store)
    assert len(endpoint.server.requests) == calls + 1
    assert verdicts_beside(page) == {"Before": "0.20, 2 / 4", "Now": "0.90, 4 / 4"}
    assert page.session_state["review_session"].draft(answer).quality == 3
    assert "job" not in page.query_params


def test_an_answer_of_a_list_keeps_its_place_and_is_decided_after_it_was_judged_again(
    page_store, open_page, endpoint
):
    add(page_store, "two", "three")
    judged(page_store, endpoint)
    page = press(open_page("item"), "next")
    place, name = "2 of 3 in “all open flags” · ", head(page).split(" · ")[1]
    assert head(page).endswith(f"{place}{name} · QA")
    endpoint.reply = verdict(groundedness=0.9, quality=2)  # the flag of its quality stays open
    page = worked(press(page, "judge_again"), page_store)
    assert f"{place}{name}" in head(page)
    assert "Confirm" in labels(page)
    press(page, "confirm_")
    assert f"Saved: confirmed {name}" in head(page)
    press(page, "undo")
    assert f"{place}{name}" in head(page)
    endpoint.reply = GOOD
    page = worked(press(page, "judge_again"), page_store)
    assert f"(2) · {name}" in head(page)
    assert place not in head(page)
    # No flag is open.
    assert "Confirm" not in labels(page)


def test_a_failed_call_says_why_and_keeps_the_earlier_verdict(page_store, open_page, endpoint):
    answer = judged(page_store, endpoint)
    endpoint.reply = failure(401, "bad key")
    page = worked(press(open_page("item", response=answer), "judge_again"), page_store)
    check_markup(page, "Not judged again: ", "HTTP 401", "0.20")


def test_a_missing_key_is_said_before_and_after_the_press(
    page_store, open_page, endpoint, monkeypatch
):
    answer = judged(page_store, endpoint)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with page_store.writing() as connection:
        connection.exec_driver_sql("DROP TRIGGER IF EXISTS run_unchanged")
        connection.exec_driver_sql(
            "UPDATE run SET base_url = 'https://api.openai.com/v1', endpoint_host = 'api.openai.com'"
        )
    page = open_page("item", response=answer)
    missing = "rag v1 needs a key for api.openai.com: OPENAI_API_KEY is not set."
    assert missing in markup(page)
    press(page, "judge_again")
    assert not recent_jobs(page_store)
    assert "Not judged again: " in markup(page)


def test_imported_verdicts_are_said_to_be_no_judge(open_flag, sqlite_store):
    page = open_flag("plain-01")
    missing = "rag cannot judge again here"
    assert missing in markup(page)
    assert missing in markup(press(page, "judge_again"))
    assert not recent_jobs(sqlite_store)


def test_a_blind_queue_offers_it_after_the_grade(open_page, case, endpoint):
    case.queue_of(0.1, blind_judge=True, blind_people=True, order="oldest")
    page = open_page("item", queue="q")
    assert "Judge again" not in labels(page)
    assert "Judge again" in labels(press(page, "confirm_"))


def test_in_a_queue_the_item_stays_with_both_verdicts(open_page, page_store, case, endpoint):
    judged(page_store, endpoint)
    case.queue(order="oldest", flagged_only=False, max_items=5)
    page = press(open_page("item", queue="q"), "judge_again")
    endpoint.reply = GOOD
    page = worked(page, page_store)
    assert verdicts_beside(page)["Now"].startswith("0.90, 4")
    assert in_address(page, "queue") == "q"


def test_the_flags_at_stake_are_those_of_the_answer_on_the_screen(page_store, open_page, endpoint):
    with_flag = judged(page_store, endpoint)
    endpoint.reply = verdict(groundedness=1.0, quality=4)
    judge_pending(page_store, make_judge("rag", model="other", base_url=endpoint.url, name="other"))
    add(page_store, "two")
    judge_pending(page_store, make_judge("rag", model="gpt-4o-mini", base_url=endpoint.url))
    without = read(page_store, find_responses, "two")[0][0]
    at_stake = flag_words(1) or ""
    assert at_stake in markup(open_page("item", response=with_flag))
    assert at_stake not in markup(open_page("item", response=without))
    assert at_stake in markup(open_page("item", response=with_flag))


@pytest.mark.parametrize("times", [1, 20])
def test_the_last_settings_cost_one_query_an_item(page_store, endpoint, times):
    answer = judged(page_store, endpoint)
    last_settings(page_store, answer)
    with statements_of(page_store) as statements:
        for _ in range(times):
            last_settings(page_store, answer)
    assert len([sql for sql in statements if sql.startswith("SELECT")]) == times
