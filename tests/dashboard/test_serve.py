"""The server is safe and looks the same whatever folder it is started in."""

import asyncio
import shutil
import socket
import tomllib
from pathlib import Path

import httpx
import pytest
from streamlit import config as streamlit_config

from command_lines import run_line
from job_steps import ANSWERS, ask, asked, ended, fill, rag
from judgeboard.errors import BadInput, MissingDatabase
from judgeboard.receiving.keys import from_own_page
from judgeboard_dashboard import passwords, server
from judgeboard_dashboard.server import POLICY, OwnPages, check_free, serve, server_options
from judgeboard_dashboard.theme import streamlit_options
from judging_log import time_passes, until
from served import free_port, serving

ROOT = Path(__file__).parents[2]


def flat(table, prefix=""):
    found = {}
    for key, value in table.items():
        nested = isinstance(value, dict)
        found |= flat(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}": value}
    return found


def test_the_checkout_and_the_wheel_have_one_theme_and_one_set_of_safe_settings():
    checkout = flat(
        tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    )
    served = server_options("localhost", 8501)
    theme = {name: value for name, value in checkout.items() if name.startswith("theme.")}
    assert theme == streamlit_options()
    for name, value in checkout.items():
        assert served[name] == (
            sorted(value) if isinstance(value, list) and name == "server.allowedHosts" else value
        ), name


def test_every_option_is_one_that_streamlit_knows():
    known = set(streamlit_config.get_config_options())
    assert set(server_options("localhost", 8501)) <= known


@pytest.mark.parametrize(
    ("host", "address", "names"),
    [
        ("localhost", "127.0.0.1", {"localhost", "127.0.0.1", "[::1]"}),
        (
            "case.example.org",
            "case.example.org",
            {"case.example.org", "localhost", "127.0.0.1", "[::1]"},
        ),
    ],
)
def test_a_server_answers_to_its_own_names_only(host, address, names):
    options = server_options(host, 8501)
    assert options["server.address"] == address
    assert set(options["server.allowedHosts"]) == names


def test_even_a_server_for_everybody_does_not_answer_to_any_name():
    allowed = server_options("0.0.0.0", 8501, allowed_hosts=["case.example.org"])[
        "server.allowedHosts"
    ]
    assert "case.example.org" in allowed
    assert "*" not in allowed
    # An empty list would mean any name.
    assert allowed


def test_nothing_is_sent_home_and_no_detail_of_an_error_is_shown():
    assert (
        server_options("localhost", 8501).items()
        >= {
            "browser.gatherUsageStats": False,
            "client.showErrorDetails": "none",
            "server.enableXsrfProtection": True,
        }.items()
    )
    assert "default-src 'self'" in POLICY
    assert "http" not in POLICY


def test_a_taken_port_names_the_option_and_no_database_is_made(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"port {port} "):
            check_free("localhost", port)
        database = tmp_path / "judgeboard.db"
        assert run_line(f"serve --port {port} --db {database}") == 2
        assert not database.exists()


def test_a_host_that_is_not_ours_is_said():
    with pytest.raises(BadInput, match="--host"):
        check_free("192.0.2.1", 0)
    with pytest.raises(BadInput, match="--port"):
        check_free("localhost", 70_000)


@pytest.mark.parametrize(
    "reaching", ["--host 0.0.0.0", "--host ''", "--allow-host judge.example.org"]
)
def test_a_server_that_other_machines_reach_does_not_start_without_a_sign_in(
    tmp_path, reaching, capsys, monkeypatch
):
    monkeypatch.setenv("JUDGEBOARD_DB", "")  # the server sets it
    monkeypatch.chdir(tmp_path)
    started = []
    monkeypatch.setattr(server.app, "run", lambda **_: started.append(True))
    monkeypatch.setattr(server.gc, "freeze", lambda: None)
    db = f"--db {tmp_path / 'judgeboard.db'}"
    command = f"serve {reaching} --port {free_port()} {db}"
    assert run_line(command) == 2
    told = capsys.readouterr().err
    assert "people invite" in told
    assert "--open" in told
    assert not started
    assert not list(tmp_path.iterdir())  # no database is created
    assert run_line(f"{command} --open") in {0, None}
    assert len(started) == 1
    assert run_line(f"people invite ann {db}") == 0
    passwords.PASSWORDS._looked_at.clear()
    assert run_line(command) in {0, None}
    assert len(started) == 2


def test_quickstart_for_other_machines_does_not_start_without_a_sign_in(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("JUDGEBOARD_DB", "")
    monkeypatch.chdir(tmp_path)
    assert run_line(f"quickstart --host 0.0.0.0 --port {free_port()}") == 2
    assert "--open" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())  # before the sample data are stored


def test_a_missing_database_is_said_before_the_server_starts(tmp_path):
    with pytest.raises(MissingDatabase):
        serve(tmp_path / "none.db", port=0)


@pytest.fixture(scope="module")
def port(sqlite_template, tmp_path_factory):
    database = tmp_path_factory.mktemp("served") / "judgeboard.db"
    server = serving(shutil.copyfile(sqlite_template, database))
    with server:
        yield server.port


