"""What a reviewer is to review blind is in nothing that the server sends to their browser."""

import re
import struct
from collections.abc import Callable, Sequence

import pytest

from app_pages import OpenPage, markup, shown
from judgeboard.domain import QueueOrder
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.queues import assign_queue, create_queue
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.queues import QueueRules
from judgeboard_dashboard.app import PAGES
from marked_answer import SCORE, SECOND, SEVERITY, MarkedAnswer, mark_answer
from page_session import PageSession, page_session
from served import serving

# Not the names of styles, which have something before them.
MARKER = re.compile(rb"(?<![\w-])mark-[a-z_]+|" + b"|".join(re.escape(str(one).encode()) for one in (SCORE, SEVERITY)))
# As a table sends them.
NUMBERS = {struct.pack("<d", one): str(one).encode() for one in (SCORE, SEVERITY, SECOND)}


def give_blind(store: Store) -> MarkedAnswer:
    """Store a marked answer, which a queue gives to Mara, who is to review it blind."""
    mara, ada, lead = (ensure_reviewer(store, "page", name) for name in ("Mara", "Ada", "Lead"))
    answer = mark_answer(store, ada)
    rules = QueueRules(
        "secret", RowFilter(ids=("marked",)), order=QueueOrder.OLDEST, blind_people=True, blind_judge=True, needed=2
    )
    create_queue(store, rules, by=lead, assigned=(mara,))
    create_queue(store, QueueRules("secret pairs", order=QueueOrder.RANDOM, subject="pairs"), by=lead, assigned=(mara,))
    return answer


def markers(session: PageSession) -> dict[str, set[bytes]]:
    """The markers that came, by address."""
    by_address = {
        address: set(MARKER.findall(came)) | {name for raw, name in NUMBERS.items() if raw in came}
        for address, payloads in session.sent.items()
        for came in [b" ".join(payloads)]
    }
    return {address: found for address, found in by_address.items() if found}


# Pages that show the same at their bare address, with a choice of their own: one of those made by hand is enough.
CHOSEN = ("/disagreement", "/agreement", "/trends", "/audits", "/judges", "/self_reference")


def addresses(marked: MarkedAnswer) -> list[str]:
    """Every page, and addresses made by hand that ask for the marked answer in every way that a page shows rows.

    Which rows a filter finds is checked where it is cheap: `test_no_filter_tells_by_what_it_finds`.
    """
    one, flag, pair = marked.response_id, marked.flag_id, marked.pair_id
    rag, two = (marked.versions[name] for name in ("rag", "two"))
    by_hand = [
        f"/item?flag={flag}",
        f"/item?response={one}",
        f"/item?response={marked.attempt_id}",
        "/item?queue=secret",
        "/item?queue=secret+pairs",
        "/open_flags?rule=low_groundedness&id=marked",
        "/responses?id=marked&all=1",
        f"/disagreement?version={rag}&grade=groundedness",
        f"/disagreement?version={rag}&grade=label&table=true",
        f"/agreement?version={rag}&grade=groundedness&tables=true",
        "/agreement?people=Ada&grade=quality",
        "/trends?show=low_share&by=day&table=true",
        f"/runs?run={marked.run_id}",
        f"/pairs?pair={pair}&in=overall&of={two}&seen=1",
        f"/rejudge?response={one}",
        f"/rejudge?run={marked.run_id}",
        f"/rejudge?response={one}&rows=filter&max_score=0.5",
        f"/audits?audited={rag}",
        f"/judges?version={rag}&table=true",
        f"/self_reference?item={pair}",
    ]
    whole = {address.partition("?")[0].replace("-", "_") for address in by_hand if address.startswith(CHOSEN)}
    return [*(f"/{view}" for tabs in PAGES.values() for view in tabs if f"/{view}" not in whole), *by_hand]


def tour(url: str, reviewer: str, places: Sequence[str]) -> dict[str, set[bytes]]:
    """The markers that are sent to a reviewer at these addresses."""
    with page_session(url, {"judgeboard_reviewer": reviewer}) as session:
        for address in places:
            session.open(address)
    return markers(session)


TELLING = (
    "/item?response",
    "/responses?id",
    "/disagreement?version",
    "/pairs?pair",
    "/runs?run",
    "/open_flags?rule",
)


def test_nothing_that_is_hidden_is_sent_to_a_blind_reviewer_and_others_are_told(new_store: Callable[[], Store]) -> None:
    store = new_store()
    every = addresses(give_blind(store))
    with serving(str(store.engine.url.database)) as url:
        told = tour(url, "Jon", [one for one in every if one.startswith(TELLING)])
        assert tour(url, "Mara", every) == {}
    assert {page.split("?")[0] for page in told} >= {page.split("?")[0] for page in TELLING}
    texts = set().union(*told.values())
    assert texts >= {b"mark-reasoning", b"mark-claim", b"mark-review", b"mark-generator", b"mark-refinement"}


@pytest.fixture
def answer(page_store: Store) -> MarkedAnswer:
    return give_blind(page_store)


def test_the_page_says_what_is_left_out_and_where_it_waits(answer: MarkedAnswer, open_page: OpenPage) -> None:
    assert "1 answer is hidden until you have reviewed it blind." in shown(open_page("responses"))
    item = shown(open_page("item", response=answer.response_id))
    assert "You review this answer without seeing the judge and other reviewers." in item
    assert "answer of marked" in item


def test_an_answer_that_is_assigned_is_hidden_on_the_next_look(
    answer: MarkedAnswer, page_store: Store, open_page: OpenPage
) -> None:
    """Nobody assigned it to Ben: it is hidden from him once somebody does."""
    mara, ben = (ensure_reviewer(page_store, "page", name) for name in ("Mara", "Ben"))
    rules = QueueRules("open", RowFilter(ids=("marked",)), order=QueueOrder.OLDEST, blind_judge=True)
    create_queue(page_store, rules, by=ben, assigned=(mara,))
    assert "mark-reasoning" in markup(open_page("item", reviewer="Ben", response=answer.response_id))
    assign_queue(page_store, "open", by=ben, add=(ben,))
    page = open_page("item", reviewer="Ben", response=answer.response_id)
    assert "Blind until you grade" in markup(page)
    assert "mark-reasoning" not in markup(page)
