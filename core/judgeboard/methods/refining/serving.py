"""One call between an assistant and a reader: judge the answer, reflect, warn the reader, record the answer."""

import asyncio
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from judgeboard.client import LOG, Client, plain_passage, record_judgment
from judgeboard.client import record as send
from judgeboard.domain import JudgeVersion, Response, Status, Verdict
from judgeboard.imports.kinds import DEFAULT_SOURCE
from judgeboard.imports.responses import listed_passages
from judgeboard.judges.evidence_alignment import (
    NOTICE,
    SERVED,
    SERVED_GROUNDEDNESS,
    SERVED_REFLECTION,
    Level,
    annotate,
    annotate_unchecked,
)
from judgeboard.judges.judge import Judge, fingerprint
from judgeboard.llm.asking import Generator
from judgeboard.llm.chat import Chat
from judgeboard.llm.own_thread import from_any_thread, in_own_thread
from judgeboard.methods.refining.live import LiveAnswer, Reflected
from judgeboard.methods.refining.reflect import ReflectRule
from judgeboard.settings.masking import without_secrets
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store

LEAST_RECORDING_S = 1.0
"""The minimum time that a call waits for recording, also if judging took all the time."""


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """The ``text`` to show: ``answer`` with the notice, if there is one.

    ``external_id`` is the id for `feedback`. ``reflected`` has the verdicts, or is None if the
    answer is not judged.
    """

    text: str
    answer: str
    level: Level
    external_id: str
    reflected: Reflected | None = None

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the answer."""
        return None if self.reflected is None else self.reflected.verdict


async def serve_answer(
    query: str,
    answer: str,
    passages: Iterable[Any] | None = None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    *,
    judge: str | Judge | None = "lexical",
    generate: Chat | Generator | None = None,
    rule: ReflectRule | None = None,
    notice: bool = True,
    unchecked_notice: bool = True,
    record: bool = True,
    store: Store | None = None,
    within_s: float | None = 30.0,
    query_type: str = "unspecified",
    source: str | None = None,
    external_id: str | None = None,
    generator_model: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    client: Client | None = None,
    **options: object,
) -> ServedAnswer:
    """Return an answer as the reader should see it, and record it. The assistant never fails because of this call.

    1. ``judge`` judges the answer, as in `judge`. None: the answer is not judged, so there is
       neither reflection nor notice.
    2. If ``generate`` is given and ``rule`` wants a second answer, one is made, as in `reflect`.
       The default rule wants one for answers of quality 1 or 2 with at least 50 characters to
       questions with the ``query_type`` complex.
    3. With ``notice``, a warning or a disclaimer stands before an answer with groundedness below
       0.8 (see `annotate`), and, with ``unchecked_notice``, a disclaimer before an answer that the
       judge could not judge.
    4. With ``record``, the answer is recorded with verdict and flags: in ``store``, with the other
       answer, or without ``store`` on the server, as by `record` and `record_judgment`.

    If a step fails, or judging and reflecting take longer than ``within_s`` seconds, the reader
    gets what there is by then; the logger ``judgeboard`` has the reason. Recording gets the rest of
    this time, and at least one second; after that, recording continues in the background.
    ``passages`` are as in `record`. The notice that the reader saw is stored in the metadata (``served.notice``: full,
    warning, disclaimer, unmeasured or unchecked), with ``served.groundedness`` and
    ``served.reflection``.
    """
    began = time.monotonic()
    id_ = external_id or uuid.uuid4().hex
    passage_list: list[Any] | None = None
    live: LiveAnswer | None = None
    with _logged(f"the answer {id_} is served as it is"):
        if passages is not None:
            passage_list = [passages] if isinstance(passages, str) else list(passages)
        texts = (
            None
            if passage_list is None
            else listed_passages([plain_passage(each) for each in passage_list])[0]
        )
        response = Response(
            source or DEFAULT_SOURCE,
            id_,
            query,
            answer,
            texts,
            query_type,
            generator_model,
            asked_at=utc_now(),
        )
        live = LiveAnswer(response, messages, generate, rule or ReflectRule())
        if judge is not None:
            await asyncio.wait_for(live.ask(judge, store, options), within_s)
    reflected = live.reflected() if live is not None and live.steps else None
    answer = reflected.answer if reflected else answer
    is_judged = reflected is not None and reflected.verdict.status is Status.OK
    if judge is not None and unchecked_notice and not is_judged:
        annotation = annotate_unchecked(answer)
    else:
        annotation = annotate(answer, None if reflected is None else reflected.verdict.groundedness)
    served_answer = ServedAnswer(
        annotation.text if notice else answer, answer, annotation.level, id_, reflected
    )
    if not record:
        return served_answer
    with _logged(f"the answer {id_} was not recorded"):
        facts = {**(metadata or {}), SERVED: _facts(served_answer, notice=notice)}
        if store is None:
            send(
                query,
                served_answer.answer,
                passage_list,
                external_id=id_,
                source=source,
                query_type=query_type,
                generator_model=generator_model if live is None else live.model,
                messages=messages,
                metadata=facts,
                client=client,
            )
            if (
                live is not None
                and live.judge_version is not None
                and served_answer.verdict is not None
            ):
                _send_verdict(id_, live.judge_version, served_answer.verdict, source, client)
        elif live is not None:
            live.response = replace(live.response, metadata=facts)
            left_s = (
                None
                if within_s is None
                else max(LEAST_RECORDING_S, within_s - (time.monotonic() - began))
            )
            await _recorded(live, store, left_s)
    return served_answer


async def _recorded(live: LiveAnswer, store: Store, within_s: float | None) -> None:
    """Record an answer, and wait at most ``within_s`` seconds. After that, recording continues in a thread."""
    id_ = live.response.external_id

    def work() -> None:
        with _logged(f"the answer {id_} was not recorded"):
            live.store(store)

    try:
        await asyncio.wait_for(in_own_thread(False, work), within_s)
    except TimeoutError:
        LOG.warning(
            "the answer %s is not recorded yet: the database is busy. It goes on in the background",
            id_,
        )


def _send_verdict(
    id_: str, version: JudgeVersion, verdict: Verdict, source: str | None, client: Client | None
) -> None:
    scores: dict[str, dict[str, Any]] = {}
    if verdict.status is Status.OK:
        for score in verdict.scores:
            scores[score.dimension] = {"value": score.value, "scale": score.scale}
            if score.reasoning is not None:
                scores[score.dimension]["reasoning"] = score.reasoning
    record_judgment(
        id_,
        version.name,
        judge_version=fingerprint(version),
        judge_model=version.model,
        groundedness=verdict.groundedness,
        quality=verdict.quality,
        label=verdict.label,
        scores=scores or None,
        reasoning=verdict.reasoning,
        claims=None if verdict.claims is None else [asdict(claim) for claim in verdict.claims],
        raw=verdict.raw,
        status=verdict.status,
        error=verdict.error,
        source=source,
        client=client,
    )


serve_answer_blocking = from_any_thread(serve_answer)


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Write an error to the log and do not raise the error: the reader waits for the answer."""
    try:
        yield
    except TimeoutError:
        LOG.warning("%s: there was not enough time", what)
    except Exception as error:  # noqa: BLE001 - whatever fails in a judge, a model or a database
        LOG.warning("%s: %s", what, without_secrets(f"{type(error).__name__}: {error}"))


def _facts(served_answer: ServedAnswer, *, notice: bool) -> dict[str, Any]:
    reflected, verdict = served_answer.reflected, served_answer.verdict
    facts = {
        NOTICE: served_answer.level.value if notice else None,
        SERVED_GROUNDEDNESS: None if verdict is None else verdict.groundedness,
        SERVED_REFLECTION: None
        if reflected is None or reflected.outcome is None
        else reflected.outcome.value,
    }
    return {name: value for name, value in facts.items() if value is not None}
