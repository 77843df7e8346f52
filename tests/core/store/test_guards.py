"""What a judge or a person returned is never overwritten: the database itself refuses, as does a read-only file."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, Column, String, event, insert, select, text
from sqlalchemy.exc import DBAPIError

from judgeboard.domain import Claim, ClaimStatus, Feedback, FeedbackKind, Role
from judgeboard.errors import BadInput
from judgeboard.store.columns import Utc, columns_that
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter
from judgeboard.store.settings import set_setting
from judgeboard.store.tables import METADATA, REVIEW, REVIEWER
from judgeboard.store.triggers import guarded_tables, install_guards

NOW = datetime(2026, 3, 1, tzinfo=UTC)
STEP = {"status": "ok", "raw": "r", "attempts": [{"raw": "r"}], "error": "e", "created_at": NOW}
SAMPLE: dict[str, dict[str, Any]] = {
    "judgment_score": {"judgment_id": 1, "dimension": "accuracy", "scale": "1-5", "reasoning": "x"},
    "review_score": {"review_id": 1, "dimension": "accuracy", "scale": "1-5"},
    "review_flag": {"review_id": 1, "flag_id": 1},
    "failure_mode": {
        "name": "m",
        "description": "d",
        "key": "K",
        "retired": False,
        "by": "m",
        "at": NOW,
    },
    "issue": {
        "number": 1,
        "version": 1,
        "title": "t",
        "description": "d",
        "owner": "m",
        "state": "open",
    }
    | {"fixed_day": 1, "filter": RowFilter(rules=("r",)), "by": "m", "at": NOW},
    "alarm": {
        "measure": "bad_share",
        "direction": "rose",
        "query_type": "QA",
        "judge_version_id": 1,
        "from_day": 7,
    }
    | {
        "seen_day": 14,
        "evidence": 200.0,
        "evidence_limit": 104.0,
        "rate_before": 0.2,
        "rate_after": 0.4,
    }
    | {"by": "m", "at": NOW},
    "alarm_acknowledgement": {"alarm_id": 1, "by": "m", "note": "n", "at": NOW},
    "judging_rule": {
        "name": "r",
        "by": "m",
        "judge_version_id": 1,
        "filter": RowFilter(),
        "judge": {},
        "rate": 0.5,
        "rates": {},
    }
    | {
        "max_cost": 1.0,
        "max_calls": 1,
        "concurrency": 1,
        "delay_s": 0.0,
        "after_id": 0,
        "state": "active",
        "at": NOW,
    },
    "alert_rule": {
        "name": "r",
        "by": "m",
        "condition": "spend",
        "threshold": 1.0,
        "destinations": ["command"],
        "at": NOW,
    },
    "alert_event": {
        "alert_rule_id": 1,
        "subject": "",
        "sentence": "s",
        "opened_at": NOW,
        "seen_at": NOW,
    },
    "alert_delivery": {
        "alert_rule_id": 1,
        "kind": "test",
        "destination": "command",
        "message_id": "i",
        "message": {},
    }
    | {"next_at": NOW, "at": NOW},
    "anchor_set": {"seed": "s", "by": "m", "at": NOW},
    "anchor": {"anchor_set_id": 1, "response_id": 1},
    "review_failure_mode": {"review_id": 1, "mode": "m"},
    "label_schema": {
        "name": "s",
        "number": 1,
        "fields": [{"name": "f"}],
        "hash": "h",
        "created_by": "m",
    }
    | {"created_at": NOW},
    "run": {"kind": "judge", "actor": "test", "started_at": NOW, "state": "running", "filter": {}},
    "import_batch": {
        "file": "f",
        "importer": "jsonl",
        "kind": "responses",
        "actor": "test",
        "at": NOW,
    },
    "job": {
        "id": "j",
        "kind": "rejudge",
        "actor": "test",
        "created_at": NOW,
        "filter": {},
        "judge": {},
        "estimate": {},
    },
    "pair": {
        "source": "s",
        "external_id": "p",
        "query_type": "QA",
        "question": "q",
        "options": ["o"],
        "reference": "r",
        "response_a_id": 1,
        "extra": {"k": "v"},
        "content_hash": "h",
        "imported_at": NOW,
    },
    "comparison": STEP
    | {"pair_id": 1, "judge_version_id": 1, "condition": "reference", "shown": "ab", "ask": 0}
    | {"reference": "r", "reasoning": "x"},
    "comparison_score": {"comparison_id": 1, "aspect": "overall", "preference": "a"},
    "preference_score": {"review_id": 1, "aspect": "overall", "preference": "a"},
    "pushed": {
        "target": "phoenix",
        "what": "reviews",
        "response_id": 1,
        "author": "m",
        "row_id": 1,
        "sent": True,
        "at": NOW,
    },
    "push_target": {
        "name": "p",
        "tool": "phoenix",
        "address": "http://p",
        "what": ["gold"],
        "judges": ["rag"],
        "by": "m",
    }
    | {
        "source": "s",
        "since": NOW,
        "with_notes": False,
        "every_s": 60.0,
        "next_at": NOW,
        "at": NOW,
    },
    "sample": STEP | {"pair_id": 1, "judge_version_id": 1, "number": 0, "answer": "x"},
    "generation": STEP | {"run_id": 1, "subject": "a", "number": 1, "response_id": 1},
    "refinement": {
        "method": "reflect",
        "run_id": 1,
        "subject": "a",
        "number": 1,
        "root_response_id": 1,
    }
    | {"feedback": "f", "outcome": "kept_new", "created_at": NOW},
    "selected_attempt": {
        "run_id": 1,
        "subject": "a",
        "number": 1,
        "reviewer_id": 1,
        "request_key": "k",
        "at": NOW,
    },
    "judgment_review": STEP
    | {
        "judgment_id": 1,
        "judge_version_id": 1,
        "ask": 0,
        "reasoning": "x",
        "inclusion_probability": 1.0,
    },
    "anchor_judgment": STEP | {"run_id": 1, "response_id": 1, "judge_version_id": 1, "ask": 0},
    "suite_run": {
        "run_id": 1,
        "name": "s",
        "spec": {},
        "spec_hash": "h",
        "candidate": "c",
        "judge_version_id": 1,
    }
    | {"created_at": NOW},
    "suite_case": {"suite_run_id": 1, "position": 0, "case_key": "k", "created_at": NOW},
    "queue": {
        "name": "q",
        "subject": "answers",
        "filter": RowFilter(),
        "sort": "oldest",
        "grades": [],
        "created_by": "m",
    }
    | {"reveal": False, "flagged_only": False, "max_items": 1, "created_at": NOW},
    "queue_item": {"queue_id": 1, "response_id": 1, "position": 0.0, "joined_at": NOW},
    "skip": {"queue_item_id": 1, "reviewer_id": 1, "at": NOW},
    "taken_lease": {"queue_item_id": 1, "reviewer_id": 1, "token": "t", "at": NOW},
    "api_key": {
        "name": "k",
        "hash": "h",
        "scopes": ["ingest"],
        "source": "s",
        "max_body_mb": 1.0,
        "created_by": "m",
    }
    | {"created_at": NOW},
    "trace": {"external_id": "t", "owner": "o", "source": "s", "first_at": NOW, "last_at": NOW},
    "withdrawn_row": {
        "import_batch_id": 1,
        "table_name": "response",
        "row_key": "7",
        "content": {"a": 1},
        "at": NOW,
    },
    "comment": {"response_id": 1, "reviewer_id": 1, "text": "t", "request_key": "k", "at": NOW},
}


@pytest.fixture
def full(case):
    return filled(case)


def filled(case):
    """A database with a row in every guarded table."""
    response = case.answer(
        passages=("p",),
        reference="r",
        metadata={"k": "v"},
        feedback=(Feedback(FeedbackKind.THUMBS, 1),),
    )
    case.say(
        case.version(),
        response,
        groundedness=0.1,
        reasoning="x",
        claims=(Claim("c", ClaimStatus.SUPPORTED),),
    )
    with case.store.writing() as connection:
        record_event(connection, "test", "me")
        connection.execute(
            insert(REVIEWER), {"origin": "t", "name": "m", "role": Role.VIEWER, "created_at": NOW}
        )
        review = {
            "response_id": response,
            "reviewer_id": 1,
            "note": "n",
            "request_key": "k",
            "at": NOW,
        }
        review |= {
            "claim_marks": [{"status": "supported"}],
            "choices": {"f": "v"},
            "texts": {"g": "t"},
        }
        connection.execute(insert(REVIEW), review)
        for table, row in SAMPLE.items():
            connection.execute(insert(METADATA.tables[table]), row)
    return case


def refused(case, statement: str) -> None:
    with pytest.raises(DBAPIError, match="append-only"), case.store.writing() as connection:
        connection.execute(text(statement))


def contents(case) -> dict[str, list[tuple[Any, ...]]]:
    with case.store.reading() as connection:
        tables = METADATA.tables
        return {
            name: [tuple(row) for row in connection.execute(select(tables[name]))]
            for name in tables
        }


def test_no_column_of_an_append_only_table_changes_and_no_row_goes(full) -> None:
    before = contents(full)
    for table in guarded_tables():
        if columns_that("changes", table):
            continue
        # Of an empty table, nothing would be refused.
        assert before[table.name], table
        refused(full, f'DELETE FROM "{table}"')
        for column in table.columns:
            refused(full, f'UPDATE "{table}" SET "{column.name}" = {other_value(column)}')
    assert contents(full) == before


def test_of_other_guarded_tables_only_the_named_columns_change(full) -> None:
    before = contents(full)
    for table in guarded_tables():
        changeable = columns_that("changes", table)
        if not changeable:
            continue
        # Of an empty table, nothing would be refused.
        assert before[table.name], table
        refused(full, f'DELETE FROM "{table}"')
        for column in table.columns:
            if column.name not in changeable:
                refused(full, f'UPDATE "{table}" SET "{column.name}" = {other_value(column)}')
    assert contents(full) == before
    with full.store.writing() as connection:
        connection.execute(text("UPDATE flag SET state = 'confirmed'"))
        connection.execute(text("UPDATE run SET state = 'done', why_stopped = 'x'"))


def test_replacing_a_row_is_refused_too(sqlite_case) -> None:
    columns = "id, response_id, kind, value, imported_at"
    values = "1, 1, 'thumbs', 0, '2026-01-01 00:00:00'"
    refused(
        filled(sqlite_case), f"INSERT OR REPLACE INTO user_feedback ({columns}) VALUES ({values})"
    )


@pytest.mark.postgres
def test_truncating_is_refused_too(postgres_case) -> None:
    case = filled(postgres_case)
    for table in guarded_tables():
        refused(case, f'TRUNCATE "{table}" CASCADE')


def test_texts_go_only_after_an_event_names_their_response(full) -> None:
    # Facts of answers are computed anew when their rules change, so their table refuses no update.
    tables = [table for table in METADATA.sorted_tables if table.name != "answer_fact"]
    forgotten = {
        table: columns for table in tables if (columns := columns_that("forgotten", table))
    }
    for table, columns in forgotten.items():
        for column in columns:
            if contents(full)[table.name][0][list(table.columns.keys()).index(column)] is not None:
                refused(full, f'UPDATE "{table}" SET "{column}" = {blank(column)}')
    with full.store.writing() as connection:
        record_event(connection, "forget", "me", response_id=1)
    for table, columns in forgotten.items():
        blanks = ", ".join(f'"{column}" = {blank(column)}' for column in columns)
        with full.store.writing() as connection:
            assert connection.execute(text(f'UPDATE "{table}" SET {blanks}')).rowcount == 1
    rows = contents(full)
    assert "answer of a" not in str(rows)
    assert rows["judgment"][0]


def test_a_forgotten_response_keeps_everything_but_its_texts(full) -> None:
    with full.store.writing() as connection:
        record_event(connection, "forget", "me", response_id=1)
    refused(full, "UPDATE response SET content_hash = 'x', answer = NULL")
    refused(full, "UPDATE response SET answer = 'something else'")
    refused(full, "UPDATE judgment SET groundedness = NULL")
    refused(full, "DELETE FROM response")


def test_another_response_is_not_forgotten_with_it(full) -> None:
    other = full.answer("b")
    with full.store.writing() as connection:
        record_event(connection, "forget", "me", response_id=1)
    refused(full, f"UPDATE response SET answer = NULL WHERE id = {other}")


def test_laying_the_guards_again_changes_nothing(full) -> None:
    with full.store.writing() as connection:
        install_guards(connection)
    refused(full, "DELETE FROM judgment")


def blank(column: str) -> str:
    return "'{}'" if column == "extra" else "NULL"


def other_value(column: Column[Any]) -> str:
    """A value of the column's type that is surely another one."""
    if isinstance(getattr(column.type, "impl", column.type), JSON):
        return "'{\"other\": 1}'"
    if isinstance(column.type, Utc):
        return "'1999-01-01 00:00:00'"
    if isinstance(column.type, Boolean):
        return "true"
    return "'other'" if isinstance(column.type, String) else "77"


GIVE_RIGHTS = "this user needs write access to the file and its folder"


def test_a_write_that_is_not_possible_says_what_to_do(sqlite_store: Store) -> None:
    sqlite_store.close()
    event.listen(
        sqlite_store.engine, "connect", lambda raw, _record: raw.execute("PRAGMA query_only = ON")
    )
    with pytest.raises(BadInput, match=GIVE_RIGHTS), sqlite_store.writing() as connection:
        set_setting(connection, "low_quality", 1, "Mara")
