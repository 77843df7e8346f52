"""Reviewed answers as a suite: the cases are the answers that people corrected."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from judgeboard.formats.files import write_whole
from judgeboard.reports.datasets import ReviewedAnswer, Shape, Target

NO_CASE = (
    "there is no case: correct an answer (F9), then confirm its flag or add it to a suite (F8)"
)


def _case(answer: ReviewedAnswer) -> dict[str, Any] | None:
    response = answer.response
    if not answer.is_case:
        return None
    context = {"context": list(response.passages)} if response.passages else {}
    return {
        "id": response.external_id,
        "query": response.query,
        "reference": answer.corrected,
        **context,
    }


def _write_cases(rows: Iterator[dict[str, Any]], target: Target, left_out: Counter[str]) -> int:
    """Write a suite file of cases, and return the number of cases."""
    # The cases with distinct ids. A suite cannot ask the same twice.
    distinct: dict[tuple[Any, ...], dict[str, Any]] = {}
    ids = Counter[str]()
    for case in rows:
        key = (case["query"], case["reference"], *case.get("context", ()))
        if key in distinct:
            left_out["the same as another case"] += 1
            continue
        ids[case["id"]] += 1
        number = "" if ids[case["id"]] == 1 else f" ({ids[case['id']]})"
        distinct[key] = case | {"id": f"{case['id']}{number}"}
    cases = list(distinct.values())
    if not cases:
        return 0
    text = yaml.safe_dump(
        {"name": "corrected", "cases": cases}, sort_keys=False, allow_unicode=True
    ).encode()
    if isinstance(target, str | Path):
        write_whole(Path(target), lambda stream: stream.write(text))
    else:
        target.write(text)
    return len(cases)


SHAPE = Shape(
    "yaml",
    (),
    _case,
    "not corrected, or without a confirmed flag and not added to a suite",
    _write_cases,
    NO_CASE,
)
