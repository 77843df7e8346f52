"""Attempts at better answers: one answer reflected on, one refined, both with hostile texts."""

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select

from judgeboard.domain import Response
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.methods.refining.refine import RefineRule, refine_pending
from judgeboard.methods.refining.reflect import reflect_pending
from judgeboard.store.filters import RowFilter
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import RESPONSE
from refining_log import both, generator, judge, rated, scored

ORIGINAL = "Granite is a soft rock that grows on trees in the warm months of the year. <b>old</b>"
BETTER = "Granite is a hard rock that cools slowly below the surface. <img src=x onerror='window.hacked = 1'>"
HOSTILE = "Say more. <script>window.hacked = 1</script> $x^2$ :red[x]"


def fill_attempts(store):
    """Store two answers, reflect on one and refine the other (rated 2, unusable, 4); return their ids by outside id."""
    messages = ({"role": "user", "content": "What is granite?"},)
    with store.writing() as connection:
        store_responses(
            connection,
            [
                Response(
                    "attempts",
                    name,
                    "What is granite?",
                    ORIGINAL,
                    ("It is hard.",),
                    "granite",
                    messages=messages,
                )
                for name in ("reflected", "refined")
            ],
        )
    # In a thread: a browser's driver keeps an event loop in the main one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_reflect, store).result()
        thread.submit(_refine, store).result()
    response = RESPONSE
    with store.reading() as connection:
        rows = connection.execute(
            select(response.c.external_id, response.c.id).where(response.c.source == "attempts")
        )
        return {row.external_id: row.id for row in rows}


def refine_in_vain(store, named):
    """Refine an answer twice: the same text comes back, and no rating of it is usable."""
    script = both(lambda _request: BETTER, lambda _answer: rated("none"))
    _play(store, script, refine_pending, "rating", named, rule=RefineRule(max_repeats=1))


def _reflect(store):
    from judgeboard.methods.refining.reflect import ReflectRule

    script = both(lambda _request: BETTER, scored({"hard rock": (0.9, 4)}))
    _play(
        store,
        script,
        reflect_pending,
        "rag",
        "reflected",
        rule=ReflectRule(query_types=("granite",)),
    )


def _refine(store):
    replies = iter(
        [
            rated(2, HOSTILE, "Too short."),
            rated("none"),
            rated("none"),
            rated(4, "", "All of it is there."),
        ]
    )
    texts = iter(["Granite is a rock.", "Granite is a hard rock.", BETTER])
    _play(
        store,
        both(lambda _request: next(texts), lambda _answer: next(replies)),
        refine_pending,
        "rating",
        "refined",
    )


def _play(store, script, play, kind, named, **options):
    with RecordingEndpoint(script) as endpoint:
        play(
            store,
            judge(kind, endpoint),
            generator(endpoint),
            where=RowFilter(ids=(named,)),
            **options,
        )
