"""A server or a worker that is asked to end does so in time, whatever it does."""

import os
import signal
import socket
import time
from urllib.parse import urlsplit

import pytest

from forked_commands import ReadCommand
from held_endpoint import held_endpoint
from job_steps import ask, fill, rag
from judging_log import address, until
from served import answers, free_port, serving

HALF = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"


@pytest.mark.parametrize("numbers", [[signal.SIGTERM], [signal.SIGTERM, signal.SIGTERM]])
def test_a_server_ends_in_time_while_a_request_comes_no_further(sqlite_store, numbers):
    server = serving(str(sqlite_store.engine.url.database))
    with server as url, socket.create_connection(("127.0.0.1", urlsplit(url).port or 0)) as sender:
        sender.sendall(HALF)
        time.sleep(0.5)  # the request is read
        began = time.monotonic()
        for number in numbers:
            os.kill(server.process.pid or 0, number)
            time.sleep(0.5)
        server.process.join(15)  # the sender is given 20 seconds
        assert server.process.exitcode is not None
        assert len(numbers) == 1 or time.monotonic() - began < 8


def test_a_worker_ends_in_time_while_an_endpoint_does_not_answer(store):
    fill(store)
    with held_endpoint() as endpoint:
        endpoint.hold_after(0)
        with ReadCommand("worker", "--db", address(store)) as worker:
            ask(store, rag(endpoint))
            until(lambda: endpoint.server.requests, "a call in flight")
            worker.send_signal(signal.SIGTERM)
            worker.wait(timeout=20)  # the call may take minutes
            assert worker.returncode is not None


def test_a_receiver_ends_in_time_while_a_request_comes_no_further(sqlite_store):
    port = free_port()
    with ReadCommand(
        "sources", "receive", "--port", str(port), "--db", address(sqlite_store)
    ) as process:
        until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), "the receiver")
        with socket.create_connection(("127.0.0.1", port)) as sender:
            sender.sendall(HALF)
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=15)
