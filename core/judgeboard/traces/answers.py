"""Makes a response of the spans of a trace, and says which span gave which field."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from judgeboard.domain import Response
from judgeboard.text import MAX_NAME, as_utc, storable, storable_json
from judgeboard.traces.attributes import as_text, tags_in, without_none
from judgeboard.traces.calls import Call, calls_of
from judgeboard.traces.maps import Rule
from judgeboard.traces.prompts import bare_question, passages_in_prompt
from judgeboard.traces.spans import LogRecord, Operation, Passage, Span

MAX_COST = 1_000_000.0
DETAILS = "context_details"
"""The key in the metadata for the details of each passage beside the text, as in the import."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The response of a trace, or the reason why there is none. ``used`` lists (span id, field from this span)."""

    response: Response | None
    reason: str | None = None
    used: tuple[tuple[str, str], ...] = ()


_Uses = dict[tuple[str, str], None]
"""The id of a span and the field from this span, in order."""


def answer_of(
    spans: Iterable[Span],
    logs: Iterable[LogRecord] = (),
    maps: Sequence[Rule] = (),
    source: str = "",
) -> Taken:
    """Return the response of the spans and log records of one trace, in any order and with repeats.

    The answer is the output of the root, or else of the outermost inner span with an output. With
    several roots, the response comes from the root with passages, or else from the last root.
    """
    trees = calls_of(spans, logs, maps)
    if not trees:
        return Taken(None, "The trace has no span yet.")
    results = [_taken(tree, source) for tree in trees]
    valid = [each for each in results if each.response is not None]
    if valid:
        return max(
            valid, key=lambda each: each.response is not None and each.response.passages is not None
        )
    return next((each for each in results if each.reason != _UNKNOWN), results[0])


_UNKNOWN = "No span follows a known convention. Name the fields with `judgeboard sources map`."


def _taken(tree: Call, source: str) -> Taken:
    """Return the response of one root with all spans below it."""
    # The outermost call with an answer. An object without an answer field counts only if there is
    # no other.
    answering = None
    if tree.answers or not tree.failed:
        answering = _outermost(tree, objects=False) or _outermost(tree, objects=True)
    question, asker = _question(tree, answering)
    if answering is None or question is None or asker is None or answering.part.answer is None:
        return Taken(None, _reason(tree, answering))
    uses: _Uses = {}
    uses[asker.span.span_id, "question"] = None
    uses[answering.span.span_id, "answer"] = None
    # The model call that gave the answer: a call with the same text, or else the last call with an
    # answer.
    text = answering.part.answer.strip()
    model = max(
        _models(tree, answering),
        key=lambda call: (
            (call.part.answer or "").strip() == text,
            bool(call.part.messages),
            call.ended_ns,
        ),
        default=None,
    )
    # The name of this model, or else of the last model with a name.
    models = sorted(
        (call for call in tree.walk() if call.is_model), key=lambda call: -call.ended_ns
    )
    model_names = (
        call.part.model for call in (model or answering, *models, tree) if call.part.model
    )
    passages, details = _passages(tree, model or answering, uses)
    metadata = _metadata(tree, answering, uses)
    if model is not None and model.part.model:
        uses[model.span.span_id, "model"] = None
    if details:
        metadata[DETAILS] = details
    query_type = _query_type(metadata)
    # The cost, rounded to a millionth as in the database.
    total = _total(tree, "cost")
    response = Response(
        source=source,
        external_id=tree.span.trace_id,
        query=storable(question)[0],
        answer=storable(answering.part.answer)[0],
        passages=None if passages is None else tuple(storable(text)[0] for text in passages),
        query_type=query_type or "unspecified",
        generator_model=next((storable(name)[0][:MAX_NAME] for name in model_names), None),
        generator_cost=round(total * 1_000_000) / 1_000_000
        if total is not None and 0 <= total <= MAX_COST
        else None,
        messages=_messages(tree, answering, model, question, uses),
        asked_at=time_at(tree.started_ns),
        metadata=_as_json(metadata),
    )
    return Taken(response, None, tuple(uses))


