"""What CONTRIBUTING calls one file and one line is one: added to a copy of the package in this way, it works."""

import json
import sqlite3
from contextlib import closing

import pytest

from command_lines import run_line
from package_copy import Copy
from stored_rows import columns

RULE = """from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    \"""Flags an answer in capital letters.\"""
    answer = signals.texts.answer if signals.texts else None
    return Reason("shouted", 0.3, {"length": len(answer)}) if answer and answer.isupper() else None


RULE = Rule("shouted", reason, lambda details, params: f"{details['length']} capital letters.", True, reads_texts=True)
"""
JUDGE = """\"""The judge that contradicts.\"""

from judgeboard.domain import JudgeVersion, Status, Verdict


class Contrary:
    version = JudgeVersion(name="contrary", kind="contrary", scale="0-1")
    address = None
    priced = True

    def __init__(self, options):
        pass

    async def judge(self, item):
        return Verdict(Status.OK, groundedness=0.25, reasoning="No.")

    async def aclose(self):
        pass
"""
PROVIDER = """
from judgeboard.llm.openai_provider import body, read
from judgeboard.llm.provider import Provider

OTHER = Provider("other", "https://other.example/v1", "/talk", body, read, headers=lambda key: {"x-other": key})
"""
ASK = """
import asyncio, json
from judgeboard.runs.judging import make_judge
from judgeboard.domain import JudgeInput
from judgeboard.llm.recording_endpoint import RecordingEndpoint

async def ask(judge):
    verdict = await judge.judge(JudgeInput(1, "q", "a", ("p",)))
    await judge.aclose()
    return verdict

with RecordingEndpoint() as endpoint:
    judge = make_judge("rag", provider="other", base_url=endpoint.base_url, model="oth-1")
    verdict = asyncio.run(ask(judge))
    sent = endpoint.requests[0]
print(json.dumps([verdict.status, sent.path, sent.headers["x-other"], "authorization" in sent.headers]))
"""


@pytest.fixture
def copy(tmp_path):
    copy = Copy(tmp_path)
    yield copy
    copy.close()


@pytest.fixture(scope="module")
def additions(tmp_path_factory):
    """One copy with all additions that have names of their own, in one process: its start is most of such a test."""
    copy = Copy(tmp_path_factory.mktemp("additions"))
    for add in (
        *(add_rule, add_judge, add_command, add_role, add_tool, add_transport),
        *(add_format, add_kind, add_statistic),
        *(add_provider, add_threshold, add_check, add_page),
    ):
        add(copy)
    yield copy
    copy.close()


@pytest.fixture
def added(additions, tmp_path):
    """That copy, with the folder and the database of this test."""
    additions.move(tmp_path)
    return additions


def exported_columns(exported, *names):
    return columns(map(json.loads, exported.splitlines()), *names)


def query(copy, statement):
    with closing(sqlite3.connect(copy.folder / "log.db")) as database:
        return database.execute(statement).fetchall()


def rows(copy):
    log = copy.folder / "log.jsonl"
    given = [
        {"id": "1", "question": "Is it loud?", "answer": "YES", "context": ["Very."]},
        {"id": "2", "question": "Is it loud?", "answer": "no", "context": ["Not at all."]},
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in given))
    return log


def add_rule(copy):
    copy.add(
        "flags/shouted.py",
        RULE,
        "flags/rules.py",
        (
            "from judgeboard.judges.evi",
            "from judgeboard.flags import shouted\nfrom judgeboard.judges.evi",
        ),
        ("_OURS: tuple[Rule, ...] = (\n", "_OURS: tuple[Rule, ...] = (\n    shouted.RULE,\n"),
    )


def test_a_rule_that_reads_the_answers_text(added):
    _, stats = added.commands(f"import {rows(added)}", "stats --json")
    assert '"shouted"' in stats
    flags = query(added, "SELECT details FROM flag WHERE rule = 'shouted'")
    assert [json.loads(details) for (details,) in flags] == [{"length": 3}]
    assert "| `shouted` |" in added.documented("flag rules")


def add_judge(copy):
    line = '        "grade": JudgeKind(\n'
    copy.add(
        "judges/contrary.py",
        JUDGE,
        "registry/judge_kinds.py",
        (
            line,
            f'        "contrary": JudgeKind(judge="judgeboard.judges.contrary:Contrary"),\n{line}',
        ),
    )


