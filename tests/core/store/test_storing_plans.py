"""Storing reads through indexes alone: what it costs does not grow with the log."""

from judgeboard.domain import Feedback, FeedbackKind, Response, Status, Verdict
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import reapply_flags, store_judgments
from query_plans import statements_of, steps_of

GROWING = ("response", "judgment", "judgment_review", "flag", "current_judgment", "user_feedback", "review")


def test_no_statement_of_storing_reads_a_whole_table(sqlite_case) -> None:
    said = (Feedback(FeedbackKind.THUMBS, 0),)
    answers = [Response(f"log {number % 3}", f"a{number}", "q", "a") for number in range(20)]
    rag, nli = sqlite_case.version(), sqlite_case.version("nli")
    with steps_of(sqlite_case.store, "SELECT", "UPDATE") as steps:
        ids = sqlite_case.add(*answers).new
        for version, status in ((rag, Status.ERROR), (rag, Status.OK), (nli, Status.OK)):
            verdict = Verdict(status, **({"groundedness": 0.1, "quality": 4} if status is Status.OK else {}))
            ask = int(status is Status.OK)
            with sqlite_case.store.writing() as connection:
                store_judgments(connection, version, None, [NewJudgment(id_, ask, 0, verdict) for id_ in ids])
        sqlite_case.add(*(Response(each.source, each.external_id, "q", "a", feedback=said) for each in answers))
        with sqlite_case.store.writing() as connection:
            reapply_flags(connection, ids)
    assert steps
    scans = [
        (statement, step)
        for statement, step in steps
        # The first judgment of all is the first row of its table.
        if step.startswith(tuple(f"SCAN {table}" for table in GROWING))
        and "ORDER BY judgment.id\n LIMIT" not in statement
    ]
    assert scans == []


def test_the_number_of_statements_does_not_depend_on_the_batch(sqlite_case) -> None:
    counts = []
    for size in (50, 200):
        ids = sqlite_case.add(*(Response(f"log {size}", f"a{number}", "q", "a") for number in range(size))).new
        version = sqlite_case.version()
        with statements_of(sqlite_case.store) as executed, sqlite_case.store.writing() as connection:
            items = [NewJudgment(id_, 0, 0, Verdict(Status.OK, groundedness=0.1)) for id_ in ids]
            store_judgments(connection, version, None, items)
        counts.append(len(executed))
    assert counts[0] == counts[1] <= 15  # one of them asks whether any queue is open
