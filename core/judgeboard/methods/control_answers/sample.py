"""The control answers of the sample log."""

from collections.abc import Iterator
from pathlib import Path

from judgeboard.cli.demo import ACTOR
from judgeboard.methods.control_answers.run import judge_control_answers, make_control_answers
from judgeboard.runs.judging import make_judge
from judgeboard.store.engine import Store


def add_sample(store: Store, _folder: Path) -> Iterator[str]:
    """Make control answers of each kind, judged by the offline judge."""
    results = make_control_answers(store, actor=ACTOR)
    judge_control_answers(store, make_judge("lexical"), actor=ACTOR)
    yield f"control answers: {len(results)} kinds"
