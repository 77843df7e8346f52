"""The demo fills a database once, the same on both engines."""

import json
from pathlib import Path

from judgeboard.demo import fill
from judgeboard.report import stats
from judgeboard.store.engine import Store


def numbers(store: Store) -> str:
    with store.reading() as connection:
        return json.dumps(stats(connection), allow_nan=False)


def test_the_demo_brings_answers_verdicts_flags_and_grades(sqlite_store: Store) -> None:
    fill(sqlite_store)
    filled = json.loads(numbers(sqlite_store))
    assert filled["responses"] == 400
    assert filled["judgments"]["ok"] == 600
    assert filled["reviews"] == 198
    assert filled["flags"]["by_state"]["open"] > 100


def test_a_second_demo_changes_nothing(sqlite_store: Store) -> None:
    fill(sqlite_store)
    before = numbers(sqlite_store)
    fill(sqlite_store)
    assert numbers(sqlite_store) == before


def test_both_engines_give_the_same_numbers_to_the_byte(sqlite_store: Store, postgres_store: Store) -> None:
    fill(sqlite_store)
    fill(postgres_store)
    assert numbers(sqlite_store) == numbers(postgres_store)


def test_the_demo_tells_every_step(sqlite_store: Store, tmp_path: Path) -> None:
    lines: list[str] = []
    fill(sqlite_store, lines.append)
    assert len(lines) == 4