def test_a_server_killed_in_the_middle_of_a_job_finishes_it_after_a_restart(sqlite_store, endpoint):
    fill(sqlite_store)
    endpoint.hold_after(5)
    first = serving(str(sqlite_store.engine.url.database))
    with first:
        job_id = ask(sqlite_store, rag(endpoint))
        asked(sqlite_store, job_id, 5)
        until(lambda: len(endpoint.server.requests) == 9, "the other calls in flight")
        first.kill()
    time_passes(sqlite_store)
    endpoint.release()
    with serving(first.database, first.port):
        job = ended(sqlite_store, job_id)
    assert (job.state, job.ok, job.waiting) == ("done", ANSWERS, 0)
    assert len(endpoint.server.requests) == ANSWERS + 4
    assert set(endpoint.asked.values()) == {1, 2}


@pytest.mark.parametrize(
    ("origin", "own"),
    [
        (None, True),  # a program
        ("http://localhost:PORT", True),
        ("http://LOCALHOST:PORT", True),
        *(
            (origin, False)
            for origin in (
                "https://localhost:PORT",
                "http://localhost:9999",  # another server of this machine
                "http://localhost",
                "http://127.0.0.1:PORT",
                "http://localhost:PORT.evil.example",
                "http://localhost:PORT/",
                "http://user@localhost:PORT",
                "http://localhost:PORT@evil.example",
                "http://evil.example/http://localhost:PORT",
                "https://evil.example",
                "null",
                "",
            )
        ),
    ],
)
def test_pages_of_other_servers_send_upload_and_open_nothing(port, origin, own):
    headers = {} if origin is None else {"origin": origin.replace("PORT", str(port))}
    with httpx.Client(base_url=f"http://localhost:{port}", headers=headers) as http:
        sent = http.post("/api/responses", json={"id": "1", "query": "q", "answer": "a"})
        uploaded = http.put("/_stcore/upload_file/session/file")
    assert (sent.status_code < 300) == own, sent.text
    assert ("another server" in uploaded.text) != own
    assert opens_session(port, headers) == own


def test_a_page_that_renames_itself_to_this_server_gets_no_data_and_no_page_goes_elsewhere(port):
    assert not opens_session(port, {"origin": f"http://evil.example:{port}"}, "evil.example")
    answer = httpx.get(f"http://localhost:{port}/healthz")
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")


@pytest.mark.parametrize(
    "headers",
    [{"cookie": f"a={'b' * 9_000}"}, {f"x-{number}": "y" for number in range(200)}],
    ids=["long", "many"],
)
def test_a_session_is_opened_whatever_headers_a_proxy_adds(port, headers):
    assert opens_session(port, headers)


@pytest.mark.parametrize("query", ["", "?tables=true"])
def test_the_address_of_the_first_view_leads_to_the_first_page(port, query):
    page = httpx.get(f"http://localhost:{port}/overview{query}", follow_redirects=True)
    assert (page.status_code, str(page.url)) == (200, f"http://localhost:{port}/{query}")


def opens_session(port, headers, host="localhost"):
    lines = (
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}:{port}",
        *(f"{name}: {value}" for name, value in headers.items()),
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==",
        "",
        "",
    )
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return connection.recv(100).startswith(b"HTTP/1.1 101")


@pytest.mark.parametrize(
    ("origin", "host", "proxy", "own"),
    [
        ("https://case.example.org", "case.example.org", {"x-forwarded-proto": "https"}, True),
        (
            "https://case.example.org",
            "case.example.org:443",
            {"x-forwarded-proto": "https, http"},
            True,
        ),
        ("http://case.example.org", "case.example.org", {"x-forwarded-proto": "https"}, False),
        (
            "https://case.example.org",
            "case.example.org",
            {},
            True,
        ),  # the proxy does not name the scheme
        ("http://case.example.org:8501", "case.example.org:8501", {}, True),
        ("https://case.example.org", "internal:8501", {"x-forwarded-proto": "https"}, False),
        ("https://[::1]:8501", "[::1]:8501", {}, False),
        ("http://[::1]:8501", "[::1]:8501", {}, True),
        ("http://", "", {}, False),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_the_page_of_a_server_behind_a_proxy_is_its_own(scheme, origin, host, proxy, own):
    assert from_own_page({"origin": origin, "host": host, **proxy}, scheme) == own


@pytest.mark.parametrize(
    ("host", "origin", "words"),
    [
        (
            "judge.example.org",
            "https://judge.example.org",
            "start the server with --allow-host judge.example.org",
        ),
        ("localhost:8501", "https://judge.example.org", "A proxy must keep the header Host"),
    ],
)
def test_a_refused_session_is_logged_once_with_the_option_that_allows_it(
    host, origin, words, caplog
):
    async def refusing(_scope, _receive, send):  # as Streamlit refuses other hosts
        await send({"type": "websocket.close", "code": 1008})

    async def drop(_message):
        pass

    headers = [(b"host", host.encode()), (b"origin", origin.encode())]
    scope = {"type": "websocket", "scheme": "ws", "path": "/_stcore/stream", "headers": headers}
    guard = OwnPages(refusing)
    for _ in range(3):  # browsers try again
        asyncio.run(guard(scope, None, drop))
    (record,) = caplog.records
    assert words in record.getMessage()
