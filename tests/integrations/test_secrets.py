"""No secret that the process knows is stored, logged, shown or sent; imported texts stay as they are."""

import base64
import io
import json
import logging
from pathlib import Path
from urllib.parse import quote

import pytest
from streamlit.testing.v1 import AppTest

from hook_server import hook_server
from judgeboard.alerts.delivery import send
from judgeboard.cli.app import run
from judgeboard.domain import JudgeInput, Response
from judgeboard.errors import BadInput
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    ScriptedReply,
    completion,
    failure,
    verdict,
)
from judgeboard.receiving.keys import create_key
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.settings.model import provider_key
from judgeboard.store.engine import database_url
from judgeboard.store.storing import store_responses
from judgeboard.tools.pull import known_histories, pull
from judgeboard.tools.push import known_targets, push
from judgeboard_dashboard import session
from judgeboard_dashboard.sign_in import checked_auth
from judging_log import judge_once
from recording_tool import RecordingTool, Reply
from sent_traces import receiving

APP = Path(session.__file__).with_name("app.py")
TRACE = "ab" * 16
VARIABLES = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "PHOENIX_API_KEY",
    "LANGFUSE_SECRET_KEY",
    "LANGSMITH_API_KEY",
    "LABEL_STUDIO_API_KEY",
    "MLFLOW_TRACKING_PASSWORD",
)
AUTH = {
    "redirect_uri": "https://judgeboard.example.org/oauth2callback",
    "client_id": "judgeboard",
    "server_metadata_url": "https://login.example.org/.well-known/openid-configuration",
}


def canary(name):
    """Return a secret with characters that JSON, URLs and base64 write in different ways."""
    return f"cnry+{name}/0f7&kw"


def forms(secret, login="user"):
    """Yield a secret as an endpoint may repeat it."""
    yield from (
        secret,
        quote(secret, safe=""),
        json.dumps(secret)[1:-1],
        secret.replace("/", "\\/"),
    )
    yield base64.b64encode(f"{login}:{secret}".encode()).decode()
    yield base64.b64encode(secret.encode()).decode()


def traces_of(secret):
    """Yield texts that show a secret: its forms, and the middle of its base64 forms."""
    yield from (
        secret,
        quote(secret, safe=""),
        secret.replace("/", "\\/"),
        secret.replace("&", "\\u0026"),
    )
    for login in (b"", b"1", b"12"):
        yield base64.b64encode(login + secret.encode()).decode()[4:-8]


class EchoingTool(RecordingTool):
    """A tool that repeats each request, with all that it knows, in the message of an error."""

    echo = ""

    def answer(self, request):
        words = f"{json.dumps(dict(request.headers))} {request.path} {self.echo}"
        if request.path == "/v1/logs":
            return Reply(
                200, {"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": words}}
            )
        return Reply(422, {"message": words})


@pytest.fixture
def known(monkeypatch):
    """Give the process a different secret in every place from which it reads one."""
    for name in VARIABLES:
        monkeypatch.setenv(name, canary(name))
    environment = {
        "LANGFUSE_PUBLIC_KEY": "pk-team",
        "MLFLOW_TRACKING_USERNAME": "team",
        "OPENAI_CUSTOM_HEADERS": f"x-gateway: {canary('gateway')}\nx-team: rag",
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{quote(canary('collector'), safe='')},x-team=rag",
        "ANTHROPIC_BASE_URL": f"https://team:{quote(canary('address'), safe='')}@gateway.example.org",
        "JUDGEBOARD_SMTP": f"smtps://team:{quote(canary('mail'), safe='')}@mail.example.org",
        "JUDGEBOARD_ALERT_NETWORKS": "127.0.0.0/8",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    database_url(f"postgresql://team:{quote(canary('database'), safe='')}@127.0.0.1:1/judgeboard")
    checked_auth(AUTH | {"client_secret": canary("client"), "cookie_secret": canary("cookie") * 3})
    names = (*VARIABLES, "gateway", "collector", "address", "mail", "database", "client")
    return [*(canary(name) for name in names), canary("cookie") * 3]


@pytest.fixture
def log():
    """What a handler of the whole process writes."""
    stream, make = io.StringIO(), logging.getLogRecordFactory()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)
    logging.setLogRecordFactory(make)


def store_answers(store, count, *, first=0, answer="It is long."):
    with store.writing() as connection:
        store_responses(
            connection,
            [
                Response(
                    "log",
                    str(number),
                    "How long?",
                    answer,
                    ("It is long.",),
                    metadata={"trace_id": TRACE, "task_id": 1},
                )
                for number in range(first, first + count)
            ],
        )


def judge(store, endpoint, key):
    options = {"model": "echo", "base_url": endpoint.base_url, "tries": 1, "api_key": key}
    judge_pending(store, make_judge("rag", **options), concurrency=1)


def echoing(endpoint, echo):
    """Let an endpoint repeat the headers of each request, and ``echo``, in all parts of its reply in turn."""

    def reply(_request, number):
        words = f"{json.dumps(endpoint.requests[number].headers)} {echo}"
        headers = {"x-request-id": quote(words)[:4000]}
        good = verdict(reasoning=words).body
        escaped = json.dumps({**good, "model": words}).replace("&", "\\u0026")
        replies = {
            0: ScriptedReply({**good, "model": words}, headers=headers),
            1: failure(400, words),
            2: completion(words),
            4: ScriptedReply(words),
            5: ScriptedReply(escaped),
        }
        return replies.get(number, ScriptedReply(words, 400))

    endpoint.script = reply


