"""The list of the foreign tools that Judgeboard knows, a line each, and the tools of other packages."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from judgeboard.errors import BadInput
from judgeboard.registry.plugins import Plugin, Registry


class KnownTool(NamedTuple):
    """The module of a tool in `judgeboard.tools`, and the names of the tool for commands.

    Commands list these names in their helps, where loading the tools would take much longer than
    all the rest.
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
"""The tools in the order in which exports are tried, and in which tools read a span."""


def _checked(tool: Any) -> Any:
    if not isinstance(tool, import_module("judgeboard.tools.tool").Tool):
        raise BadInput("it must be a `Tool` of judgeboard.tools.tool")
    return tool


def _taken(names: Iterable[str | None], plugin: Plugin, target: Any) -> None:
    """Raise BadInput if a tool has another name than the entry point, or the name of a tool of Judgeboard."""
    if target.name != plugin.name:
        raise BadInput(
            f"the `name` of its target must be {plugin.name!r}, the name of the entry point"
        )
    if target.name in names:
        raise BadInput("its name is taken by Judgeboard")


def _checked_import(plugin: Plugin, tool: Any) -> Any:
    """Return what a plugin imports; the target counts in the other group."""
    tool = _checked(tool)
    if not tool.exports and tool.spans is None and tool.history is None:
        raise BadInput("its `Tool` has no exports, no spans and no history")
    if tool.history is not None:
        _taken((line.pull for line in KNOWN_TOOLS), plugin, tool.history.target)
    return replace(tool, target=None)


def _checked_target(plugin: Plugin, tool: Any) -> Any:
    """Return the target of a plugin alone."""
    tool = _checked(tool)
    if tool.target is None:
        raise BadInput("its `Tool` has no target")
    _taken((line.push for line in KNOWN_TOOLS), plugin, tool.target)
    return replace(tool, exports=(), spans=None, history=None)


IMPORTS: Registry[Any] = Registry("judgeboard.imports", {}, _checked_import)
"""The `Tool` of each plugin that reads exports, spans or the history of a tool."""
TARGETS: Registry[Any] = Registry("judgeboard.targets", {}, _checked_target)
"""The `Tool` of each plugin with a target that gets scores."""


@cache
def tools() -> tuple[Any, ...]:
    """Return the `Tool` of each line, then the tools of plugins.

    The first call loads the modules, by name, because of a circle: code that reads files and traces
    asks here for the tools, and the tools use that code.
    """
    own_tools = (import_module(f"judgeboard.tools.{line.module}").TOOL for line in KNOWN_TOOLS)
    return (*own_tools, *IMPORTS.values(), *TARGETS.values())


def pull_names() -> list[str]:
    """Return the names of the tools whose history can be pulled; loads only the tools of plugins."""
    own_names = [line.pull for line in KNOWN_TOOLS if line.pull is not None]
    return own_names + [name for name, tool in IMPORTS.items() if tool.history is not None]


def push_names() -> list[str]:
    """Return the names of the tools that get scores; loads only the tools of plugins."""
    return [line.push for line in KNOWN_TOOLS if line.push is not None] + list(TARGETS)