def test_a_judge(added):
    *_, versions = added.commands(
        f"import {rows(added)}", "judge --judge contrary", "versions list"
    )
    assert "contrary v1" in versions
    assert "| `contrary` |" in added.documented("judges")


def add_provider(copy):
    imported = "from judgeboard.llm.openai_provider"
    copy.add(
        "llm/other_provider.py",
        PROVIDER,
        "llm/endpoint.py",
        ("(OPENAI, ANTHROPIC)", "(OPENAI, ANTHROPIC, OTHER)"),
        (imported, f"from judgeboard.llm.other_provider import OTHER\n{imported}"),
    )


def test_a_provider(added):
    added.run("import os; os.environ |= {'OTHER_API_KEY': 'k-other', 'OPENAI_API_KEY': 'k-openai'}")
    try:
        assert json.loads(added.run(ASK)) == ["ok", "/v1/talk", "k-other", False]
        assert "OTHER_API_KEY" in added.commands("config")[0]
        assert "https://other.example/v1" in added.documented("providers")
    finally:
        added.run("import os; del os.environ['OTHER_API_KEY'], os.environ['OPENAI_API_KEY']")


COMMAND = """
import click


@click.command()
def hello_command() -> None:
    \"""Greet.\"""
    click.echo("hello")
"""


def add_command(copy):
    copy.add(
        "cli/hello.py",
        COMMAND,
        "cli/app.py",
        ('    "judge": "judge",\n', '    "judge": "judge",\n    "hello": "hello",\n'),
    )


def test_a_command(added):
    printed, help_ = added.commands("hello", "--help")
    assert printed == "hello\n"
    assert "hello" in help_


def add_role(copy):
    line = '    REVIEWER = "reviewer", _REVIEWING\n'
    copy.line("domain.py", line, f'    COACH = "coach", _REVIEWING | {{Action.ASSIGN}}\n{line}')


def test_a_role_is_a_line(added):
    *_, people = added.commands(
        "db migrate", "people add ann@example.org --role coach", "people list --json"
    )
    assert '"role": "coach"' in people
    assert "| coach |" in added.documented("roles")
    code = (
        "from judgeboard.domain import Action, Role; from judgeboard.store.tables import Reviewer; "
        "from judgeboard.people.permissions import may; "
        "print([may(Reviewer(id=1, origin='oidc', name='ann', role=role), Action.ASSIGN) for role in Role])"
    )
    assert added.run(code) == "[False, False, False, True, False, True, True]\n"


def add_threshold(copy):
    copy.line(
        "settings/model.py",
        "low_groundedness: Number = number(\n        0.5,",
        "low_groundedness: Number = number(\n        0.6,",
    )


def test_a_default_threshold_is_one_number(added):
    verdicts = added.folder / "verdicts.jsonl"
    verdicts.write_text('{"response_id": "1", "judge": "other", "groundedness": 0.55}\n')
    added.commands(f"import {rows(added)}", f"import --kind verdicts {verdicts}")
    (documented,) = (
        line
        for line in added.documented("thresholds").splitlines()
        if "| `low_groundedness` |" in line
    )
    assert "`0.6`" in documented
    flags = query(added, "SELECT id FROM flag WHERE rule = 'low_groundedness'")
    assert len(flags) == 1


