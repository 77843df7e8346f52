"""What a reviewer is to review blind is in nothing that the server sends to their browser."""

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, Response, expect

from judgeboard.domain import QueueOrder
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.queues import assign_queue, create_queue
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.queues import QueueRules
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.app import PAGES
from marked_answer import SCORE, SECOND, SEVERITY, MarkedAnswer, mark_answer
from page_state import idle, visit
from served import serving

pytestmark = pytest.mark.browser

# Not the names of styles, which have something before them.
MARKER = re.compile(rb"(?<![\w-])mark-[a-z_]+|" + b"|".join(re.escape(str(one).encode()) for one in (SCORE, SEVERITY)))
# As a table sends them.
NUMBERS = {struct.pack("<d", one): str(one).encode() for one in (SCORE, SEVERITY, SECOND)}


@dataclass(frozen=True)
class Marked:
    """A served database with a marked answer that a queue gives to Mara, who is to review it blind."""

    url: str
    store: Store
    answer: MarkedAnswer
    mara: Reviewer


@pytest.fixture(scope="module")
def site(new_store: Callable[[], Store], port: int) -> Iterator[Marked]:
    """The server."""
    store = new_store()
    mara, ada, lead = (ensure_reviewer(store, "page", name) for name in ("Mara", "Ada", "Lead"))
    answer = mark_answer(store, ada)
    rules = QueueRules(
        "secret", RowFilter(ids=("marked",)), order=QueueOrder.OLDEST, blind_people=True, blind_judge=True, needed=2
    )
    create_queue(store, rules, by=lead, assigned=(mara,))
    with serving(str(store.engine.url.database), port) as url:
        yield Marked(url, store, answer, mara)


@dataclass
class Wire:
    """All that came to one browser, by the address it was at."""

    page: Page
    at: str = ""
    frames: dict[str, list[bytes]] = field(default_factory=dict)
    answers: list[tuple[str, Response]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._frame))
        self.page.on("response", lambda answer: self.answers.append((self.at, answer)))

    def _frame(self, payload: str | bytes) -> None:
        self.frames.setdefault(self.at, []).append(payload.encode() if isinstance(payload, str) else payload)

    def open(self, address: str) -> None:
        self.at = address
        visit(self.page, address)
        expect(self.page.locator("[data-testid=stMain]")).to_be_visible()
        self.wait_for_silence()  # fragments and charts come after
        idle(self.page)

    def wait_for_silence(self) -> None:
        came = -1
        while came != (came := sum(map(len, self.frames.values()))):
            self.page.wait_for_timeout(100)

    def download_all(self) -> None:
        """Press every button of the page that downloads something."""
        expanders = self.page.locator("[data-testid=stExpander] details:not([open]) > summary").all()
        for closed in expanders:
            closed.click()
        if expanders:
            self.page.wait_for_timeout(500)  # they open slowly, and move what is below them
        for button in self.page.locator("[data-testid=stDownloadButton] button").all():
            with self.page.expect_download() as download:
                button.click()
            self.frames.setdefault(f"{self.at} {download.value.suggested_filename}", []).append(
                Path(download.value.path()).read_bytes()
            )

    def markers(self) -> dict[str, set[bytes]]:
        """The markers that came, by address."""
        by_address: dict[str, set[bytes]] = {}
        for at, answer in self.answers:
            if answer.request.resource_type in {"script", "stylesheet", "font", "image", "websocket"}:
                continue
            self.frames.setdefault(at, []).append(_body(answer))
        for at, payloads in self.frames.items():
            for payload in payloads:
                marks = set(MARKER.findall(payload)) | {name for raw, name in NUMBERS.items() if raw in payload}
                if marks:
                    by_address.setdefault(at, set()).update(marks)
        return by_address


def _body(answer: Response) -> bytes:
    try:
        return answer.body()
    except Exception:  # noqa: BLE001 - redirects and downloads have none; those are read where they are saved
        return b""


# Pages that show the same at their bare address, with a choice of their own: one of those made by hand is enough.
CHOSEN = ("/disagreement", "/agreement", "/trends", "/audits", "/judges", "/self-reference")


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
        f"/self-reference?item={pair}",
    ]
    whole = {address.partition("?")[0].replace("-", "_") for address in by_hand if address.startswith(CHOSEN)}
    return [*(f"/{view}" for tabs in PAGES.values() for view in tabs if f"/{view}" not in whole), *by_hand]


def tour(page: Page, places: Sequence[str]) -> Wire:
    wire = Wire(page)
    for address in places:
        wire.open(address)
        wire.download_all()
    return wire


# A test each: a loaded machine takes seconds for a page.
PARTS = 2
TELLING = (
    "/item?response",
    "/responses?id",
    "/disagreement?version",
    "/pairs?pair",
    "/runs?run",
    "/open_flags?rule",
)


def test_whoever_is_not_blind_is_told(reviewer, site: Marked) -> None:
    """Else the next test could not fail."""
    every = addresses(site.answer)
    markers = tour(reviewer("Jon"), [one for one in every if one.startswith(TELLING)]).markers()
    assert {page.split("?")[0] for page in markers} >= {
        "/item",
        "/responses",
        "/disagreement",
        "/pairs",
        "/runs",
        "/open_flags",
    }
    texts = set().union(*markers.values())
    assert texts >= {b"mark-reasoning", b"mark-claim", b"mark-review", b"mark-generator", b"mark-refinement"}


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_that_is_hidden_comes_to_the_browser_of_a_blind_reviewer(reviewer, site: Marked, part: int) -> None:
    assert tour(reviewer("Mara"), addresses(site.answer)[part::PARTS]).markers() == {}


def test_the_page_says_what_is_left_out_and_where_it_waits(reviewer, site: Marked) -> None:
    page = reviewer("Mara")
    page.goto("/responses")
    expect(page.get_by_text("1 answer is hidden until you have reviewed it blind.")).to_be_visible()
    visit(page, f"/item?response={site.answer.response_id}")
    expect(page.get_by_text("You review this answer without seeing the judge and other reviewers.")).to_be_visible()
    expect(page.get_by_text("answer of marked")).to_be_visible()


def test_an_answer_that_is_assigned_is_hidden_on_the_next_look(reviewer, site: Marked) -> None:
    """Nobody assigned it to Ben: it is hidden from him once somebody does."""
    ben = ensure_reviewer(site.store, "page", "Ben")
    rules = QueueRules("open", RowFilter(ids=("marked",)), order=QueueOrder.OLDEST, blind_judge=True)
    create_queue(site.store, rules, by=ben, assigned=(site.mara,))
    page = reviewer("Ben")
    page.goto(f"/item?response={site.answer.response_id}")
    expect(page.get_by_text("mark-reasoning").first).to_be_visible()
    assign_queue(site.store, "open", by=ben, add=(ben,))
    page.reload()
    expect(page.get_by_text("Blind until you grade")).to_be_visible()
    expect(page.get_by_text("mark-reasoning")).to_have_count(0)
