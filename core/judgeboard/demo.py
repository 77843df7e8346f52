"""Fills a database with the bundled sample: import, offline judge, flags, people's grades, a second judge."""

from collections.abc import Callable
from pathlib import Path

from judgeboard.importing import ImportSummary, import_file
from judgeboard.judge_choice import make_judge
from judgeboard.judging import judge_pending
from judgeboard.judging_summary import JudgingSummary
from judgeboard.sample import sample_folder
from judgeboard.store.engine import Store

ACTOR = "demo"
SOURCE = "sample"


def fill(store: Store, say: Callable[[str], None] = lambda _line: None) -> None:
    """Bring the sample into the database; what is there already stays as it is.

    Args:
        store: The database to fill.
        say: Told one line per step.
    """
    folder = sample_folder()
    say(_imported(_bring(store, folder / "responses.jsonl.gz", "responses"), "answers"))
    say(_judged(judge_pending(store, make_judge("lexical"), actor=ACTOR)))
    say(_imported(_bring(store, folder / "verdicts.jsonl.gz", "verdicts"), "verdicts of a second judge"))
    say(_imported(_bring(store, folder / "grades.jsonl.gz", "grades"), "grades by people"))


def _bring(store: Store, file: Path, kind: str) -> ImportSummary:
    return import_file(store, file, kind=kind, source=SOURCE, actor=ACTOR)


def _imported(summary: ImportSummary, what: str) -> str:
    return f"{summary.new:,} {what} imported, {summary.unchanged:,} were there"


def _judged(summary: JudgingSummary) -> str:
    return f"{summary.ok:,} answers judged offline by {summary.judge}" if summary.selected else "all answers are judged"
