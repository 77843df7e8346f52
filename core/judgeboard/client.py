"""The client: sends answers, feedback of users and the verdicts of own judges to a Judgeboard server.

::

    answer_id = judgeboard.record(query=question, answer=answer, passages=texts)
    judgeboard.feedback(answer_id, thumbs="up")
    judgeboard.record_judgment(answer_id, "my judge", groundedness=0.4, reasoning="Passage 2 says otherwise.")

JUDGEBOARD_URL is the address of the server (default: http://localhost:8501), JUDGEBOARD_API_KEY the
key. A background thread sends batches. An application never waits for the server and never fails
because of the server: the logger ``judgeboard`` says what was not sent, how much and why.
"""

import atexit
import json
import logging
import os
import re
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from judgeboard.domain import Label, Status
from judgeboard.settings.masking import register_secret, without_secrets

if TYPE_CHECKING:
    import httpx

LOG = logging.getLogger("judgeboard")
_RESPONSES, _FEEDBACK, _JUDGMENTS = "/api/responses", "/api/feedback", "/api/judgments"
_BATCH_ENTRIES, _BATCH_BYTES = 100, 2**20
_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
_FAULT, _TRIES_OF_FAULT = 500, 5  # an outage, or an entry with which the server cannot cope
_DIVIDED = frozenset(
    {400, 413, 422, 500}
)  # a smaller batch, or a batch without the bad entry, may be accepted
_ADVICE = {401: " (is JUDGEBOARD_API_KEY right?)", 403: " (the key may not send answers)"}
_LONGEST_WAIT_S = 30.0
_UNUSABLE = "the address or the key cannot be used"
_NOT_SENT = "not sent to %s: %d, because %s"
_HALF = re.compile("[\ud800-\udfff]")  # what is left of an emoji in a text that was cut
_WARNING_EVERY_S = (
    10.0  # a server that is away for an hour must not fill the log of the application
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A serialised object for a path of the server."""

    path: str
    body: bytes


@dataclass(eq=False)
class Client:
    """A connection to one server, with a queue that a background thread sends.

    Args:
        url: Address of the server (default: JUDGEBOARD_URL, otherwise http://localhost:8501).
        api_key: Key of the server (default: JUDGEBOARD_API_KEY).
        source: Name of the assistant, for entries that name none.
        max_entries: Bound of the queue. When the queue is full, new entries are dropped and
            counted.
        max_bytes: The same bound in bytes.
        delay_s: How long an entry waits for others in the same batch.
        timeout_s: Limit of one request, and of the flush at exit.
    """

    url: str = ""
    api_key: str | None = field(default=None, repr=False)
    source: str | None = None
    max_entries: int = 10_000
    max_bytes: int = 64 * 2**20
    delay_s: float = 0.5
    timeout_s: float = 5.0
    dropped: Counter[str] = field(default_factory=Counter, init=False)
    """How many entries were not sent, by reason."""

    def __post_init__(self) -> None:
        self.url = (self.url or os.environ.get("JUDGEBOARD_URL") or "http://localhost:8501").rstrip(
            "/"
        )
        self.api_key = (self.api_key or os.environ.get("JUDGEBOARD_API_KEY") or "").strip() or None
        register_secret(self.api_key)
        self._begin()
        atexit.register(self._at_exit)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: deque[_Entry] = deque()
        self._bytes = 0
        self._in_flight = 0
        self._flushing = 0
        self._thread: threading.Thread | None = None
        self._warned: dict[str, float] = {}
        self._unreported: Counter[str] = Counter()

    def send(self, path: str, **fields: Any) -> None:
        """Queue an object for a path of the server, without the fields that are None."""
        if self._process != os.getpid():
            self._begin()  # a forked process inherits the queue without its thread, and perhaps a locked lock
        if fields.get("source") is None:
            fields["source"] = self.source
        body = {name: value for name, value in fields.items() if value is not None}
        try:
            # Serialised here, because the caller may change a list afterwards.
            # An object as JSON, which has neither NaN nor infinity, nor half an emoji.
            text = json.dumps(body, ensure_ascii=False, default=_plain)
            if "NaN" in text or "Infinity" in text:
                text = json.dumps(
                    json.loads(text, parse_constant=lambda _: None), ensure_ascii=False
                )
        except Exception as error:  # noqa: BLE001 - whatever is in the metadata of an application
            self._drop(1, f"it cannot be written as JSON ({type(error).__name__})")
            return
        entry = _Entry(path, _HALF.sub("\ufffd", text).encode())
        with self._changed:
            if (
                len(self._waiting) >= self.max_entries
                or self._bytes + len(entry.body) > self.max_bytes
            ):
                self._drop(
                    1,
                    f"the queue is full ({self.max_entries:,} entries or {self.max_bytes:,} bytes)",
                )
                return
            self._waiting.append(entry)
            self._bytes += len(entry.body)
            if self._thread is None:
                self._start()
            self._changed.notify_all()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="judgeboard-client", daemon=True)
        try:
            thread.start()
        except (
            RuntimeError
        ) as error:  # the interpreter ends, or has no threads left: the next entry tries again
            self._warn("thread", "not sent to %s yet: %s", self.url, error)
        else:
            self._thread = thread

    def flush(self, timeout_s: float | None = None) -> bool:
        """Send everything now. Return False if something is left after ``timeout_s`` s (default: the client's)."""
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        if self._process != os.getpid():
            return True
        with self._changed:
            self._flushing += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(
                    lambda: not self._waiting and not self._in_flight, limit_s
                )
            finally:
                self._flushing -= 1

    def _at_exit(self) -> None:
        if self._process != os.getpid():
            return  # what was dropped before the fork is reported by the parent
        if self._thread is not None and not self.flush():
            LOG.warning(
                "not sent to %s: %d, because the program ended",
                self.url,
                len(self._waiting) + self._in_flight,
            )
        for reason, count in list(self._unreported.items()):
            LOG.warning(_NOT_SENT, self.url, count, reason)

    def _warn(self, about: str, message: str, *values: object) -> bool:
        now = time.monotonic()
        if now - self._warned.get(about, -_WARNING_EVERY_S) < _WARNING_EVERY_S:
            return False
        self._warned[about] = now
        LOG.warning(message, *values)
        return True

    def _drop(self, entries: int, reason: str) -> None:
        with self._changed:
            self.dropped[reason] += entries
            self._unreported[reason] += entries
            if self._warn(reason, _NOT_SENT, self.url, self._unreported[reason], reason):
                del self._unreported[reason]

    def _run(self) -> None:
        import httpx  # the first batch pays for this import, not every import of judgeboard

        headers = {"content-type": "application/json"}
        if self.api_key:
            headers["authorization"] = f"Bearer {self.api_key}"
        try:
            http = httpx.Client(base_url=self.url, headers=headers, timeout=self.timeout_s)
        except Exception as error:  # noqa: BLE001 - a wrong address or key: nothing can be sent
            while True:
                self._drop(len(self._next_batch()), f"{_UNUSABLE} ({type(error).__name__})")
                self._end_batch()
        with http:
            while True:
                batch = self._next_batch()
                try:
                    # Dropped together, so that one warning has the number of each reason.
                    for reason, entries in self._refused(http, batch).items():
                        self._drop(entries, reason)
                except Exception as error:  # noqa: BLE001 - the thread must go on, whatever is wrong with one batch
                    self._drop(len(batch), without_secrets(f"{type(error).__name__}: {error}"))
                self._end_batch()

    def _end_batch(self) -> None:
        with self._changed:
            self._in_flight = 0
            self._changed.notify_all()

    def _next_batch(self) -> list[_Entry]:
        """Wait for entries; return the oldest entry and others with the same path.

        The others may pass entries of another path, so that an answer and its verdict are not two
        batches each time. Nothing passes an answer: the server must have the answer before the
        verdict and the feedback.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            self._changed.wait_for(
                lambda: self._flushing or len(self._waiting) >= _BATCH_ENTRIES, self.delay_s
            )
            path = self._waiting[0].path
            batch: list[_Entry] = []
            other_entries: list[_Entry] = []
            size = 0
            while self._waiting and len(batch) < _BATCH_ENTRIES:
                entry = self._waiting[0]
                if entry.path != path and entry.path == _RESPONSES:
                    break
                if entry.path == path:
                    size += len(entry.body)
                    if batch and size > _BATCH_BYTES:
                        break
                    batch.append(entry)
                else:
                    other_entries.append(entry)
                self._waiting.popleft()
            self._waiting.extendleft(reversed(other_entries))
            self._bytes -= sum(len(entry.body) for entry in batch)
            self._in_flight = len(batch)
            return batch

    def _refused(self, http: "httpx.Client", batch: list[_Entry]) -> Counter[str]:
        """Send a batch until the server takes or refuses it, then each half; count the refused entries by reason."""
        import httpx  # loaded by `_run` already

        wait, tries = 0.25, 0
        while True:
            pause, tries = None, tries + 1
            try:
                reply = http.post(
                    batch[0].path, content=b"[" + b",".join(entry.body for entry in batch) + b"]"
                )
            except httpx.LocalProtocolError:  # the text has the header, and so the key
                return Counter({_UNUSABLE: len(batch)})
            except httpx.UnsupportedProtocol as error:
                return Counter({f"{_UNUSABLE}: {error}": len(batch)})
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                if reply.is_success or _lists_problems(reply):
                    # The entries that the reply lists are refused; all, if the reply is not from Judgeboard.
                    try:
                        refused = {
                            problem["row"]: f"{problem['field']}: {problem['reason']}"
                            for problem in reply.json().get("problems") or ()
                        }
                    except (AttributeError, KeyError, TypeError, ValueError):
                        return Counter(
                            {"the answer is not that of a Judgeboard server": len(batch)}
                        )
                    return Counter(refused.values())
                status, pause = reply.status_code, _seconds(reply.headers.get("retry-after"))
                reason = (
                    f"HTTP {status}{_ADVICE.get(status, '')}: {without_secrets(reply.text)[:200]}"
                )
                if status not in _RETRIED or (status == _FAULT and tries >= _TRIES_OF_FAULT):
                    if status not in _DIVIDED or len(batch) == 1:
                        return Counter({reason: len(batch)})
                    half = len(batch) // 2
                    return self._refused(http, batch[:half]) + self._refused(http, batch[half:])
            waiting_count = len(self._waiting) + len(batch)
            self._warn(
                "", "%s cannot take entries now (%s); %d wait", self.url, reason, waiting_count
            )
            time.sleep(min(wait if pause is None else pause, _LONGEST_WAIT_S))
            wait = min(wait * 2, _LONGEST_WAIT_S)


def record(
    query: str,
    answer: str,
    passages: Iterable[Any] | None = None,
    *,
    external_id: str | None = None,
    source: str | None = None,
    query_type: str | None = None,
    generator_model: str | None = None,
    generator_cost: float | None = None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    reference: str | None = None,
    asked_at: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
    client: Client | None = None,
) -> str:
    """Record an answer: queue it for the server, and return its id at once.

    Args:
        query: The question of the user.
        answer: The answer of the assistant.
        passages: The retrieved passages in order: texts, objects with a text, documents of
            LangChain, nodes of LlamaIndex. None: not known. An empty list: nothing was retrieved.
        external_id: Id of the answer (default: a new id).
        source: Name of the assistant (default: that of the client, or of the key).
        query_type: Type of the question, to compare slices.
        generator_model: The model that answered.
        generator_cost: Cost of the answer, in your currency.
        messages: Earlier messages, each with ``role`` and ``content``.
        reference: The right answer.
        asked_at: Time of the question (default: now).
        metadata: What else is known.
        client: Connection to the server (default: `default_client`).
    """
    if isinstance(passages, str):
        passages = [passages]
    answer_id = uuid.uuid4().hex if external_id is None else external_id
    (client or default_client()).send(
        _RESPONSES,
        external_id=answer_id,
        source=source,
        query=query,
        answer=answer,
        context=None if passages is None else [*map(plain_passage, passages)],
        query_type=query_type,
        generator_model=generator_model,
        generator_cost=generator_cost,
        messages=messages,
        reference=reference,
        asked_at=asked_at or datetime.now(UTC),
        metadata=metadata,
    )
    return answer_id


def feedback(
    response_id: str | None = None,
    *,
    trace_id: str | None = None,
    span_id: str | None = None,
    source: str | None = None,
    thumbs: Literal["up", "down"] | bool | None = None,
    stars: float | None = None,
    user: str | None = None,
    comment: str | None = None,
    at: datetime | None = None,
    client: Client | None = None,
) -> None:
    """Record the feedback of a user: queue it for the server, and return at once.

    Args:
        response_id: The id that `record` returned. Without this id, either ``trace_id`` or
            ``span_id`` names the answer.
        trace_id: Id of the trace of the answer.
        span_id: Id of a span of that trace.
        source: Source of the answer (default: that of the client, or any).
        thumbs: "up", "down", True or False; needed unless there are ``stars``.
        stars: 1 to 5.
        user: Who gave the feedback.
        comment: What the user wrote.
        at: Time of the feedback (default: now).
        client: Connection to the server (default: `default_client`).
    """
    if isinstance(thumbs, bool):
        thumbs = "up" if thumbs else "down"
    (client or default_client()).send(
        _FEEDBACK,
        response_id=response_id,
        trace_id=trace_id,
        span_id=span_id,
        source=source,
        thumbs=thumbs,
        stars=stars,
        user=user,
        comment=comment,
        at=at or datetime.now(UTC),
    )


def record_judgment(
    response_id: str,
    judge: str,
    *,
    source: str | None = None,
    judge_version: str | None = None,
    judge_model: str | None = None,
    groundedness: float | None = None,
    quality: int | None = None,
    label: Label | Literal["grounded", "hallucinated"] | None = None,
    scores: Mapping[str, Any] | None = None,
    scale: str | None = None,
    reasoning: str | None = None,
    claims: Sequence[Mapping[str, Any]] | None = None,
    raw: str | None = None,
    status: Status | Literal["ok", "unparsable", "refused", "error"] | None = None,
    error: str | None = None,
    client: Client | None = None,
) -> None:
    """Record the verdict of your own judge on a stored answer: queue it for the server, and return at once.

    The server stores an imported verdict, and applies flag rules. Another verdict of the same judge
    version on the answer is a newer verdict; the same verdict again changes nothing. The server
    refuses verdicts of retired judge versions and of judge versions that the server runs.

    Args:
        response_id: The id that `record` returned, or the id of a trace that has become an answer.
        judge: Name of the judge. Each name has its own version numbers.
        source: Source of the answer, if several sources have its id.
        judge_version: Any text that names the version of the judge.
        judge_model: The model of the judge, a part of its version.
        groundedness: Support by the passages: 0 to 1, or on ``scale``.
        quality: 1 (bad) to 4 (good), or a score on ``scale``.
        label: Grounded or hallucinated.
        scores: Scores by name, on ``scale``, or each with its own.
        scale: Scale of all these numbers, such as 1-5.
        reasoning: Why the judge decided so.
        claims: Statements of the answer, each with ``text`` and ``status``.
        raw: The reply of the judge's model.
        status: Why there is no verdict (default: ok).
        error: The error, if there is no verdict.
        client: Connection to the server (default: `default_client`).
    """
    (client or default_client()).send(
        _JUDGMENTS,
        external_id=response_id,
        judge=judge,
        source=source,
        judge_version=judge_version,
        judge_model=judge_model,
        groundedness=groundedness,
        quality=quality,
        label=label,
        scores=scores,
        scale=scale,
        reasoning=reasoning,
        claims=claims,
        raw=raw,
        status=status,
        error=error,
    )


def flush(timeout_s: float | None = None) -> bool:
    """Send everything now. Return False if something is left after ``timeout_s`` seconds (default: the client's).

    At exit this happens automatically. A process that is frozen between requests, as in a
    serverless function, needs this call.
    """
    return default_client().flush(timeout_s)


@cache
def default_client() -> Client:
    """Return the client of this process, with the address and the key of the environment."""
    return Client()


def plain_passage(passage: Any) -> Any:
    """Return a passage of `record` as a text or a mapping: a document of LangChain or a node of LlamaIndex too."""
    if isinstance(passage, str | Mapping):
        return passage
    if hasattr(passage, "page_content"):  # LangChain
        text, names = passage.page_content, ("id", "metadata")
    elif hasattr(passage, "get_content"):  # LlamaIndex
        text, names = passage.get_content(), ("score", "metadata")
    else:
        return str(passage)
    attributes = {name: getattr(passage, name, None) for name in names}
    return {"text": text} | {
        name: value for name, value in attributes.items() if value is not None and value != {}
    }


def _plain(value: Any) -> Any:
    """Convert a value for JSON."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return value.tolist() if hasattr(value, "tolist") else str(value)  # NumPy's numbers and arrays


def _lists_problems(reply: "httpx.Response") -> bool:
    """Whether the server stored nothing and lists the reason for each entry, so that smaller batches help nothing."""
    if reply.status_code != 400:
        return False
    try:
        return bool(reply.json().get("problems"))
    except (AttributeError, ValueError):
        return False


def _seconds(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header; None if there is none, or a date."""
    return float(value) if value is not None and value.isascii() and value.isdecimal() else None
