"""Fills a database with the bundled sample: import, offline judge, flags, people's grades, a second judge."""

import hashlib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from judgeboard.sample import sample_folder
from judgeboard.store.engine import Store
from judgeboard.store.latest_event import latest_event

if TYPE_CHECKING:
    from judgeboard.imports.importing import ImportSummary

ACTOR = "demo"
SOURCE = "sample"
FILLED = "demo filled"
FILES = {
    "answers": ("responses.jsonl.gz", "responses"),
    "verdicts of a second judge": ("verdicts.jsonl.gz", "verdicts"),
    "grades by people": ("grades.jsonl.gz", "grades"),
}


def fill(store: Store, say: Callable[[str], None] = lambda _line: None) -> None:
    """Bring the sample into the database; what is there already stays as it is.

    Args:
        store: The database to fill.
        say: Told one line per step.
    """
    folder = sample_folder()
    sample = {"package": version("judgeboard"), "sample": _address(folder)}
    with store.reading() as connection:
        before = latest_event(connection, FILLED)
    if before is not None and before.items() >= sample.items():
        # Nothing to read and nobody to ask: a second start is at the pages without loading what does that.
        steps = [_imported(0, before["there"][what], what) for what in FILES]
        for line in (steps[0], "all answers are judged", *steps[1:]):
            say(line)
        return
    there = _fill(store, folder, say)
    from judgeboard.store.events import record_event

    with store.writing() as connection:
        record_event(connection, FILLED, ACTOR, details=sample | {"there": there})


def _fill(store: Store, folder: Path, say: Callable[[str], None]) -> dict[str, int]:
    """Do every step; return how many rows of each file are there."""
    from judgeboard.imports.importing import import_file
    from judgeboard.judge_choice import make_judge
    from judgeboard.judging import judge_pending

    def bring(what: str) -> "ImportSummary":
        file, kind = FILES[what]
        summary = import_file(store, folder / file, kind=kind, source=SOURCE, actor=ACTOR)
        say(_imported(summary.new, summary.unchanged, what))
        return summary

    answers, *others = FILES
    brought = {answers: bring(answers)}
    judged = judge_pending(store, make_judge("lexical"), actor=ACTOR)
    asked = f"{judged.ok:,} answers judged offline by {judged.judge}"
    say(asked if judged.selected else "all answers are judged")
    brought |= {what: bring(what) for what in others}
    return {what: summary.usable for what, summary in brought.items()}


def _imported(new: int, there: int, what: str) -> str:
    return f"{new:,} {what} imported, {there:,} were there"


def _address(folder: Path) -> str:
    content = b"".join((folder / file).read_bytes() for file, _kind in FILES.values())
    return hashlib.sha256(content).hexdigest()
