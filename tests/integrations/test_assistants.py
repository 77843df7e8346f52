"""The assistants of `examples/assistants`, with real packages and a real model, as the README tells their users.

Their answers come by themselves, are judged and reviewed, and the scores are found in real tools.
"""

import os
import runpy
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest
from pages_in_browser import launch
from playwright.sync_api import sync_playwright
from servers import served, tool_server
from sqlalchemy import func, select

from judgeboard.store.opening import open_store
from judgeboard.store.tables import FLAG, RESPONSE
from judgeboard_dashboard.sign_in import own_cookie
from page_state import DECIDE, settled
from sent_traces import gathered
from served import free_port, serving

QUESTION = "Who wrote the novel Moby Dick, and what happens at its end?"  # no passage of the sample answers it
JUDGEBOARD = str(Path(sys.executable).with_name("judgeboard"))

FOLDER = Path(__file__).parents[2] / "examples" / "assistants"
EXPORTER = ("opentelemetry-distro", "opentelemetry-exporter-otlp-proto-http")
OPENINFERENCE = ("openai", "openinference-instrumentation-openai")
# What it needs beside these is missing in its own requirements.
GENAI = ("openai", "opentelemetry-instrumentation-openai-v2", "opentelemetry-util-genai<1", "httpx")
CONTENT = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}
LANGCHAIN = ("langchain", "langchain-openai", "openinference-instrumentation-langchain")
LLAMAINDEX = (
    "llama-index-core",
    "llama-index-llms-openai",
    "openinference-instrumentation-llama-index",
)


def ask(script, packages, *questions, **environment):
    """Ask an assistant in an environment of its own, and return what it prints."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "VIRTUAL_ENV"}
    }
    done = subprocess.run(
        [
            os.environ.get("UV", "uv"),
            "run",
            "--isolated",
            "--no-project",
            "--python",
            sys.executable,
            *(f"--with={package}" for package in (*EXPORTER, *packages)),
            "opentelemetry-instrument",
            "--exporter_otlp_protocol",
            "http/protobuf",
            "--metrics_exporter",
            "none",
            "python",
            FOLDER / script,
            *questions,
        ],
        env={**kept, "OPENAI_API_KEY": "none", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("script", "packages", "switch"),
    [
        ("with_openai.py", OPENINFERENCE, {}),
        ("with_openai.py", ("openai", "opentelemetry-instrumentation-genai-openai"), CONTENT),
        ("with_langchain.py", LANGCHAIN, {}),
        ("with_llamaindex.py", LLAMAINDEX, {}),
    ],
    ids=["openai", "openai-genai", "langchain", "llamaindex"],
)
def test_an_assistant_sends_its_answer(script, packages, switch, served_small_model, sqlite_store):
    with serving(Path(str(sqlite_store.engine.url.database))) as url:
        printed = ask(
            script,
            packages,
            OPENAI_BASE_URL=served_small_model,
            OTEL_EXPORTER_OTLP_ENDPOINT=url,
            OTEL_SERVICE_NAME="shop",
            **switch,
        )
    gathered(sqlite_store)  # what the server did not gather before its end
    with sqlite_store.reading() as connection:
        row = connection.execute(select(RESPONSE)).one()
    sample = runpy.run_path(str(FOLDER / "passages.py"))
    assert (row.source, row.query, row.answer.strip()) == (
        "shop",
        sample["QUESTION"],
        printed.strip(),
    )
    assert list(row.passages) == sample["search"](sample["QUESTION"])
    assert row.extra["completion_tokens"] > 0


@contextmanager
def collector(judgeboard, tools):
    """Passes on what an assistant sends, as an OpenTelemetry Collector: all to Judgeboard, traces to the tools too."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            kept = {
                name: value
                for name, value in self.headers.items()
                if name.lower().startswith("content-")
            }
            reply = httpx.post(judgeboard + self.path, content=body, headers=kept, timeout=60)
            self.send_response(reply.status_code)
            self.send_header("content-length", "0")
            self.end_headers()
            self.wfile.flush()
            for address, headers in tools.items() if self.path == "/v1/traces" else ():
                httpx.post(
                    address + self.path, content=body, headers=kept | headers, timeout=120
                ).raise_for_status()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def in_phoenix(address, _trace_id, span_id):
    from phoenix.client import Client

    annotations = Client(base_url=address).spans.get_span_annotations(
        span_ids=[span_id], project_identifier="default"
    )
    return {
        (
            each["name"],
            each["annotator_kind"] == "HUMAN",
            each["result"].get("label") or each["result"].get("score"),
        )
        for each in annotations
    }


