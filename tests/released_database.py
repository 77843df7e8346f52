"""Databases of released schemas, each with what it showed then; see "A change to the tables" in CONTRIBUTING.md.

`python tests/released_database.py DATABASE FOLDER [FILE KIND]...` fills the DATABASE (a path or a
URL) and writes what it shows to the FOLDER. The demo and more are stored, or the FILEs if there are
any.
"""

import io
import json
import math
import sys
import tarfile
from collections import Counter
from contextlib import closing, redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from getpass import getuser
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import inspect, text

from judgeboard.cli.app import run
from judgeboard.imports.importing import import_file

if find_spec("judgeboard.store.opening"):
    from judgeboard.store.opening import open_store
else:  # a test runs this file with released programs too
    from judgeboard.store.engine import open_store

LEXICAL, SECOND = "lexical", "climb-judge-8b"
# Commands that only read, by the names of the recorded figures. None of their figures depends on
# the day.
FIGURES = {
    "stats": ["stats"],
    "agreement": ["agreement", "--judge-version", LEXICAL],
    "agreement by people": ["agreement", "--of", "people"],
    "agreement of pairs": ["agreement", "--unit", "pairs", "--judge-version", SECOND],
    "rate": ["labels", "rate", "--judge-version", LEXICAL],
    "rate by type": ["labels", "rate", "--by", "query_type", "--judge-version", LEXICAL],
    "trends": ["trends"],
    "trends of flags": ["trends", "--measure", "flagged_share"],
    "trends corrected": ["trends", "--corrected"],
    "threshold": ["labels", "threshold", "--recall", "0.8"],
    "stand": ["labels", "stand", "--agreement", "0.9"],
    "health": ["test", "health", LEXICAL],
    "plan": ["labels", "plan", "--reach", "0.05"],
    "compare": ["compare", "--recorded", "--judge-version", SECOND],
    "versions list": ["versions", "list"],
    "suite list": ["suite", "list"],
    "queue list": ["queue", "list"],
    "schema list": ["queue", "schema", "list"],
    "keys list": ["sources", "keys", "list"],
    "anchors report": ["test", "anchors", "report", "--judge-version", LEXICAL],
}
# The same for a log that only has imported verdicts.
LOG_FIGURES = {
    "stats": ["stats"],
    "agreement": ["agreement"],
    # Released programs without groups of commands have `rate` at the top.
    "rate": ["labels", "rate"] if find_spec("judgeboard.cli.groups") else ["rate"],
    "trends": ["trends"],
    "versions list": ["versions", "list"],
}