TOOL = """
from judgeboard.imports.exports.entry import Entry, answer_row, each_row
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.tools.history import History, Page
from judgeboard.tools.target import Access, Target
from judgeboard.tools.tool import Tool
from judgeboard.traces.sdk_requests import RequestBody, SdkRequest, json_in_body
from judgeboard.traces.spans import Operation, Part, Span


@each_row
def read_cages(row):
    first, last = row["squawks"]
    yield Entry(answer_row({}, external_id=row["cage"], query=first, answer=last))


CAGES = Export("an aviary", "aviary", (Keys("squawks"),), read_cages)


def read_span(span, logs):
    fields = span.attributes
    if "parrot.heard" not in fields:
        return None
    return Part("parrot", Operation.APP, question=fields["parrot.heard"], answer=fields["parrot.repeated"])


def send(http, items):
    for item in items:
        for score in item.scores:
            http.send("POST", f"/cages/{item.external_id}", {score.name: score.value})


AVIARY = Target("aviary", ("AVIARY_URL",), lambda address, environment: Access(address), send)


class AviaryHistory(History):
    target = AVIARY

    def page(self, window, position):
        return Page(CAGES, {row["cage"]: [row] for row in self.get("/cages")}, None)


class Squawk(RequestBody):
    \"""What a parrot heard and repeated.\"""

    example = {"heard": "Is it dark?", "repeated": "Dark!"}

    heard: str
    repeated: str


def read_squawk(body, content_type):
    attributes = {f"parrot.{name}": text for name, text in json_in_body(body).items()}
    return [Span("ab" * 16, "cd" * 8, None, "squawk", 17 * 10**17, 17 * 10**17, attributes=attributes)], {"heard": True}


SQUAWK = SdkRequest("/squawks", "Send a squawk", "A squawk", Squawk, read_squawk)
TOOL = Tool(exports=(CAGES,), spans=read_span, history=AviaryHistory, target=AVIARY, receives=(SQUAWK,))
"""
POST = """
import json
from datetime import timedelta
from starlette.applications import Starlette
from starlette.testclient import TestClient
from judgeboard.receiving.gathering import gather
from judgeboard.receiving.http import HttpTransport
from judgeboard.receiving.receiver import Receiver
from judgeboard.store.clock import utc_now
from judgeboard.store.opening import open_store

store = open_store()
receiver = Receiver(lambda: store)
receiver._writer.start()
app = Starlette(routes=HttpTransport(receiver).routes())
with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 9)) as http:
    reply = http.post("/squawks", json={"heard": "Is it dark?", "repeated": "Dark!"})
    print(json.dumps([reply.status_code, reply.json(), "Send a squawk" in http.get("/api/openapi.json").text]))
receiver._writer.stop()
gather(store, utc_now() + timedelta(seconds=5))
store.close()
"""
PULL_AND_PUSH = """
import json
from judgeboard.cli.app import run
from recording_tool import RecordingTool, Reply

class Aviary(RecordingTool):
    def answer(self, request):
        return Reply(200, [{"cage": "8", "squawks": ["Is it cold?", "Cold!"]}] if request.method == "GET" else {})

with Aviary() as tool:
    for words in (["pull", "aviary", "--url", tool.address], ["push", "aviary", "--url", tool.address]):
        assert run(words) == 0
    print(json.dumps([[request.path, request.body] for request in tool.requests]))
"""


def add_tool(copy):
    last, line = (
        '    KnownTool("haystack"),\n',
        '    KnownTool("aviary", push="aviary", pull="aviary"),\n',
    )
    copy.add("tools/aviary.py", TOOL, "registry/tools.py", (last, last + line))


def test_a_tool_gives_an_export_spans_a_history_a_target_and_a_request(added):
    (added.folder / "birds.jsonl").write_text(
        '{"cage": "7", "squawks": ["Is it loud?", "Loud!"]}\n'
    )
    attributes = {"parrot.heard": "Is it far?", "parrot.repeated": "Far!"}
    span = {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": "b7ad6b7169203331",
        "name": "squawk",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001000000000",
        "attributes": [
            {"key": key, "value": {"stringValue": text}} for key, text in attributes.items()
        ],
    }
    (added.folder / "spans.jsonl").write_text(json.dumps(span) + "\n")
    imported, *_ = added.commands(
        "import birds.jsonl", "import spans.jsonl", "judge --judge lexical"
    )
    assert "an aviary" in imported
    sent = json.loads(added.run(PULL_AND_PUSH).splitlines()[-1])
    assert sent[0] == ["/cages", None]
    assert [(path, *score) for path, score in sent[1:]] == [
        ("/cages/7", "quality"),
        ("/cages/0af7651916cd43dd8448eb211c80319c", "quality"),
    ]
    assert json.loads(added.run(POST)) == [200, {"heard": True}, True]
    exported, push_help = added.commands("export responses -o -", "push --help")
    assert exported_columns(exported, "source", "query") == [
        ("aviary", "Is it loud?"),
        ("opentelemetry", "Is it far?"),
        ("aviary:default", "Is it cold?"),
        ("default", "Is it dark?"),
    ]
    assert "aviary]" in "".join(push_help.split())


