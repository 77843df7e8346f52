"""The sample data of `quickstart`: a log with judgments and reviews."""

import gzip
import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeboard.domain import Decision, Grade, Label, QueueOrder
from judgeboard.errors import BadInput
from judgeboard.registry.methods import load_object, registrations
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.store.engine import Store

ACTOR = "demo"
SOURCE, REPLAY = "sample", "replay"
FILLED = "demo filled"
SECOND_JUDGE = "climb-judge-8b"
QUEUE = "Complex answers"
FAILURE_MODE = "unsupported statement"
DECIDED = datetime(2026, 11, 4, 9, tzinfo=UTC)  # the morning after the last grade of the sample log
RANDOM_SHARE = 0.5  # as in data/sample_source/selection.py, which grades these answers
RANDOM_GRADES = "random_grades.jsonl.gz"
REPLAYS = "answers of a replay"
# Name of the rows in messages -> the file, the kind of rows and the source (None: the rows are about
# both sources).
FILES = {
    "answers": ("responses.jsonl.gz", "responses", SOURCE),
    REPLAYS: ("replays.jsonl.gz", "responses", REPLAY),
    "verdicts of a second judge": ("verdicts.jsonl.gz", "verdicts", SOURCE),
    "grades by people": ("grades.jsonl.gz", "grades", SOURCE),
    "grades of a random sample": (RANDOM_GRADES, "grades", None),
    "pairs": ("pairs.jsonl.gz", "pairs", SOURCE),
    "sampled questions": ("samples.jsonl.gz", "samples", SOURCE),
}
_PACKAGE = Path(__file__).parents[1]
_PLACES = (_PACKAGE / "bundled_sample", _PACKAGE.parents[1] / "data" / "sample")


def sample_folder() -> Path:
    """Return the folder of the sample log, in an installed wheel or in a checkout."""
    for folder in _PLACES:
        if (folder / "responses.jsonl.gz").is_file():
            return folder
    raise BadInput(
        f"the sample log is missing from this installation ({_PLACES[0]}): install judgeboard again"
    )


def fill(store: "Store", say: Callable[[str], None] = lambda _line: None) -> None:
    """Store the sample log with judgments and reviews; rows that are stored already stay unchanged."""
    from sqlalchemy import JSON, select, text

    folder = sample_folder()
    content = b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
    sample = {"package": version("judgeboard"), "sample": hashlib.sha256(content).hexdigest()}
    latest = text("SELECT details FROM event WHERE kind = :kind ORDER BY id DESC LIMIT 1").columns(
        details=JSON
    )
    with store.reading() as connection:
        before = connection.scalar(latest, {"kind": FILLED})
    if before is not None and before.items() >= sample.items():
        # Without loading judges and importers, a second start is fast.
        for line in (
            "all answers are judged",
            *(_imported(0, n, what) for what, n in before["there"].items()),
        ):
            say(line)
        return
    from judgeboard.imports.importing import import_file
    from judgeboard.imports.kinds import KINDS
    from judgeboard.people.roster import change_settings
    from judgeboard.runs.judging import judge_pending, make_judge
    from judgeboard.store.events import record_event
    from judgeboard.store.tables import RESPONSE

    with store.reading() as connection:
        is_empty = connection.scalar(select(RESPONSE.c.id).limit(1)) is None
    if is_empty:
        change_settings(store, {"random_share": RANDOM_SHARE}, ACTOR)
    # Import each file, and judge the answers. ``counts`` has the number of usable rows per file.
    counts = {}
    for what, (file, kind, source) in FILES.items():
        if kind not in KINDS:  # of a method that is not there
            continue
        summary = import_file(store, folder / file, kind=kind, source=source, actor=ACTOR)
        say(_imported(summary.new, summary.unchanged, what))
        counts[what] = summary.usable
        if what == REPLAYS:
            judging = judge_pending(store, make_judge("lexical"), actor=ACTOR)
            line = f"{counted(judging.ok, 'answer')} judged offline by {judging.judge}"
            say(line if judging.selected else "all answers are judged")
    _decide_samples(store, folder)
    for registration in registrations():
        if registration.sample is not None:
            for line in load_object(registration.sample)(store, folder):
                say(line)
    say(f"{_review_queue(store, folder)} decisions stored in the queue {QUEUE!r}")
    with store.writing() as connection:
        record_event(connection, FILLED, ACTOR, details=sample | {"there": counts})