def command(*words, database):
    """Run a command and return what it prints; with alarms or open problems it ends with 1."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    messages = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(messages):
        code = run([*words, "--db", database])
    assert code in {0, 1}, f"{words}: exit code {code}: {messages.getvalue()}"
    return printed.buffer.getvalue().decode()


def exports(database, folder):
    """Return the rows of every exported table."""
    command("export", "all", "--format", "jsonl", "-o", str(folder), database=database)
    return {
        path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(folder.glob("*.jsonl"))
    }


def figures(database, commands=FIGURES):
    """Return what the commands print as JSON."""
    return {
        name: json.loads(command(*words, "--json", database=database))
        for name, words in commands.items()
    }


def differences(before, now, place=""):
    """Yield each place where a recorded value is missing or another one; new keys are no difference.

    Numbers may differ in their last digits: PostgreSQL adds rows in any order.
    """
    if isinstance(before, dict) and isinstance(now, dict):
        for key, value in before.items():
            if key in now:
                yield from differences(value, now[key], f"{place}/{key}")
            else:
                yield f"{place}/{key}: missing"
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, (value, current) in enumerate(zip(before, now, strict=True)):
            yield from differences(value, current, f"{place}/{index}")
    elif isinstance(before, float) and isinstance(now, float) and math.isclose(before, now):
        return
    elif before != now:
        yield f"{place}: was {str(before)[:200]}, is {str(now)[:200]}"


def columns_of_tables(store):
    """Return the names of the columns of each table, without the tables of the text search."""
    with store.reading() as connection:
        inspector = inspect(connection)
        return {
            table: [column["name"] for column in inspector.get_columns(table)]
            for table in inspector.get_table_names()
            if not table.startswith("response_search")
        }


def rows_of_tables(store, columns):
    """Return the rows of each table, in these columns and as texts, with how often each is there."""
    with store.reading() as connection:
        rows = {}
        for table, names in columns.items():
            listed = ", ".join(f'"{name}"' for name in names)
            stored = connection.execute(text(f'SELECT {listed} FROM "{table}"'))
            rows[table] = Counter(tuple(map(str, row)) for row in stored)
        return rows


def assign_blind_queues(store):
    """Name people for the blind queues that everybody reviews: from then on they hide nothing from this user."""
    from judgeboard.reviews.queues import assign_queue
    from judgeboard.store.reviewers import reviewers_of
    from judgeboard.store.tables import QUEUE
    from stored_rows import read, values_of

    people = [each for each in read(store, reviewers_of, "page") if each.name in {"Jon", "Mara"}]
    for name in values_of(store, QUEUE.c.name, QUEUE.c.blind_people | QUEUE.c.blind_judge):
        assign_queue(store, name, by="test", add=people)


def fill(database, folder):
    """Store the demo, and what it does not have: reviews by commands, traces, settings of the service, open work."""
    command("quickstart", "--no-serve", database=database)
    _review(database, folder)
    with closing(open_store(database)) as store:
        _receive(store)
        _judge_by_model(store, database)
        _set_up_service(database)
        _comment(store)
        _leave_work(store)


def _review(database, folder):
    schema = folder / "support.yaml"
    schema.write_text(SCHEMA, encoding="utf-8")
    command("queue", "schema", "add", str(schema), database=database)
    command(
        "queue",
        "create",
        "by schema",
        "--schema",
        "support",
        "--needed",
        "2",
        "--assign",
        f"cli:{getuser()}",
        database=database,
    )
    command(
        "queue",
        "create",
        "sides",
        "--subject",
        "pairs",
        "--needed",
        "2",
        "--assign",
        f"cli:{getuser()}",
        database=database,
    )
    with closing(open_store(database)) as store:
        _decide(store)
    command("test", "anchors", "make", "--n", "12", database=database)
    command("test", "anchors", "judge", "--judge", LEXICAL, database=database)


def _decide(store):
    from judgeboard.domain import Decision, Grade, IssueState
    from judgeboard.people.roster import ensure_reviewer
    from judgeboard.reviews.bulk import decide_many
    from judgeboard.reviews.issues import save_issue
    from judgeboard.reviews.leases import next_item, skip
    from judgeboard.reviews.queues import schema_of_item
    from judgeboard.reviews.submissions import Submission, submit
    from judgeboard.store.filters import RowFilter
    from judgeboard.store.issues import get_issue
    from judgeboard.store.open_flags import listed_answers

    who = ensure_reviewer(store, "cli", getuser())
    answer, pair = next_item(store, "by schema", who), next_item(store, "sides", who)
    schema = schema_of_item(store, answer.item_id)
    grade = schema.grade(
        {"verdict": "fix", "causes": ["answer"]}, Grade(groundedness=0.2, note="die Gebühr 🧗")
    )
    submit(
        store,
        Submission(
            token=answer.token,
            reviewer=who,
            decision=Decision.CONFIRM,
            grade=grade,
            request_key="recorded",
        ),
    )
    skip(store, pair.token, who, reason="in French")
    with store.reading() as connection:
        ids = listed_answers(
            connection, RowFilter(rules=("low_quality",)), most=10_000, reviewer_id=who.id
        )
        issue = get_issue(connection, 1)
    decide_many(
        store, ids, reviewer=who, decision=None, modes=["unsupported statement"], bulk_id="recorded"
    )
    save_issue(store, issue.changed(state=IssueState.FIXED, fixed_day=20_524), by="cli:recorder")


def _set_up_service(database):
    command("sources", "keys", "create", "shop", "--source", "shop", database=database)
    command(
        "rule", "add", "judge", "live", "--judge", LEXICAL, "--max-calls", "1000", database=database
    )
    command("rule", "pause", "live", database=database)
    command(
        "rule",
        "add",
        "alert",
        "old",
        "--when",
        "old_flags",
        "--after",
        "2d",
        "--to",
        "webhook:env:HOOK",
        database=database,
    )
    command("trends", "watch", database=database)
    command("db", "index", "metadata.tenant", database=database)


def _judge_by_model(store, database):
    from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, verdict
    from judgeboard.runs.judging import judge_pending, make_judge
    from judgeboard.store.filters import RowFilter

    with RecordingEndpoint(always(verdict())) as endpoint:
        judge = make_judge("rag", model="scripted", base_url=endpoint.base_url)
        judge_pending(
            store, judge, where=RowFilter(query_types=("complex",)), limit=20, actor="cli:recorder"
        )
    command("versions", "retire", "rag v1", database=database)


def _receive(store):
    from sent_traces import PROTOBUF, gathered, receiving, request, trace

    with receiving(store) as client:
        client.post("/v1/traces", content=request(trace(1, 2)), headers=PROTOBUF).raise_for_status()
        gathered(store)
        client.post(
            "/v1/traces", content=request(trace(2)[:1]), headers=PROTOBUF
        ).raise_for_status()  # it waits
        feedback = {"response_id": "nobody", "kind": "thumbs", "value": 1}
        client.post("/api/feedback", json=feedback).raise_for_status()


def _comment(store):
    from judgeboard.people.roster import ensure_reviewer
    from judgeboard.reviews.changes import comment
    from judgeboard.store.forgetting import forget_response
    from judgeboard.store.own_reviews import save_draft

    mara = ensure_reviewer(store, "page", "Mara")
    comment(
        store, response_id=3, reviewer=mara, text="See clause 3 — «fees».", request_key="comment:1"
    )
    with store.writing() as connection:
        save_draft(connection, mara.id, 5, {"note": "not sure yet"}, datetime.now(UTC))
        external_id = connection.execute(
            text("SELECT external_id FROM response WHERE id = 7")
        ).scalar_one()
        forget_response(connection, external_id, source="sample", actor="cli:recorder")


def _leave_work(store):
    """Leave a job in the middle, a job that nobody has begun, and the run of a killed command."""
    from judgeboard.runs.jobs import request_rejudge
    from judgeboard.runs.judging import Judging, make_judge
    from judgeboard.store.filters import RowFilter
    from judgeboard.store.jobs import register_worker, set_run
    from judgeboard.store.judge_versions import ensure_version

    judge = make_judge(LEXICAL)
    begun, waiting, killed = (
        RowFilter(query_types=(name,)) for name in ("complex", "simple", "sql")
    )
    job_id = request_rejudge(store, judge={"kind": LEXICAL}, where=begun, actor="Mara")
    request_rejudge(store, judge={"kind": LEXICAL}, where=waiting, actor="Mara")
    with store.writing() as connection:
        version = ensure_version(connection, judge.version)
        run_of_job = Judging(judge=judge, where=begun, mode="all").begin(
            connection, version, "Mara"
        )
        set_run(connection, job_id, run_of_job.id)
        register_worker(connection, "server")
        Judging(judge=judge, where=killed, mode="all").begin(connection, version, "cli:recorder")
        connection.execute(
            text("UPDATE worker SET heartbeat_at = :at"),
            {"at": datetime.now(UTC).replace(tzinfo=None) - timedelta(1)},
        )


SCHEMA = """\
name: support
fields:
  - label
  - groundedness
  - name: verdict
    type: category
    required: true
    options: [send, fix, discard]
  - name: causes
    type: category
    many: true
    options: [retrieval, answer, question]
    shown_when: {verdict: [fix, discard]}
  - {name: tone, type: scale, levels: {1: rude, 2: neutral, 3: friendly}}
