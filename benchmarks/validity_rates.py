"""Measures `judgeboard labels rate`, `labels threshold`, `labels stand` and `labels plan` on a large log.

The log has a million judged answers in 300,000 evidence groups, flags on a sixth of them, and
20,000 labels of the random sample. Prints the seconds of each figure alone (bounds: rate 2 s, the
others 1 s), and of the whole command, which runs with compiled bytecode, as an installed package
does. Then it prints the seconds of the page Agreement, drawn by Streamlit's test runner: the first
look, and the best of the later ones (bound: 1.5 s).

    python benchmarks/validity_rates.py [--db URL] [--answers 1000000] [--labels 20000] [--turns 3]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from sqlalchemy import text
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from judgeboard.domain import JudgeVersion
from judgeboard.measure.plans import plan_labels, plan_versions
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.thresholds import Goal, measure_confident_verdicts, measure_threshold
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.opening import open_store
from judgeboard_dashboard import session

NUMBERS = "WITH RECURSIVE number(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM number WHERE i < {}) "
TYPE = "CASE i / 50 % 10 WHEN 0 THEN 'sql' WHEN 1 THEN 'table' ELSE 'simple' END"
SCORE = "round(((i * 7919) % 1000) / 999.0, 3)"
# Like the hash of a question and its passages: of any size, in no order.
GROUP = "(1 + i * 3 / 10) * 48271 % 2147483647 * 4294967296 + i * 3 / 10 - 4611686018427387904"
NOW = "'2026-03-01 12:00:00.000000'"
STATEMENTS = {
    "response": "(id, kind, source, external_id, query_type, query, passages, answer, extra, content_hash, "
    f"evidence_group, imported_at) SELECT i, 'log', 'log', 'a' || i, {TYPE}, 'q', '[]', 'a', '{{}}', i, {GROUP}, {NOW} "
    "FROM number",
    "judgment": "(id, response_id, judge_version_id, ask, repeat, status, groundedness, created_at) "
    f"SELECT i, i, 1, 0, 0, 'ok', {SCORE}, {NOW} FROM number",
    "current_judgment": "(judge_version_id, response_id, judgment_id, judge_kind, judge_name, is_current, "
    "response_kind, query_type, source, evidence_group, groundedness) "
    f"SELECT 1, i, i, 'rag', 'rag', 1 = 1, 'log', {TYPE}, 'log', {GROUP}, {SCORE} FROM number",
    "flag": "(response_id, query_type, source, rule, raise_key, params, details, severity, inclusion_probability, "
    f"state, leads, created_at) SELECT i, {TYPE}, 'log', rule, rule, '{{}}', '{{}}', 0.5, 1, 'open', "
    f"rule = 'random_sample', {NOW} FROM number "
    "CROSS JOIN (SELECT 'random_sample' AS rule UNION SELECT 'low_groundedness') AS rules "
    "WHERE CASE rule WHEN 'random_sample' THEN i % 50 = 0 ELSE i % 6 = 0 END",
}
REVIEWS = (
    "INSERT INTO review(response_id, reviewer_id, label, label_implied, request_key, at) "
    "SELECT response_id, 1, CASE (response_id / 7) % 3 WHEN 0 THEN 'hallucinated' ELSE 'grounded' END, 1 = 0, "
    f"'r' || id, {NOW} FROM flag WHERE rule = 'random_sample' ORDER BY id LIMIT {{}}"
)


def main() -> None:
    """Fill a database, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--db", help="an empty PostgreSQL database (default: a SQLite file in a temporary folder)"
    )
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--labels", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = asked.db or str(Path(folder) / "large.db")
        store = open_store(db, create=True)
        _fill(store, asked.answers, asked.labels)
        compiled = os.environ | {
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(Path(folder) / "bytecode"),
        }
        for words, figure in FIGURES.items():
            command = [
                str(Path(sys.executable).with_name("judgeboard")),
                *words.split(),
                "--json",
                "--db",
                db,
            ]
            alone, whole = [], []
            for _ in range(asked.turns):
                begun = time.perf_counter()
                figure(store)
                alone.append(time.perf_counter() - begun)
                begun = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=compiled)
                whole.append(time.perf_counter() - begun)
            print(
                f"{words}: figure {min(alone):.2f} s, command {min(whole):.2f} s (best of {asked.turns})"
            )
        store.close()
        first, *later = (_look(db) for _ in range(1 + asked.turns))
        print(
            f"page Agreement: first look {first:.2f} s, later {min(later):.2f} s (best of {asked.turns})"
        )


def _look(db: str) -> float:
    """Return the seconds of a look at the page, each in a session of its own."""
    os.environ["JUDGEBOARD_DB"] = db
    # A server looks for components once, the test runner with every session.
    manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
    app = AppTest.from_file(Path(session.__file__).with_name("app.py"), default_timeout=600)
    app.session_state["reviewer_name"] = "Mara"
    app.switch_page("views/agreement.py")
    begun = time.perf_counter()
    app.run()
    seconds = time.perf_counter() - begun
    if app.exception or len(app.dataframe) < 2:
        sys.exit(f"the page is not complete: {app.exception}")
    return seconds


def _rate(store: Store) -> None:
    measure_rate(store, by="query_type")


def _threshold(store: Store) -> None:
    with store.reading() as connection:
        measure_threshold(connection, Goal("recall", 0.8), by_query_type=True)


def _plan(store: Store) -> None:
    with store.reading() as connection:
        plan_labels(connection, 0.05, versions=plan_versions(connection))


def _stand(store: Store) -> None:
    with store.reading() as connection:
        measure_confident_verdicts(connection, 0.9)


FIGURES: dict[str, Callable[[Store], None]] = {
    "labels rate --by query_type": _rate,
    "labels threshold --recall 0.8 --by query_type": _threshold,
    "labels stand --agreement 0.9": _stand,
    "labels plan --reach 0.05": _plan,
}


def _fill(store: Store, answers: int, labels: int) -> None:
    with store.writing() as connection:
        ensure_version(connection, JudgeVersion("rag", "rag"), datetime(2026, 3, 1, tzinfo=UTC))
        columns = "id, origin, name, role, created_at"
        connection.execute(
            text(f"INSERT INTO reviewer({columns}) VALUES (1, 'page', 'Mara', 'reviewer', {NOW})")
        )
        for table, columns in STATEMENTS.items():
            inserted, selected = columns.split(" SELECT ", 1)
            numbers = NUMBERS.format(answers)
            connection.execute(text(f"{numbers} INSERT INTO {table}{inserted} SELECT {selected}"))
        connection.execute(text(REVIEWS.format(labels)))
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not store.is_sqlite:
            connection.execute(
                text("VACUUM ANALYZE")
            )  # a server does this by itself, some time later


if __name__ == "__main__":
    main()
