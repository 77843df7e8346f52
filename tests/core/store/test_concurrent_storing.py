"""Several processes on one database: nothing is stored twice, nothing is lost."""

from concurrent.futures import ThreadPoolExecutor

from judgeboard.domain import Feedback, FeedbackKind, Response, Status, Verdict
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import FEEDBACK, FLAG, JUDGMENT, RESPONSE

WRITERS = 6
ANSWERS = 40


def logged(number: int) -> Response:
    return Response("log", f"a{number}", "q", "a", feedback=(Feedback(FeedbackKind.THUMBS, 1),))


def test_two_imports_of_one_log_store_it_once(case) -> None:
    def add(_writer: int) -> tuple[int, int, int]:
        with case.store.writing() as connection:
            result = store_responses(connection, [logged(number) for number in range(ANSWERS)])
        return len(result.new), result.unchanged, result.feedback_added

    with ThreadPoolExecutor(WRITERS) as threads:
        result = list(threads.map(add, range(WRITERS)))
    assert sum(new for new, _, _ in result) == len(case.rows(RESPONSE)) == ANSWERS
    assert all(new + unchanged == ANSWERS for new, unchanged, _ in result)
    assert sum(added for _, _, added in result) == len(case.rows(FEEDBACK)) == ANSWERS


def test_one_ask_answered_by_several_is_stored_once_with_one_flag(case) -> None:
    ids = case.add(*(logged(number) for number in range(ANSWERS))).new
    rag, nli = case.version(), case.version("nli")

    def add(writer: int) -> int:
        order = ids if writer % 2 else ids[::-1]  # locks are taken in one order whatever the batch's is
        version = nli if writer % 3 == 0 else rag
        items = [NewJudgment(id_, 0, 0, Verdict(Status.OK, groundedness=0.1, quality=4)) for id_ in order]
        with case.store.writing() as connection:
            return store_judgments(connection, version, None, items)

    with ThreadPoolExecutor(WRITERS) as threads:
        stored = list(threads.map(add, range(WRITERS)))
    assert sum(stored) == len(case.rows(JUDGMENT)) == 2 * ANSWERS
    open_flags = [flag for flag in case.rows(FLAG) if flag["state"] == "open"]
    assert len({(flag["response_id"], flag["rule"]) for flag in open_flags}) == len(open_flags)
    assert all(len([row for row in case.current(id_) if row["is_current"]]) == 2 for id_ in ids)


def test_writers_that_wait_for_their_turn_keep_no_connection(case) -> None:
    pool = case.store.engine.pool

    def write(number: int) -> int:
        with case.store.writing() as connection:
            store_responses(connection, [logged(number)])
            return pool.checkedout()

    with ThreadPoolExecutor(40) as threads:
        most = max(threads.map(write, range(40)))
    if case.store.is_sqlite:
        assert most == 1
    assert len(case.rows(RESPONSE)) == 40
