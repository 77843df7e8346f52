"""What a reviewer is to review blind is in nothing that the server sends to their browser."""

import re
import struct

import pytest
import streamlit as st

from alert_checks import check
from app_pages import button_labels, charts, markup, shown
from graded_log import GradedLog, nine_weeks
from judgeboard.alerts.rules import add_alert_rule
from judgeboard.domain import AlertCondition, QueueOrder
from judgeboard.health import record
from judgeboard.measure import scored_labels
from judgeboard.measure.alarms import watch
from judgeboard.measure.rates import rate_of
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.queues import assign_queue, close_queue, create_queue
from judgeboard.settings.sections import AlertSettings
from judgeboard.store.filters import RowFilter
from judgeboard.store.queues import new_queue
from judgeboard_dashboard.app import FIRST, TABS
from judgeboard_dashboard.sign_in import own_cookie
from judgeboard_dashboard.widgets import log_figures, texts
from marked_answer import SCORE, SECOND, SEVERITY, mark_answer
from page_session import page_session
from served import serving

# Not the names of styles, which have something before them.
MARKER = re.compile(
    rb"(?<![\w-])mark-[a-z_]+|"
    + b"|".join(re.escape(str(one).encode()) for one in (SCORE, SEVERITY))
)
# As a table sends them.
NUMBERS = {struct.pack("<d", one): str(one).encode() for one in (SCORE, SEVERITY, SECOND)}

BLIND = {"blind_people": True, "blind_judge": True}


def give_blind(store):
    """Store a marked answer, which a queue gives to Mara, who is to review it blind."""
    mara, ada, lead = (ensure_reviewer(store, "page", name) for name in ("Mara", "Ada", "Lead"))
    answer = mark_answer(store, ada)
    marked = RowFilter(ids=("marked",))
    for rules in (
        new_queue("secret", marked, order="oldest", needed=2, **BLIND),
        new_queue("secret pairs", order="random", subject="pairs"),
    ):
        create_queue(store, rules, by=lead, assigned=(mara,))
    return answer


def markers(session):
    """The markers that came, by address."""
    by_address = {
        address: set(MARKER.findall(came)) | {name for raw, name in NUMBERS.items() if raw in came}
        for address, payloads in session.sent.items()
        for came in [b" ".join(payloads)]
    }
    return {address: found for address, found in by_address.items() if found}


# Pages that show the same at their bare address, with a choice of their own: one of those made by
# hand is enough.
CHOSEN = ("/agreement", "/trends", "/judges", "/self_reference")


def addresses(marked):
    """Every page, and addresses made by hand that ask for the marked answer in every way that a page shows rows.

    Which rows a filter finds is checked where it is cheap: `test_no_filter_tells_by_what_it_finds`.
    """
    one, flag, pair = marked.response_id, marked.flag_id, marked.pair_id
    rag = marked.versions["rag"]
    by_hand = [
        f"/item?flag={flag}",
        f"/item?response={one}",
        f"/item?response={marked.attempt_id}",
        "/item?queue=secret",
        "/item?queue=secret+pairs",
        "/open_flags?rule=low_groundedness&id=marked",
        "/responses?id=marked&all=1",
        f"/agreement?version={rag}&grade=groundedness&tables=true",
        "/agreement?people=Ada&grade=Quality&cell=quality:3:2",
        "/trends?show=low_share&by=day&tables=true",
        f"/runs?run={marked.run_id}",
        f"/pairs?pair={pair}",
        f"/rejudge?response={one}",
        f"/verdicts?run={marked.run_id}",
        f"/rejudge?response={one}&rows=filter&max_score=0.5",
        f"/judges?version={rag}&tables=true&list=Missed",
        f"/self_reference?item={pair}",
    ]
    whole = {
        address.partition("?")[0].replace("-", "_")
        for address in by_hand
        if address.startswith(CHOSEN)
    }
    views = (view for view in TABS if f"/{view}" not in whole)
    return ["/", *(f"/{view}" for view in views if view != FIRST), *by_hand]


