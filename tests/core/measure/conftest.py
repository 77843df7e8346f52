"""Agreement as a program gets it, on whatever a test has stored."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeboard.imports.importing import import_file
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_result import AgreementResult
from judgeboard.store.engine import Store

Measured = Callable[..., AgreementResult]


@pytest.fixture
def measured(store: Store) -> Measured:
    """Return ``measured(of=…, …)`` on a fresh database of each engine."""

    def measure(**choice: Any) -> AgreementResult:
        return measure_agreement(store, **choice)

    return measure


@pytest.fixture
def bring_grades(store: Store, tmp_path: Path) -> Callable[[list[dict[str, Any]]], None]:
    """Return ``bring_grades(rows)``, which imports grades of people."""

    def bring(rows: list[dict[str, Any]]) -> None:
        file = tmp_path / "grades.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        summary = import_file(store, file, kind="grades")
        assert (summary.new, summary.rejected) == (len(rows), 0)

    return bring
