"""Nothing of another source is sent to a person with limited sources, nor to a key for one source.

The lists of pages, endpoints, exports and commands are made from the code: a new one is covered, or
a test fails until it is.
"""

import ast
import inspect
import re
from io import BytesIO
from pathlib import Path

import pytest

import judgeboard
from agent_client import Agent
from app_pages import charts, click, markup, with_label
from cli_commands import command_examples
from graded_log import GradedLog, nine_weeks
from judgeboard.cli import options
from judgeboard.cli.app import root, run
from judgeboard.mcp.tools import TOOLS
from judgeboard.measure.alarms import watch
from judgeboard.people.roster import ensure_reviewer, link_person, seen_by_user, set_sources
from judgeboard.receiving.http import HttpTransport
from judgeboard.receiving.keys import Sender, create_key
from judgeboard.receiving.receiver import Receiver
from judgeboard.reports.datasets import shapes, write_dataset
from judgeboard.reviews.queues import create_queue
from judgeboard.store.api_keys import key_of_token
from judgeboard.store.export import RATINGS, export_tables, exports, ratings_table
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.judge_versions import get_version
from judgeboard.store.queues import new_queue
from judgeboard.store.reviewers import find_reviewer
from judgeboard_dashboard.app import FIRST, PAGES
from judgeboard_dashboard.gate import MANAGED
from judgeboard_dashboard.sign_in import own_cookie
from judgeboard_dashboard.views.people import ORIGINS
from judgeboard_dashboard.widgets import texts
from page_session import page_session
from sent_traces import receiving
from served import serving
from stored_rows import read
from two_sources import MARKED, MARKERS, MINE, two_sources

# The name of a session, and the minutes of a history at which a row was stored.
SESSION = re.compile(r"data-session=\"\w+\"|(?<=jb-past\"><span>)[^<]*")
# Times at which a row was stored.
TIME = re.compile(rb"\"\d{4}-\d\d-\d\dT[^\"]*\"")


def markers(sent):
    return set(MARKERS.findall(sent.decode("utf-8", "replace")))


def addresses(case):
    """Every page, and addresses made by hand that ask for the other source in every way that a page shows rows."""
    marked, rag = case.marked, case.marked.versions["rag"]
    views = [view for tabs in PAGES.values() for view in tabs if view != FIRST]
    by_hand = [
        f"item?flag={marked.flag_id}",
        f"item?response={marked.response_id}",
        f"item?response={marked.attempt_id}",
        "item?queue=mark-queue",
        "item?queue=mark-mixed",
        "item?queue=mine",
        f"open_flags?source={MARKED}&id=marked",
        f"responses?source={MARKED}",
        "responses?id=marked&all=1",
        "responses?text=answer+of+marked",
        "responses?metadata.written_by=mark-extra",
        f"agreement?version={rag}&grade=groundedness&tables=true",
        "agreement?people=Ada&grade=Quality",
        f"trends?show=low_share&by=day&tables=true&source={MARKED}",
        f"runs?run={marked.run_id}",
        f"pairs?pair={marked.pair_id}",
        f"rejudge?response={marked.response_id}",
        f"verdicts?run={marked.run_id}",
        "queues?queue=mark-queue",
        "problems?issue=1",
        "conflicts?conflict=1",
        f"judges?version={rag}&tables=true",
        f"self_reference?item={marked.pair_id}",
    ]
    return ["/", *(f"/{each}" for each in (*views, *by_hand))]


def tour(url, reviewer, places):
    """The markers that are sent to a reviewer, by address, with all files that the pages offer."""
    with page_session(url, {own_cookie("judgeboard_reviewer", url): reviewer}) as session:
        for address in places:
            session.open(address)
    asked = {address: b" ".join(sent) for address, sent in session.sent.items()}
    # What the address itself says comes back, for example in the field of a filter.
    return {
        address: found
        for address, sent in asked.items()
        if (found := {each for each in markers(sent) if each not in address})
    }


def test_no_page_and_no_download_has_anything_of_another_source(new_store):
    case = two_sources(new_store())
    places = addresses(case)
    with serving(str(case.store.engine.url.database)) as url:
        assert tour(url, "Mara", places) == {}
        telling = tour(url, "Ada", places)
    # Ada, who sees all sources, is told of the other one on most pages.
    assert len({address.partition("?")[0] for address in telling}) > len(PAGES)