def tool_errors(store, echo):
    """Push to every tool, and pull from every tool; each repeats the request. Return the messages."""
    messages = {}
    EchoingTool.echo = echo
    for name in known_targets():
        with EchoingTool() as tool:
            result = push(
                store, name, address=tool.address, wait=lambda _seconds: None, actor="test"
            )
            assert result.refused, result
            messages[f"push to {name}"] = repr(result)
    for name in known_histories():
        with EchoingTool() as tool, pytest.raises(BadInput) as error:
            pull(store, name, project="7", address=tool.address, wait=lambda _seconds: None)
        messages[f"pull from {name}"] = str(error.value)
    return messages


def pages():
    """Return everything that pages send to a browser."""
    frames = {}
    for page in ("runs", "item"):
        app = AppTest.from_file(APP, default_timeout=60)
        app.session_state["reviewer_name"] = "Mara"
        app.query_params["response"] = "1"
        app.switch_page(f"views/{page}.py")
        assert not app.run().exception
        frames[f"page {page}"] = " ".join(
            str(element.proto) for element in app if hasattr(element, "proto")
        )
    session.store().close()
    return frames


def test_no_secret_is_stored_logged_shown_or_sent(
    sqlite_store, known, log, tmp_path, monkeypatch, capsys
):
    database = str(sqlite_store.engine.url.database)
    echo = " ".join(form for secret in known for form in forms(secret))
    outside = {}
    token = create_key(sqlite_store, "assistant", by="test")
    known.append(token)
    store_answers(sqlite_store, 7)
    with RecordingEndpoint() as endpoint:
        echoing(endpoint, echo)
        judge(sqlite_store, endpoint, provider_key("openai"))
        assert canary("OPENAI_API_KEY") in str(endpoint.requests[0].headers)

    known.append(canary("typed"))  # on a page
    echo = " ".join(form for secret in known for form in forms(secret))
    store_answers(sqlite_store, 1, first=7)
    with RecordingEndpoint() as endpoint:
        echoing(endpoint, echo)
        judge(sqlite_store, endpoint, canary("typed"))
    outside |= tool_errors(sqlite_store, echo)
    with hook_server() as hook:
        url = f"{hook.url}/{canary('hook')}"
        known.append(url)
        monkeypatch.setenv("HOOK", url)
        message = {
            "id": "1",
            "kind": "opened",
            "title": "Alert",
            "text": f"{echo} {url}",
            "rule": "cost",
        }
        send("webhook:env:HOOK", message)
        outside["alert"] = repr(hook.bodies)
    with receiving(sqlite_store) as http:
        reply = http.post("/v1/answers", content="{", headers={"authorization": f"Bearer {token}"})
        outside["receiver"] = reply.text

    folder, grades = tmp_path / "out", tmp_path / "grades.jsonl"
    grades.write_text('{"response_id": "7", "rater": "Mara", "label": "good"}\n', encoding="utf-8")
    commands = (
        ("export", "all", "-o", str(folder)),
        ("import", str(grades), "--kind", "grades", "--source", "log"),
        ("queue", "create", "q"),
        ("queue", "export", "q", "--reviewer", "Mara", str(folder / "bundle.jsonl")),
        ("agreement", "--report", str(folder / "agreement.html")),
        ("stats",),
        (
            "--debug",
            "stats",
            "--db",
            f"postgresql://team:{quote(canary('database'), safe='')}@127.0.0.1:1/x",
        ),
    )
    for words in commands:
        code = run([*words] if "--db" in words else [*words, "--db", database])
        assert (code == 0) is ("--debug" not in words), capsys.readouterr().err
    for logger in ("judgeboard.jobs", "httpx"):
        try:
            raise ValueError(echo)
        except ValueError:
            logging.getLogger(logger).exception("an error of %s", echo)

    monkeypatch.setenv("JUDGEBOARD_DB", database)
    outside |= pages()
    captured = capsys.readouterr()
    outside |= {"stdout": captured.out, "stderr": captured.err, "log": log.getvalue()}
    for path in (*folder.rglob("*"), *Path(database).parent.glob(f"{Path(database).name}*")):
        if path.is_file():
            outside[path.name] = path.read_bytes().decode(errors="replace")
    assert {
        "responses.jsonl",
        "judgments.jsonl",
        "bundle.jsonl",
        "agreement.html",
        Path(database).name,
    } <= set(outside)
    leaks = {
        (where, secret)
        for where, text in outside.items()
        for secret in known
        if any(map(text.__contains__, traces_of(secret)))
    }
    assert not leaks
    assert all(
        "***" in outside[name] for name in ("judgments.jsonl", "log", "alert", "push to phoenix")
    )
    assert "How long?" in outside["page item"]


def test_an_imported_text_is_stored_and_exported_as_it_is(store, known, tmp_path):
    answer = " ".join(form for secret in known for form in forms(secret))
    store_answers(store, 1, answer=answer)
    address = store.engine.url.render_as_string(hide_password=False)
    assert run(["export", "responses", "-o", str(tmp_path / "answers.jsonl"), "--db", address]) == 0
    exported = [
        json.loads(line)
        for line in (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [row["answer"] for row in exported] == [answer]


def test_short_values_and_plain_headers_are_no_secrets(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "groundednes")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "content-type=application/x-kept")
    assert provider_key("openai") == "groundednes"
    words = "groundednes application/x-kept"
    with RecordingEndpoint(lambda _request, _number: verdict(reasoning=words)) as endpoint:
        chosen = make_judge("rag", model="m", base_url=endpoint.base_url)
        assert (
            judge_once(
                chosen, JudgeInput(1, "How long?", "It is long.", ("It is long.",))
            ).reasoning
            == words
        )
