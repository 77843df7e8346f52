"""A run of repeats that is killed: the same command goes on, and repeats the calls in flight at most."""

from held_endpoint import HeldEndpoint
from judgeboard.llm.recording_endpoint import completion
from judgeboard.store.engine import Store
from judgeboard.store.tables import JUDGMENT
from judging_log import runs, store_answers
from killed_command import AT_ONCE, killed_then_repeated, stored

ANSWERS, REPEATS = 8, 3


def test_repeats_go_on_after_a_kill(sqlite_store: Store, endpoint: HeldEndpoint) -> None:
    store_answers(sqlite_store, ANSWERS)
    words = ["judge", "--judge", "grade", "--model", "m", "--repeats", str(REPEATS)]
    endpoint.reply = completion("incorrect 0")
    killed_then_repeated(sqlite_store, endpoint, JUDGMENT, *words)
    assert stored(sqlite_store, JUDGMENT) == ANSWERS * REPEATS
    assert endpoint.asked.total() <= ANSWERS * REPEATS + AT_ONCE
    assert [row["state"] for row in runs(sqlite_store)] == ["done"]
