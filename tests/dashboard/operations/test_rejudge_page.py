"""The rejudge page: what can be asked for, what is said of it, what came of it."""

from sqlalchemy import update

from app_pages import (
    check_markup,
    click,
    enter,
    in_address,
    keys,
    markup,
    shown,
    table,
    text_with,
    texts,
)
from graded_log import GradedLog
from job_steps import ask, ended, rag, working
from judgeboard.llm.recording_endpoint import completion, failure, verdict
from judgeboard.runs.jobs import job_progress, recent_jobs
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import load_item
from judgeboard.store.judge_versions import ensure_version, list_versions
from judgeboard.store.tables import RUN
from judging_log import store_answers
from stored_rows import read, write_to

CHAT, OFFLINE = (
    "New judge: rag (groundedness and quality)",
    "New judge: lexical (word overlap, offline)",
)
EVIL = "<script>window.hacked = 1</script> :red[red] `x`"


def newest_version(store):
    return max(read(store, list_versions), key=lambda each: each.id)


def worked(store):
    """Let a worker finish the newest job; return it."""
    with working(store):
        return ended(store, recent_jobs(store)[0].id)


def test_without_a_job_the_page_says_how_to_begin(page_rows, open_page):
    page = open_page("rejudge")
    assert "judgeboard judge" in texts(page, "jb-empty")[0]
    # No model is known yet: it is said what is missing, and there is nothing to press.
    assert "Enter a model" in markup(page)
    assert all(button.disabled for button in page.button if button.key == "rejudge_start")


def test_a_judge_is_chosen_and_asked(page_rows, open_page, sqlite_store):
    page = open_page("rejudge", query_type="complex")
    enter(page, "ask_version", OFFLINE)
    assert "6 answers" in texts(page, "jb-say")[0]
    assert "offline" in texts(page, "jb-say")[0]
    assert page.button(key="rejudge_start").label == "Rejudge 6 answers"
    click(page, "rejudge_start")
    (job,) = recent_jobs(sqlite_store)
    assert job.actor == "Mara"
    assert job.where == RowFilter(query_types=("complex",))
    assert job.mode == "all"
    assert job.judge == {"kind": "lexical"}
    assert in_address(page, "job") == job.id
    check_markup(page, "none is running", "judgeboard worker")


def test_open_flags_of_other_judges_are_kept_by_a_checkbox(page_store, open_page):
    log = GradedLog(page_store)
    ids = log.answers(2)
    judge_pending(page_store, make_judge("lexical"))
    for groundedness in (0.0, 1.0):  # at least one of both differs
        log.say_all(log.version(f"judge {groundedness}"), ids, groundedness=groundedness)
    page = open_page("rejudge")
    page.checkbox(key="rejudge_keep_flags").check().run()
    click(page, "rejudge_start")
    assert recent_jobs(page_store)[0].mode == "keep-flags"


def test_a_chat_model_is_asked(page_rows, open_page, sqlite_store, endpoint):
    page = open_page("rejudge", text="plain-0")
    enter(page, f"ask_model_{CHAT}", "gpt-4o-mini")
    enter(page, f"ask_base_url_{CHAT}", endpoint.url)
    enter(page, "rejudge_max_cost", 0.5)
    assert "9 calls" in texts(page, "jb-say")[0]
    assert "$" not in texts(page, "jb-say")[0]
    click(page, "rejudge_start")
    job = worked(sqlite_store)
    assert job.judge == rag(endpoint, claims=False)
    page.run()
    check_markup(page, "Done in", "<b>9</b> ok")
    # The same judge had judged before by another version: what changed side stands first.
    page = open_page("verdicts", run=job.run_id)
    flips = table(page, "Flip")[["Flip", "New"]]
    assert flips.to_numpy().tolist() == [["now good", 1.0]] * 9
    assert markup(page).index("Old · rag v1") < markup(page).index("New · rag v2")


def test_one_answer_is_asked_about(page_rows, open_page, sqlite_store):
    answer = page_rows.responses["claims"]
    page = open_page("rejudge", response=answer)
    question = read(sqlite_store, load_item, answer).response.query
    assert question in shown(page)
    enter(page, "ask_version", OFFLINE)
    click(page, "rejudge_start")
    (job,) = recent_jobs(sqlite_store)
    assert job.where == RowFilter(response_ids=(answer,))
    assert job.selected == 1
    assert "one answer" in markup(page)


def test_who_has_no_name_is_asked_for_it(page_rows, open_page, sqlite_store):
    page = open_page("rejudge", reviewer="")
    enter(page, "ask_version", OFFLINE)
    click(page, "rejudge_start")
    assert text_with(page, "your name", cls="jb-note")
    assert not recent_jobs(sqlite_store)
    enter(page, "who_name", "Jon")
    click(page, "rejudge_start")
    assert "requested by Jon" in shown(page)
    assert [job.actor for job in recent_jobs(sqlite_store)] == ["Jon"]


