"""Several processes on one database: nothing lands twice, nothing is lost."""

from concurrent.futures import ThreadPoolExecutor

from judgeboard.domain import Feedback, FeedbackKind, Response, Status, Verdict
from judgeboard.store.judgments import LandedVerdict
from judgeboard.store.storing import land_judgments, land_responses
from judgeboard.store.tables import FEEDBACK, FLAG, JUDGMENT, RESPONSE

WRITERS = 6
ANSWERS = 40


def logged(number: int) -> Response:
    return Response("log", f"a{number}", "q", "a", feedback=(Feedback(FeedbackKind.THUMBS, 1),))


def test_two_imports_of_one_log_land_it_once(desk) -> None:
    def land(_writer: int) -> tuple[int, int, int]:
        with desk.store.writing() as connection:
            landed = land_responses(connection, [logged(number) for number in range(ANSWERS)])
        return len(landed.new), landed.unchanged, landed.feedback_added

    with ThreadPoolExecutor(WRITERS) as threads:
        landed = list(threads.map(land, range(WRITERS)))
    assert sum(new for new, _, _ in landed) == len(desk.rows(RESPONSE)) == ANSWERS
    assert all(new + unchanged == ANSWERS for new, unchanged, _ in landed)
    assert sum(added for _, _, added in landed) == len(desk.rows(FEEDBACK)) == ANSWERS


def test_one_ask_answered_by_several_lands_once_with_one_flag(desk) -> None:
    ids = desk.land(*(logged(number) for number in range(ANSWERS))).new
    rag, nli = desk.version(), desk.version("nli")

    def land(writer: int) -> int:
        order = ids if writer % 2 else ids[::-1]  # locks are taken in one order whatever the batch's is
        version = nli if writer % 3 == 0 else rag
        items = [LandedVerdict(id_, 0, 0, Verdict(Status.OK, groundedness=0.1, quality=4)) for id_ in order]
        with desk.store.writing() as connection:
            return land_judgments(connection, version, None, items)

    with ThreadPoolExecutor(WRITERS) as threads:
        stored = list(threads.map(land, range(WRITERS)))
    assert sum(stored) == len(desk.rows(JUDGMENT)) == 2 * ANSWERS
    open_flags = [flag for flag in desk.rows(FLAG) if flag["state"] == "open"]
    assert len({(flag["response_id"], flag["rule"]) for flag in open_flags}) == len(open_flags)
    assert all(len([row for row in desk.current(id_) if row["is_current"]]) == 2 for id_ in ids)
