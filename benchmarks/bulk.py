"""Prints the seconds of one decision on 10,000 flagged answers, and of its undo: ``python benchmarks/bulk.py``."""

import tempfile
import time
from pathlib import Path

from judgeboard.domain import Decision, JudgeVersion, Response, Status, Verdict
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.bulk import MOST_ANSWERS, decide_many, undo_many
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.open_flags import listed_answers
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_judgments, store_responses


def main() -> None:
    """Store the answers, decide all of them, and undo it."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "bulk.db", create=True)
        responses = [
            Response("log", f"a{number}", "q?", "an answer") for number in range(MOST_ANSWERS)
        ]
        with store.writing() as connection:
            version = ensure_version(connection, JudgeVersion("rag", "rag"))
            ids = store_responses(connection, responses).new
            verdict = Verdict(Status.OK, groundedness=0.1)
            store_judgments(
                connection, version, None, [NewJudgment(id_, 0, 0, verdict) for id_ in ids]
            )
        reviewer = ensure_reviewer(store, "page", "Mara")
        started = time.perf_counter()
        with store.reading() as connection:
            ids = list(
                listed_answers(connection, RowFilter(), most=MOST_ANSWERS, reviewer_id=reviewer.id)
            )
        decided = decide_many(store, ids, reviewer=reviewer, decision=Decision.CONFIRM, bulk_id="b")
        print(f"{decided.decided:,} answers confirmed in {time.perf_counter() - started:.1f} s")
        started = time.perf_counter()
        undone = undo_many(store, "b", reviewer=reviewer)
        print(f"{undone:,} undone in {time.perf_counter() - started:.1f} s")
        store.close()


if __name__ == "__main__":
    main()
