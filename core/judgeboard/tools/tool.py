"""The parts of a foreign tool that Judgeboard knows."""

from dataclasses import dataclass

from judgeboard.imports.exports.export import Export
from judgeboard.tools.history import History
from judgeboard.tools.target import Target
from judgeboard.traces.dialects import Dialect
from judgeboard.traces.sdk_requests import SdkRequest


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, or a convention that several follow. Each part may be left out.

    Args:
        exports: The files that the tool writes, the most specific keys first.
        spans: Reads the tool's spans.
        history: Pulls the tool's traces.
        target: Sends scores to the tool.
        receives: Requests that the SDK posts, beside OTLP.
    """

    exports: tuple[Export, ...] = ()
    spans: Dialect | None = None
    history: type[History] | None = None
    target: Target | None = None
    receives: tuple[SdkRequest, ...] = ()
