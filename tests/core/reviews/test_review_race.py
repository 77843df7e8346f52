"""Eight reviewers press on the same fifty flags at once: each flag is decided once, nothing that was typed is lost."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

from judgeboard.domain import Decision, Grade, JudgeVersion, QueueOrder, Response, Status, Verdict
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.changes import undo
from judgeboard.reviews.decisions import decide
from judgeboard.reviews.queues import QueueRules, create_queue
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import FLAG, JUDGMENT, REVIEW
from pair_log import add_pairs
from stored_rows import rows_of

REVIEWERS, FLAGS = 8, 50


def test_each_flag_is_decided_once(store: Store) -> None:
    with store.writing() as connection:
        set_setting(connection, "random_share", 0, "test")
        ids = store_responses(connection, [Response("log", f"a{n}", "q", "a") for n in range(FLAGS)]).new
        low = Verdict(Status.OK, groundedness=0.1)
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        store_judgments(connection, version, None, [NewJudgment(id_, 0, 0, low) for id_ in ids])
    flags = [flag["id"] for flag in rows_of(store, FLAG)]
    people = [ensure_reviewer(store, "page", f"reviewer {n}") for n in range(REVIEWERS)]
    ready = Barrier(REVIEWERS)

    def work(reviewer: Reviewer) -> tuple[list[int], list[int]]:
        decided, refused = [], []
        ready.wait()
        for flag in flags:
            try:
                decide(
                    store,
                    flag_id=flag,
                    reviewer=reviewer,
                    decision=Decision.CONFIRM if reviewer.id % 2 else Decision.DISMISS,
                    grade=Grade(note=f"by {reviewer.name}"),
                    request_key=f"{reviewer.id} on {flag}",
                )
                decided.append(flag)
            except DecisionRefused:
                refused.append(flag)
        return decided, refused

    with ThreadPoolExecutor(REVIEWERS) as pool:
        outcomes = list(pool.map(work, people))

    assert sorted(flag for decided, _ in outcomes for flag in decided) == flags
    assert all(sorted(decided + refused) == flags for decided, refused in outcomes)
    reviews = rows_of(store, REVIEW)
    assert len(reviews) == REVIEWERS * FLAGS, "every note is there, decided or refused"
    for flag in rows_of(store, FLAG):
        of_answer = [row for row in reviews if row["response_id"] == flag["response_id"]]
        (decision,) = [row["decision"] for row in of_answer if row["decision"]]
        assert flag["state"] == {"confirm": "confirmed", "dismiss": "dismissed"}[decision]


def test_presses_and_verdicts_at_once_wait_for_each_other_but_never_for_ever(store: Store) -> None:
    with store.writing() as connection:
        set_setting(connection, "random_share", 0, "test")
        ids = store_responses(connection, [Response("log", f"a{n}", "q", "a") for n in range(10)]).new
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        low = Verdict(Status.OK, groundedness=0.1)
        store_judgments(connection, version, None, [NewJudgment(id_, 0, 0, low) for id_ in ids])
    flags = [flag["id"] for flag in rows_of(store, FLAG)]
    people = [ensure_reviewer(store, "page", name) for name in ("Mara", "Jon")]

    def judge(first_ask: int) -> None:
        for ask in range(first_ask, first_ask + 8):
            again = Verdict(Status.OK, groundedness=0.9 if ask % 2 else 0.2)
            with store.writing() as connection:
                store_judgments(connection, version, None, [NewJudgment(id_, ask, 0, again) for id_ in ids])

    def press(reviewer: Reviewer) -> None:
        for turn in range(4):
            for flag in reversed(flags):
                key = f"{reviewer.id} {flag} {turn}"
                with suppress(DecisionRefused):
                    done = decide(store, flag_id=flag, reviewer=reviewer, decision=Decision.CONFIRM, request_key=key)
                    undo(store, review_id=done.review_id, reviewer=reviewer, request_key=f"undo {key}")

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(judge, 1), pool.submit(judge, 100), *(pool.submit(press, one) for one in people)]
    for job in jobs:
        job.result()
    assert len(rows_of(store, JUDGMENT)) == 10 * 17


def test_of_several_queues_with_one_name_at_once_one_is_created_and_the_others_are_refused(store: Store) -> None:
    lead = ensure_reviewer(store, "page", "lead")
    add_pairs(store, 3)
    ready = Barrier(8)

    def create(_number: int) -> str:
        ready.wait()
        try:
            return create_queue(store, QueueRules("same", subject="pairs", order=QueueOrder.OLDEST), by=lead).queue.name
        except BadInput as refused:
            return str(refused)

    with ThreadPoolExecutor(8) as pool:
        outcomes = sorted(pool.map(create, range(8)))
    assert outcomes == ["same"] + ["there is a queue 'same' already: choose another name"] * 7
