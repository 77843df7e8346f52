"""A killed receiver loses nothing that it acknowledged."""

import threading
from pathlib import Path

import httpx
from sqlalchemy import select

from judgeboard.store.engine import open_store
from judgeboard.store.tables import SPAN, TRACE
from judging_log import judgeboard, until
from sent_traces import PROTOBUF, gathered, request, trace
from served import answers, free_port

SENDERS, BATCH = 4, 5


def test_no_acknowledged_span_is_lost_when_the_receiver_is_killed_under_load(tmp_path: Path) -> None:
    database, port = tmp_path / "killed.db", free_port()
    address = f"http://localhost:{port}"
    acknowledged: set[str] = set()
    enough = threading.Event()

    def send(sender: int) -> None:
        with httpx.Client(base_url=address, timeout=30) as http:
            for number in range(10**6):
                spans = [sent for each in range(BATCH) for sent in trace(sender * 10**8 + number * BATCH + each)]
                try:
                    reply = http.post("/v1/traces", content=request(spans), headers=PROTOBUF)
                except httpx.TransportError:  # it is killed
                    return
                assert reply.status_code == 200
                acknowledged.update(sent.span_id for sent in spans)
                if len(acknowledged) > 1_000:
                    enough.set()

    senders = [threading.Thread(target=send, args=[number]) for number in range(1, SENDERS + 1)]
    with judgeboard("receive", "--port", str(port), "--db", str(database)) as process:
        until(lambda: answers(f"{address}/healthz"), "it answers")
        for each in senders:
            each.start()
        assert enough.wait(60)
        process.kill()  # while requests are in flight
    for each in senders:
        each.join()
    store = open_store(database)
    with store.reading() as connection:
        stored = set(connection.execute(select(SPAN.c.external_id)).scalars())
        roots = set(connection.execute(select(TRACE.c.external_id)).scalars())
    assert len(acknowledged) > 1_000
    assert acknowledged <= stored
    while gathered(store, after=100):
        pass
    with store.reading() as connection:
        made = connection.execute(select(TRACE.c.external_id).where(TRACE.c.state == "made")).scalars()
        assert set(made) == roots
    store.close()