"""


def record(database, folder, files=()):
    """Fill a database and write what it shows to ``shown.json``; ``files`` alternate with their kinds."""
    folder.mkdir(parents=True, exist_ok=True)
    if files:
        with closing(open_store(database, create=True)) as store:
            for file, kind in zip(files[::2], files[1::2], strict=True):
                import_file(store, Path(file), kind=kind, rejected=folder / "rejected.jsonl")
    else:
        fill(database, folder)
    shown = {
        "exports": exports(database, folder / "exports"),
        "figures": figures(database, LOG_FIGURES if files else FIGURES),
    }
    (folder / "shown.json").write_text(json.dumps(shown, ensure_ascii=False), encoding="utf-8")


def unpack(archive, folder):
    """Write the files of an archive of ours into a folder."""
    with tarfile.open(fileobj=archive) as tar:
        tar.extraction_filter = getattr(
            tarfile, "data_filter", lambda member, _path: member
        )  # since Python 3.11.4
        tar.extractall(folder)


def load(store, revision, folder):
    """Fill an empty database with the database of a released revision; return its recorded exports and figures."""
    archive = Path(__file__).parent / "data" / f"demo_{revision}_{store.engine.dialect.name}.tar.xz"
    with archive.open("rb") as file:
        unpack(file, folder)
    if store.is_sqlite:
        store.close()
        (folder / "demo.db").replace(str(store.engine.url.database))
    else:
        with closing(store.engine.raw_connection()) as connection:
            connection.cursor().execute(
                (folder / "demo.sql").read_text(encoding="utf-8")
            )  # pg_dump --inserts
            connection.commit()
            connection.detach()  # the dump changes settings of the session
    return json.loads((folder / "shown.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