def test_a_job_can_be_cancelled(page_rows, open_page, sqlite_store):
    job_id = ask(sqlite_store, {"kind": "lexical"})
    page = open_page("rejudge", job=job_id)
    click(page, "job_cancel")
    assert job_progress(sqlite_store, job_id).state == "cancelled"
    assert "job_cancel" not in keys(page)
    assert text_with(page, "Cancelled", "0 of", cls="jb-note")


def test_a_job_that_is_none_is_said(page_rows, open_page):
    assert text_with(open_page("rejudge", job="rejudge-nothing"), "not exist", cls="jb-note")


def test_what_judges_and_endpoints_say_stays_text(page_rows, open_page, sqlite_store, endpoint):
    endpoint.reply = verdict(reasoning=EVIL, groundedness=0.1)
    asked = rag(endpoint)
    version = write_to(sqlite_store, ensure_version, make_judge(**asked).version)
    before = {"groundedness": 0.9, "reasoning": EVIL}
    GradedLog(sqlite_store).say(version, {page_rows.responses["good"]: before})
    done = ask(sqlite_store, asked, where=RowFilter(ids=("good",)))
    with working(sqlite_store):
        ended(sqlite_store, done)
        endpoint.reply = failure(403, EVIL)
        refused = ask(sqlite_store, rag(endpoint, domain="other"))
        ended(sqlite_store, refused)
    pages = (
        open_page("verdicts", run=job_progress(sqlite_store, done).run_id),
        open_page("rejudge", job=refused),
    )
    for page in pages:
        assert "<script>" not in markup(page)
        assert "window.hacked" in markup(page)


def test_a_stored_judge_is_asked_with_its_own_options(page_rows, open_page, sqlite_store, endpoint):
    judge = {**rag(endpoint), "kind": "rating", "rating_word": "Gesamtnote"}
    endpoint.reply = completion("Kurz und richtig.\nGesamtnote: 3")
    judge_pending(sqlite_store, make_judge(**judge), where=RowFilter(text="plain-0"))
    version = newest_version(sqlite_store)
    page = open_page("rejudge", text="plain-0")
    enter(page, "ask_version", f"{version.title} · {version.model}")
    click(page, "rejudge_start")
    job = worked(sqlite_store)
    assert job.judge["kind"] == "rating"
    assert job.judge["rating_word"] == "Gesamtnote"
    assert job.ok == 9
    assert job.version_id == version.id


def test_a_version_keeps_its_address_and_another_host_is_confirmed(
    page_rows, open_page, sqlite_store, endpoint
):
    store_answers(sqlite_store, 4)
    judge = make_judge(**rag(endpoint))
    host = endpoint.url.split("/")[2]
    judge_pending(sqlite_store, judge, where=RowFilter(text="number-0"))
    version = newest_version(sqlite_store)
    page = open_page("rejudge", text="number-")
    words = f"{version.title} · {version.model}"
    enter(page, "ask_version", words)
    address = page.text_input(key=f"ask_base_url_{words}")
    assert address.value == endpoint.url
    destination = f"4 answers to {host} (openai)"
    assert destination in shown(page)
    assert "api.openai.com" not in address.placeholder + shown(page)
    # An emptied field is no other address.
    page = address.set_value("").run()
    assert destination in shown(page)
    assert "api.openai.com" not in page.text_input(key=f"ask_base_url_{words}").placeholder
    enter(page, f"ask_base_url_{words}", "https://api.example.com/v1")
    assert text_with(page, host, "api.example.com (openai)", cls="jb-note")
    assert page.button(key="rejudge_start").disabled
    (agree,) = page.checkbox
    assert "4 answers" in agree.label
    assert "api.example.com" in agree.label
    agree.check().run()
    click(page, "rejudge_start")
    (job,) = recent_jobs(sqlite_store)
    assert job.judge["base_url"] == "https://api.example.com/v1"


def test_where_only_the_host_is_known_the_address_is_asked_for(
    page_rows, open_page, sqlite_store, endpoint
):
    store_answers(sqlite_store, 2)
    judge_pending(sqlite_store, make_judge(**rag(endpoint)), where=RowFilter(text="number-0"))
    with sqlite_store.writing() as connection:  # as an earlier release stored it
        connection.execute(update(RUN).values(provider=None, base_url=None))
    version = newest_version(sqlite_store)
    page = open_page("rejudge", text="number-")
    words = f"{version.title} · {version.model}"
    enter(page, "ask_version", words)
    assert text_with(page, endpoint.url.split("/")[2], cls="jb-note")
    assert "api.openai.com" not in page.text_input(key=f"ask_base_url_{words}").placeholder + shown(
        page
    )
    assert all(button.disabled for button in page.button if button.key == "rejudge_start")
