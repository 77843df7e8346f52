"""The project file in the folder of a stranger: no key and no text of the log leaves before it is confirmed."""

import os
import pty
import socketserver
import threading
from contextlib import suppress

import pytest

import judgeboard
from cli_commands import command_examples
from command_lines import run_line
from judgeboard.alerts.destinations import alert_command, mail_server
from judgeboard.cli.app import root, run
from judgeboard.errors import UnconfirmedFile
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, verdict
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.settings.model import load_settings
from judging_log import address, store_answers

CANARY = "canary-0123456789abcdef"
KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "JUDGEBOARD_API_KEY",
    "SLACK_URL",
    "PGPASSWORD",
    "LANGFUSE_SECRET_KEY",
    "LANGFUSE_PUBLIC_KEY",
    "PHOENIX_API_KEY",
    "MLFLOW_TRACKING_PASSWORD",
)


class Listener:
    """A server of a stranger, which keeps the first bytes of each connection."""

    def __init__(self):
        self.received = received = []

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.settimeout(0.2)
                with suppress(OSError):
                    received.append(self.request.recv(65_536))

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()


@pytest.fixture
def listener():
    listener = Listener()
    yield listener
    listener.server.shutdown()
    listener.server.server_close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder below the one that a stranger made; keys are in the environment."""
    for name in KEYS:
        monkeypatch.setenv(name, CANARY)
    folder = tmp_path / "cloned" / "below"
    folder.mkdir(parents=True)
    (folder / "suite.yaml").write_text("name: release\n")
    (folder / "log.jsonl").write_text('{"query": "q", "answer": "a"}\n')
    monkeypatch.chdir(folder)
    return folder


def project(host):
    """Return a project file whose every address is this one."""
    judge = f'model = "m"\nbase_url = "http://{host}/v1"\n'
    return (
        f'db = "postgresql://u@{host}/log"\nurl = "http://{host}"\nprimary_judge = "rag"\n'
        f'alert_command = "curl http://{host}"\nsmtp = "smtp://{host}"\nsmtp_from = "a@b.org"\nadmin = "eve@b.org"\n'
        f'alert_networks = ["127.0.0.0/8"]\nreceive_grpc = "0.0.0.0:1"\n'
        + "".join(
            f"[judges.{name}]\n{judge}" for name in ("rag", "strict", "main", "lexical", "fast")
        )
        + f'[judges.claude]\nprovider = "anthropic"\n{judge}'
        f'[suites.release]\nfile = "suite.yaml"\ncandidate = "model:m"\ncandidate_base_url = "http://{host}"\n'
        f'[judging_rules.live]\njudge = "rag"\nbase_url = "http://{host}/v1"\n'
        '[alerts.old]\nwhen = "old_flags"\nafter = "2d"\nto = ["command", "email:eve@b.org"]\n'
    )


@pytest.mark.parametrize("place", [".", ".."])
def test_a_judge_of_a_strangers_file_gets_neither_key_nor_log(place, folder, sqlite_store, capsys):
    store_answers(sqlite_store, 2)
    with RecordingEndpoint(always(verdict())) as endpoint:
        text = f'primary_judge = "main"\n[judges.main]\nmodel = "m"\nbase_url = "{endpoint.base_url}"\n'
        (folder / place / "judgeboard.toml").write_text(text)
        judge = f"judge --db {address(sqlite_store)}"
        assert run_line(judge) == 2
        assert endpoint.requests == []
        refusal = capsys.readouterr().err
        assert endpoint.base_url in refusal
        assert "config --confirm" in refusal
        assert run_line("config --confirm") == 0
        assert run_line(judge) == 0
        assert len(endpoint.requests) == 2
        (folder / place / "judgeboard.toml").write_text(text.replace('"m"', '"n"'))
        # A changed file is confirmed anew.
        assert run_line(judge) == 2
        assert len(endpoint.requests) == 2


def test_no_command_sends_anything_to_an_address_of_a_strangers_file(
    folder, sqlite_store, listener, capsys
):
    store_answers(sqlite_store, 2)
    (folder / "judgeboard.toml").write_text(project(f"127.0.0.1:{listener.port}"))
    refused = 0
    # Without LOG, `quickstart` uses no project file, and it serves pages.
    examples = [words for words in command_examples(root) if words != ["quickstart"]]
    for words in examples:
        words = [  # noqa: PLW2901
            "log.jsonl" if word.endswith((".jsonl", ".csv", ".gz")) else word for word in words
        ]
        for db in (["--db", address(sqlite_store)], []):
            run([*words, *db])
            refused += "config --confirm" in capsys.readouterr().err
            assert listener.received == [], words
    # Most commands have read the file.
    assert refused > len(examples)


@pytest.mark.parametrize(
    "use",
    [
        load_settings,
        judgeboard.open_store,
        lambda: make_judge("rag", model="m", base_url="http://localhost:1/v1", api_key="k"),
        mail_server,
        alert_command,
    ],
)
def test_python_refuses_a_strangers_file(use, folder, listener):
    (folder / "judgeboard.toml").write_text(project(f"127.0.0.1:{listener.port}"))
    with pytest.raises(UnconfirmedFile):
        use()
    assert listener.received == []


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 2), (b"\x04", 2)])
def test_in_a_terminal_the_person_is_asked_once(answer, code, folder, sqlite_store, monkeypatch):
    (folder / "judgeboard.toml").write_text(
        '[judges.main]\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n'
    )
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    with os.fdopen(theirs) as terminal, monkeypatch.context() as typing:
        typing.setattr("sys.stdin", terminal)
        assert run_line(f"stats --db {address(sqlite_store)}") == code
    os.close(ours)
    assert run_line(f"stats --db {address(sqlite_store)}") == code


def test_what_init_writes_is_in_force(shell, folder):
    shell("init log.jsonl")
    shell("import log.jsonl")
    shell("stats")


def test_a_judge_of_a_strangers_database_gets_no_key(folder, sqlite_store, capsys):
    store_answers(sqlite_store, 2)
    judge_pending(sqlite_store, make_judge("lexical"))
    commands = (
        "judge rag --rejudge all",
        "judge 'rag v1' --rejudge all",
        "judge --judge rag --model m --rejudge all",
        "test audit lexical --by rag --sample 1",
        "compare rag --a x --b y",
        "align --judge-version rag",
    )
    with RecordingEndpoint(always(verdict())) as endpoint:
        judge = make_judge("rag", model="m", base_url=endpoint.base_url, api_key="of the stranger")
        judge_pending(sqlite_store, judge, limit=1)
        endpoint.requests.clear()
        for line in commands:
            for agreed in ("--yes", ""):
                run_line(f"{line} {agreed} --db {address(sqlite_store)}")
            assert CANARY not in str([request.headers for request in endpoint.requests]), line
        capsys.readouterr()
        assert len(endpoint.requests) >= 6
