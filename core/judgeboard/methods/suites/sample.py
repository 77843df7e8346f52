"""The suite of the sample log. The judge of the suite returns recorded scores."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from judgeboard.cli.demo import ACTOR, sample_rows
from judgeboard.domain import DimensionScore, JudgeInput, JudgeVersion, Status, Verdict
from judgeboard.methods.suites.file import read_suite
from judgeboard.methods.suites.results import list_results
from judgeboard.methods.suites.run import run_suite
from judgeboard.store.engine import Store
from judgeboard.text import counted

JUDGE = "climb-rubric-8b"


class _RecordedJudge:
    """A rubric judge that returns the scores that were recorded for an answer."""

    version = JudgeVersion(JUDGE, "rubric", model=JUDGE, scale="1-5")
    address: None = None
    priced: bool = True

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows = {row["answer"]: row for row in rows}

    async def judge(self, item: JudgeInput) -> Verdict:
        row = self._rows[item.answer]
        values = row["scores"] | {"overall": sum(row["scores"].values()) / len(row["scores"])}
        scores = tuple(DimensionScore(name, float(value), "1-5") for name, value in values.items())
        return Verdict(Status.OK, reasoning=row["reasoning"], scores=scores)

    async def aclose(self) -> None:
        pass


def add_sample(store: Store, folder: Path) -> Iterator[str]:
    """Run the suite of the sample log for each recorded model; finished runs are not repeated."""
    suite = read_suite(folder / "suite.yaml")
    rows = sample_rows(folder / "suite_answers.jsonl.gz")
    models = list(dict.fromkeys(row["model"] for row in rows))
    candidates = {run.candidate for run in list_results(store, suite.name)}
    for model in models:
        answers = {row["query"]: row["answer"] for row in rows if row["model"] == model}

        def answer(query: str, answers: dict[str, str] = answers) -> str:
            return answers[query]

        answer.__module__, answer.__qualname__ = "sample", model
        if f"python:sample:{model}" not in candidates:
            run_suite(store, suite, answer, judge=_RecordedJudge(rows), actor=ACTOR)
    yield f"{counted(len(models), 'suite run')} stored"
