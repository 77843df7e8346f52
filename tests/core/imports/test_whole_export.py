"""An export of every table of the demo and of a public data set comes back whole into an empty database."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from judgeboard.domain import Decision, DimensionScore, JudgeVersion, Label, Status, Verdict, WhyDiffers
from judgeboard.imports.importing import import_file
from judgeboard.store.engine import Store
from judgeboard.store.export import export_tables, exports
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_judgments
from review_case import flagged_case

# The tables that can be imported with their kinds, in the order of their references.
KINDS = {
    "responses": "responses",
    "pairs": "pairs",
    "samples": "samples",
    "judgments": "verdicts",
    "comparisons": "comparisons",
    "reviews": "grades",
    "preferences": "grades",
}
# Ids of rows, and the moment at which a row was stored, are those of one database. Calls count, with their cost, where
# they were made. A version of a judge is known by its settings, which no export has. Every imported person is a person
# of the origin `import`. Flags come from the rules of the database.
OF_ONE_DATABASE = {
    "judgments": "judge_version run created_at prompt_tokens completion_tokens latency_ms cost attempts model_reported",
    "comparisons": "judge_version run created_at prompt_tokens completion_tokens latency_ms cost model_reported",
    "samples": "judge_version",
    "reviews": "review replaces judgment_seen origin flags",
    "preferences": "review replaces origin",
}


def rows_of(store: Store, table: str) -> list[str]:
    left_out = OF_ONE_DATABASE.get(table, "").split()
    names = [column.name for column in exports()[table].columns if column.name not in left_out]
    with store.reading() as connection:
        rows = list(exports()[table].rows(connection))
    return sorted(json.dumps({name: row.get(name) for name in names}, sort_keys=True, default=str) for row in rows)


def replacements(store: Store) -> list[tuple[str, ...]]:
    """The reviews that replace another one, with the one that they replace."""
    with store.reading() as connection:
        rows = {row["review"]: row for table in ("reviews", "preferences") for row in exports()[table].rows(connection)}
    named = {
        id_: f"{row['external_id']} {row['reviewer']} {row.get('decision')} {row.get('quality')}"
        for id_, row in rows.items()
    }
    return sorted((named[id_], named[row["replaces"]]) for id_, row in rows.items() if row["replaces"] is not None)


@pytest.fixture(scope="module")
def filled(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("whole") / "demo.db"
    shutil.copyfile(demo, path)
    store = open_store(str(path))
    yield store
    store.close()


def test_every_table_of_the_demo_comes_back_whole_from_parquet(
    filled: Store, tmp_path: Path, new_store: Callable[[], Store]
) -> None:
    """`test_every_table` has the demo, and more, as CSV and JSON lines."""
    files = {table: tmp_path / f"{table}.parquet" for table in KINDS}
    export_tables(filled, files, format="parquet")
    new = new_store()
    for table, kind in KINDS.items():
        summary = import_file(new, files[table], kind=kind)
        assert (summary.rejected, summary.first_rejected) == (0, []), table
        assert rows_of(new, table) == rows_of(filled, table), table
        again = import_file(new, files[table], kind=kind)
        assert (again.new, again.rejected) == (0, 0), table


def test_ragtruth_comes_back_whole(shared: Path, tmp_path: Path, new_store: Callable[[], Store]) -> None:
    first, kept = new_store(), set[str]()
    for name, kind in (("responses", "responses"), ("judgements", "verdicts"), ("human", "grades")):
        with gzip.open(shared / "data" / f"ragtruth.{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = list(map(json.loads, lines))
        kept = kept or {row["id"] for row in rows[::4]}  # of every kind of question
        file = tmp_path / f"{name}.jsonl"
        of_kept = (row for row in rows if row.get("response_id", row.get("id")) in kept)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in of_kept), encoding="utf-8")
        assert import_file(first, file, kind=kind).rejected == 0
    new = new_store()
    for table in ("responses", "judgments", "reviews"):
        file = tmp_path / f"{table}.csv"
        export_tables(first, {table: file}, format="csv")
        assert import_file(new, file, kind=KINDS[table]).rejected == 0
        assert rows_of(new, table) == rows_of(first, table) != [], table


def test_decisions_edits_and_undone_reviews_come_back(
    sqlite_store: Store, tmp_path: Path, new_store: Callable[[], Store]
) -> None:
    case = flagged_case(sqlite_store)
    flag = case.judge(0.1)
    grade = {"quality": 2, "label": Label.HALLUCINATED, "scores": (DimensionScore("care", 3, "1-5"),)}
    first = case.grade(case.mara, **grade)
    case.undo(first, case.mara)
    case.decide(flag, case.jon, Decision.UNSURE)
    case.decide(flag, case.mara, Decision.CONFIRM, seconds=4.5)
    case.grade(case.mara, quality=3, why_differs=WhyDiffers.OTHER, judgment_seen_id=1)
    tables = ("responses", "judgments", "reviews")
    files = {table: tmp_path / f"{table}.jsonl" for table in tables}
    export_tables(case.store, files)
    for store in (case.store, new_store()):
        stored = [import_file(store, files[table], kind=KINDS[table]) for table in tables]
        assert [each.rejected for each in stored] == [0, 0, 0]
        assert [each.new for each in stored] == ([0, 0, 0] if store is case.store else [1, 1, len(case.reviews())])
        assert rows_of(store, "reviews") == rows_of(case.store, "reviews")
        assert replacements(store) == replacements(case.store) != []
        assert flag_states(store) == flag_states(case.store) == [("low_groundedness", "confirmed")]


def test_a_judge_that_judged_again_keeps_its_asks_and_repeats(
    sqlite_store: Store, tmp_path: Path, new_store: Callable[[], Store]
) -> None:
    case = flagged_case(sqlite_store)
    score = DimensionScore("care", 4, "1-5", reasoning="gentle")
    with case.store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        judgments = [
            NewJudgment(
                case.response_id, ask, repeat, Verdict(Status.OK, groundedness=(ask + repeat) / 4, scores=(score,))
            )
            for ask, repeat in ((0, 0), (0, 1), (1, 0))
        ]
        unread = Verdict(Status.UNPARSABLE, raw="?", scores=(DimensionScore("care", None, "1-5"),))
        store_judgments(connection, version, None, [*judgments, NewJudgment(case.response_id, 2, 0, unread)])
    files = {table: tmp_path / f"{table}.jsonl" for table in ("responses", "judgments")}
    export_tables(case.store, files)
    for store in (case.store, new_store()):
        stored = [import_file(store, file, kind=KINDS[table]) for table, file in files.items()]
        assert [(each.new, each.rejected) for each in stored] == (
            [(0, 0)] * 2 if store is case.store else [(1, 0), (4, 0)]
        )
        assert rows_of(store, "judgments") == rows_of(case.store, "judgments")


def test_the_number_of_an_ask_is_a_whole_number_that_a_database_stores(store: Store, tmp_path: Path) -> None:
    case = flagged_case(store)
    file = tmp_path / "verdicts.jsonl"
    asks = (3.0, 2**31, -1, True, "many")  # pandas writes 3 as 3.0 beside missing values
    row = {"source": "log", "external_id": "a", "judge": "own", "groundedness": 0.5}
    with store.reading() as connection:
        [answer] = exports()["responses"].rows(connection)
    row |= {name: answer[name] for name in ("source", "external_id")}
    file.write_text("".join(json.dumps(row | {"ask": ask}) + "\n" for ask in asks))
    summary = import_file(case.store, file, kind="verdicts")
    assert (summary.new, summary.rejected) == (1, 4)


def flag_states(store: Store) -> list[tuple[str, str]]:
    with store.reading() as connection:
        return [
            (row["rule"], row["state"])
            for row in exports()["flags"].rows(connection)
            if row["rule"] == "low_groundedness"
        ]
