"""Anchors on the page Judges: what to do first, the report, and the button that judges them again."""

import json
from typing import Any

import pytest

from app_pages import OpenPage, markup
from graded_log import BAD, GOOD, GradedLog
from held_endpoint import HeldEndpoint
from job_steps import ended, working
from judgeboard.agreement.anchors import make_anchors, stored_anchors
from judgeboard.llm.recording_endpoint import GOOD_VERDICT, RecordingEndpoint, completion
from judgeboard.runs.jobs import recent_jobs
from judgeboard.runs.judging import judge_pending
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.runs import AskMode
from judgeboard.store.tables import ANCHOR_JUDGMENT, RESPONSE
from judging_log import number_in, rag, store_answers
from stored_rows import rows_of

ANSWERS = 60


def saying(bad_below: int) -> Any:
    def script(request: Any, _number: int) -> Any:
        score = 0.1 if number_in(request) < bad_below else 0.9
        return completion(json.dumps({**GOOD_VERDICT, "groundedness": score}))

    return script


@pytest.fixture
def judged(sqlite_store: Store) -> Store:
    """Sixty labelled answers, judged as people do."""
    log = GradedLog(sqlite_store)
    store_answers(sqlite_store, ANSWERS)
    with RecordingEndpoint(saying(20)) as endpoint:
        judge_pending(sqlite_store, rag(endpoint, api_key="k"))
    for number, row in enumerate(rows_of(sqlite_store, RESPONSE)):
        log.review(row["id"], label=BAD if number < 20 else GOOD)
    return sqlite_store


def test_without_anchors_the_page_names_the_command(judged: Store, open_page: OpenPage) -> None:
    assert "judgeboard anchors make" in markup(open_page("judges"))


def test_the_page_shows_drift_and_the_verdicts_that_changed(judged: Store, open_page: OpenPage) -> None:
    make_anchors(judged, by="cli:mara")
    assert "rag v1 has no usable verdict on the 60 anchors yet." in markup(open_page("judges"))
    with judged.reading() as connection:
        where = RowFilter(response_ids=stored_anchors(connection).response_ids)
    with RecordingEndpoint(saying(60)) as endpoint:
        judge_pending(judged, rag(endpoint, api_key="k"), where=where, mode=AskMode.ANCHORS)
    page = open_page("judges")
    assert "Drift is shown:" in markup(page)
    changed = next(each.value for each in page.dataframe if "People" in each.value)
    assert len(changed) == 40
    assert set(zip(changed["Now"], changed["People"], strict=True)) == {("bad", "good")}


def test_the_button_judges_the_anchors_in_a_job(
    judged: Store, open_page: OpenPage, endpoint: HeldEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    make_anchors(judged, by="cli:mara")
    page = open_page("judges", reviewer="Mara")
    assert "60 calls" in markup(page)
    page.button(key="anchors_judge").click().run()
    (job,) = recent_jobs(judged)
    assert (job.mode, job.selected, job.judge["model"]) == ("anchors", 60, "scripted")
    assert "A job is waiting" in markup(open_page("judges"))
    with working(judged):
        ended(judged, job.id)
    assert len(rows_of(judged, ANCHOR_JUDGMENT)) == 60
