"""Work that takes long is found again in the head of each page, and never in the part that a key press draws."""

from datetime import timedelta

from app_pages import press
from judgeboard.domain import JudgeVersion, Response, RunState, Status, StepRecord
from judgeboard.store.clock import utc_now
from judgeboard.store.jobs import add_to_share
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.runs import finish_run, insert_run
from judgeboard.store.storing import start_batch, store_counts, store_responses
from judgeboard.store.tables import Run
from judgeboard_dashboard import session
from judgeboard_dashboard.widgets.long_work import FirstSeen
from query_plans import statements_of
from stored_rows import write_to


def chips(app):
    """The links in the head of a page that lead to Runs."""
    links = [element.proto for element in app.get("page_link")]
    return [link.label for link in links if link.page == "runs" and link.label != "Runs"]


def start(store, *, asked, ago=timedelta(), kind="rejudge"):
    """A run of 700 steps that is under way, and that stored its last result so long ago."""
    now = utc_now() - ago
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("rag", "rag", model="m"))
        begun = Run(
            kind=kind, judge_version_id=version.id, actor="Mara", selected=700, started_at=now
        )
        run = insert_run(connection, begun)
        add_to_share(connection, run.id, "worker", [StepRecord(Status.OK)] * asked, now)
    return run.id


def test_the_chip_shows_what_runs_now_and_leads_to_runs(page_rows, page_store, open_page):
    assert chips(open_page("trends")) == []
    run_id = start(page_store, asked=120)
    page = open_page("trends")
    (chip,) = chips(page)
    assert chip.endswith("120 of 700")
    page.session_state[f"seen_run_{run_id}"] = FirstSeen(
        page.session_state[f"seen_run_{run_id}"].at - 60, 60
    )
    (chip,) = chips(page.run())
    assert "120 of 700" in chip
    assert "10 min" in chip
    start(page_store, asked=3, kind="audit")
    (chip,) = chips(open_page("agreement"))
    assert "3 of 700" in chip
    assert "1 more" in chip
    # The page itself shows its runs.
    assert chips(open_page("runs")) == []


def test_work_that_ended_or_whose_process_is_gone_shows_no_chip(page_rows, page_store, open_page):
    start(page_store, asked=5, ago=timedelta(minutes=3))
    ended = start(page_store, asked=5)
    write_to(page_store, finish_run, ended, RunState.DONE)
    assert chips(open_page("trends")) == []


def test_an_import_shows_its_file_until_it_ends(page_rows, page_store, open_page):
    before = utc_now() - timedelta(minutes=10)
    batch = write_to(
        page_store,
        start_batch,
        file="a_*b*.jsonl",
        sha256=None,
        importer="x",
        kind="responses",
        actor="Mara",
        now=before,
    )
    assert chips(open_page("trends")) == [], "it broke off"
    write_to(
        page_store,
        store_responses,
        [Response("log", "new", "q?", "a")],
        batch_id=batch,
        now=utc_now(),
    )
    assert chips(open_page("trends")) == [r"Importing a\_\*b\*\.jsonl"]
    write_to(page_store, store_counts, batch, {}, utc_now())
    assert chips(open_page("trends")) == []


def test_no_key_press_reads_what_runs(page_store, open_flag):
    start(page_store, asked=120)
    page = open_flag("claims")
    with statements_of(session.store()) as statements:
        press(page, "quality3_")
    assert statements
    assert not [statement for statement in statements if "run_share" in statement]