def _decide_samples(store: "Store", folder: Path) -> None:
    """Confirm or dismiss the graded answers that only the random sample selected, so that these leave the queue."""
    from judgeboard.measure.sample import answers_of
    from judgeboard.people.roster import ensure_reviewer
    from judgeboard.reviews.bulk import decide_many
    from judgeboard.store.responses import responses_named

    labels: dict[str, set[str]] = {}
    for file in ("grades.jsonl.gz", RANDOM_GRADES):
        for row in sample_rows(folder / file):
            if "label" in row:
                labels.setdefault(row["response_id"], set()).add(row["label"])
    with store.reading() as connection:
        answers = answers_of(connection, None)
        alone = set(answers.response_ids[answers.drawn & ~answers.picked].tolist())
        responses = responses_named(connection, labels)
    lead = ensure_reviewer(store, "page", "Ines")
    for decision, label in (
        (Decision.CONFIRM, Label.HALLUCINATED),
        (Decision.DISMISS, Label.GROUNDED),
    ):
        ids = {
            each.id
            for name, matches in responses.items()
            if labels[name] == {label}
            for each in matches
        }
        decide_many(
            store,
            ids & alone,
            reviewer=lead,
            decision=decision,
            bulk_id=f"demo:{decision}",
            now=DECIDED,
        )


def _review_queue(store: "Store", folder: Path) -> int:
    """Create the queue and store the recorded decisions of three reviewers; return how many were stored now."""
    from judgeboard.flags.rules import LOW_GROUNDEDNESS, RANDOM_SAMPLE, RULES
    from judgeboard.people.roster import change_settings, ensure_reviewer
    from judgeboard.reviews.failure_modes import save_mode
    from judgeboard.reviews.issues import save_issue
    from judgeboard.reviews.leases import take_item
    from judgeboard.reviews.queues import assign_queue, create_queue
    from judgeboard.reviews.submissions import Submission, submit
    from judgeboard.store.filters import RowFilter
    from judgeboard.store.queue_items import unfinished_items
    from judgeboard.store.queues import assignees, find_queue, new_queue
    from judgeboard.store.responses import responses_named
    from judgeboard.store.tables import Issue

    rows = sample_rows(folder / "queue_reviews.jsonl.gz")
    change_settings(store, {"implied_labels": (LOW_GROUNDEDNESS,)}, ACTOR)
    save_mode(store, FAILURE_MODE, "States something that no passage supports", key="U", by=ACTOR)
    people = {
        row["reviewer"]: ensure_reviewer(store, "page", row["reviewer"].capitalize())
        for row in rows
    }
    with store.reading() as connection:
        queue = find_queue(connection, QUEUE)
        open_to_all = queue is not None and not assignees(connection, queue.id)
    if open_to_all:  # a queue of an earlier release hides the answers from everybody
        assign_queue(store, QUEUE, by=ACTOR, add=list(people.values()))
    if queue is None:
        selective = tuple(rule for rule in RULES if rule != RANDOM_SAMPLE)
        where = RowFilter(query_types=("complex",), sources=(SOURCE,), rules=selective)
        new = new_queue(
            QUEUE, where, order=QueueOrder.OLDEST, needed=2, blind_people=True, grades=()
        )
        queue = create_queue(
            store, new, by=ACTOR, assigned=list(people.values()), now=DECIDED
        ).queue
        flagged = RowFilter(query_types=("complex",), rules=("low_groundedness",))
        about = (
            "Since the week of 12 October, most of these answers state what their passages do not."
        )
        issue = Issue(title="Complex answers are not grounded", filter=flagged, description=about)
        save_issue(store, issue, by=ACTOR)
    with store.reading() as connection:
        responses = responses_named(connection, {row["response_id"] for row in rows})
        ids = {
            name: each.id
            for name, matches in responses.items()
            for each in matches
            if each.source == SOURCE
        }
        items = unfinished_items(connection, queue.id, ids.values())
    decisions, now = 0, DECIDED
    for row in rows:
        item = items.get(ids[row["response_id"]])
        reviewer = people[row["reviewer"]]
        lease = None if item is None else take_item(store, item.id, reviewer, now=now)
        if lease is not None:
            key = f"demo:{row['reviewer']}:{row['response_id']}"
            decision = Decision(row["decision"])
            now += timedelta(seconds=row["seconds"])
            submission = Submission(
                reviewer=reviewer,
                request_key=key,
                token=lease.token,
                decision=decision,
                grade=Grade(modes=(FAILURE_MODE,) if decision is Decision.CONFIRM else ()),
                seconds=row["seconds"],
                at=now,
            )
            submit(store, submission)
            decisions += 1
    return decisions


def sample_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of the sample log."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _imported(new: int, unchanged: int, what: str) -> str:
    return f"{what}: {new:,} new, {unchanged:,} stored"
