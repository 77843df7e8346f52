"""A retired judge version is asked nothing more, its verdicts stay, and it can be taken back."""

import pytest

from judgeboard import judge_pending, make_judge
from judgeboard.domain import Role
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.methods.jury import judge_by_jury
from judgeboard.people.roster import add_person, change_settings, restore_version, retire_version
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import get_version, list_versions, retired_versions
from judging_log import judgments, runs, store_answers


def judged_twice(store: Store) -> None:
    store_answers(store, 3)
    for name in ("first", "second"):
        judge_pending(store, make_judge("lexical", name=name))


def test_a_retired_version_is_asked_nothing_and_what_it_said_stays(store: Store) -> None:
    judged_twice(store)
    before = judgments(store)
    assert retire_version(store, "second v1", "cli:ann").title == "second v1"
    retire_version(store, "second v1", "cli:ann")  # twice is as once
    store_answers(store, 2, first=3)
    with pytest.raises(BadInput, match=r"second v1 was retired by cli:ann on .* versions restore"):
        judge_pending(store, make_judge("lexical", name="second"))
    assert judgments(store) == before
    assert len(runs(store)) == 2
    restore_version(store, "second v1", "cli:ann")
    assert judge_pending(store, make_judge("lexical", name="second")).ok == 2
    with store.reading() as connection:
        assert retired_versions(connection) == {}
        assert len(list_versions(connection)) == 2


def test_a_retired_judge_is_no_primary_judge(sqlite_store: Store) -> None:
    judged_twice(sqlite_store)
    with pytest.raises(BadInput, match="first is the primary judge: choose another"):
        retire_version(sqlite_store, "first", "cli:ann")
    change_settings(sqlite_store, {"primary_judge": "second"}, "cli:ann")
    retire_version(sqlite_store, "first", "cli:ann")
    with pytest.raises(BadInput, match="every version of first is retired; in use: second"):
        change_settings(sqlite_store, {"primary_judge": "first"}, "cli:ann")


def test_a_retired_jury_combines_nothing_more(sqlite_store: Store) -> None:
    judged_twice(sqlite_store)
    judge_by_jury(sqlite_store, ["first", "second"])
    retire_version(sqlite_store, "jury", "cli:ann")
    assert judge_by_jury(sqlite_store, ["first", "second"]).labelled >= 0, "what is stored can be read"
    store_answers(sqlite_store, 1, first=3)
    for name in ("first", "second"):
        judge_pending(sqlite_store, make_judge("lexical", name=name))
    with pytest.raises(BadInput, match="jury v1 was retired"):
        judge_by_jury(sqlite_store, ["first", "second"])


def test_only_admins_retire(sqlite_store: Store) -> None:
    judged_twice(sqlite_store)
    lead = add_person(sqlite_store, "lea@example.org", Role.LEAD, "cli:ann")
    for change in (retire_version, restore_version):
        with pytest.raises(NotAllowed, match="Retiring judge versions is for admins"):
            change(sqlite_store, "second", lead)
    with sqlite_store.reading() as connection:
        assert retired_versions(connection) == {}
        assert get_version(connection, "second").title == "second v1"


def test_a_version_that_is_not_there_is_said_so(sqlite_store: Store) -> None:
    with pytest.raises(NotFound, match="third"):
        retire_version(sqlite_store, "third", "cli:ann")


def test_a_filter_of_a_retired_version_still_finds_its_verdicts(sqlite_store: Store) -> None:
    judged_twice(sqlite_store)
    retire_version(sqlite_store, "second v1", "cli:ann")
    judge_pending(sqlite_store, make_judge("lexical", name="third"), where=RowFilter(judge="second"))
    assert sum(one["judge_version_id"] == 3 for one in judgments(sqlite_store)) == 3
