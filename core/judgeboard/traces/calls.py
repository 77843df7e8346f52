"""The tree of the spans of a trace, each with the fields that the dialects read."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from judgeboard.traces import dialects
from judgeboard.traces.documents import passages_in
from judgeboard.traces.maps import Rule, mapped
from judgeboard.traces.spans import LogRecord, Operation, Part, Span, exception_of

_NOTHING = Part("", Operation.OTHER)
_ASIDE = frozenset({Operation.TOOL, Operation.RETRIEVAL, Operation.RERANKING, Operation.CHECK})


@dataclass(slots=True, eq=False)
class Call:
    """A span with its place in the trace.

    If the root span never came, the root is a made span without an id, above the received spans. An
    ``orphan`` is a span whose parent never came, and may be any step of the assistant.
    """

    span: Span
    part: Part = _NOTHING
    parent: "Call | None" = None
    children: "list[Call]" = field(default_factory=list)
    orphan: bool = False
    depth: int = 0

    @property
    def started_ns(self) -> int:
        """The start."""
        return self.span.started_ns

    @property
    def ended_ns(self) -> int:
        """The end."""
        return self.span.ended_ns

    @property
    def error(self) -> str | None:
        """Why the call failed, if so. Some senders give only an exception, which answered spans can have too."""
        kind = self.span.attributes.get("error.type")
        cause = exception_of(self.span.events) if self.part.answer is None else None
        return self.span.error or cause or (kind if isinstance(kind, str) and kind else None)

    @property
    def failed(self) -> bool:
        """Whether the call failed."""
        return self.error is not None

    @property
    def is_model(self) -> bool:
        """Whether this is a call of a model."""
        return self.part.operation is Operation.MODEL

    @property
    def is_aside(self) -> bool:
        """Whether this is a tool, a retrieval or a check, in which no inner call answers the user."""
        return self.part.operation in _ASIDE

    @property
    def answers(self) -> bool:
        """Whether the output can be the answer; the output of a failed model or a repeated question cannot."""
        part = self.part
        if part.answer is None or part.operation not in {Operation.APP, Operation.MODEL}:
            return False
        if part.answer == part.question or (self.is_model and self.failed):
            return False
        return not self.answers_object or passages_in(part.answer) is None

    @property
    def answers_object(self) -> bool:
        """Whether the output of a step is a whole object, of which no field is known to be the answer."""
        return not self.is_model and (self.part.answer or "").startswith(("{", "["))

    @property
    def asks_object(self) -> bool:
        """Whether the input of a step is a whole object, of which no field is known to be the question."""
        return not self.is_model and (self.part.question or "").startswith(("{", "["))

    def ancestors(self) -> "list[Call]":
        """Return the calls above this call, outermost first."""
        above: list[Call] = []
        call = self.parent
        while call is not None:
            above.append(call)
            call = call.parent
        return above[::-1]

    @property
    def is_whole(self) -> bool:
        """Whether all spans above came, so that the call is known to be no inner step."""
        return not self.orphan and not any(call.orphan for call in self.ancestors())

    def walk(self) -> "Iterator[Call]":
        """Yield this call and all calls below."""
        waiting = [self]
        while waiting:
            call = waiting.pop()
            yield call
            waiting += call.children

    def answering_models(self) -> "Iterator[Call]":
        """Yield the calls of models that answered, from this call downwards, except inside a tool or a retrieval."""
        waiting = [self]
        while waiting:
            call = waiting.pop()
            if call.is_model and call.answers:
                yield call
            waiting += [] if call.is_aside else call.children


def calls_of(spans: Iterable[Span], logs: Iterable[LogRecord], maps: Sequence[Rule]) -> list[Call]:
    """Return the trees of a trace by root, the last to end first.

    A span whose parent never came belongs to the only root, or to the root that ran when the span
    started. Without any root, all spans are below a made root.
    """
    calls = {
        span.span_id: Call(span, mapped(span, dialects.read(span, records), maps) or _NOTHING)
        for span, records in _with_logs(spans, logs)
    }
    roots: list[Call] = []
    orphans: list[Call] = []
    for call in calls.values():
        parent = calls.get(call.span.parent_id or "")
        if parent is not None:
            call.parent = parent
            parent.children.append(call)
        elif call.span.parent_id is None or call.span.remote_parent:
            roots.append(call)
        else:
            orphans.append(call)
    # In each circle of parents, one span loses the parent.
    reached = {id(call) for top in (*roots, *orphans) for call in top.walk()}
    for call in calls.values():
        if id(call) not in reached:
            if call.parent is not None:
                call.parent.children.remove(call)
            call.parent = None
            reached |= {id(inner) for inner in call.walk()}
            orphans.append(call)
    roots.sort(key=lambda call: (-call.ended_ns, call.span.span_id))
    # The only root adopts all orphans; of several roots, the root that ran when the span started.
    alone: list[Call] = []
    for orphan in orphans:
        orphan.orphan = True
        around = [root for root in roots if root.started_ns <= orphan.started_ns <= root.ended_ns]
        candidates = around if len(roots) > 1 else roots
        if len(candidates) == 1:
            orphan.parent = candidates[0]
            candidates[0].children.append(orphan)
        else:
            alone.append(orphan)
    if len(alone) == 1 and not roots:
        alone[0].orphan = not _may_be_root(alone[0])
        roots = alone
    elif alone:
        # All of these are below a made root.
        first, last = min(call.started_ns for call in alone), max(call.ended_ns for call in alone)
        root = Call(Span(alone[0].span.trace_id, "", None, "", first, last), children=list(alone))
        for orphan in alone:
            orphan.parent = root
        roots.append(root)
    for call in (call for root in roots for call in root.walk()):
        call.depth = call.parent.depth + 1 if call.parent else 0
    return roots


def _may_be_root(call: Call) -> bool:
    """Whether the only span without a parent can be the assistant, called by a process that sends no traces.

    Such a span has no content, like the span of a request, or has a question and an answer. A step
    that joins passages is no such span: the output has the passages, or is an object.
    """
    part = call.part
    if call.span.remote_parent is not None or part.question is None or part.answer is None:
        return call.span.remote_parent is None and part.operation is Operation.OTHER
    passages = [
        each.text for inner in call.walk() for each in inner.part.passages or () if each.text
    ]
    return not part.answer.startswith(("{", "[")) and not any(
        text in part.answer for text in passages
    )


def _with_logs(
    spans: Iterable[Span], logs: Iterable[LogRecord]
) -> Iterator[tuple[Span, list[LogRecord]]]:
    """Yield each span once with its log records, in an order that does not depend on the order of arrival."""
    versions: dict[str, Span] = {}
    for span in spans:
        earlier = versions.get(span.span_id)
        if earlier is None or _version(span) > _version(earlier):
            versions[span.span_id] = span
    records: dict[str, dict[str, LogRecord]] = defaultdict(dict)
    for record in logs:
        records[record.span_id].setdefault(repr(record), record)
    for span in sorted(versions.values(), key=lambda each: (each.started_ns, each.span_id)):
        yield (
            span,
            sorted(records[span.span_id].values(), key=lambda each: (each.at_ns, repr(each))),
        )


def _version(span: Span) -> tuple[int, int, str]:
    """Return the sort key of spans with one id: the latest end counts, then the most attributes."""
    return span.ended_ns, len(span.attributes), repr(sorted(span.attributes.items()))
