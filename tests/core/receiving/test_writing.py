"""The thread that writes for many requests: how long a request waits."""

import asyncio
import threading

import pytest

from judgeboard.receiving.writing import Writer


def test_a_request_whose_write_has_begun_waits_for_its_end(sqlite_store):
    began, may_end = threading.Event(), threading.Event()

    def write(_connection):
        began.set()
        may_end.wait()
        return "stored"

    async def request(writer):
        reply = asyncio.create_task(writer.write(write))
        await asyncio.sleep(0)
        began.wait()  # the loop stands still, so that the patience ends after this
        for _ in range(10):
            await asyncio.sleep(0)
        assert not reply.done()
        may_end.set()
        return await reply

    writer = Writer(lambda: sqlite_store, patience=0)
    writer.start()
    try:
        assert asyncio.run(request(writer)) == "stored"
    finally:
        may_end.set()
        writer.stop()


def test_a_request_whose_write_has_not_begun_is_refused_and_not_written(sqlite_store):
    written = []
    writer = Writer(lambda: sqlite_store, patience=0)
    with pytest.raises(TimeoutError):
        asyncio.run(writer.write(written.append))
    writer.start()
    writer.stop()
    assert not written