@pytest.fixture
def case(sqlite_store):
    return two_sources(sqlite_store)


def test_no_export_has_anything_of_another_source(case):
    ratings = ratings_table(read(case.store, get_version, case.marked.versions["rag"]))
    known = {**exports(), RATINGS: ratings}
    everything = set()
    for name in known:
        mine, whole = BytesIO(), BytesIO()
        export_tables(case.store, {name: mine}, viewer=case.mara.id, known=known)
        export_tables(case.store, {name: whole}, known=known)
        assert markers(mine.getvalue()) == set(), name
        everything |= markers(whole.getvalue())
    assert len(everything) > 30
    for shape in shapes():
        file = BytesIO()
        write_dataset(Seen(case.store, case.mara.id), shape, file)
        assert markers(file.getvalue()) == set(), shape


# How each endpoint that replies with rows is asked for the other source.
READS = {
    "/api/responses/{id}": ("marked", "mark-id-1", "marked?source=log", f"marked?source={MARKED}"),
    "/api/flags": ("", "?limit=1000", f"?source={MARKED}", "?state=confirmed"),
}
# These store what they are sent, and reply with counts of it. A review is tested below.
TAKES = {"POST"}
TOOLS_OF_AGENTS = "/mcp"  # tested below, by its tools


def test_a_key_for_one_source_reads_nothing_of_another(case):
    endpoints = HttpTransport(Receiver(lambda: case.store)).endpoints()
    assert {each.path for each in endpoints if each.method not in TAKES} == {
        *READS,
        TOOLS_OF_AGENTS,
    }
    tokens = {
        source: create_key(
            case.store, f"key-{source}", scopes=("read", "review"), source=source, by="test"
        )
        for source in ("log", None)
    }
    review = {"reviewer": "Mara", "flag": case.marked.flag_id, "decision": "confirm"}
    told = {source: set() for source in tokens}
    with receiving(case.store) as http:
        for source, token in tokens.items():
            headers = {"authorization": f"Bearer {token}"}
            for path, asks in READS.items():
                for ask in asks:
                    reply = http.get(path.replace("{id}", "") + ask, headers=headers)
                    found = markers(reply.content)
                    told[source] |= {each for each in found if each not in ask}
            for subject in (
                {"flag": case.marked.flag_id},
                {"response": "marked", "decision": None},
                {"lease": "1.x"},
            ):
                sent = {key: value for key, value in (review | subject).items() if value}
                sent = sent if "flag" in subject else {k: v for k, v in sent.items() if k != "flag"}
                if source is not None:
                    assert http.post("/api/reviews", json=sent, headers=headers).status_code == 404
    assert told["log"] == set()
    assert len(told[None]) > 10


def test_no_tool_of_agents_has_anything_of_another_source(case):
    link_person(case.store, options.actor(), "Mara", "lead")
    token = create_key(case.store, "k", scopes=("read", "draft"), source="log", by="test")
    key = Sender(read(case.store, key_of_token, token))
    marked = {"answer": str(case.marked.response_id), "judge_version": "rag", "judge": "rag"}
    marked |= {"judge_versions": ["rag"], "by": None, "where": []}
    told = {"everybody": set()}
    for name, tool in TOOLS.items():
        arguments = tool.example | {k: v for k, v in marked.items() if k in tool.example}
        for who, agent in (
            ("Mara", Agent(case.store)),
            ("key", Agent(case.store, key)),
            ("everybody", Agent(case.store, Sender())),
        ):
            result = agent.call(name, **arguments)
            told.setdefault(who, set()).update(markers(str(result.content).encode()))
    assert told["Mara"] == told["key"] == set()
    assert len(told["everybody"]) > 10


READERS = ("options.seen", "options.reading")  # the second calls the first


def seen_in_source():
    """The functions of commands that read what the user of the terminal may see."""
    functions = set()
    for path in Path(str(judgeboard.__file__)).parent.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and any(
                isinstance(node, ast.Call) and ast.unparse(node.func) in READERS
                for node in ast.walk(function)
            ):
                functions.add(function.name)
    return functions