TRANSPORT = """
import asyncio
from judgeboard.receiving.limits import Refused
from judgeboard.traces import otlp


def listen(receiver, address):
    loop = asyncio.get_running_loop()
    host, _, port = address.rpartition(":")

    async def answer(reader, writer):
        try:
            async with receiver.delivery("socket", None, is_local=True) as delivery:
                await delivery.body.read(reader, "", otlp.traces_elements(otlp.JSON))
                writer.write(await receiver.take(lambda body: (otlp.traces_in(body, otlp.JSON), b"stored"), delivery))
        except Refused as refusal:
            writer.write(refusal.reason.encode())
        writer.close()

    starting = loop.create_task(asyncio.start_server(answer, host, int(port)))

    async def stop():
        (await starting).close()

    return lambda: asyncio.run_coroutine_threadsafe(stop(), loop).result()
"""
SEND = """
import asyncio, json, os
from judgeboard.receiving.receiver import Receiver
from judgeboard.store.opening import open_store
from served import free_port

port = free_port()
os.environ["JUDGEBOARD_RECEIVE_SOCKET"] = f"localhost:{port}"
store = open_store(create=True)

async def send(body):
    await asyncio.sleep(0.1)
    reader, writer = await asyncio.open_connection("localhost", port)
    writer.write(body)
    writer.write_eof()
    reply = await reader.read()
    writer.close()
    return reply.decode()

async def main():
    receiver = Receiver(lambda: store)
    receiver.start()
    replies = [await send(body) for body in (b'{"resourceSpans": []}', b"no")]
    await asyncio.to_thread(receiver.stop)
    print(json.dumps(replies))

asyncio.run(main())
store.close()
del os.environ["JUDGEBOARD_RECEIVE_SOCKET"]
"""


def add_transport(copy):
    last = '(Transport("OTLP over gRPC", "receive_grpc", "grpc"),'
    line = ' Transport("OTLP in a socket", "receive_socket", "socket_transport"),'
    copy.add(
        "receiving/socket_transport.py", TRANSPORT, "receiving/receiver.py", (last, last + line)
    )
    setting = "    receive_grpc: Listening | None"
    copy.line(
        "settings/model.py", setting, f"    receive_socket: Listening | None = None\n{setting}"
    )


def test_a_transport_of_traces(added):
    stored, refused = json.loads(added.run(SEND))
    assert (stored, "JSON" in refused) == ("stored", True)


FORMAT = """from judgeboard.formats.files import Row


def read(source):
    names, *lines = b"".join(source.chunks()).decode().splitlines()
    for number, line in enumerate(lines, start=2):
        yield Row(number, dict(zip(names.split("|"), line.split("|"), strict=True)))


def write(rows, columns, stream):
    names = [column.name for column in columns]
    stream.write("|".join(names).encode() + b"\\n")
    count = 0
    for count, row in enumerate(rows, start=1):
        stream.write("|".join(str(row.get(name) or "") for name in names).encode() + b"\\n")
    return count
"""


def add_format(copy):
    line = '    "json": Format("JSON", (".json",), "judgeboard.formats.json"),\n'
    added = '    "pipes": Format("pipes", (".pipes",), "judgeboard.formats.pipes", textual=True),\n'
    copy.add("formats/pipes.py", FORMAT, "formats/files.py", (line, line + added))


def test_a_file_format(added):
    (added.folder / "log.pipes").write_text("id|question|answer\n1|Is it loud?|yes\n")
    added.commands("import log.pipes", "export responses -o answers.pipes")
    names, answer = (added.folder / "answers.pipes").read_text().splitlines()
    assert dict(zip(names.split("|"), answer.split("|"), strict=True))["answer"] == "yes"


KIND = """from judgeboard.imports.responses import FeedbackImport


class PraiseImport(FeedbackImport):
    columns = {**FeedbackImport.columns, "thumbs": ("praised",)}
"""


def add_kind(copy):
    line = '    "feedback": Kind(\n'
    added = '    "praise": Kind("judgeboard.imports.praise:PraiseImport", "Praise", "word of praise", "praise"),\n'
    copy.add("imports/praise.py", KIND, "imports/kinds.py", (line, added + line))


def test_a_kind_of_import(added):
    (added.folder / "praise.csv").write_text("response_id,praised\n1,up\n")
    _, imported, help_ = added.commands(
        f"import {rows(added)}", "import --kind praise praise.csv", "import --help"
    )
    assert "1 new" in imported
    assert "praise" in help_


def add_statistic(copy):
    copy.add(
        "stats/squared.py",
        "def squared(pairs):\n    return pairs.table.kappa('quadratic')\n",
        "stats/pair_statistics.py",
        (
            "from judgeboard.stats.intervals",
            "from judgeboard.stats.squared import squared\nfrom judgeboard.stats.intervals",
        ),
        (
            '    "accuracy": Statistic(',
            '    "squared": Statistic("Squared kappa", _categorical, squared),\n    "accuracy": Statistic(',
        ),
    )


