"""The list of the foreign tools that Judgeboard knows, a line each."""

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple


class KnownTool(NamedTuple):
    """The module of a tool in `judgeboard.tools`, and the names of the tool for commands that take one.

    Commands list these names in their helps, where loading the tools would take much longer than all the rest.
    """

    module: str
    push: str | None = None
    pull: str | None = None


KNOWN_TOOLS = (
    KnownTool("langfuse", push="langfuse", pull="langfuse"),
    KnownTool("mlflow", push="mlflow", pull="mlflow"),
    KnownTool("langsmith", push="langsmith", pull="langsmith"),
    KnownTool("trulens"),
    KnownTool("vercel"),
    KnownTool("openllmetry"),
    KnownTool("phoenix", push="phoenix", pull="phoenix"),
    KnownTool("opentelemetry", push="otlp"),
    KnownTool("haystack"),
    KnownTool("promptfoo"),
    KnownTool("deepeval"),
    KnownTool("inspect"),
    KnownTool("label_studio", push="label-studio"),
    KnownTool("argilla"),
    KnownTool("teacher_records"),
    KnownTool("ragas"),
    KnownTool("openai"),
)
"""The tools in the order in which their exports are tried, and in which they read a span."""


@cache
def tools() -> tuple[Any, ...]:
    """Return the `Tool` of each line.

    Their modules are loaded by the first call, and by their names, because this is a circle: what reads files and
    traces asks here for the tools, and they use it.
    """
    return tuple(import_module(f"judgeboard.tools.{line.module}").TOOL for line in KNOWN_TOOLS)
