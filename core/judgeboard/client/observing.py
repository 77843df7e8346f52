"""The decorator `observe`: records the answers of a function."""

import functools
import inspect
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar, Unpack, overload

from judgeboard.client.sending import LOG, ResponseFields, record

F = TypeVar("F", bound=Callable[..., Any])

_QUESTIONS = ("query", "question", "user_input", "prompt", "input", "message", "text")
_ANSWERS = ("answer", "response", "output", "result", "completion", "content", "text")
_PASSAGES = (
    *(
        "passages",
        "contexts",
        "context",
        "retrieved_contexts",
        "documents",
        "source_documents",
        "source_nodes",
    ),
    *("docs", "sources", "chunks"),
)
# The passages that retrievers returned inside the running observed call.
_RETRIEVED: ContextVar[list[Any] | None] = ContextVar("judgeboard_retrieved", default=None)


@overload
def observe(function: F, /) -> F: ...


@overload
def observe(
    *,
    query: str | None = None,
    answer: Callable[[Any], str] | None = None,
    passages: Callable[[Any], Any] | None = None,
    id_argument: str | None = None,
    retriever: bool = False,
    **fields: Unpack[ResponseFields],
) -> Callable[[F], F]: ...


def observe(
    function: Callable[..., Any] | None = None,
    /,
    *,
    query: str | None = None,
    answer: Callable[[Any], str] | None = None,
    passages: Callable[[Any], Any] | None = None,
    id_argument: str | None = None,
    retriever: bool = False,
    **fields: Unpack[ResponseFields],
) -> Any:
    """Record each answer of a function: an ordinary or async function, or a generator that yields parts of the answer.

    The function returns the answer as a text, as a tuple (answer, passages), or as an object or a
    dict that has an ``answer`` (or response, output, …) and ``passages`` (or contexts, documents,
    …). The passages may also come from a function with ``@observe(retriever=True)`` that is called
    inside. A call that raises, and a generator that is not read to its end, record nothing.

    Args:
        function: The function to decorate.
        query: Name of the argument with the question (default: the argument query, question, …,
            otherwise the first text).
        answer: Function of the result that returns the answer. For a generator, the result is the
            list of what it yielded.
        passages: Function of the result that returns the passages.
        id_argument: Name of the argument with the id of the answer.
        retriever: Whether the function returns the passages for an observed function that calls it.
        fields: Fields of `record`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if retriever:
            return _retriever(function)
        observed = _Observed(function, fields, query, answer, passages, id_argument)
        if inspect.isasyncgenfunction(function):
            return observed.async_generator()
        if inspect.isgeneratorfunction(function):
            return observed.generator()
        return (
            observed.coroutine() if inspect.iscoroutinefunction(function) else observed.ordinary()
        )

    return decorate if function is None else decorate(function)


def _retriever(function: Callable[..., Any]) -> Callable[..., Any]:
    def keep(passages: Any) -> Any:
        retrieved = _RETRIEVED.get()
        if retrieved is not None and isinstance(passages, list | tuple):
            retrieved.extend(passages)
        return passages

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def retrieve_async(*args: object, **kwargs: object) -> Any:
            return keep(await function(*args, **kwargs))

        return retrieve_async

    @functools.wraps(function)
    def retrieve(*args: object, **kwargs: object) -> Any:
        return keep(function(*args, **kwargs))

    return retrieve


@dataclass(frozen=True, slots=True)
class _Observed:
    """A function whose answers are recorded."""

    function: Callable[..., Any]
    fields: ResponseFields
    query: str | None = None
    answer: Callable[[Any], str] | None = None
    passages: Callable[[Any], Any] | None = None
    id_argument: str | None = None

    def ordinary(self) -> Callable[..., Any]:
        @functools.wraps(self.function)
        def answer(*args: object, **kwargs: object) -> Any:
            call = _Call(self, args, kwargs)
            with call.collecting():
                result = self.function(*args, **kwargs)
            call.record(result)
            return result

        return answer

    def coroutine(self) -> Callable[..., Any]:
        @functools.wraps(self.function)
        async def answer(*args: object, **kwargs: object) -> Any:
            call = _Call(self, args, kwargs)
            with call.collecting():
                result = await self.function(*args, **kwargs)
            call.record(result)
            return result

        return answer

    # What the caller sends or raises reaches the function. Nothing is collected while the caller
    # has the part: its own calls are not a part of the answer.

    def generator(self) -> Callable[..., Any]:
        @functools.wraps(self.function)
        def answer(*args: object, **kwargs: object) -> Generator[Any, Any, Any]:
            call, parts = _Call(self, args, kwargs), _Parts()
            with closing(self.function(*args, **kwargs)) as yielding:
                step = functools.partial(next, yielding)
                while True:
                    try:
                        with call.collecting():
                            part = step()
                    except StopIteration as end:
                        call.record(parts)
                        return end.value
                    parts.append(part)
                    try:
                        step = functools.partial(yielding.send, (yield part))
                    except Exception as error:  # noqa: BLE001 - it is for the function
                        step = functools.partial(yielding.throw, error)

        return answer

    def async_generator(self) -> Callable[..., Any]:
        @functools.wraps(self.function)
        async def answer(*args: object, **kwargs: object) -> AsyncGenerator[Any, Any]:
            call, parts = _Call(self, args, kwargs), _Parts()
            async with aclosing(self.function(*args, **kwargs)) as yielding:
                step = functools.partial(anext, yielding)
                while True:
                    try:
                        with call.collecting():
                            part = await step()
                    except StopAsyncIteration:
                        call.record(parts)
                        return
                    parts.append(part)
                    try:
                        step = functools.partial(yielding.asend, (yield part))
                    except Exception as error:  # noqa: BLE001 - it is for the function
                        step = functools.partial(yielding.athrow, error)

        return answer


@dataclass(slots=True)
class _Call:
    """A call of an observed function, whose answer is recorded at its end."""

    observed: _Observed
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    retrieved: list[Any] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect the passages that retrievers return inside."""
        before = _RETRIEVED.set(self.retrieved)
        try:
            yield
        finally:
            _RETRIEVED.reset(before)

    def record(self, result: Any) -> None:
        observed = self.observed
        try:
            arguments = (
                inspect.signature(observed.function).bind(*self.args, **self.kwargs).arguments
            )
            fields = ResponseFields(**observed.fields)
            latency = {"latency_ms": round((time.monotonic() - self.began) * 1000)}
            fields["metadata"] = {**latency, **(observed.fields.get("metadata") or {})}
            if observed.id_argument is not None and arguments.get(observed.id_argument) is not None:
                fields["external_id"] = str(arguments[observed.id_argument])
            answer = _answer_in(result) if observed.answer is None else observed.answer(result)
            passages = (
                _passages_in(result) if observed.passages is None else observed.passages(result)
            )
            record(
                _question(arguments, observed.query),
                answer,
                passages if passages is not None else self.retrieved or None,
                **fields,
            )
        except Exception as error:  # noqa: BLE001 - recording must never break the function
            LOG.warning(
                "the answer of %s was not recorded: %s", observed.function.__qualname__, error
            )


