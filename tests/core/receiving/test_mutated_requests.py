"""Broken requests are refused whole or stored whole. `MUTATIONS=10000 pytest -s -n 0 FILE` sends more of them."""

import gzip
import os
import sys
import zlib
from collections import Counter

from sqlalchemy import func, select

from judgeboard.receiving.keys import Sender
from judgeboard.store.tables import RESPONSE, SPAN, TRACE
from judgeboard.store.traces import NewSpan
from judgeboard.traces import otlp
from mutated_requests import mutations
from sent_traces import gathered

COUNT = int(os.environ.get("MUTATIONS", "200"))


def records_in(request):
    """The spans and log records that a request brought, by their ids."""
    read = otlp.logs_in if request.path.endswith("/logs") else otlp.traces_in
    content = request.content
    if request.headers.get("content-encoding", "").lower() in {"gzip", "deflate"}:
        content = (gzip.decompress if content.startswith(b"\x1f\x8b") else zlib.decompress)(content)
    new = (
        NewSpan.of(each, Sender().source_of(each.resource))
        for each in read(content, request.headers["content-type"])
    )
    return {(each.trace_id, each.kind, each.span_id) for each in new}


def test_a_broken_request_is_refused_or_stored_whole(shared, sqlite_store, http, caplog):
    statuses = Counter()
    acknowledged = set()
    answers = 0
    for request in mutations(shared / "captures", COUNT):
        reply = http.post(request.path, content=request.content, headers=request.headers)
        statuses[reply.status_code] += 1
        assert reply.status_code in {200, 400, 413, 415}, (
            request.path,
            request.headers,
            reply.text,
        )
        if reply.status_code != 200:
            continue
        if request.path == "/api/responses":
            answers += reply.json()["stored"]
        elif request.path not in {"/api/feedback", "/api/judgments"}:
            acknowledged |= records_in(request)
    with sqlite_store.reading() as connection:
        rows = connection.execute(
            select(TRACE.c.external_id, SPAN.c.kind, SPAN.c.external_id).join_from(SPAN, TRACE)
        )
        assert {tuple(row) for row in rows} == acknowledged
        assert connection.execute(select(func.sum(TRACE.c.spans))).scalar_one() == len(acknowledged)
        assert (
            connection.execute(select(func.count()).select_from(RESPONSE)).scalar_one() == answers
        )
    assert {200, 400} <= statuses.keys()
    while gathered(sqlite_store, after=100):
        pass
    with sqlite_store.reading() as connection:
        states = dict(
            connection.execute(select(TRACE.c.state, func.count()).group_by(TRACE.c.state)).all()
        )
    assert "waiting" not in states
    assert not [each for each in caplog.records if each.levelname == "ERROR"], caplog.text
    sys.stdout.write(f"\n{dict(statuses)}, {len(acknowledged):,} records stored, traces {states}\n")
