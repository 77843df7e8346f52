"""The view of an answer's trace: spans as a tree, with times, tokens, inputs and outputs as received."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from judgeboard.store.items import Item
from judgeboard.store.traces import records_of, rules_by_source, trace_of_response
from judgeboard.text import shortened
from judgeboard.traces.calls import Call, calls_of
from judgeboard.traces.spans import Operation, Span
from judgeboard_dashboard.evidence import Html, size, tag
from judgeboard_dashboard.review.context import logged_values, message_words, value_words
from judgeboard_dashboard.review.judgments import labelled_text
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.widgets.texts import capital, count

SPAN_ID = "span_id"
"""The metadata of every answer that was made from a trace has this name."""
MOST_RECORDS = 500  # spans and log records of one trace
MOST_ATTRIBUTES = 200  # of one span
LONGEST = 20_000  # characters of one text
LONGEST_TRACE = 500_000  # characters of all texts and labels
LONGEST_NAME = 200  # characters of a name, such as the name of a span or a model
DEEPEST = 12  # steps of indentation; deeper spans stand as far in
NOT_STORED = (
    "The spans of this trace are not stored. They are stored if the assistant sends its traces to Judgeboard, and not "
    "if the trace was imported from a file or pulled from a tool."
)
TOO_LONG = "The trace has too many texts to show them all. The next ones are left out."
FACTS = (
    "model",
    "latency_ms",
    "prompt_tokens",
    "completion_tokens",
    "session",
    "user",
    "tags",
    "tool_calls",
)
"""The fields of metadata that may describe the trace of an answer."""


def has_trace(item: Item) -> bool:
    """Return whether the answer was made from a trace that the reader may see. Reads nothing.

    Spans contain the model and the results of other evaluators, so that no part of a span is shown
    during a blind review.
    """
    return SPAN_ID in item.response.metadata and not (item.hidden.judge or item.hidden.queues)


def trace_pane(item: Item) -> Html:
    """Read the trace of an answer from the store. Return the spans, each folded."""
    with reading() as connection:
        trace = trace_of_response(connection, item.response_id)
        if trace is not None:
            spans, logs = records_of(connection, [trace.id], MOST_RECORDS)[trace.id]
            rules = rules_by_source(connection).get(trace.source, ())
    if trace is None or not spans:
        values = {**logged_values(item.response), **item.response.metadata}
        return _pane(
            None,
            tag("div", NOT_STORED, cls="jb-cap"),
            _values(
                (name, values[name]) for name in FACTS if values.get(name) not in (None, "", [], ())
            ),
        )
    # All calls, each before the calls inside the call, in the order of start times.
    calls, later_calls = [], sorted(calls_of(spans, logs, rules), key=_start, reverse=True)
    while later_calls:
        call = later_calls.pop()
        calls.append(call)
        later_calls += sorted(call.children, key=_start, reverse=True)
    first, last = min(call.started_ns for call in calls), max(call.ended_ns for call in calls)
    view = _View(first, max(last - first, 1), trace.used or (), LONGEST_TRACE)
    records = len(spans) + len(logs)
    partial = (
        f"Only {records:,} of {trace.spans:,} spans and log records are shown."
        if trace.spans > records
        else None
    )
    span_words = count(len(spans), "span")
    return _pane(
        f"{span_words} · {_took(last - first)} · {trace.source}",
        tag("div", partial, cls="jb-cap") if partial else None,
        *(view.row(call) for call in calls),
    )


def _pane(about: str | None, *parts: str | None) -> Html:
    aside = " · ".join(filter(None, (about, "F10: back to the texts")))
    return tag(
        "div", tag("div", "Trace", tag("span", aside), cls="jb-label"), *parts, cls="jb-pane"
    )


def _start(call: Call) -> tuple[int, str]:
    return call.started_ns, call.span.span_id


@dataclass
class _View:
    """How spans are shown: the start and the length of the trace (ns), what the answer took from which span.

    ``left`` is the number of characters that may still be sent with the trace.
    """

    first: int
    length: int
    used: Sequence[Sequence[str]]
    left: int

    def cut(self, text: str, longest: int | None = None) -> str:
        """Return a text, or the beginning and how much is left out (``longest``: by default LONGEST)."""
        beginning = text[: min(longest or LONGEST, self.left)]
        self.left -= len(beginning)
        more = len(text) - len(beginning)
        return f"{beginning} … ({size(more)} more)" if more else beginning

    def row(self, call: Call) -> Html:
        """Return a span as a folded line with the texts of the span."""
        part = call.part
        name = shortened(call.span.name, LONGEST_NAME) or "Span without a name"
        if not call.span.span_id:
            name = "The root span was not received"
        used_as = ", ".join(what for span_id, what in self.used if span_id == call.span.span_id)
        start = 100 * (call.started_ns - self.first) / self.length
        width = 100 * max(call.ended_ns - call.started_ns, 0) / self.length
        kind = None if part.operation is Operation.OTHER else str(part.operation)
        # The tokens of a span: "412 + 96 tokens" are 412 sent and 96 received tokens.
        sent_tokens, received_tokens = call.part.prompt_tokens, call.part.completion_tokens
        token_counts = [
            f"{number:,}" for number in (sent_tokens, received_tokens) if number is not None
        ]
        facts = (
            kind,
            shortened(part.model or "", LONGEST_NAME),
            f"{' + '.join(token_counts)} tokens" if token_counts else None,
        )
        summary = tag(
            "summary",
            tag("b", name, title=name),
            tag("span", "failed", cls="jb-mark jb-short-of") if call.failed else None,
            tag(
                "span", used_as, cls="jb-mark", title=f"The answer has its {used_as} from this span"
            )
            if used_as
            else None,
            tag("span", " · ".join(filter(None, facts)), cls="jb-cap jb-line"),
            tag(
                "span",
                tag("i", style=f"margin-left:{start:.2f}%;width:{width:.2f}%"),
                cls="jb-during",
            ),
            tag("span", _took(call.ended_ns - call.started_ns), cls="jb-took"),
        )
        indent = f"--jb-depth:{min(call.depth, DEEPEST)}"
        texts = list(
            self._texts(_texts_of(call))
        )  # before the attributes, which get the rest of the allowance
        return tag(
            "details", summary, *texts, self._attributes(call.span), cls="jb-span", style=indent
        )

    def _texts(self, texts: Iterable[tuple[str, str]]) -> Iterator[Html]:
        """Yield texts with labels, until no more of the trace may be sent."""
        for label, text in texts:
            if not self.left:
                yield tag("div", TOO_LONG, cls="jb-cap")
                return
            yield labelled_text(self.cut(label, LONGEST_NAME), self.cut(text))

    def _attributes(self, span: Span) -> Html | None:
        attributes: dict[str, Any] = dict(span.attributes)
        attributes |= {f"event {event.name}": dict(event.attributes) for event in span.events}
        if not attributes:
            return None
        first_attributes = list(attributes.items())[:MOST_ATTRIBUTES] if self.left else []
        values = _values(
            (self.cut(name, LONGEST_NAME), self.cut(value_words(value)))
            for name, value in first_attributes
        )
        size_words = count(len(attributes), "attribute")
        partial = len(first_attributes) < len(attributes)
        more = (
            tag("div", f"Only {len(first_attributes):,} of {size_words} are shown.", cls="jb-cap")
            if partial
            else None
        )
        return tag("details", tag("summary", f"{size_words} as received"), values, more)


def _texts_of(call: Call) -> Iterator[tuple[str, str]]:
    """Yield the texts of a span that the dialect names, each with a label."""
    part = call.part
    if call.error:
        yield "Error", call.error
    if part.messages:
        for message in part.messages:
            role = capital(str(message.get("role") or "message"))
            yield f"Input: {role}", message_words(message)
    elif part.question:
        yield "Input", part.question
    for number, passage in enumerate(part.passages or (), start=1):
        facts = (
            passage.id,
            None if passage.score is None else f"score {passage.score:.4g}",
            passage.source,
        )
        yield " · ".join(filter(None, (f"Passage {number}", *facts))), passage.text or ""
    if part.answer:
        yield "Output", part.answer
    for tool_call in part.tool_calls:
        yield f"Tool call: {tool_call.get('name')}", value_words(dict(tool_call))


def _values(values: Iterable[tuple[str, Any]]) -> Html | None:
    parts = [
        part
        for name, value in values
        for part in (tag("span", name), tag("span", value_words(value)))
    ]
    return tag("div", *parts, cls="jb-log") if parts else None


def _took(nanoseconds: int) -> str:
    """Return a duration: "850 ms", "2.4 s"."""
    milliseconds = max(nanoseconds, 0) / 1e6
    return f"{milliseconds:,.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:,.1f} s"
