"""The route /mcp of the server: the tools over HTTP, with the keys, limits and events of all routes."""

from asyncio import Semaphore
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response as Reply
from starlette.types import Message

from judgeboard.mcp.caller import CALLER, Caller
from judgeboard.receiving.endpoint import Endpoint
from judgeboard.receiving.keys import READ, from_own_page
from judgeboard.receiving.limits import Refused
from judgeboard.receiving.receiver import Delivery, Receiver
from judgeboard.traces.sdk_requests import RequestBody

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

PATH = "/mcp"
AT_ONCE = 4  # calls, each of which may compute figures: pages and senders need threads too


class RpcMessage(RequestBody):
    """A message of JSON-RPC, as the SDKs of MCP send it."""

    example: ClassVar[Mapping[str, Any]] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    method: str
    params: dict[str, Any] = Field({})


def endpoints(receiver: Receiver) -> Sequence[Endpoint]:
    """Return the endpoints of the tools; none without the extra ``mcp``."""
    if find_spec("mcp") is None:
        return ()
    call = partial(_call, receiver, Semaphore(AT_ONCE))
    return (
        Endpoint(
            PATH,
            "Use the tools of agents (MCP)",
            "A message",
            call,
            scope=READ,
            body=RpcMessage,
        ),
        Endpoint(PATH, "No stream: each reply is JSON", "Nothing", _no_stream, "GET", READ),
    )


async def _no_stream(_delivery: Delivery, _request: Request) -> Reply:
    return Reply(status_code=405, headers={"allow": "POST"})


async def _call(
    receiver: Receiver, turns: Semaphore, delivery: Delivery, request: Request
) -> Reply:
    """Hand a message to the server of the SDK, which keeps nothing between requests, and return the reply."""
    if not from_own_page(request.headers, request.scope["scheme"]):
        raise Refused(403, "a page of another server may not use the tools", delivery.sender.name)
    body = await receiver.decoded(bytes, delivery)
    server = await run_in_threadpool(_server)
    CALLER.set(Caller(receiver.store(), delivery.sender))
    messages = iter([{"type": "http.request", "body": body}])
    reply, content = Reply(), bytearray()

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            reply.status_code = message["status"]
            reply.raw_headers = list(message["headers"])
        else:
            content.extend(message.get("body", b""))

    server.streamable_http_app(stateless_http=True, json_response=True, host="")
    manager = server.session_manager
    async with turns, manager.run():
        await manager.handle_request(request.scope, receive, send)
    reply.body = bytes(content)
    return reply


def _server() -> "MCPServer":
    from judgeboard.mcp.server import tool_server  # an extra, which loads in a second

    return tool_server()
