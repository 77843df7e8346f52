"""A package adds a judge, a rule, a provider, an import and a target by entry points (page "Add your own")."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from asyncio import CancelledError
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

import judgeboard
import judgeboard_dashboard
from command_lines import run_line
from judgeboard.domain import JudgeVersion
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.flags import rules
from judgeboard.flags.rule import Rule, Signals, reasons_for
from judgeboard.judges.grade import GradeJudge
from judgeboard.judges.judge import JudgeOptions
from judgeboard.registry import judge_kinds, tools
from judgeboard.registry.plugins import Plugin, Registry
from judgeboard.settings.model import Thresholds
from judgeboard.tools.history import History
from judgeboard.tools.target import Access, Target
from judgeboard.tools.tool import Tool
from package_copy import COMMAND, GENERATE, INTERPRETER, SHARED, TESTS, describe_package

EXAMPLE = TESTS / "plugin_example"
PAGE = TESTS.parent / "docs" / "how-to" / "plugins.md"
SOURCES = [str(Path(package.__file__).parents[1]) for package in (judgeboard, judgeboard_dashboard)]
TICKETS = """\
{"ticket": "7", "customer": "Is it open?", "bot": "It is open [1]. Come at six."}
{"ticket": "8", "customer": "Is it far?", "bot": "No [1]."}
"""
FIVE_WORDS = "[flag_rules.too_long]\nmost_words = 5\n"


def target(name):
    return Target(
        name, ("URL",), lambda address, _environment: Access(address), lambda _http, _items: None
    )


def history(name):
    return type("OfTool", (History,), {"target": target(name)})


class Process:
    """A process that finds the packages in a folder, if one is given, and runs code and commands."""

    def __init__(self, folder, packages=None, **environment):
        self.folder, self.errors = folder, folder / "errors.txt"
        path = [*([str(packages)] if packages else []), *SOURCES, str(TESTS)]
        own = {"PYTHONPATH": os.pathsep.join(path), "PATH": ""}
        own["JUDGEBOARD_DB"] = str(folder / "log.db")
        with self.errors.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", INTERPRETER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=folder,
                env=own | SHARED | environment,
            )

    def run(self, code):
        print(json.dumps(code), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, self.printed_errors()
        return json.loads(answer)

    def printed_errors(self):
        return self.errors.read_text(encoding="utf-8")

    def command(self, line):
        return self.run(COMMAND.format(words=shlex.split(line)))

    def refused(self, line):
        """Run a command that ends with exit code 2, and return its error."""
        before = self.printed_errors()
        self.run(f"from judgeboard.cli.app import run; assert run({shlex.split(line)}) == 2")
        return self.printed_errors().removeprefix(before)

    def close(self):
        self._process.communicate()


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder with the example, built as a wheel, and with a package whose module is missing."""
    built, folder = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("packages")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    subprocess.run(build, cwd=EXAMPLE, check=True, capture_output=True)
    (wheel,) = built.glob("*.whl")
    shutil.unpack_archive(wheel, folder, "zip")  # as an installation does: it has only modules
    describe_package(folder, "broken", "0.1", b"[judgeboard.rules]\nbroken = not_there:RULE\n")
    return folder


