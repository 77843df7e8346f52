"""What is exported of the demo, and of a public data set, comes back whole into an empty database."""

import json
import shutil
from datetime import UTC, datetime

import pytest

from judgeboard.domain import (
    Decision,
    DimensionScore,
    JudgeVersion,
    Label,
    Status,
    Verdict,
    WhyDiffers,
)
from judgeboard.formats.label_schema import stored_schema
from judgeboard.imports.importing import import_file
from judgeboard.imports.reading import UnclearFile
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.export import export_tables, exports
from judgeboard.store.forgetting import forget_response
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.label_schemas import ensure_schema
from judgeboard.store.opening import open_store
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import FLAG, RESPONSE
from review_case import flagged_case
from stored_rows import read, write_to
from stored_rows import rows_of as rows_of_table
from tool_files import counts, written

NOW = datetime(2026, 3, 1, 9, 41, tzinfo=UTC)

# The tables that can be imported, with their kinds, in the order of their references.
KINDS = {
    "responses": "responses",
    "pairs": "pairs",
    "samples": "samples",
    "judgments": "verdicts",
    "comparisons": "comparisons",
    "audits": "audits",
    "reviews": "grades",
    "preferences": "grades",
}
# Ids of rows, and the moment at which a row was stored, are those of one database. Calls count,
# with their cost, where they were made. A version of a judge is known by its settings, which no
# export has. Every imported person is a person of the origin `import`, whose preferences are also
# with their pairs. Flags come from the rules of the database.
CALLS = "run created_at prompt_tokens completion_tokens latency_ms cost model_reported"
OF_ONE_DATABASE = {
    "pairs": "human",
    "judgments": f"judge_version attempts {CALLS}",
    "comparisons": f"judge_version {CALLS}",
    "audits": f"judge_version supreme_judge_version judgment {CALLS}",
    "samples": "judge_version",
    "reviews": "review replaces judgment_seen origin flags",
    "preferences": "review replaces origin",
}


def exported(store, table):
    """The rows of an exported table."""
    return read(store, lambda connection: list(exports()[table].rows(connection)))


def rows_of(store, table):
    left_out = OF_ONE_DATABASE.get(table, "").split()
    names = [column.name for column in exports()[table].columns if column.name not in left_out]
    return sorted(
        json.dumps({name: row.get(name) for name in names}, sort_keys=True, default=str)
        for row in exported(store, table)
    )


def replacements(store):
    """The reviews that replace another one, with the one that they replace."""
    rows = [*exported(store, "reviews"), *exported(store, "preferences")]
    named = {
        row["review"]: " ".join(
            str(row.get(name)) for name in ("external_id", "reviewer", "decision", "quality")
        )
        for row in rows
    }
    return sorted(
        (named[row["review"]], named[row["replaces"]])
        for row in rows
        if row["replaces"] is not None
    )


@pytest.fixture(scope="module")
def filled(demo, tmp_path_factory):
    """The demo with what it lacks: a label schema, a failure mode, decisions, a forgotten answer."""
    path = tmp_path_factory.mktemp("whole") / "demo.db"
    shutil.copyfile(demo, path)
    store = open_store(str(path))
    add_schema(store)
    named = [
        {"external_id": row["external_id"], "source": row["source"]}
        for row in rows_of_table(store, RESPONSE)
        if row["kind"] == "log"
    ]
    own = {"label": "grounded", "failure_modes": ["rude"], "label_schema": "tone v2"}
    fields = {"kind": True, "why": "please"}
    labels = written(path.parent, named[2] | own | {"annotator": "Ada L", "fields": fields})
    assert import_file(store, labels, kind="grades").new == 1
    flags = [row["id"] for row in rows_of_table(store, FLAG) if row["state"] == "open"]
    jon = write_to(store, store_reviewer, "page", "Bo M")
    for flag, decision in zip(
        flags, (Decision.CONFIRM, Decision.DISMISS, Decision.UNSURE), strict=False
    ):
        submit(
            store,
            Submission(flag_id=flag, reviewer=jon, decision=decision, request_key=decision, at=NOW),
        )
    last = named[-1]
    write_to(store, forget_response, last["external_id"], source=last["source"], actor="library")
    yield store
    store.close()


def add_schema(store):
    """Store both versions of a label schema: no import brings one."""
    for name in ("polite", "kind"):
        fields = [{"name": name, "type": "yes_no"}, {"name": "why", "type": "text"}]
        write_to(store, ensure_schema, stored_schema("tone", fields), "lead", NOW)