def _question(arguments: Mapping[str, Any], name: str | None) -> str:
    if name is not None:
        return str(arguments[name])
    inner = [
        value for value in arguments.values() if isinstance(value, Mapping)
    ]  # chain.invoke({"question": …})
    texts = {
        name: value
        for each in (arguments, *inner)
        for name, value in each.items()
        if isinstance(value, str)
    }
    if not texts:
        raise ValueError("no argument is a question: name it, @observe(query='NAME')")
    return next((texts[name] for name in _QUESTIONS if name in texts), next(iter(texts.values())))


class _Parts(list[Any]):
    """What a generator yielded: texts, or objects with texts, and perhaps an object with the passages."""


def _answer_in(result: Any) -> str:
    if isinstance(result, str):
        return result
    if isinstance(result, _Parts):
        texts = [part for part in result if not isinstance(part, Mapping | tuple)]
        return "".join(map(_answer_in, texts)) if texts or not result else _answer_in(result[-1])
    if isinstance(result, tuple) and result:
        return _answer_in(result[0])
    value = _named_in(result, _ANSWERS)
    if value is None:
        raise ValueError(
            f"the result ({type(result).__name__}) has no answer: use @observe(answer=FUNCTION)"
        )
    return _answer_in(value)


def _passages_in(result: Any) -> Any:
    if isinstance(result, _Parts):
        return next(
            (passages for part in reversed(result) if (passages := _passages_in(part)) is not None),
            None,
        )
    if isinstance(result, tuple):
        return result[1] if len(result) > 1 and isinstance(result[1], list | tuple) else None
    passages = None if isinstance(result, str) else _named_in(result, _PASSAGES)
    return passages if isinstance(passages, str | list | tuple) else None


def _named_in(result: Any, names: tuple[str, ...]) -> Any:
    if isinstance(result, Mapping):
        return next((result[name] for name in names if result.get(name) is not None), None)
    return next(
        (value for name in names if (value := getattr(result, name, None)) is not None), None
    )
