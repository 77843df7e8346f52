"""A log of numbered answers to judge, an endpoint that knows which answer it is asked about, what came to be stored."""

import asyncio
import re
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update

from judgeboard.domain import Response
from judgeboard.llm.recording_endpoint import RecordingEndpoint, verdict
from judgeboard.runs.judging import make_judge
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import JUDGMENT, RESPONSE, RUN, WORKER
from stored_rows import rows_of

PATIENCE = 120


def store_answers(store, count, *, first=0, **fields):
    """Store answers with the ids 0, 1, 2, …; each names its number, so that an endpoint can tell them apart."""
    with store.writing() as connection:
        store_responses(
            connection,
            [
                Response(
                    "log",
                    str(number),
                    "How long is it?",
                    f"It is number-{number}.",
                    ("It is long.",),
                    **fields,
                )
                for number in range(first, first + count)
            ],
        )


def number_in(request, after="number-"):
    """Return the number of the answer or case that a request is about: what stands after ``after``."""
    words = " ".join(
        message["content"] for message in request["messages"] if message["role"] == "user"
    )
    match = re.search(rf"{after}(\d+)", words)
    return int(match[1])


def by_number(replies, other=None, after="number-"):
    """Answer by which answer is asked about; ``other`` (a good verdict) for those not named."""
    return lambda request, _number: replies.get(number_in(request, after), other or verdict())


def asked(endpoint, after="number-"):
    """Count the requests by which answer they are about."""
    return Counter(number_in(request.body, after) for request in endpoint.requests)


def rag(endpoint, **options):
    """Return the chat judge over a fake endpoint."""
    return make_judge(
        "rag", **{"model": "scripted", "base_url": endpoint.base_url, "tries": 1} | options
    )


def judge_once(judge, item):
    """Let a judge judge one answer and close its connections."""

    async def ask():
        try:
            return await judge.judge(item)
        finally:
            await judge.aclose()

    return asyncio.run(ask())


def judgments(store):
    """Return every judgment, in the order of storing, with the outside id of its response as ``id``."""
    query = select(JUDGMENT, RESPONSE.c.external_id).join(
        RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id
    )
    with store.reading() as connection:
        rows = connection.execute(query.order_by(JUDGMENT.c.id))
        return [{**row._mapping, "id": row.external_id} for row in rows]


def runs(store):
    """Return every run, oldest first."""
    return rows_of(store, RUN)


def address(store):
    """Return what ``--db`` must be for another process."""
    url = store.engine.url
    return str(url.database) if store.is_sqlite else url.render_as_string(hide_password=False)


def until(condition, what):
    """Wait for a condition and return its value. What takes long to read is read less often: others need the time."""
    deadline = time.monotonic() + PATIENCE
    while True:
        began = time.monotonic()
        if value := condition():
            return value
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(min(0.5, max(0.01, 5 * (time.monotonic() - began))))


def time_passes(store):
    """Nothing was heard of any process for an hour."""
    with store.writing() as connection:
        connection.execute(
            update(WORKER).values(heartbeat_at=datetime.now(UTC) - timedelta(hours=1))
        )


def judged_by(kind, item, script=None, **options):
    """Let a judge of a kind judge one answer over a fake endpoint; return the verdict and the endpoint."""
    with RecordingEndpoint(script) as endpoint:
        judge = make_judge(kind, **{"model": "m", "base_url": endpoint.base_url} | options)
        return judge_once(judge, item), endpoint


def texts_of(request):
    """Return the texts of the messages of a request."""
    return [message["content"] for message in request["messages"]]