@pytest.fixture(scope="module")
def database(tmp_path_factory, packages):
    """A process with the packages, in a folder with an imported, judged log."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "judgeboard.toml").write_text(FIVE_WORDS)
    (folder / "tickets.jsonl").write_text(TICKETS)
    process = Process(
        folder, packages, GATEWAY_API_KEY="k-gateway-1234567", TICKETS_API_KEY="k-tickets-1234567"
    )
    assert "a ticket system" in process.command("import tickets.jsonl")
    process.command("judge --judge cited")
    yield process
    process.close()


def exported(process, table):
    return [json.loads(line) for line in process.command(f"export {table} -o -").splitlines()]


def test_an_import_reads_the_file_of_a_tool(database):
    answers = exported(database, "responses")
    assert [(each["source"], each["external_id"], each["query"]) for each in answers] == [
        ("tickets", "7", "Is it open?"),
        ("tickets", "8", "Is it far?"),
    ]


def test_a_judge_judges_by_command_and_from_python(database):
    assert [each["groundedness"] for each in exported(database, "judgments")] == [0.5, 1.0]
    assert "cited v1" in database.command("versions list")
    code = (
        "import judgeboard; print(judgeboard.judge_answer_blocking('q', 'Yes [1].', "
        "['p'], judge='cited').groundedness)"
    )
    assert database.run(code) == "1.0\n"
    assert "--model" in database.refused("judge --judge cited --model m")


def test_a_rule_flags_answers_by_its_option_in_the_project_file(database):
    flags = json.loads(database.command("flags list --where rule=too_long --json"))["flags"]
    assert [each["external_id"] for each in flags] == ["7"]
    assert [re.findall(r"\d+", why) for why in flags[0]["why"]] == [["7", "5"]]
    assert '"too_long"' in database.command("stats --json")
    project = database.folder / "judgeboard.toml"
    try:
        for line, fault in (
            ("most_words = -1", "line 2: flag_rules.too_long.most_words "),
            ("most_wrods = 5", "line 2: flag_rules.too_long.most_wrods "),
        ):
            project.write_text(f"[flag_rules.too_long]\n{line}\n")
            assert fault in database.refused("config")
            # The rule never runs with other values than written.
            assert fault in database.refused("flags apply")
        project.write_text("[flag_rules.low_quality]\nmost = 1\n")
        assert database.refused("config").rstrip().endswith("too_long")
    finally:
        project.write_text(FIVE_WORDS)


ASK = """
import asyncio, json
from judgeboard.domain import JudgeInput
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.runs.judging import make_judge

async def ask(judge):
    verdict = await judge.judge(JudgeInput(1, "q", "a", ("p",)))
    await judge.aclose()
    return verdict

with RecordingEndpoint() as endpoint:
    judge = make_judge("rag", provider="gateway", base_url=endpoint.base_url, model="house-1")
    verdict = asyncio.run(ask(judge))
    sent = endpoint.requests[0]
by_model = make_judge("rag", model="house-1").address
print(json.dumps([verdict.status, sent.path, sent.headers["x-gateway-key"], by_model.base_url]))
"""


def test_a_provider_answers_with_its_own_key_and_is_chosen_by_the_name_of_the_model(database):
    assert json.loads(database.run(ASK)) == [
        "ok",
        "/v1/chat/completions",
        "k-gateway-1234567",
        "https://gateway.example/v1",
    ]
    assert "GATEWAY_API_KEY" in database.command("config")


PUSH = """
import json
from judgeboard.cli.app import run
from recording_tool import RecordingTool, Reply

class TicketSystem(RecordingTool):
    def answer(self, request):
        return Reply(200, {})

with TicketSystem() as tool:
    assert run(["push", "tickets", "--url", tool.address]) == 0
    print(json.dumps([[each.path, each.headers["x-tickets-key"], each.body["scores"]] for each in tool.requests]))
"""


def test_a_target_gets_scores(database):
    sent = json.loads(database.run(PUSH).splitlines()[-1])
    assert sent == [
        [f"/tickets/{ticket}/scores", "k-tickets-1234567", {"groundedness": score}]
        for ticket, score in (("7", 0.5), ("8", 1.0))
    ]


SHOWN = """
import json
from pathlib import Path
import judgeboard_dashboard
from streamlit.testing.v1 import AppTest

def shown(page):
    app = AppTest.from_file(str(Path(judgeboard_dashboard.__file__).parent / "app.py"), default_timeout=60)
    app.session_state["ask_version"] = "New judge: rag (groundedness and quality)"  # on the page Judge answers
    app.switch_page(f"views/{page}.py").run()
    assert not app.exception, app.exception
    fields = [*app.selectbox, *app.multiselect, *app.button_group]
    cells = [str(cell) for table in app.dataframe for row in table.value.to_numpy() for cell in row]
    return {each.label: list(each.options) for each in fields if each.label}, cells

