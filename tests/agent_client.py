"""The client of the SDK, as an agent uses it: within the process, over stdio and over HTTP."""

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ElicitResult

from judgeboard.mcp.caller import CALLER, Caller
from judgeboard.mcp.server import tool_server
from judgeboard.receiving.keys import Sender
from judgeboard.store.engine import Store

FENCED = re.compile(r"\[BEGIN DATA (\w{16})\]\n(.*)\n\[END DATA \1\]", re.DOTALL)
COMMAND = "import sys; from judgeboard.cli.app import run; sys.exit(run(sys.argv[1:]))"


def data_of(result: CallToolResult) -> Any:
    """Return the data in the fence of a result, and check that nothing else is in it but our sentence."""
    [content] = result.content
    assert not result.is_error, content.text
    match = FENCED.search(content.text)
    assert match is not None
    assert content.text.endswith(match[0])
    assert "\n" not in content.text[: match.start() - 1]
    assert match[1] not in match[2]
    return json.loads(match[2])


def error_of(result: CallToolResult) -> str:
    """Return the text of an error."""
    assert result.is_error, result.content
    return str(result.content[0].text)


class Agent:
    """Calls tools within this process, each call with a client of its own."""

    def __init__(
        self,
        store: Store,
        sender: Sender | None = None,
        answer: str | None = None,
        mode: str = "auto",
    ) -> None:
        self.caller, self.answer, self.mode = Caller(store, sender), answer, mode
        self.asked: list[str] = []

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool; the person answers a question with ``answer``."""

        async def elicit(_context: Any, parameters: Any) -> ElicitResult:
            self.asked.append(parameters.message)
            accepted = self.answer == "accept"
            content = {"start": True} if accepted else None
            return ElicitResult(action=self.answer or "cancel", content=content)

        async def run() -> CallToolResult:
            CALLER.set(self.caller)
            options = {} if self.answer is None else {"elicitation_callback": elicit}
            async with Client(tool_server(), mode=self.mode, **options) as client:
                return await client.call_tool(tool, arguments)

        return anyio.run(run)

    def data(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return its data."""
        return data_of(self.call(tool, **arguments))

    def error(self, tool: str, **arguments: Any) -> str:
        """Call a tool and return its error."""
        return error_of(self.call(tool, **arguments))


@asynccontextmanager
async def over_stdio(database: str, folder: Path) -> AsyncIterator[Client]:
    """A client of `judgeboard mcp` in a process of its own."""
    path = os.pathsep.join(filter(None, sys.path))
    command = StdioServerParameters(
        command=sys.executable,
        args=["-c", COMMAND, "mcp", "--db", database],
        cwd=folder,
        env={"PYTHONPATH": path},
    )
    async with Client(stdio_client(command)) as client:
        yield client


@asynccontextmanager
async def over_http(
    url: str, token: str | None = None, mode: str = "auto"
) -> AsyncIterator[Client]:
    """A client of the route of a server."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def with_client(client: Any, use: Callable[[Client], Awaitable[Any]]) -> Any:
    """Return what ``use`` does with a client."""

    async def run() -> Any:
        async with client as connected:
            return await use(connected)

    return anyio.run(run)