@pytest.mark.parametrize(
    ("store", "format_name"),
    [("sqlite", "csv"), pytest.param("postgres", "jsonl", marks=pytest.mark.postgres)],
    indirect=["store"],
)
def test_the_demo_comes_back_whole(filled, store, tmp_path, format_name):
    files = {table: tmp_path / f"{table}.{format_name}" for table in KINDS}
    export_tables(filled, files, format=format_name)
    forgotten = {
        row["external_id"] for row in rows_of_table(filled, RESPONSE) if row["answer"] is None
    }
    add_schema(store)
    for table, kind in KINDS.items():
        summary = import_file(store, files[table], kind=kind)
        # No export has a forgotten answer, but rows about it.
        rows = rows_of(filled, table)
        expected = [row for row in rows if json.loads(row)["external_id"] not in forgotten]
        assert summary.rejected == len(rows) - len(expected), (table, summary.first_rejected)
        assert rows_of(store, table) == expected != [], table
    # The filled one is the same for both engines.
    known = (store, filled) if store.is_sqlite else (store,)
    for table, file in files.items():
        for again in known:
            assert import_file(again, file, kind=KINDS[table]).new == 0, table


def test_decisions_edits_and_undone_reviews_come_back(sqlite_store, tmp_path, new_store):
    case = flagged_case(sqlite_store)
    flag = case.judge(0.1)
    score = DimensionScore("care", 3, "1-5")
    first = case.grade(case.mara, quality=2, label=Label.HALLUCINATED, scores=(score,))
    case.undo(first, case.mara)
    case.decide(flag, case.jon, Decision.UNSURE)
    case.decide(flag, case.mara, Decision.CONFIRM, seconds=4.5)
    case.grade(case.mara, quality=3, why_differs=WhyDiffers.OTHER, judgment_seen_id=1)
    tables = ("responses", "judgments", "reviews")
    files = {table: tmp_path / f"{table}.jsonl" for table in tables}
    export_tables(case.store, files)
    for store in (case.store, new_store()):
        stored = [import_file(store, files[table], kind=KINDS[table]) for table in tables]
        new = [0, 0, 0] if store is case.store else [1, 1, len(case.reviews())]
        assert [(each.new, each.rejected) for each in stored] == [(n, 0) for n in new]
        assert rows_of(store, "reviews") == rows_of(case.store, "reviews")
        assert replacements(store) == replacements(case.store) != []
        assert flag_states(store) == flag_states(case.store) == [("low_groundedness", "confirmed")]


def test_a_judge_that_judged_again_keeps_its_asks_and_repeats(sqlite_store, tmp_path, new_store):
    case = flagged_case(sqlite_store)
    score = DimensionScore("care", 4, "1-5", reasoning="gentle")
    verdicts = {
        (ask, repeat): Verdict(Status.OK, groundedness=(ask + repeat) / 4, scores=(score,))
        for ask, repeat in ((0, 0), (0, 1), (1, 0))
    }
    unscored = DimensionScore("care", None, "1-5")
    verdicts[2, 0] = Verdict(Status.UNPARSABLE, raw="?", scores=(unscored,))
    version = write_to(case.store, ensure_version, JudgeVersion("rag", "rag"))
    judgments = [NewJudgment(case.response_id, *ask, verdict) for ask, verdict in verdicts.items()]
    write_to(case.store, store_judgments, version, None, judgments)
    files = {table: tmp_path / f"{table}.jsonl" for table in ("responses", "judgments")}
    export_tables(case.store, files)
    for store in (case.store, new_store()):
        stored = [import_file(store, file, kind=KINDS[table]) for table, file in files.items()]
        assert [(each.new, each.rejected) for each in stored] == (
            [(0, 0)] * 2 if store is case.store else [(1, 0), (4, 0)]
        )
        assert rows_of(store, "judgments") == rows_of(case.store, "judgments")


def test_the_number_of_an_ask_is_a_whole_number_that_a_database_stores(store, tmp_path):
    flagged_case(store)
    asks = (3.0, 2**31, -1, True, "many")  # pandas writes 3 as 3.0 beside missing values
    [answer] = exported(store, "responses")
    row = {name: answer[name] for name in ("source", "external_id")}
    row |= {"judge": "own", "groundedness": 0.5}
    file = written(tmp_path, *(row | {"ask": ask} for ask in asks))
    assert counts(import_file(store, file, kind="verdicts")) == (1, 0, 4)


def test_an_exported_flag_is_not_read_as_the_verdict_that_it_repeats(sqlite_store, tmp_path):
    case = flagged_case(sqlite_store)
    case.judge(0.1)
    file = tmp_path / "flags.jsonl"
    assert export_tables(case.store, {"flags": file})["flags"] > 0
    with pytest.raises(UnclearFile):
        import_file(case.store, file)


def flag_states(store):
    return [
        (row["rule"], row["state"])
        for row in exported(store, "flags")
        if row["rule"] == "low_groundedness"
    ]