def test_a_statistic_of_agreement(added):
    log, grades = added.folder / "log.csv", added.folder / "grades.csv"
    texts = ["Loud; very loud.", "Quiet."]
    answers = "".join(f"{n},Is it loud? {n},{texts[n % 2]},It is very loud.\n" for n in range(12))
    log.write_text(f"id,question,answer,context\n{answers}")
    labels = "".join(f"{n},ann,{('grounded', 'hallucinated')[n % 2]}\n" for n in range(12))
    grades.write_text(f"response_id,reviewer,label\n{labels}")
    *_, figures = added.commands(
        f"import {log}",
        "judge --judge lexical",
        f"import --kind grades {grades}",
        "agreement --grade label",
    )
    assert "Squared kappa" in figures
    assert "| Squared kappa | `squared` |" in added.documented("statistics")


VIEW = """\"""The page Parrots.\"""

import streamlit as st

from judgeboard_dashboard.session import page

with page():
    st.text("Polly")
"""
SHOW = """
from pathlib import Path
import judgeboard_dashboard
from streamlit.testing.v1 import AppTest

app = AppTest.from_file(str(Path(judgeboard_dashboard.__file__).parent / "app.py"), default_timeout=60)
app.switch_page("views/{name}.py").run()
assert not app.exception, app.exception
print([each.value for each in (*app.text, *app.markdown, *app.get("html"), *app.code)])
"""


def add_page(copy):
    dashboard = copy.with_dashboard()
    (dashboard / "views" / "parrots.py").write_text(VIEW)
    app = dashboard / "app.py"
    line = '    "trends": Page('
    text = app.read_text()
    assert text.count(line) == 1
    added = '"parrots": Page("Parrots", "Parrots", "index.md"),'
    app.write_text(text.replace(line, f"    {added}\n{line}"))


def test_a_page_of_the_app(added):
    added.commands(f"import {rows(added)}")
    assert "Polly" in added.run(SHOW.format(name="parrots"))


CHECK = """
from judgeboard.health.record import Check, JudgeRecord, State
from judgeboard.measure.notes import Note
from judgeboard.stats.intervals import share_intervals


def haste(record: JudgeRecord) -> Check:
    hasty = Note("hasty", f"{record.version.title} is hasty.", {})
    return Check("haste", State.WARNING, share_intervals(3, 4)[0], (hasty,), "sleep 1")
"""
GATE = "from judgeboard.cli.app import run; print(run({words}))"


def add_check(copy):
    imported, line = "from judgeboard.health.family import", '    "family": family,\n'
    copy.add(
        "health/haste.py",
        CHECK,
        "health/report.py",
        (imported, f"from judgeboard.health.haste import haste\n{imported}"),
        (line, f'    "haste": haste,\n{line}'),
    )


def test_a_check_of_a_judges_health(added):
    added.commands(f"import {rows(added)}", "judge --judge lexical")
    gate = ["test", "health", "lexical", "--gate"]
    command, as_json = (added.run(GATE.format(words=[*gate, *more])) for more in ([], ["--json"]))
    assert all(part in command for part in ("lexical v1 is hasty", "sleep 1"))
    # The gate fails.
    assert command.endswith("\n1\n")
    check = json.loads(as_json[: as_json.rindex("}") + 1])["checks"][0]
    assert (check["name"], check["state"], check["statistic"]["value"]) == (
        "haste",
        "warning",
        0.75,
    )
    assert "| `haste` |" in added.documented("health checks")
    page = added.run(SHOW.format(name="judges"))
    for shown in ("Faults: haste", "<b>Haste</b>", "lexical v1 is hasty.", "sleep 1"):
        assert shown in page


