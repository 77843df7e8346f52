"""Candidates: who answers the cases of a suite: a model, a function of the user's, or a log that holds the answers."""

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.judge_choice import make_endpoint
from judgeboard.llm.callable_chat import CallableChat, Chat
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.generator import DEFAULT_GENERATOR_OUTPUT, Generator
from judgeboard.methods.generation import rebuilt_messages
from judgeboard.methods.suite_file import Case

HOW = "model:NAME, python:module:function or source:NAME"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who answers: a ``generator``, or the answers that a ``source`` of the log holds already; one of the two.

    ``name`` is what ``--candidate`` gives, as "model:gpt-4o-mini". ``own_code`` tells that it is a function of the
    user's, whose cost is unknown.
    """

    name: str
    generator: Generator | None = None
    source: str | None = None
    model: str | None = None
    own_code: bool = False

    @property
    def priced(self) -> bool:
        """Whether a cost limit can be kept; what a user's own function costs is not ours to count."""
        return self.generator is None or self.own_code or self.generator.endpoint.priced

    async def aclose(self) -> None:
        """Release connections."""
        if self.generator is not None:
            await self.generator.endpoint.aclose()


def make_candidate(
    which: str | Callable[..., Any], *, max_output: int = DEFAULT_GENERATOR_OUTPUT, **endpoint: Any
) -> Candidate:
    """Return the candidate that ``which`` names.

    Args:
        which: ``model:NAME``, ``python:module:function`` or ``source:NAME``, or a function itself: sync or async, from
            the query to a text, or from messages where its first parameter is called so.
        max_output: Tokens an answer of a model may have.
        endpoint: For a model: base_url, api_key, concurrency, timeout_s, tries, prices; None is not chosen.

    Raises:
        BadInput: It names none, or the function cannot be found.
    """
    if callable(which):
        return _of_function(which, f"python:{_name_of(which)}")
    kind, _, name = which.partition(":")
    if not name or kind not in {"model", "python", "source"}:
        raise BadInput(f"a candidate is {HOW}, not {which!r}")
    if kind == "source":
        return Candidate(which, source=name)
    if kind == "python":
        return _of_function(_load(name), which)
    given = make_endpoint("the candidate", **endpoint | {"model": name, "replies": None})
    return Candidate(which, Generator(given, max_output=max_output), model=name)


def messages_for(candidate: Candidate, case: Case) -> Sequence[dict[str, Any]]:
    """Return the messages for a candidate; a function of the user's gets the query alone and finds its own context."""
    if case.context and not candidate.own_code:
        return rebuilt_messages(case.query, case.context)
    return [{"role": "user", "content": case.query}]


def _of_function(function: Callable[..., Any], name: str) -> Candidate:
    chat: Chat = function if _takes_messages(function) else lambda messages: function(messages[-1]["content"])
    return Candidate(name, Generator(ModelEndpoint(CallableChat(chat), name)), own_code=True)


def _takes_messages(function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function of C without a signature
        return False
    if not parameters:
        raise BadInput(f"{_name_of(function)} takes nothing: it should take the query, or messages")
    return parameters[0] == "messages"


def _load(name: str) -> Callable[..., Any]:
    module_name, _, path = name.partition(":")
    if not path:
        raise BadInput(f"python:{name} names no function: write python:module:function")
    here = str(Path.cwd())
    if here not in sys.path:  # as `python -m` has it: an installed command does not look beside the user
        sys.path.insert(0, here)
    try:
        loaded: Any = importlib.import_module(module_name)
        for part in path.split("."):
            loaded = getattr(loaded, part)
    except Exception as error:
        raise BadInput(f"python:{name} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(loaded):
        raise BadInput(f"python:{name} is no function")
    function: Callable[..., Any] = loaded
    return function


def _name_of(function: Callable[..., Any]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"
