"""Deciding a pair looks up that pair and what was said of it, whatever the number of pairs."""

import pytest

from judgeboard.domain import Preference, Shown
from judgeboard.methods.pair_screen import pair_screen
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.decisions import prefer
from judgeboard.store.engine import Store
from judgeboard.store.pairs import last_rows
from pair_log import add_pairs, people_say, record
from query_plans import plans_of, whole_tables


@pytest.fixture
def judged(sqlite_store: Store) -> tuple[list[int], int]:
    """Pairs that a judge compared and people spoke of, and the judge version."""
    pair_ids = add_pairs(sqlite_store, 30)
    version = record(sqlite_store, pair_ids, {"ab": "a" * 30, "ba": "b" * 30})
    people_say(sqlite_store, pair_ids[3], "a", "b")
    return pair_ids, version.id


def test_a_pair_is_read_and_decided_by_its_keys(sqlite_store: Store, judged: tuple[list[int], int]) -> None:
    (pair_ids, version_id), mara = judged, ensure_reviewer(sqlite_store, "page", "Mara")
    with plans_of(sqlite_store) as plans:
        for press in range(3):
            with sqlite_store.reading() as connection:
                screen = pair_screen(
                    connection, pair_ids[3], aspect="overall", reviewer_id=mara.id, version_id=version_id
                )
            assert (screen.revealed is not None) is (press > 0)
            prefer(
                sqlite_store,
                pair_id=pair_ids[3],
                reviewer=mara,
                preference=Preference.A,
                shown=Shown.AB,
                request_key=f"press {press}",
                comparison_seen_id=screen.seen_id,
            )
    assert any("comparison" in plan for plan in plans)
    assert whole_tables(plans) == []


def test_whether_rows_were_added_is_read_off_the_ends_of_the_tables(
    sqlite_store: Store, judged: tuple[list[int], int]
) -> None:
    with plans_of(sqlite_store) as plans, sqlite_store.reading() as connection:
        before = last_rows(connection)
    assert before[:4] == (30, 60, 2, 0)
    assert [step for step in plans[-1].splitlines() if "SEARCH" in step] != []
    assert whole_tables(plans) == []
    people_say(sqlite_store, judged[0][4], "a")
    with sqlite_store.reading() as connection:
        assert last_rows(connection) == (*before[:2], 3, *before[3:])
