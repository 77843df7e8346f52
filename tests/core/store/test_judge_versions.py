"""Judge versions: content-addressed, numbered within their name."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from judgeboard.domain import JudgeVersion
from judgeboard.errors import NotFound
from judgeboard.judges.judge import fingerprint
from judgeboard.store.judge_versions import choose_version, ensure_version, get_version, list_versions, not_found

RAG = JudgeVersion("rag", "rag", "m-1", {"temperature": 0}, "Judge this.")


def ensure(store, version: JudgeVersion):
    with store.writing() as connection:
        return ensure_version(connection, version)


@on_sqlite
def test_the_same_content_is_one_version(store) -> None:
    first = ensure(store, RAG)
    assert ensure(store, JudgeVersion("rag", "rag", "m-1", {"temperature": 0}, "Judge this.")) == first
    assert (first.title, first.fingerprint, first.params) == ("rag v1", fingerprint(RAG), {"temperature": 0})
    assert (first.prompt, first.model, first.created_at.tzinfo) == ("Judge this.", "m-1", UTC)


@on_sqlite
def test_versions_count_within_their_name(store) -> None:
    titles = [
        ensure(store, version).title
        for version in (
            RAG,
            JudgeVersion("nli", "nli"),
            JudgeVersion("rag", "rag", "m-1", {"temperature": 1}, "Judge this."),
            JudgeVersion("rag", "rag", "m-2", {"temperature": 0}, "Judge this."),
        )
    ]
    assert titles == ["rag v1", "nli v1", "rag v2", "rag v3"]
    with store.reading() as connection:
        assert [version.title for version in list_versions(connection)] == ["nli v1", "rag v1", "rag v2", "rag v3"]


@on_sqlite
def test_a_version_is_found_by_what_people_type(store) -> None:
    first = ensure(store, RAG)
    newest = ensure(store, JudgeVersion("rag", "rag", "m-2"))
    with store.reading() as connection:
        assert get_version(connection, first.id) == first
        assert get_version(connection, "rag") == newest
        assert get_version(connection, "rag v1") == first
        assert get_version(connection, first.fingerprint) == first
        assert get_version(connection, first.fingerprint[:8]) == first
        for unknown in ("nli", first.fingerprint[:7], 99):
            with pytest.raises(NotFound, match="no judge version"):
                get_version(connection, unknown)
        with pytest.raises(NotFound, match="known: rag v1, rag v2"):
            get_version(connection, "nli")


@on_sqlite
def test_processes_that_meet_get_one_version_each_its_own_number(store) -> None:
    versions = [JudgeVersion("rag", "rag", params={"t": number % 4}) for number in range(16)]
    with ThreadPoolExecutor(8) as threads:
        stored = list(threads.map(lambda version: ensure(store, version), versions))
    assert {version.number for version in stored} == {1, 2, 3, 4}
    assert len({version.id for version in stored}) == 4


def test_the_time_is_the_callers(store) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    with store.writing() as connection:
        assert ensure_version(connection, RAG, now).created_at == now


@on_sqlite
def test_what_is_not_found_is_answered_with_those_that_can_be_meant(case) -> None:
    rag = case.version("rag")
    case.version("nli")
    with case.store.reading() as connection:
        assert str(not_found(connection, "x", [rag], "asked twice")) == "no judge version 'x'; asked twice: rag v1"
        assert str(not_found(connection, "x", [], "asked twice", what="judge")) == "no judge 'x'; known: nli v1, rag v1"
        with pytest.raises(NotFound, match=r"^no judge version 'x'; asked twice: rag v1$"):
            choose_version(connection, "x", [rag], "asked twice")
        with pytest.raises(NotFound, match=r"^nli v1 is not one of the judges that asked twice: rag v1$"):
            choose_version(connection, "nli", [rag], "asked twice")
        assert choose_version(connection, "rag", [rag], "asked twice") == rag
        assert choose_version(connection, "rag", [], "asked twice") == rag
