"""Each assistant of the examples sends its answers, with the real packages of its SDK and a real model."""

import runpy
from pathlib import Path

import pytest
from sqlalchemy import select

from assistants import FOLDER, OPENINFERENCE, ask
from judgeboard.store.engine import Store
from judgeboard.store.tables import RESPONSE
from sent_traces import gathered
from served import serving

CONTENT = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}
LANGCHAIN = ("langchain", "langchain-openai", "openinference-instrumentation-langchain")
LLAMAINDEX = ("llama-index-core", "llama-index-llms-openai", "openinference-instrumentation-llama-index")


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
def test_an_assistant_sends_its_answer(
    script: str,
    packages: tuple[str, ...],
    switch: dict[str, str],
    served_small_model: str,
    sqlite_store: Store,
) -> None:
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
    assert (row.source, row.query, row.answer.strip()) == ("shop", sample["QUESTION"], printed.strip())
    assert list(row.passages) == sample["search"](sample["QUESTION"])
    assert row.extra["completion_tokens"] > 0