def tour(url, reviewer, places):
    """The markers that are sent to a reviewer at these addresses."""
    with page_session(url, {own_cookie("judgeboard_reviewer", url): reviewer}) as session:
        for address in places:
            session.open(address)
    return markers(session)


TELLING = (
    "/item?response",
    "/responses?id",
    "/agreement?people",
    "/pairs?pair",
    "/runs?run",
    "/open_flags?rule",
)


def test_nothing_that_is_hidden_is_sent_to_a_blind_reviewer_and_others_are_told(new_store):
    store = new_store()
    every = addresses(give_blind(store))
    with serving(str(store.engine.url.database)) as url:
        telling = [one for one in every if one.startswith(TELLING)]
        told = tour(url, "Jon", telling)
        assert tour(url, "Mara", every) == {}
        assert tour(url, "Jon", telling) == told
    assert {page.split("?")[0] for page in told} >= {page.split("?")[0] for page in TELLING}
    told_texts = set().union(*told.values())
    assert told_texts >= {b"mark-reasoning", b"mark-claim", b"mark-generator", b"mark-refinement"}
    # Jon has not reviewed the answer.
    assert not any(
        b"mark-review" in marks for page, marks in told.items() if page.startswith("/item")
    )


@pytest.fixture
def answer(page_store):
    return give_blind(page_store)


def test_the_page_says_what_is_left_out_and_where_it_waits(answer, open_page):
    assert re.search(r"\d+ of \d+", shown(open_page("responses")))
    page = open_page("item", response=answer.response_id)
    assert "answer of marked" in shown(page)
    assert "Judge again" not in button_labels(page)


def test_an_answer_that_is_assigned_is_hidden_on_the_next_look(answer, page_store, open_page):
    """Nobody assigned it to Ben: it is hidden from him once somebody does."""
    mara, ben = (ensure_reviewer(page_store, "page", name) for name in ("Mara", "Ben"))
    rules = new_queue("open", RowFilter(ids=("marked",)), order="oldest", blind_judge=True)
    create_queue(page_store, rules, by=ben, assigned=(mara,))
    assert "mark-reasoning" in markup(
        open_page("item", reviewer="Ben", response=answer.response_id)
    )
    assign_queue(page_store, "open", by=ben, add=(ben,))
    page = open_page("item", reviewer="Ben", response=answer.response_id)
    assert "mark-reasoning" not in markup(page)


def secret_queue(name, items):
    secret = RowFilter(query_types=("secret",))
    return new_queue(
        name, secret, order=QueueOrder.RANDOM, flagged_only=False, max_items=items, **BLIND
    )


def half_hidden(store, hidden_bad):
    """Store nine weeks of answers; Mara reviews the type ``secret`` blind, of which one in so many becomes bad."""
    log, to = GradedLog(store), "command"
    nine_weeks(log, 10, query_type="open")
    nine_weeks(log, hidden_bad, query_type="secret")
    for name, settings in {
        "mean": AlertSettings(when=AlertCondition.LEVEL, to=(to,), below=0.8),
        "flags": AlertSettings(when=AlertCondition.OPEN_FLAGS, to=(to,), above=100),
        "alarms": AlertSettings(when=AlertCondition.ALARM, to=(to,)),
    }.items():
        add_alert_rule(store, name, settings, "Lead")
    mara, lead = (ensure_reviewer(store, "page", name) for name in ("Mara", "Lead"))
    create_queue(store, secret_queue("secret", 360), by=lead, assigned=(mara,))
    watch(store, by="test")
    check(store)
    return store


