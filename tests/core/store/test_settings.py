"""Thresholds and the primary judge: defaults, over them what is stored, over that the environment."""

from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from judgeboard.errors import BadInput
from judgeboard.people.roster import raise_flags
from judgeboard.settings.model import Thresholds
from judgeboard.store.grades import graded_reviews
from judgeboard.store.hidden_rows import read_as
from judgeboard.store.settings import primary_judge, set_setting, setting_origins, thresholds
from query_plans import statements_of
from stored_rows import read, write_to

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def put(store, key, value):
    write_to(store, set_setting, key, value, "Mara", NOW)


@on_sqlite
def test_the_defaults_are_those_of_the_method(store):
    assert read(store, thresholds) == Thresholds()
    assert {line.origin for line in read(store, setting_origins)} == {"default"}


def test_the_latest_stored_value_counts_and_says_who(case):
    types = ("sql", "complex")
    for each in types:
        case.answer(each, query_type=each)
    put(case.store, "low_groundedness", 0.6)
    put(case.store, "low_groundedness", 0.7)
    put(case.store, "always_review", types)
    stored = Thresholds(low_groundedness=0.7, random_share=0, always_review=types)
    assert case.read(thresholds) == stored
    [line] = [line for line in case.read(setting_origins) if line.key == "low_groundedness"]
    assert (line.value, line.origin) == (0.7, "stored")
    assert (line.stored.by, line.stored.at) == ("Mara", NOW)


@on_sqlite
def test_none_brings_the_default_back(store):
    put(store, "low_quality", 1)
    put(store, "low_quality", None)
    assert read(store, thresholds) == Thresholds()


@on_sqlite
def test_the_environment_wins_and_says_so(store, monkeypatch):
    put(store, "random_share", 0.5)
    monkeypatch.setenv("JUDGEBOARD_RANDOM_SHARE", "0.1")
    monkeypatch.setenv("JUDGEBOARD_ALWAYS_REVIEW", "sql, complex")
    assert read(store, thresholds) == Thresholds(random_share=0.1, always_review=("sql", "complex"))
    assert {line.key for line in read(store, setting_origins) if line.is_fixed} == {
        "random_share",
        "always_review",
    }


@on_sqlite
def test_a_figure_reads_the_settings_once_and_a_transaction_that_writes_reads_each_change(store):
    with store.reading() as connection, statements_of(store) as sent:
        assert thresholds(connection) == thresholds(connection) == Thresholds()
    assert sum("FROM setting" in statement for statement in sent) == 1
    with store.writing() as connection:
        for quality in (1, 2):
            set_setting(connection, "low_quality", quality, "Mara")
            assert thresholds(connection).low_quality == quality
    assert read(store, thresholds).low_quality == 2


@on_sqlite
def test_peoples_grades_are_read_once_however_a_figure_asks_for_them_and_anew_for_another_viewer(
    store,
):
    with store.reading() as connection, statements_of(store) as sent:
        kept = graded_reviews(connection)
        assert graded_reviews(connection, None, implied_labels=True, classes=()) is kept
        assert graded_reviews(connection, implied_labels=False) is not kept
        assert sum("FROM review" in statement for statement in sent) == 2
        read_as(connection, 1)
        assert graded_reviews(connection) is not kept


@on_sqlite
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("low_groundedness", 1.5, "low_groundedness must be a number from 0 to 1, not 1.5"),
        ("random_seed", "x" * 201, "more than 200 characters: 201"),
        ("random_seed", "a\0b", "NUL at character 2"),
        ("colour", "red", "no setting 'colour'; known: low_groundedness"),
        ("primary_judge", "rag", "no judge 'rag'; in use: none"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_not_stored(store, key, value, message):
    with pytest.raises(BadInput, match=message):
        put(store, key, value)
    assert {line.origin for line in read(store, setting_origins)} == {"default"}


def test_a_query_type_that_no_answer_has_is_refused_with_those_that_there_are(case, monkeypatch):
    with pytest.raises(BadInput, match=r"always_review: .*'sql'"):
        case.set("always_review", ["sql"])
    for number in range(21):
        case.answer(f"a{number}", query_type=f"type {number:02}")
    known = "'sql'; .*type 00.*type 19"
    with pytest.raises(BadInput, match=known) as refused:
        case.set("always_review", ["type 01", "sql"])
    assert "type 20" not in str(refused.value)
    assert case.read(thresholds).always_review == ()
    monkeypatch.setenv("JUDGEBOARD_ALWAYS_REVIEW", "type 01,sql")
    with pytest.raises(BadInput, match=f"JUDGEBOARD_ALWAYS_REVIEW: .*{known}"):
        raise_flags(case.store)
    monkeypatch.setenv("JUDGEBOARD_ALWAYS_REVIEW", "type 01")
    assert raise_flags(case.store).raised_by_rule["always_review"] == 1


@on_sqlite
def test_an_environment_outside_the_range_is_named(store, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_RANDOM_SHARE", "2")
    with pytest.raises(BadInput, match=r"JUDGEBOARD_RANDOM_SHARE .* 0 to 1"):
        read(store, thresholds)


@on_sqlite
def test_the_primary_judge_is_the_first_that_judged_or_the_one_that_was_chosen(case, monkeypatch):
    assert case.read(primary_judge) is None
    response = case.answer()
    case.version("zen")
    for name in ("nli", "rag"):
        case.say(case.version(name), response, quality=3)
    assert case.read(primary_judge) == "nli"
    case.set("primary_judge", "rag")
    assert case.read(primary_judge) == "rag"
    monkeypatch.setenv("JUDGEBOARD_PRIMARY_JUDGE", "zen")
    assert case.read(primary_judge) == "zen"
    with pytest.raises(BadInput, match=r"'lex'; .*nli, rag, zen"):
        case.set("primary_judge", "lex")


@on_sqlite
def test_a_judge_without_scores_of_ours_is_not_primary_by_being_first(case):
    response = case.answer()
    case.say(case.version("rubric"), response)
    assert case.read(primary_judge) is None
    case.say(case.version("rag"), response, quality=3)
    assert case.read(primary_judge) == "rag"
