"""A killed receiver and a lost database lose nothing that was acknowledged."""

import sys
import threading

import httpx
import pytest
from sqlalchemy import column, func, select, table

from forked_commands import ReadCommand
from judgeboard.store.tables import SPAN, TRACE
from judging_log import until
from sent_traces import gathered, receiving, send_spans, trace
from served import answers, free_port
from stored_rows import values_of

SENDERS, BATCH = 4, 5


def test_no_acknowledged_span_is_lost_when_the_receiver_is_killed_under_load(store):
    database, port = store.engine.url.render_as_string(hide_password=False), free_port()
    address = f"http://localhost:{port}"
    acknowledged = set()
    enough = threading.Event()

    def send(sender):
        with httpx.Client(base_url=address, timeout=60) as http:
            for number in range(10**6):
                spans = [
                    sent
                    for each in range(BATCH)
                    for sent in trace(sender * 10**8 + number * BATCH + each)
                ]
                try:
                    reply = send_spans(http, spans)
                except httpx.TransportError:  # it is killed
                    return
                assert reply.status_code == 200
                acknowledged.update(sent.span_id for sent in spans)
                if len(acknowledged) > 1_000:
                    enough.set()

    senders = [threading.Thread(target=send, args=[number]) for number in range(1, SENDERS + 1)]
    with ReadCommand("sources", "receive", "--port", str(port), "--db", database) as process:
        until(lambda: answers(f"{address}/healthz"), "it answers")
        for each in senders:
            each.start()
        assert enough.wait(120)
        process.kill()  # while requests are in flight
    for each in senders:
        each.join()
    stored = set(values_of(store, SPAN.c.external_id))
    roots = set(values_of(store, TRACE.c.external_id))
    assert len(acknowledged) > 1_000
    assert acknowledged <= stored
    while gathered(store, after=100):
        pass
    with store.reading() as connection:
        made = connection.execute(
            select(TRACE.c.external_id).where(TRACE.c.state == "made")
        ).scalars()
        assert set(made) == roots
    sys.stdout.write(
        f"{len(acknowledged):,} spans acknowledged, {len(stored):,} stored, {len(roots):,} answers\n"
    )


@pytest.mark.postgres
def test_a_lost_database_asks_for_another_try_and_loses_nothing(postgres_store, postgres_server):
    name, sent = (
        postgres_store.engine.url.database,
        {number: trace(number) for number in range(1, 40)},
    )
    acknowledged = []
    refused = 0
    with receiving(postgres_store) as http:
        for number, spans in sent.items():
            if number in {10, 30}:  # it goes, and comes back
                with postgres_server.connect() as connection:
                    connection.exec_driver_sql(
                        f"ALTER DATABASE {name} ALLOW_CONNECTIONS {'false' if number == 10 else 'true'}"
                    )
                    ended = select(func.pg_terminate_backend(column("pid"), 60_000)).select_from(
                        table("pg_stat_activity")
                    )
                    connection.execute(ended.where(column("datname") == name))
            reply = send_spans(http, spans)
            refused += reply.status_code == 503
            assert reply.status_code in ({200, 503} if 10 <= number <= 31 else {200})
            assert reply.status_code == 200 or 0 < int(reply.headers["retry-after"]) <= 3
            acknowledged += [number] if reply.status_code == 200 else []
        assert refused >= 20
        for number in sent.keys() - set(acknowledged):  # as a sender does
            assert send_spans(http, sent[number]).status_code == 200
    assert gathered(postgres_store) == len(sent)
    with postgres_store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(SPAN)).scalar_one() == sum(
            map(len, sent.values())
        )
    sys.stdout.write(
        f"{len(acknowledged)} requests acknowledged, {refused} refused while the database was lost\n"
    )
