"""The client of the SDK, as an agent uses it: within the process, over stdio and over HTTP."""

import json
import os
import re
import sys
from contextlib import asynccontextmanager

import anyio
import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from judgeboard.mcp.caller import CALLER, Caller
from judgeboard.mcp.server import tool_server

FENCED = re.compile(r"\[BEGIN DATA (\w{16})\]\n(.*)\n\[END DATA \1\]", re.DOTALL)
COMMAND = "import sys; from judgeboard.cli.app import run; sys.exit(run(sys.argv[1:]))"


def data_of(result):
    """Return the data in the fence of a result, and check that nothing else is in it but our sentence."""
    [content] = result.content
    assert not result.is_error, content.text
    match = FENCED.search(content.text)
    assert content.text.endswith(match[0])
    assert "\n" not in content.text[: match.start() - 1]
    assert match[1] not in match[2]
    return json.loads(match[2])


def error_of(result):
    """Return the text of an error."""
    assert result.is_error, result.content
    return str(result.content[0].text)


class Agent:
    """Calls tools within this process, each call with a client of its own."""

    def __init__(self, store, sender=None, answer=None, mode="auto"):
        self.caller, self.answer, self.mode = Caller(store, sender), answer, mode
        self.asked = []

    def call(self, tool, **arguments):
        """Call a tool; the person answers a question with ``answer``."""

        async def elicit(_context, parameters):
            self.asked.append(parameters.message)
            accepted = self.answer == "accept"
            content = {"start": True} if accepted else None
            return ElicitResult(action=self.answer or "cancel", content=content)

        async def run():
            CALLER.set(self.caller)
            options = {} if self.answer is None else {"elicitation_callback": elicit}
            async with Client(tool_server(), mode=self.mode, **options) as client:
                return await client.call_tool(tool, arguments)

        return anyio.run(run)

    def data(self, tool, **arguments):
        """Call a tool and return its data."""
        return data_of(self.call(tool, **arguments))

    def error(self, tool, **arguments):
        """Call a tool and return its error."""
        return error_of(self.call(tool, **arguments))


@asynccontextmanager
async def over_stdio(database, folder):
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
async def over_http(url, token=None, mode="auto"):
    """A client of the route of a server."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def with_client(client, use):
    """Return what ``use`` does with a client."""

    async def run():
        async with client as connected:
            return await use(connected)

    return anyio.run(run)