def _as_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields whose values can be stored as JSON: texts may be changed, NaN becomes null."""
    storable_fields: dict[str, Any] = {}
    for name, value in fields.items():
        with suppress(TypeError):  # nested too deep, or an integer of more than 64 bits
            storable_fields[storable(name)[0]] = storable_json(
                orjson.loads(orjson.dumps(value, default=str))
            )[0]
    return storable_fields


# The answer and the question


def _outermost(tree: Call, *, objects: bool) -> Call | None:
    """Return the outermost call with an answer, which may be an object without an answer field if ``objects``.

    On one level, a step of the application with a question comes before calls of models, and later
    calls before earlier ones. A step without any model below (such as a step that joins passages)
    gives no answer if a model gave one, or if the step's place in the trace is unknown. Calls
    inside tools and retrievals do not answer the user.
    """
    models = any(tree.answering_models())
    level = [tree]
    while level:
        candidates = [
            call for call in level if call.answers and (objects or not call.answers_object)
        ]
        candidates = [
            call
            for call in candidates
            if any(call.answering_models()) or (call.is_whole and (call is tree or not models))
        ]
        if candidates:
            return max(
                candidates,
                key=lambda call: (
                    call.part.question is not None and not call.is_model,
                    call.part.question is not None,
                    call.ended_ns,
                    call.span.span_id,
                ),
            )
        level = [child for call in level for child in call.children if not child.is_aside]
    return None


def _question(tree: Call, answering: Call | None) -> tuple[str | None, Call | None]:
    """Return the question and its call: the outermost call above the answer, or else the model that answered."""
    if answering is None:
        return None, None
    models = _models(tree, answering)
    above = [*answering.ancestors(), answering, *sorted(models, key=lambda call: -call.ended_ns)]
    others = [
        call
        for call in tree.walk()
        if call.part.question and not call.is_model and call not in above
    ]
    others.sort(key=lambda call: (call.depth, call.is_aside, call.started_ns))
    # An object without a question field is a question only if there is no other.
    for call in sorted((*above, *others), key=lambda call: call.asks_object):
        text = call.part.question
        if text and call.part.operation not in {Operation.TOOL, Operation.CHECK}:
            beside = [
                each.part.question
                for each in tree.walk()
                if each is not call and each.part.question
            ]
            return (
                bare_question(text, beside)
                if call.part.messages
                or any(
                    message["content"] == text for call in models for message in call.part.messages
                )
                else text
            ), call
    return None, None


def _models(tree: Call, answering: Call) -> list[Call]:
    """Return the models that answered: inside the call with the answer, or else anywhere."""
    return list(answering.answering_models()) or list(tree.answering_models())


def _messages(
    tree: Call, answering: Call, model: Call | None, question: str, uses: _Uses
) -> tuple[dict[str, Any], ...] | None:
    """Return the dialogue up to the question; None if there is only the question."""
    places = [*answering.ancestors(), answering, *([model] if model else []), tree]
    call = next(
        (call for call in places if any(each["role"] == "user" for each in call.part.messages)),
        None,
    )
    messages = list(call.part.messages) if call is not None else []
    if (
        messages
        and messages[-1]["role"] == "assistant"
        and messages[-1]["content"] == answering.part.answer
    ):
        del messages[-1]  # an agent that logs the whole dialogue
    if call is None or [(each["role"], each["content"]) for each in messages] == [
        ("user", question)
    ]:
        return None
    uses[call.span.span_id, "messages"] = None
    return tuple(_as_json(message) for message in messages)


# The passages


def _passages(
    tree: Call, model: Call, uses: _Uses
) -> tuple[list[str] | None, list[dict[str, Any]]]:
    """Return the texts of the retrieved passages in order, and the details of each passage.

    Without texts in the spans, the texts come from the prompt if the prompt has exactly these
    passages, numbered; otherwise the texts are None.
    """
    retrieved: list[Passage] = []
    reranked: list[Passage] = []
    read = [call for call in tree.walk() if call.part.passages is not None]
    retrievals = [
        call for call in read if call.part.operation in {Operation.RETRIEVAL, Operation.RERANKING}
    ]
    if not retrievals:
        # Without a retrieval, the outermost steps of the application that got or returned passages.
        steps = [call for call in read if call.part.operation is Operation.APP]
        depth = min((call.depth for call in steps), default=0)
        retrievals = [call for call in steps if call.depth == depth]
    retrievals.sort(key=lambda call: (call.started_ns, -call.ended_ns))
    for call in retrievals:
        uses[call.span.span_id, "passages"] = None
        if call.part.operation is Operation.RERANKING and call.part.passages:
            reranked = _joined([*reranked, *call.part.passages])
            retrieved = []
        else:
            retrieved = _joined([*retrieved, *(call.part.passages or ())])
    passages = [
        each for each in _joined([*reranked, *retrieved]) if each.text is None or each.text.strip()
    ]
    if not retrievals:
        return None, []
    texts = [each.text for each in passages if each.text is not None]
    if passages and not texts:
        texts = (
            passages_in_prompt(
                model.part.messages, model.part.context, [each.id for each in passages]
            )
            or []
        )
        if not texts:
            return None, [_details(each) for each in passages]
    elif len(texts) < len(passages):
        passages = [each for each in passages if each.text is not None]
    details = [_details(each) for each in passages]
    return texts, details if any(details) else []


def _joined(passages: Iterable[Passage]) -> list[Passage]:
    """Return the passages without repeats: nested spans of one retrieval have the same passages."""
    unique: list[Passage] = []
    for passage in passages:
        for place, earlier in enumerate(unique):
            same_text = passage.text is not None and passage.text == earlier.text
            same_id = passage.id is not None and passage.id == earlier.id
            if same_text or (same_id and None in {passage.text, earlier.text}):
                unique[place] = earlier if earlier.text is not None else passage
                break
        else:
            unique.append(passage)
    return unique


def _details(passage: Passage) -> dict[str, Any]:
    values = {
        "id": passage.id,
        "score": passage.score,
        "source": passage.source,
        **passage.metadata,
    }
    return without_none(values)


# Model, tokens, cost and the rest


def _total(tree: Call, name: str) -> Any:
    """Return the sum over the calls of models; of nested calls, the inner calls with a value count."""
    totals: dict[int, Any] = {}
    for call in reversed(list(tree.walk())):  # inner calls first
        inside = [value for child in call.children if (value := totals[id(child)]) is not None]
        value_of_call = (
            getattr(call.part, name)
            if call.part.operation in {Operation.MODEL, Operation.APP}
            else None
        )
        totals[id(call)] = sum(inside) if inside else value_of_call
    return totals[id(tree)]


def _metadata(tree: Call, answering: Call, uses: _Uses) -> dict[str, Any]:
    """Return the metadata of the outermost span with metadata, and other facts of the trace beside the answer."""
    outermost = sorted(
        tree.walk(), key=lambda call: (call.depth, call.started_ns, call.span.span_id)
    )
    values = dict(next((call.part.metadata for call in outermost if call.part.metadata), {}))
    root = tree if tree.parent is None and tree.span.span_id else answering
    values |= {
        "span_id": root.span.span_id,
        "latency_ms": round((tree.ended_ns - tree.started_ns) / 1e6),
    }
    for name in ("session", "user", "tags"):
        call = next((call for call in outermost if getattr(call.part, name)), None)
        if call is not None:
            uses[call.span.span_id, name] = None
            value = getattr(call.part, name)
            values[name] = list(value) if isinstance(value, tuple) else value
    for name in ("prompt_tokens", "completion_tokens"):
        total = _total(tree, name)
        values |= {} if total is None else {name: total}
    # The calls of tools in order: the requests of the models, with the results in the spans of
    # tools.
    calls = sorted(tree.walk(), key=lambda call: (call.started_ns, call.span.span_id))
    requests = [each for call in calls if call.is_model for each in call.part.tool_calls]
    executions = [
        each
        for call in calls
        if call.part.operation is Operation.TOOL
        for each in call.part.tool_calls
    ]
    tool_calls: list[dict[str, Any]] = []
    for each in (*requests, *executions):
        values_of_call = without_none(each)
        same_call = next((other for other in tool_calls if _is_same(each, other)), None)
        if same_call is None:
            tool_calls.append(values_of_call)
        else:
            same_call |= {
                name: value for name, value in values_of_call.items() if name not in same_call
            }
    return {**values, "tool_calls": tool_calls} if tool_calls else values


def _is_same(call: Mapping[str, Any], other_call: Mapping[str, Any]) -> bool:
    """Whether two spans are about one call of a tool: by id, or by name and the known arguments."""
    if call.get("id") and other_call.get("id"):
        return bool(call["id"] == other_call["id"])
    arguments, other_arguments = call.get("arguments"), other_call.get("arguments")
    return call.get("name") == other_call.get("name") and (
        arguments is None or other_arguments is None or arguments == other_arguments
    )


_QUERY_TYPE = ("query_type", "queryType", "query-type")


def _query_type(metadata: dict[str, Any]) -> str | None:
    for name in _QUERY_TYPE:
        if query_type := as_text(metadata.get(name)):
            return storable(query_type)[0][:MAX_NAME]
    for tag in tags_in(metadata.get("tags")):
        name, _, value = tag.replace("=", ":", 1).partition(":")
        if name.strip() in _QUERY_TYPE and value.strip():
            return storable(value.strip())[0][:MAX_NAME]
    return None


def time_at(at_ns: int) -> datetime | None:
    """Return a time; None for a time of a wrong clock that no database stores."""
    with suppress(ValueError, OverflowError, OSError):
        return as_utc(datetime.fromtimestamp(at_ns / 1e9, UTC)) if at_ns else None
    return None


# Why there is none


def _reason(tree: Call, answering: Call | None) -> str:
    if answering is not None:
        return "The trace has an answer, but no question. Name its place with `judgeboard sources map`."
    calls = sorted(tree.walk(), key=lambda call: (call.depth, -call.ended_ns, call.span.span_id))
    read = [call for call in calls if call.part.dialect]
    failed = next((call.error for call in calls if call.error and call.error.strip()), None)
    last = max(
        (call for call in read if call.is_model), key=lambda call: call.ended_ns, default=None
    )
    missing_content = next((call.part.missing for call in read if call.part.missing), None)
    tool_requests = last.part.tool_calls if last is not None else ()
    if failed and (
        tree.failed or last is None or last.failed or not (missing_content or tool_requests)
    ):
        return f"The call failed: {storable(failed.strip().splitlines()[0])[0][:500]}"
    if missing_content:
        return missing_content
    if tool_requests:
        return "The trace has no answer: the model only asked for a tool."
    kinds = sorted({str(call.part.operation) for call in read})
    if set(kinds) & {"app", "model"}:
        return "The trace has no answer: no span has the output of the assistant or of a model."
    return f"No answer, only spans: {', '.join(kinds)}" if kinds else _UNKNOWN