def in_mlflow(address, trace_id, _span_id):
    from mlflow import MlflowClient

    trace = MlflowClient(tracking_uri=address).get_trace(f"tr-{trace_id}", display=False)
    return {
        (each.name, each.source.source_type == "HUMAN", each.value)
        for each in trace.info.assessments
    }


def eventually(happened, seconds=90):
    """Return what is there at last."""
    deadline = time.monotonic() + seconds
    while not (result := happened()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(1)
    return result


def judgeboard(*arguments):
    return subprocess.run(
        [JUDGEBOARD, *arguments], capture_output=True, text=True, check=True
    ).stdout


def open_flags(store):
    """The number of open flags for a low groundedness; an answer may also be in the random sample."""
    flags = select(func.count()).where(FLAG.c.rule == "low_groundedness", FLAG.c.state == "open")
    with store.reading() as connection:
        return int(connection.execute(flags).scalar_one())


def answers(store):
    with store.reading() as connection:
        return {row.source: row for row in connection.execute(select(RESPONSE))}


def review(url, store):
    """Confirm all open flags in a browser, each with the quality 2."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        context = browser.new_context(base_url=url)
        context.add_cookies(
            [{"name": own_cookie("judgeboard_reviewer", url), "value": "Mara", "url": url}]
        )
        page = context.new_page()
        page.goto("/open_flags?rule=low_groundedness")
        page.get_by_role("button", name="Start reviewing").click()
        label = page.get_by_role("button", name="Yes, store the label")
        flags = open_flags(store)
        for left in reversed(range(flags)):
            settled(page, DECIDE)
            page.keyboard.press("2")
            page.keyboard.press("y")
            if left == flags - 1:
                label.click()  # asked once per person
            eventually(lambda left=left: open_flags(store) == left)
        browser.close()


@pytest.mark.timeout(900)
def test_answers_of_a_real_assistant_are_judged_reviewed_and_scored_in_real_tools(
    served_small_model, tmp_path
):
    database, url = str(tmp_path / "shop.db"), f"http://localhost:{(port := free_port())}"
    serve = [JUDGEBOARD, "serve", "--db", database, "--port", str(port)]
    with ExitStack() as servers:
        in_phoenix_at, *_ = servers.enter_context(tool_server("phoenix", tmp_path / "phoenix"))
        in_mlflow_at, _, headers = servers.enter_context(tool_server("mlflow", tmp_path / "mlflow"))
        servers.enter_context(served(serve, f"{url}/healthz", folder=tmp_path))
        judgeboard("rule", "add", "judge", "live", "--judge", "lexical", "--db", database)
        endpoint = servers.enter_context(collector(url, {in_phoenix_at: {}, in_mlflow_at: headers}))
        common = {"OPENAI_BASE_URL": served_small_model, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
        content = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
        printed = {
            "openinference": ask(
                "with_openai.py",
                OPENINFERENCE,
                QUESTION,
                OTEL_SERVICE_NAME="openinference",
                **common,
            ),
            "genai": ask(
                "with_openai.py", GENAI, QUESTION, OTEL_SERVICE_NAME="genai", **common, **content
            ),
        }
        store = open_store(database)
        servers.callback(store.close)
        eventually(lambda: open_flags(store) == len(printed))
        stored = answers(store)
        assert {source: row.answer.strip() for source, row in stored.items()} == {
            source: text.strip() for source, text in printed.items()
        }
        assert {row.query for row in stored.values()} == {QUESTION}
        assert {len(row.passages) for row in stored.values()} == {3}
        review(url, store)
        for name, address, scores in (
            ("phoenix", in_phoenix_at, in_phoenix),
            ("mlflow", in_mlflow_at, in_mlflow),
        ):
            push = ("push", name, "--url", address, "--db", database)
            for row in stored.values():
                place = (address, row.external_id, row.extra["span_id"])
                # The tools store spans some time after they took them; what they refused is pushed
                # again.
                found = eventually(
                    lambda push=push, place=place, scores=scores: (
                        judgeboard(*push) and scores(*place)
                    )
                )
                assert {("quality", True, 2), ("label", True, "hallucinated")} <= found
                assert {score for score, is_human, _ in found if not is_human} == {
                    "groundedness",
                    "quality",
                }
