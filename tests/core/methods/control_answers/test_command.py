"""`judgeboard test controls`, as a person types it."""

import json

from judging_log import address, store_answers
from result_fields import check_fields


def test_controls_are_made_and_judged(sqlite_store, shell):
    store_answers(sqlite_store, 12)
    db = f"--db {address(sqlite_store)}"
    make = f"test controls make --kinds 'passages_removed, numbers_changed' --n 10 {db}"
    assert "passages_removed: 10 made\n" in shell(make)
    shown = json.loads(shell(f"{make} --json"))
    known = {"kind": "numbers_changed", "effect": "known_bad", "made": 0, "known": 10}
    assert (shown["made"], shown["kinds"][1]) == (0, known)
    judge = f"test controls judge --judge lexical {db}"
    shown = json.loads(shell(f"{judge} --json"))
    check_fields(shown, ok=shown["asked"], not_reached=0, cost=0)
    assert "nothing to judge" in shell(judge)
