"""Hands out the prompts of a self-refine run, with the attempts at each that are stored."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection

from judgeboard.filters import RowFilter
from judgeboard.refining.attempts import RefineRule
from judgeboard.refining.refine_work import Prompt, refinements_of
from judgeboard.store.engine import Store
from judgeboard.store.refine_candidates import REFINE, RefineSelection, count_unrefined, unrefined
from judgeboard.store.refinements import runs_of_method, stored_attempts
from judgeboard.store.responses.logged_origins import Origin, read_origins
from judgeboard.store.responses.response_frontier import last_logged_id
from judgeboard.store.runs.runs import StoredRun


class Question(NamedTuple):
    """What fixes the prompts of a run, as JSON values, and how many of them wait."""

    asked: dict[str, Any]
    waiting: int


class PromptSource(Protocol):
    """Where the prompts of a run come from; asked in this order, ``begin`` once the run is there."""

    def question(self, connection: Connection, version_id: int, method: Mapping[str, Any]) -> Question:
        """Return what fixes the prompts, and how many wait."""
        ...

    def begin(self, run: StoredRun) -> None:
        """Hand out the prompts of this run."""
        ...

    def read(self, limit: int) -> list[Prompt]:
        """Return up to ``limit`` further prompts; fewer only at the end."""
        ...

    def left(self) -> int:
        """Return how many prompts are not finished."""
        ...


class LoggedPrompts:
    """The questions of logged answers; from the other end where another process may be at the same run."""

    def __init__(self, store: Store, where: RowFilter, rule: RefineRule, model: str) -> None:
        self._store = store
        self._selection = RefineSelection(where, 0, rule.success_rating, rule.max_repeats + 1)
        self._model = model
        self._run: StoredRun | None = None
        self._after: int | None = None

    def question(self, connection: Connection, version_id: int, method: Mapping[str, Any]) -> Question:
        """Return filter and frontier, and how many questions no run of this method has finished."""
        runs = runs_of_method(connection, REFINE, version_id, method)
        up_to = last_logged_id(connection)
        self._selection = replace(self._selection, up_to=up_to, runs=runs)
        asked = {"where": self._selection.where.as_dict(), "up_to": up_to}
        return Question(asked, count_unrefined(connection, self._selection))

    def begin(self, run: StoredRun) -> None:
        """Hand out the prompts of this run, up to its own frontier."""
        self._run = run
        runs = (*self._selection.runs, run.id)
        self._selection = replace(self._selection, runs=runs, up_to=run.question["up_to"])

    def read(self, limit: int) -> list[Prompt]:
        """Return up to ``limit`` further prompts; fewer only at the end."""
        run = self._run
        if run is None:
            return []
        with self._store.reading() as connection:
            ids = unrefined(connection, self._selection, after_id=self._after, downwards=run.shared, limit=limit)
            origins = read_origins(connection, ids)
            done = stored_attempts(connection, run.id, [str(id_) for id_ in ids])
        if ids:
            self._after = ids[-1]
        return [
            Prompt(str(id_), origins[id_], run.id, self._model, refinements_of(done.get(str(id_), ())))
            for id_ in ids
            if id_ in origins
        ]

    def left(self) -> int:
        """Return how many prompts are not finished."""
        with self._store.reading() as connection:
            return count_unrefined(connection, self._selection)


class ListedPrompts:
    """The prompts of a file, in its order."""

    def __init__(self, store: Store, prompts: Sequence[Origin], rule: RefineRule, model: str) -> None:
        self._store = store
        self._prompts = prompts
        self._rule = rule
        self._model = model
        self._run: StoredRun | None = None
        self._at = 0

    def question(
        self,
        connection: Connection,  # noqa: ARG002 - the protocol's
        version_id: int,  # noqa: ARG002 - the protocol's
        method: Mapping[str, Any],  # noqa: ARG002 - the protocol's
    ) -> Question:
        """Return the address of what is asked, and how many prompts there are."""
        content = [
            [one.item.external_id, one.item.query, one.item.passages, one.messages, one.source] for one in self._prompts
        ]
        address = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return Question({"prompts": address}, len(self._prompts))

    def begin(self, run: StoredRun) -> None:
        """Hand out the prompts of this run."""
        self._run = run

    def read(self, limit: int) -> list[Prompt]:
        """Return up to ``limit`` further prompts that are not finished; fewer only at the end."""
        found: list[Prompt] = []
        while len(found) < limit and self._at < len(self._prompts):
            part = self._prompts[self._at : self._at + limit - len(found)]
            self._at += len(part)
            found += [
                one
                for one in self._with_attempts(part, [one.item.external_id for one in part])
                if not self._rule.over(one.done)
            ]
        return found

    def left(self) -> int:
        """Return how many prompts are not finished."""
        return sum(not self._rule.over(one.done) for one in self._with_attempts(self._prompts, None))

    def _with_attempts(self, prompts: Sequence[Origin], subjects: list[str] | None) -> list[Prompt]:
        run = self._run
        if run is None:
            return []
        with self._store.reading() as connection:
            done = stored_attempts(connection, run.id, subjects)
        return [
            Prompt(named, one, run.id, self._model, refinements_of(done.get(named, ())))
            for one in prompts
            for named in [one.item.external_id]
        ]