# They go on until somebody ends them, ask other machines, or make a database of their own.
NOT_RUN = ("serve", "worker", "quickstart", "sources receive", "pull", "push ", "db restore")
NOT_REACHED = {"judge_with_jury"}  # needs a model; it prints the report of `compare judges`
# Commands whose examples end before they read: how they are given instead.
GIVEN = (
    "agreement --judge-version rag --by query_type",
    "compare versions rag nli",
    "compare judges rag nli",
    "compare pairs --recorded",
    "compare ssr --recorded --judge-version two",
    "test repeats --judge-version rag",
    "flags checks",
    "suite show 1",
    "export all -o exported",
    "export reviews -o - --format csv",
    "export --as dpo -o dataset.jsonl",
    "push",
    "db events",
    "doctor",
)


def test_no_command_prints_anything_of_another_source(case, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "terminal"
    folder.mkdir()
    monkeypatch.chdir(folder)
    reading = []

    def seen(store):
        names = (each.function for each in inspect.stack()[1:])
        reading.append(next(name for name in names if name != "reading"))
        return seen_by_user(store, options.actor(), print)

    monkeypatch.setattr(options, "seen", seen)
    database = ["--db", str(case.store.engine.url.database)]
    leaks, reached = {}, set()
    for words in [*command_examples(root), *map(str.split, GIVEN)]:
        if words == ["mcp"] or " ".join(words).startswith(NOT_RUN):
            continue
        # The examples link the user of the terminal to other people, too.
        link_person(case.store, options.actor(), "Mara", "lead")
        reading.clear()
        run([*words, *database])
        output = capsys.readouterr()
        reached |= set(reading)
        files = [each for each in folder.rglob("*") if each.is_file()]
        sent = [output.out.encode(), output.err.encode(), *(each.read_bytes() for each in files)]
        if reading and (found := markers(b" ".join(sent))):
            leaks[" ".join(words)] = found
        for each in files:
            each.unlink()
    assert leaks == {}
    assert seen_in_source() - reached == NOT_REACHED


def weeks_of_sources(store, *, with_others):
    """Store nine weeks of answers of the source ``log``, with labels and flags; the others change for the worse."""
    log = GradedLog(store)
    for source, query_type, worse in (("log", "QA", 10), ("mark-source", "mark-type", 2))[
        : 1 + with_others
    ]:
        nine_weeks(log, worse, query_type=query_type, source=source)
        where = RowFilter(sources=(source,))
        options = new_queue(f"of {source}", where, flagged_only=False, max_items=30)
        create_queue(store, options, by="cli:root")
    watch(store, by="test")
    ensure_reviewer(store, "page", "Mara")
    set_sources(store, "Mara", ["log"], "cli:root", origin="page")
    return store


def test_pages_and_exports_are_the_same_whether_or_not_there_are_other_sources(
    new_store, open_page, monkeypatch
):
    views = [view for tabs in PAGES.values() for view in tabs if view not in MANAGED]
    queries = {"item": {"response": 1}, "trends": {"tables": True}}
    pages, files = [], []
    for with_others in (False, True):
        store = weeks_of_sources(new_store(), with_others=with_others)
        database = str(store.engine.url.database)
        monkeypatch.setenv("JUDGEBOARD_DB", database)
        monkeypatch.setattr(texts, "DEFAULT_DATABASE", database)  # commands need no --db
        shown = {}
        for view in views:
            page = open_page(view, reviewer="Mara", **queries.get(view, {}))
            rows = [str(each.value) for each in page.dataframe]
            choices = [each.options for each in (*page.selectbox, *page.multiselect)]
            shown[view] = (SESSION.sub("", markup(page)), charts(page), rows, choices)
        pages.append(shown)
        person = read(store, find_reviewer, "page", "Mara")
        written = {}
        for name in exports():
            file = BytesIO()
            export_tables(store, {name: file}, viewer=person.id)
            written[name] = TIME.sub(b"", file.getvalue())
        files.append(written)
    for view in views:
        assert pages[0][view] == pages[1][view], view
    assert files[0] == files[1]
    assert files[0]["responses"].count(b"\n") == 360


def test_an_admin_gives_a_person_sources_on_the_page(page_store, open_page):
    two_sources(page_store)
    page = open_page("people", reviewer="Ada", part="Accounts")
    page.selectbox(key="sources_person").select(f"Mara ({ORIGINS['page']})").run()
    field = with_label(page.multiselect, "Sources")
    assert sorted(field.value) == sorted(MINE)
    field.set_value(["log", "a new one"]).run()
    click(page, "sources_save")
    mara = read(page_store, find_reviewer, "page", "Mara")
    assert mara.sources == ("a new one", "log")
