"""`judgeboard test controls`, as a person types it."""

from judging_log import store_answers
from result_fields import check_fields


def test_controls_are_made_and_judged(sqlite_store, command, json_of):
    store_answers(sqlite_store, 12)
    make = "test controls make --kinds 'passages_removed, numbers_changed' --n 10"
    assert "passages_removed: 10 made\n" in command(make).out
    shown = json_of(make)
    known = {"kind": "numbers_changed", "effect": "known_bad", "made": 0, "known": 10}
    assert (shown["made"], shown["kinds"][1]) == (0, known)
    judge = "test controls judge --judge lexical"
    shown = json_of(judge)
    check_fields(shown, ok=shown["asked"], not_reached=0, cost=0)
    assert "nothing to judge" in command(judge).out