def test_a_blind_reviewer_is_sent_the_same_whatever_the_hidden_answers_are(
    new_store, open_page, monkeypatch
):
    monkeypatch.setenv("JUDGEBOARD_ALERT_COMMAND", "true")
    sent = {"Jon": [], "Mara": []}
    for hidden_bad in (10, 2):
        store = half_hidden(new_store(), hidden_bad)
        monkeypatch.setenv("JUDGEBOARD_DB", str(store.engine.url.database))
        monkeypatch.setattr(
            texts, "DEFAULT_DATABASE", str(store.engine.url.database)
        )  # commands need no --db
        for reviewer in ("Jon", "Mara", "Jon"):  # what is kept for Jon is nothing for Mara
            pages = [
                open_page(name, reviewer=reviewer)
                for name in ("overview", "trends", "alerts", "agreement")
            ]
            pages.append(open_page("trends", reviewer=reviewer, show="corrected"))
            sent[reviewer].append([(markup(page), charts(page)) for page in pages])
            for page in pages if reviewer == "Mara" else ():
                assert "360 of 720" in shown(page)
                assert "change of" not in shown(page)
    same, other = sent["Mara"]
    assert same == other
    before, again, after, _ = sent["Jon"]
    assert before == again
    assert again != after


def test_figures_of_a_blind_reviewer_are_kept_until_other_rows_are_hidden(
    new_store, open_page, monkeypatch
):
    monkeypatch.setenv("JUDGEBOARD_ALERT_COMMAND", "true")
    store, reads = half_hidden(new_store(), 10), []
    lead, ben, _ = (ensure_reviewer(store, "page", name) for name in ("Lead", "Ben", "Jon"))
    monkeypatch.setenv("JUDGEBOARD_DB", str(store.engine.url.database))
    monkeypatch.setattr(
        log_figures, "rate_of", lambda *given: reads.append(given) or rate_of(*given)
    )
    page = open_page("overview")
    assert "360 of 720" in shown(page.run())
    assert len(reads) == 1
    assign_queue(store, "secret", by=lead, add=(ben,))
    assert "360 of 720" in shown(open_page("overview", reviewer="Ben"))
    close_queue(store, "secret", by=lead)
    for each in (page.run(), open_page("overview", reviewer="Jon")):
        assert "360 of 720" not in shown(each)
    assert len(reads) == 3


@pytest.mark.parametrize(
    ("page", "module", "load"),
    [("thresholds", scored_labels, "load_sample"), ("overview", log_figures, "corrected_trend")],
)
def test_figures_loaded_before_answers_are_hidden_are_shown_once_at_most(
    new_store, open_page, monkeypatch, page, module, load
):
    monkeypatch.setenv("JUDGEBOARD_ALERT_COMMAND", "true")
    store = half_hidden(new_store(), 2)
    lead, ben = (ensure_reviewer(store, "page", name) for name in ("Lead", "Ben"))
    monkeypatch.setenv("JUDGEBOARD_DB", str(store.engine.url.database))
    real = getattr(module, load)

    def assigned_meanwhile(*arguments, **options):
        figures = real(*arguments, **options)
        create_queue(store, secret_queue("some", 100), by=lead, assigned=(ben,))
        return figures

    monkeypatch.setattr(module, load, assigned_meanwhile)
    open_page(page, reviewer="Ben")
    monkeypatch.setattr(module, load, real)
    again = open_page(page, reviewer="Ben")
    assert "620 of 720" in shown(again)
    st.cache_resource.clear()
    assert markup(again) == markup(open_page(page, reviewer="Ben"))


def test_the_checks_of_a_judge_are_kept_for_each_set_of_rows(new_store, open_page, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_ALERT_COMMAND", "true")
    store, reads = half_hidden(new_store(), 10), []
    ensure_reviewer(store, "page", "Jon")
    monkeypatch.setenv("JUDGEBOARD_DB", str(store.engine.url.database))
    read_record = record.read_record
    monkeypatch.setattr(
        record, "read_record", lambda *given: reads.append(given) or read_record(*given)
    )
    mara, jon = (open_page("judges", reviewer=name) for name in ("Mara", "Jon"))
    assert markup(mara).replace("Mara", "Jon") != markup(jon)
    assert markup(open_page("judges", reviewer="Mara")) == markup(mara)
    assert markup(open_page("judges", reviewer="Jon")) == markup(jon)
    assert len(reads) == 2
