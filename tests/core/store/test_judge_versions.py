"""Judge versions: numbered within their name, found by what people type, retired and restored."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from judgeboard.domain import JudgeVersion, Role
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.judges.judge import fingerprint
from judgeboard.methods.juries.run import judge_by_jury
from judgeboard.people.roster import add_person, change_settings, restore_version, retire_version
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import (
    choose_version,
    closest,
    closest_of_all,
    ensure_version,
    get_version,
    list_versions,
    not_found,
    retired_versions,
)
from judging_log import judgments, runs, store_answers
from stored_rows import read, write_to

RAG = JudgeVersion("rag", "rag", "m-1", {"temperature": 0}, "Judge this.")


def ensure(store, *version):
    return write_to(store, ensure_version, *version)


@on_sqlite
def test_the_same_content_is_one_version_and_versions_count_within_their_name(store):
    first = ensure(store, RAG)
    assert ensure(store, replace(RAG)) == first
    assert (first.title, first.fingerprint) == ("rag v1", fingerprint(RAG))
    assert (first.prompt, first.model, first.params) == (RAG.prompt, RAG.model, RAG.params)
    assert first.created_at.tzinfo == UTC

    others = (
        JudgeVersion("nli", "nli"),
        replace(RAG, params={"temperature": 1}),
        replace(RAG, model="m-2"),
    )
    titles = [ensure(store, version).title for version in others]
    assert titles == ["nli v1", "rag v2", "rag v3"]
    listed = [version.title for version in read(store, list_versions)]
    assert listed == ["nli v1", "rag v1", "rag v2", "rag v3"]


@on_sqlite
def test_a_version_is_found_by_what_people_type(store):
    first = ensure(store, RAG)
    newest = ensure(store, JudgeVersion("rag", "rag", "m-2"))
    assert read(store, get_version, "rag") == newest
    for typed in (first.id, "rag v1", first.fingerprint, first.fingerprint[:8]):
        assert read(store, get_version, typed) == first
    for unknown in ("nli", first.fingerprint[:7], 99):
        with pytest.raises(NotFound, match="no judge version"):
            read(store, get_version, unknown)
    with pytest.raises(NotFound, match=r"rag v1.*rag v2"):
        read(store, get_version, "nli")


@on_sqlite
def test_processes_that_meet_get_one_version_each_its_own_number(store):
    versions = [JudgeVersion("rag", "rag", params={"t": number}) for number in range(4)] * 4
    with ThreadPoolExecutor(8) as threads:
        stored = list(threads.map(lambda version: ensure(store, version), versions))
    assert {version.number for version in stored} == {1, 2, 3, 4}
    assert len({version.id for version in stored}) == 4


def test_the_time_is_the_callers(store):
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert ensure(store, RAG, now).created_at == now


@on_sqlite
def test_what_is_not_found_is_answered_with_those_that_can_be_meant(case):
    rag = case.version("rag")
    case.version("nli")
    of_one = str(case.read(not_found, "x", [rag], "asked twice"))
    assert of_one.endswith("'x'; asked twice: rag v1")
    of_none = str(case.read(not_found, "x", [], "asked twice", what="judge"))
    assert of_none.endswith("nli v1, rag v1")
    with pytest.raises(NotFound, match=r"'x'; .* rag v1$"):
        case.read(choose_version, "x", [rag], "asked twice")
    with pytest.raises(NotFound, match=r"^nli v1 .*: rag"):
        case.read(choose_version, "nli", [rag], "asked twice")
    for meant in ([rag], []):
        assert case.read(choose_version, "rag", meant, "asked twice") == rag


@on_sqlite
def test_an_unknown_name_is_answered_with_the_closest_not_with_hundreds(case):
    for number in range(20):
        case.version(f"GPT-4/prompt-{number}")
    case.version("lexical")
    with pytest.raises(NotFound, match=r"GPT-4/prompt-0, .* 12 more$"):
        case.read(get_version, "GPT-4")
    with pytest.raises(NotFound, match=r"known: lexical v1$"):
        case.read(get_version, "lexcal")


@on_sqlite
def test_the_closest_stand_first_and_the_others_after_them(case):
    versions = [case.version(name) for name in ("nli", "GPT-4", "gpt-4 turbo", "rag")]
    nli, gpt, turbo, rag = (version.title for version in versions)
    assert closest("gpt4", versions).split(", ") == [gpt, turbo, nli, rag]
    assert closest_of_all("gpt4", versions) == f"known: {gpt}, {turbo}"
    assert "--judge lexical" in closest_of_all("gpt4", [])


def judge_by(store, name, **options):
    return judge_pending(store, make_judge("lexical", name=name), **options)


def judged_twice(store, first=0):
    store_answers(store, 3, first=first)
    for name in ("first", "second"):
        judge_by(store, name)


def test_a_retired_version_is_asked_nothing_and_what_it_said_stays(store):
    judged_twice(store)
    before = judgments(store)
    assert retire_version(store, "second v1", "cli:ann").title == "second v1"
    retire_version(store, "second v1", "cli:ann")  # twice is as once
    store_answers(store, 2, first=3)
    with pytest.raises(BadInput, match=r"second v1 .*cli:ann"):
        judge_by(store, "second")
    assert judgments(store) == before
    assert len(runs(store)) == 2
    restore_version(store, "second v1", "cli:ann")
    assert judge_by(store, "second").ok == 2
    assert read(store, retired_versions) == {}
    assert len(read(store, list_versions)) == 2


def test_a_retired_judge_is_no_primary_judge(sqlite_store):
    judged_twice(sqlite_store)
    with pytest.raises(BadInput, match="first"):
        retire_version(sqlite_store, "first", "cli:ann")
    change_settings(sqlite_store, {"primary_judge": "second"}, "cli:ann")
    retire_version(sqlite_store, "first", "cli:ann")
    with pytest.raises(BadInput, match=r"first .*: second$"):
        change_settings(sqlite_store, {"primary_judge": "first"}, "cli:ann")


def test_a_retired_jury_combines_nothing_more(sqlite_store):
    judged_twice(sqlite_store)
    judge_by_jury(sqlite_store, ["first", "second"])
    retire_version(sqlite_store, "jury", "cli:ann")
    # What is stored can be read.
    assert judge_by_jury(sqlite_store, ["first", "second"]).labelled >= 0
    judged_twice(sqlite_store, first=3)
    with pytest.raises(BadInput, match="jury v1"):
        judge_by_jury(sqlite_store, ["first", "second"])


def test_only_admins_retire(sqlite_store):
    judged_twice(sqlite_store)
    lead = add_person(sqlite_store, "lea@example.org", Role.LEAD, "cli:ann")
    for change in (retire_version, restore_version):
        with pytest.raises(NotAllowed, match="admins"):
            change(sqlite_store, "second", lead)
    assert read(sqlite_store, retired_versions) == {}


def test_a_filter_of_a_retired_version_still_finds_its_verdicts(sqlite_store):
    judged_twice(sqlite_store)
    retire_version(sqlite_store, "second v1", "cli:ann")
    judge_by(sqlite_store, "third", where=RowFilter(judge="second"))
    assert sum(one["judge_version_id"] == 3 for one in judgments(sqlite_store)) == 3