PLACES = """
import json
from pathlib import Path
import judgeboard_dashboard
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import load_item
from judgeboard.store.open_flags import queue_page
from judgeboard.store.opening import open_store
from judgeboard.store.response_pages import response_page
from judgeboard_dashboard.review.context import context_block
from query_plans import plans_of
from streamlit.testing.v1 import AppTest

def shown(page):
    app = AppTest.from_file(str(Path(judgeboard_dashboard.__file__).parent / "app.py"), default_timeout=60)
    app.query_params["region"] = "Valais"
    app.switch_page(f"views/{page}.py").run()
    assert not app.exception, app.exception
    (table,) = app.dataframe
    fields = [[each.options, each.value] for each in app.multiselect if each.label == "Region"]
    chips = [each.label for each in app.button if each.label.endswith("✕")]
    return list(table.value["Id"]), list(table.value["Region"]), fields, chips

lists = shown("open_flags"), shown("responses")
store, where = open_store("log.db"), RowFilter(regions=("Valais",))
with store.reading() as connection:
    item = context_block(load_item(connection, 3).response)
with store.reading() as connection, plans_of(store) as plans:
    ids = [page(connection, where).lines[0].external_id for page in (queue_page, response_page)]
print(json.dumps([item, *lists, ids, [plan for plan in plans if "MATERIALIZE found" in plan]]))
"""


def test_a_column_of_the_log_takes_the_places_of_the_recipe(copy):
    """It is imported, exported, shown on Item, listed, filtered by and forgotten.

    A log that has no value stays as it was.
    """
    log = rows(copy)
    checks = copy.folder / "checks.yaml"
    checks.write_text("checks:\n  - {name: says it, equals: it is}\n")
    for line in (f"import {log}", f"flags checks {checks}"):
        assert run_line(line, "--db", str(copy.folder / "log.db")) == 0
    copy.revise(
        "region",
        'op.add_column("response", sa.Column("region", sa.String()))',
        'op.create_index("ix_response_region", "response", ["region"])',
    )
    for file, old, new in (
        (
            "domain.py",
            "    derived_from: int | None = None\n\n\nLOG_FIELDS",
            (
                "    derived_from: int | None = None\n"
                '    region: str | None = log_field("region", "land", listed=True,'
                ' filtered=TextFilter("region", "region of the user", "region"))\n\n\nLOG_FIELDS'
            ),
        ),
        (
            "store/tables.py",
            "    passages: tuple[Any, ...] | None = column(",
            (
                "    region: str | None = column(forgotten=True, completed=True)\n"
                "    passages: tuple[Any, ...] | None = column("
            ),
        ),
        (
            "store/tables.py",
            '        Index("ix_response_model", "generator_model"),\n',
            '        Index("ix_response_model", "generator_model"),\n        Index("ix_response_region", "region"),\n',
        ),
        (
            "client.py",
            "    generator_cost: float | None = None,\n",
            "    generator_cost: float | None = None,\n    region: str | None = None,\n",
        ),
        (
            "client.py",
            "        generator_cost=generator_cost,\n",
            "        generator_cost=generator_cost,\n        region=region,\n",
        ),
        (
            "receiving/bodies.py",
            "    generator_cost: float | None = Field(",
            (
                '    region: Name | None = Field(None, description="Where the user is.")\n'
                "    generator_cost: float | None = Field("
            ),
        ),
    ):
        copy.line(file, old, new)
    copy.with_dashboard()
    of_land = copy.folder / "of_land.jsonl"
    of_land.write_text(
        "".join(
            json.dumps({"id": id_, "question": "Is it loud?", "answer": "yes", "land": land}) + "\n"
            for id_, land in (("3", "Valais"), ("4", "Uri"))
        )
    )
    _, again, new, exported, of_region, flags, help_ = copy.commands(
        "db migrate",
        f"import {log}",
        f"import {of_land}",
        "export responses -o -",
        "export responses --where region=Valais -o -",
        "flags list --where region=Valais --json",
        "flags list --help",
    )
    assert "0 new, 2 unchanged" in again
    assert "2 new" in new
    assert exported_columns(exported, "region") == [None, None, "Valais", "Uri"]
    assert exported_columns(of_region, "external_id") == ["3"]
    assert columns(json.loads(flags)["flags"], "external_id", "region") == [("3", "Valais")]
    assert "region: region" in " ".join(help_.split())
    item, of_flags, of_answers, ids, plans = json.loads(copy.run(PLACES))
    assert "region" in item
    assert "Valais" in item
    assert of_flags == [["3"], ["Valais"], [], ["Region Valais ✕"]]
    assert of_answers == [["3"], ["Valais"], [[["Uri", "Valais"], ["Valais"]]], ["Region Valais ✕"]]
    assert ids == ["3", "3"]
    assert len(plans) == 2
    assert all("ix_response_region (region=?)" in plan for plan in plans), plans
    copy.commands("db forget 3 --yes")
    regions = query(copy, "SELECT region FROM response")
    assert regions == [(None,), (None,), (None,), ("Uri",)]
