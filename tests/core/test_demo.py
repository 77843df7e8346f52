"""The demo fills a database once, the same on both engines."""

import json
import shlex
from pathlib import Path

import pytest

from judgeboard.cli.app import run
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


def test_a_demo_that_does_not_serve_ends_with_the_command_that_opens_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path / "my demo.db")
    assert run(["demo", "--no-serve", "--db", database]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert shlex.split(last.partition(": ")[2]) == ["judgeboard", "serve", "--db", database]
