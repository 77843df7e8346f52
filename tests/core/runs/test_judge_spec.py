"""A judge version can be asked for again exactly as it was, or it is said that it cannot."""

from judgeboard.domain import JudgeVersion
from judgeboard.judges.judge import fingerprint
from judgeboard.runs.jobs import judge_spec, request_rejudge
from judgeboard.runs.judging import make_judge
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import set_run
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.runs import start_or_continue_run

ADDRESS = "http://localhost:9/v1"


def test_a_version_is_asked_again_as_it_was(sqlite_store: Store) -> None:
    asked = {"kind": "rag", "name": "ours", "model": "m", "max_output": 64, "domain": "rocks", "claims": True}
    version = make_judge(**asked, base_url=ADDRESS).version
    with sqlite_store.writing() as connection:
        stored = ensure_version(connection, version)
        assert judge_spec(connection, stored) == asked
        run = start_or_continue_run(connection, stored, actor="Mara")
    job_id = request_rejudge(sqlite_store, judge={**asked, "base_url": ADDRESS}, where=RowFilter(), actor="Mara")
    with sqlite_store.writing() as connection:
        set_run(connection, job_id, run.id)
        again = judge_spec(connection, stored)
    assert again == {**asked, "base_url": ADDRESS}
    assert fingerprint(make_judge(**again).version) == stored.fingerprint


def test_an_offline_judge_is_asked_by_its_name(sqlite_store: Store) -> None:
    with sqlite_store.writing() as connection:
        stored = ensure_version(connection, make_judge("lexical", name="words").version)
        assert judge_spec(connection, stored) == {"kind": "lexical", "name": "words"}


def test_what_was_recorded_elsewhere_or_by_an_older_prompt_cannot_be_asked(sqlite_store: Store) -> None:
    with sqlite_store.writing() as connection:
        recorded = ensure_version(connection, JudgeVersion("gpt", "replay"))
        older = ensure_version(connection, JudgeVersion("rag", "rag", "m", {"temperature": 0}, "An older prompt."))
        assert judge_spec(connection, recorded) is None
        assert judge_spec(connection, older) is None
