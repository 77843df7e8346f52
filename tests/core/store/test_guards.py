"""What a judge or a person returned is never overwritten: the database itself refuses, as does a read-only file."""

import pytest
from sqlalchemy import JSON, Boolean, String, event, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from judgeboard.domain import Claim, ClaimStatus, Feedback, FeedbackKind
from judgeboard.errors import BadInput
from judgeboard.store.columns import Utc, columns_that
from judgeboard.store.events import record_event
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.settings import set_setting
from judgeboard.store.statements import count_rows
from judgeboard.store.tables import METADATA, RESPONSE, REVIEW, TRACE
from judgeboard.store.triggers import guarded_tables, install_guards
from stored_rows import NOW, insert_row, made_row


@pytest.fixture
def full(case):
    return filled(case)


def filled(case):
    """A database with a row in every guarded table."""
    texts = {"passages": ("p",), "reference": "r", "metadata": {"k": "v"}}
    response = case.answer(**texts, feedback=(Feedback(FeedbackKind.THUMBS, 1),))
    claims = (Claim("c", ClaimStatus.SUPPORTED),)
    case.say(case.version(), response, groundedness=0.1, reasoning="x", claims=claims)
    case.write(record_event, "test", "me")
    mara = case.write(store_reviewer, "page", "Mara")
    said = {"note": "n", "choices": {"f": "v"}, "texts": {"g": "t"}}
    said["claim_marks"] = [{"status": "supported"}]
    insert_row(case.store, REVIEW, {"response": response, "reviewer": mara.id}, **said)
    with case.store.writing() as connection:
        ids = dict.fromkeys(METADATA.tables, 1)
        for table in METADATA.sorted_tables:
            if table in guarded_tables() and count_rows(connection, table) == 0:
                connection.execute(insert(table), made_row(table, ids, whole=True))
    return case


def refused(case, statement):
    with pytest.raises(DBAPIError, match="append-only"), case.store.writing() as connection:
        connection.execute(text(statement))


def contents(case):
    with case.store.reading() as connection:
        return {
            name: connection.execute(select(table)).all() for name, table in METADATA.tables.items()
        }


def test_of_a_guarded_table_only_the_named_columns_change_and_no_row_goes(full):
    before = contents(full)
    for table in guarded_tables():
        # Of an empty table, nothing would be refused.
        assert before[table.name], table
        refused(full, f'DELETE FROM "{table}"')
        for column in table.columns:
            if column.name not in columns_that("changes", table):
                refused(full, f'UPDATE "{table}" SET "{column.name}" = {other_value(column)}')
    assert contents(full) == before


def test_the_state_of_a_flag_and_of_a_run_changes(full):
    with full.store.writing() as connection:
        connection.execute(text("UPDATE flag SET state = 'confirmed'"))
        connection.execute(text("UPDATE run SET state = 'done', why_stopped = 'x'"))


def test_replacing_a_row_is_refused_too(sqlite_case):
    again = "(id, response_id, kind, value, imported_at) VALUES (1, 1, 'thumbs', 0, '2026-01-01')"
    refused(filled(sqlite_case), f"INSERT OR REPLACE INTO user_feedback {again}")


@pytest.mark.postgres
def test_truncating_is_refused_too(postgres_case):
    case = filled(postgres_case)
    for table in guarded_tables():
        refused(case, f'TRUNCATE "{table}" CASCADE')


def test_texts_go_only_after_an_event_names_their_response(full):
    # Facts of answers are computed anew when their rules change, so their table refuses no update.
    forgotten = {
        table: columns
        for table in METADATA.sorted_tables
        if table.name != "answer_fact" and (columns := columns_that("forgotten", table))
    }
    rows = contents(full)
    for table, columns in forgotten.items():
        for column in columns:
            if rows[table.name][0]._mapping[column] is not None:
                refused(full, f'UPDATE "{table}" SET "{column}" = {blank(column)}')
    full.write(record_event, "forget", "me", response_id=1)
    for table, columns in forgotten.items():
        blanks = ", ".join(f'"{column}" = {blank(column)}' for column in columns)
        with full.store.writing() as connection:
            assert connection.execute(text(f'UPDATE "{table}" SET {blanks}')).rowcount == 1
    rows = contents(full)
    assert "answer of a" not in str(rows)
    assert rows["judgment"][0]


def test_a_forgotten_response_keeps_everything_but_its_texts(full):
    full.write(record_event, "forget", "me", response_id=1)
    refused(full, "UPDATE response SET content_hash = 'x', answer = NULL")
    refused(full, "UPDATE response SET answer = 'something else'")
    refused(full, "UPDATE judgment SET groundedness = NULL")
    refused(full, "DELETE FROM response")


def test_another_response_is_not_forgotten_with_it(full):
    other = full.answer("b")
    full.write(record_event, "forget", "me", response_id=1)
    refused(full, f"UPDATE response SET answer = NULL WHERE id = {other}")


def test_an_answer_of_a_trace_is_completed_until_a_judge_reads_it_and_keeps_its_identity(case):
    response_id = case.answer()
    insert_row(case.store, TRACE, {"response": response_id})
    with case.store.writing() as connection:
        connection.execute(text("UPDATE response SET answer = 'later', query_type = 'sql'"))
    completed = columns_that("completed", RESPONSE)
    for column in RESPONSE.columns:
        if column.name not in completed:
            refused(case, f'UPDATE response SET "{column.name}" = {other_value(column)}')
    with case.store.writing() as connection:
        connection.execute(update(TRACE).values(read_at=NOW))
    refused(case, "UPDATE response SET answer = 'too late'")


def test_laying_the_guards_again_changes_nothing(full):
    full.write(install_guards)
    refused(full, "DELETE FROM judgment")


def blank(column):
    return "'{}'" if column == "extra" else "NULL"


def other_value(column):
    """A value of the column's type that is surely another one."""
    if isinstance(getattr(column.type, "impl", column.type), JSON):
        return "'{\"other\": 1}'"
    if isinstance(column.type, Utc):
        return "'1999-01-01 00:00:00'"
    if isinstance(column.type, Boolean):
        return "true"
    return "'other'" if isinstance(column.type, String) else "77"


GIVE_RIGHTS = "this user needs write access to the file and its folder"


def test_a_write_that_is_not_possible_says_what_to_do(sqlite_store):
    sqlite_store.close()
    event.listen(
        sqlite_store.engine, "connect", lambda raw, _record: raw.execute("PRAGMA query_only = ON")
    )
    with pytest.raises(BadInput, match=GIVE_RIGHTS), sqlite_store.writing() as connection:
        set_setting(connection, "low_quality", 1, "Mara")