print(json.dumps([shown(page) for page in PAGES]))
"""


def pages(process, *names):
    return json.loads(process.run(f"PAGES = {names}\n{SHOWN}"))


def test_pages_helps_and_the_documentation_list_them(database):
    (rejudge, _), (settings, _), (flags, listed), (answers, _), (judges, _) = pages(
        database, "rejudge", "settings", "open_flags", "responses", "judges"
    )
    assert "New judge: cited" in rejudge["Judge version"]
    assert "Too long" in settings["Rules whose decisions imply a label"]
    assert "too long" in flags["Rule"]
    assert "too long" in answers["Rule"]
    assert {"Too long", "Is it open?"} <= {*listed}
    assert judges["Judge version"] == ["cited v1"]
    assert " or cited." in " ".join(database.command("judge --help").split())
    assert "a ticket system" in " ".join(database.command("import --help").split())
    for line in ("push --help", "rule add push --help"):
        assert "otlp|tickets" in "".join(database.command(line).split())
    tables = f"import runpy; tables = runpy.run_path({str(GENERATE)!r}, run_name='')['TABLES']; print(tables[%r]())"
    assert "| `too_long` |" in database.run(tables % "flag rules")
    assert "| `cited` |" in database.run(tables % "judges")
    providers = database.run(tables % "providers")
    assert all(
        f"`{part}`" in providers
        for part in ("gateway", "https://gateway.example/v1", "GATEWAY_API_KEY")
    )


def test_doctor_lists_them_and_a_broken_one_gives_one_warning_and_nothing_else(database):
    code = "from judgeboard.cli.app import run; run(['doctor']); run(['doctor', '--json'])"
    text, _, as_json = database.run(code).partition("\n{")
    states = {line.split()[2]: line for line in text.splitlines() if " plugin " in line}
    assert re.search(r"^ok .*judgeboard-tickets 1\.0$", states["too_long"])
    assert re.search(r"^fix .*broken 0\.1", states["broken"])
    assert {
        ("judgeboard.judges", "cited", "judgeboard-tickets"),
        ("judgeboard.rules", "too_long", "judgeboard-tickets"),
        ("judgeboard.imports", "tickets", "judgeboard-tickets"),
        ("judgeboard.providers", "gateway", "judgeboard-tickets"),
        ("judgeboard.targets", "tickets", "judgeboard-tickets"),
        ("judgeboard.rules", "broken", "broken"),
    } <= {
        (each["group"], each["name"], each["package"])
        for each in json.loads("{" + as_json)["plugins"]
    }
    (warning,) = (line for line in database.printed_errors().splitlines() if "broken" in line)
    assert all(
        part in warning
        for part in ("broken 0.1", "judgeboard.rules", "ModuleNotFoundError", "'not_there'")
    )


def test_what_was_stored_stays_readable_after_the_packages_are_gone(database, tmp_path):
    (tmp_path / "log.db").write_bytes((database.folder / "log.db").read_bytes())
    gone = Process(tmp_path)
    try:
        flags = json.loads(gone.command("flags list --where rule=too_long --json"))["flags"]
        assert [each["rules"] for each in flags] == [["too_long"]]
        assert all("too_long" in why for why in flags[0]["why"])
        assert '"too_long"' in gone.command("stats --json")
        assert "cited v1" in gone.command("versions list")
        assert [each["groundedness"] for each in exported(gone, "judgments")] == [0.5, 1.0]
        (tmp_path / "judgeboard.toml").write_text(FIVE_WORDS)
        gone.command("flags apply")
        assert "line 1: flag_rules.too_long " in gone.refused("config")
        gone.command("test health cited")
        (_, listed), *_ = pages(
            gone, "open_flags", "judges", "rejudge", "judging", "settings", "responses", "overview"
        )
        assert "Is it open?" in listed
        assert "'cited'" in gone.refused("judge cited")
        assert "'cited'" in gone.refused("judge --judge cited")
        assert "'tickets'" in gone.refused("push tickets")
    finally:
        gone.close()


def test_the_page_shows_the_package_as_it_is_tested():
    page = PAGE.read_text(encoding="utf-8")
    for file in EXAMPLE.rglob("*.*"):
        if file.suffix in {".py", ".toml"} and file.name != "__init__.py":
            assert file.read_text(encoding="utf-8").strip() in page, file.name


def entry_points(monkeypatch, plugins):
    """Let packages have these entry points, loaded as they are, or raising; return the groups that are read."""
    read = []

    class Package:
        name, version = "birds", "2.0"

    class Entry:
        dist = Package

        def __init__(self, name, value):
            self.name, self._value = name, value

        def load(self):
            if isinstance(self._value, BaseException):
                raise self._value
            return self._value

    def find(*, group):
        read.append(group)
        return [Entry(name, value) for name, value in plugins.items()]

    monkeypatch.setattr(metadata, "entry_points", find)
    return read


def test_a_package_with_malformed_files_is_one_warning_and_stops_no_command(tmp_path, packages):
    malformed = {"lacking": b"no equals sign\n", "latin": b"latin = caf\xe9:RULE\n"}
    for name, line in malformed.items():
        describe_package(tmp_path, name, "3.0", b"[judgeboard.rules]\n" + line)
    (tmp_path / "log.csv").write_text("query,answer\nq,a\n")
    search = os.pathsep.join((str(tmp_path), str(packages)))
    environment = os.environ | {"PYTHONPATH": search, "JUDGEBOARD_DB": str(tmp_path / "log.db")}
    for line in ("import log.csv", "judge --judge lexical", "doctor"):
        command = [sys.executable, "-c", "from judgeboard.cli import main; main()", *line.split()]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr
        # Another package is broken.
        assert done.returncode == (line == "doctor"), done.stderr
        assert all(done.stderr.count(f"{name}-3.0") <= 1 for name in malformed)
    assert all(f"{name}-3.0" in done.stderr for name in malformed)
    # Other packages are used.
    assert "cited" in done.stdout


NO_NUMBER = "it must be a number"


def numbers(_plugin, value):
    if not isinstance(value, int):
        raise BadInput(NO_NUMBER)
    return value


def test_our_names_are_found_without_a_look_at_the_entry_points(monkeypatch):
    read = entry_points(monkeypatch, {"two": 2, "bad": "b"})
    table = Registry("judgeboard.numbers", {"one": 1}, numbers, reserved=["none"])
    assert table["one"] == 1
    assert "none" not in table
    assert not read
    assert table["two"] == 2
    assert list(table) == ["one", "two"]
    assert "three" not in table
    # They are read once.
    assert read == ["judgeboard.numbers"]


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("one", 2, "Judgeboard"),
        ("none", 2, "Judgeboard"),
        ("Two", 2, "lower-case letters"),
        ("two", "2", NO_NUMBER),
        ("two", ImportError("no module\nat all"), ": ImportError: no module"),
        ("two", SystemExit(), ": SystemExit"),
        ("two", CancelledError(), ": CancelledError"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_one_warning(name, value, fault, monkeypatch, caplog):
    entry_points(monkeypatch, {name: value, "three": 3})
    table = Registry("judgeboard.numbers", {"one": 1}, numbers, reserved=["none"])
    for _ in range(2):
        assert list(table) == ["one", "three"]
        assert table.get(name) == (1 if name == "one" else None)
    used, unused = table.plugins()
    assert used == Plugin("judgeboard.numbers", "three", "birds", "2.0")
    assert replace(unused, fault=None) == Plugin("judgeboard.numbers", name, "birds", "2.0")
    assert fault in (unused.fault or "")
    (warning,) = caplog.messages
    assert all(
        part in warning
        for part in (name, "birds 2.0", "judgeboard.numbers", unused.fault or "no fault")
    )


def test_an_error_in_a_rule_names_the_rule_and_its_package():
    plugin = Plugin("judgeboard.rules", "odd", "birds", "2.0")
    rule = rules._checked(
        plugin, Rule("odd", lambda _signals, _thresholds: 1 / 0, lambda _details, _params: "")
    )
    with pytest.raises(JudgeboardError, match=r"odd .*birds 2\.0 .*ZeroDivisionError"):
        reasons_for(Signals("log", "1", "QA"), Thresholds(), [rule])


def install_judges(monkeypatch, **classes):
    """Let packages have these judges and no others."""
    entry_points(monkeypatch, classes)
    table = Registry("judgeboard.judges", {}, judge_kinds._checked)
    monkeypatch.setattr(judge_kinds, "JUDGES", table)


def test_a_class_that_asks_a_model_has_its_prompt_in_its_own_package(tmp_path, monkeypatch, shell):
    prompts = tmp_path / "birds" / "prompts"
    prompts.mkdir(parents=True)
    (tmp_path / "birds" / "__init__.py").touch()
    (prompts / "terse.md").write_text("# System\nMark it.\n# Task\n{material}\n")
    monkeypatch.syspath_prepend(tmp_path)

    class Terse(GradeJudge):
        prompt_name = kind = "terse"
        prompt_package = "birds"

    plugin = Plugin("judgeboard.judges", "terse", "birds", "2.0")
    options = JudgeOptions(model="m", base_url="http://127.0.0.1:1/v1")
    version = judge_kinds._checked(plugin, Terse).make(options).version
    assert (version.name, version.kind, version.model) == ("terse", "terse", "m")
    assert "Mark it." in (version.prompt or "")
    install_judges(monkeypatch, terse=Terse)
    assert "Mark it." in shell("versions prompt terse")
    assert judge_kinds.asks_model("terse")
    with pytest.raises(BadInput, match=r"`kind` .*'other'"):
        judge_kinds._checked(replace(plugin, name="other"), Terse)
    with pytest.raises(BadInput):
        judge_kinds._checked(plugin, lambda _options: None)


class Bare:
    """A judge that has what every judge has, but for what a test takes away."""

    version: JudgeVersion | None = JudgeVersion(name="bare", kind="bare")
    priced, address = True, None

    def __init__(self, options):
        self.share = 1 / (options.concurrency - 2)

    async def judge(self, item):
        pass

    async def aclose(self):
        pass


def test_a_judge_of_a_package_says_whether_it_calls_a_host(monkeypatch):
    class Hosted(Bare):
        calls_host = True

    install_judges(monkeypatch, bare=Bare, hosted=Hosted)
    names = ("bare", "hosted", "unknown")
    assert [judge_kinds.kind_of(name).calls_host for name in names] == [False, True, True]
    assert not any(judge_kinds.asks_model(name) for name in names)


def test_a_judge_without_what_every_judge_has_is_refused_with_its_package(monkeypatch):
    make = judge_kinds._checked(Plugin("judgeboard.judges", "bare", "birds", "2.0"), Bare).make
    assert make(JudgeOptions()).version.name == "bare"
    monkeypatch.setattr(Bare, "version", JudgeVersion(name="bare", kind="other"))
    with pytest.raises(BadInput, match=r"`version` .*`kind`"):
        make(JudgeOptions())
    with pytest.raises(BadInput, match=r"bare .*birds 2\.0 .*ZeroDivisionError"):
        make(JudgeOptions(concurrency=2))
    monkeypatch.delattr(Bare, "version")
    with pytest.raises(BadInput, match=r"bare .*birds 2\.0 .*version"):
        make(JudgeOptions())


BIRDS = Plugin("judgeboard.imports", "birds", "birds", "2.0")
OTHER_NAME = "must be 'birds', the name of the entry point"


@pytest.mark.parametrize(
    ("check", "tool", "fault"),
    [
        (tools._checked_import, 1, "it must be a `Tool`"),
        (tools._checked_import, Tool(), "no exports, no spans and no history"),
        (tools._checked_target, Tool(), "no target"),
        (tools._checked_target, Tool(target=target("other")), OTHER_NAME),
        (tools._checked_import, Tool(history=history("other")), OTHER_NAME),
    ],
)
def test_a_tool_needs_what_its_group_is_for(check, tool, fault):
    with pytest.raises(BadInput, match=fault):
        check(BIRDS, tool)


def test_each_group_takes_its_parts_of_a_tool():
    both = Tool(history=history("birds"), target=target("birds"))
    assert tools._checked_import(BIRDS, both) == Tool(history=both.history)
    assert tools._checked_target(BIRDS, both) == Tool(target=both.target)


def test_a_tool_with_a_history_can_be_pulled_under_its_name(monkeypatch):
    named = {name: Tool(history=history(name)) for name in ("birds", "langfuse")}
    entry_points(monkeypatch, named)
    monkeypatch.setattr(tools, "IMPORTS", Registry("judgeboard.imports", {}, tools._checked_import))
    assert tools.pull_names() == ["langfuse", "mlflow", "langsmith", "phoenix", "birds"]
    assert [plugin.fault is None for plugin in tools.IMPORTS.plugins()] == [True, False]


def test_the_list_of_commands_reads_no_entry_points(monkeypatch):
    """Reading those of all packages takes as long as the list itself."""
    read = entry_points(monkeypatch, {})
    assert run_line("--help") == 0
    assert not read
