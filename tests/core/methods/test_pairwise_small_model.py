"""A pair compared by a real small model over a real wire protocol."""

import pytest

from judgeboard.domain import Status
from judgeboard.llm.recording_endpoint import RecordingEndpoint, forward_to
from judgeboard.methods.pair_report import measure_pairs
from judgeboard.methods.pairwise import compare_pairs, make_pairwise_judge
from judgeboard.store.comparisons import latest_comparisons
from judgeboard.store.engine import Store
from judgeboard.store.tables import COMPARISON
from pair_log import add_pairs
from stored_rows import rows_of


@pytest.mark.llm
def test_whatever_a_real_model_says_of_a_pair_is_kept_and_accounted_for(small_model: str, sqlite_store: Store) -> None:
    pair_ids = add_pairs(sqlite_store, 1)
    with RecordingEndpoint(forward_to(small_model)) as endpoint:
        judge = make_pairwise_judge(model="smollm2", base_url=endpoint.base_url, max_output=64, timeout_s=120)
        compared = compare_pairs(sqlite_store, judge, pair_ids, concurrency=1)
    assert (compared.account.asked, compared.account.not_reached) == (2, 0)
    rows = rows_of(sqlite_store, COMPARISON)
    assert sum(len(row["attempts"]) for row in rows) == len(endpoint.requests)
    assert all(row["raw"] and row["model_reported"] for row in rows)
    with sqlite_store.reading() as connection:
        for said in latest_comparisons(connection, compared.version.id, pair_ids[0]):
            assert bool(said.preferences) is (said.status is Status.OK), "unusable is unusable"
    (group,) = measure_pairs(sqlite_store, "pairwise").groups
    assert group.counts.unmeasured == (compared.account.ok < 2)
