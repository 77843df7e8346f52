"""Windows and pages of whole traces, which the histories of all tools share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from judgeboard.errors import NotSent
from judgeboard.imports.exports.entry import objects
from judgeboard.imports.exports.export import Export
from judgeboard.store.filters import value_at
from judgeboard.text import as_utc, iso_z
from judgeboard.tools.target import Connection, Target
from judgeboard.traces.attributes import without_none

JsonRow = dict[str, Any]
"""A row of the export of a tool, as from the REST interface."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time in which traces began: from ``since`` (None: the first trace) to before ``until``."""

    since: datetime | None
    until: datetime

    def named(self, since: str, until: str) -> dict[str, str]:
        """Return the bounds as ISO texts with these names."""
        return {until: iso_z(self.until)} | ({since: iso_z(self.since)} if self.since else {})


QueryValue = str | int | Sequence[str] | None
"""A value in the query of an address: a list is repeated, and None is left out."""


class Page(NamedTuple):
    """Whole traces by trace id, each as rows of the tool's export, and the position of the next page (None: the end).

    ``export`` reads such rows.
    """

    export: Export
    traces: Mapping[str, Sequence[JsonRow]]
    next: str | None


class History(ABC):
    """The traces of one project of a tool, read through its REST interface.

    ``project`` is the full name of the project. A subclass finds the project in ``__init__``.
    """

    target: ClassVar[Target]
    default_project: ClassVar[str] = "default"

    def __init__(self, http: Connection, project: str | None) -> None:
        self.http = http
        self.project = project or self.default_project

    @abstractmethod
    def page(self, window: Window, position: str | None) -> Page:
        """Return the traces at a position of a window (None: the first page).

        Raises:
            Refused: The tool does not know the project, or the position any more.
            NotSent: The tool does not answer.
        """

    def get(self, path: str, **query: QueryValue) -> Any:
        """Return the JSON object at a path. Values that are None are left out, and lists are repeated."""
        parameters = without_none(query)
        return self.read(
            "GET", f"{path}?{urlencode(parameters, doseq=True)}" if parameters else path
        )

    def read(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of a reply. Raises NotSent for other values than objects and lists."""
        content = self.http.send(method, path, body)
        if not isinstance(content, dict | list):
            raise NotSent(
                f"{self.http.address} answered {path.partition('?')[0]} with something else than an object"
            )
        return content


def rows_of_pages(
    read: Callable[[str | None], Any], rows: str, *next_position: str
) -> list[JsonRow]:
    """Return the rows of all pages of a list.

    ``read`` returns the reply at a position (None: the first page). The reply has a page under the
    name ``rows``, and the next position at the path ``next_position`` (absent on the last page).
    """
    every: list[JsonRow] = []
    position = None
    while True:
        reply = read(position)
        every += objects(reply.get(rows))
        position = value_at(reply, next_position)
        if not position:
            return every


class Names(NamedTuple):
    """The names of these fields in the rows of a tool."""

    trace: str
    parent: str
    start: str
    end: str


def whole_traces(
    rows: Sequence[JsonRow], names: Names
) -> tuple[dict[str, list[JsonRow]], list[str]]:
    """Divide a page of spans, newest first: whole traces, and ids of traces that may also be in other pages.

    A trace belongs to the page of its root. The trace is whole if the root ended before the newest
    span of the page began, and began after the oldest span: a span that began at the same time as
    the root may follow. Traces whose root has not ended are left out.
    """
    groups: dict[str, list[JsonRow]] = {}
    for row in objects(list(rows)):
        groups.setdefault(str(row.get(names.trace)), []).append(row)
    times = [
        time for group in groups.values() for row in group if (time := _time(row.get(names.start)))
    ]
    complete: dict[str, list[JsonRow]] = {}
    divided: list[str] = []
    for trace_id, group in groups.items():
        root = next((row for row in group if not row.get(names.parent)), None)
        end = None if root is None else _time(root.get(names.end))
        if root is None or end is None:
            continue
        begin = _time(root.get(names.start))
        if begin is not None and min(times) < begin and end < max(times):
            complete[trace_id] = group
        else:
            divided.append(trace_id)
    return complete, divided


def _time(value: Any) -> datetime | None:
    try:
        return as_utc(value) if value else None
    except ValueError:
        return None


def by_key(rows: Iterable[Any], *path: str) -> dict[str, list[JsonRow]]:
    """Return the objects among the rows by the value at a path of names; rows without the value are left out."""
    groups: dict[str, list[JsonRow]] = {}
    for row in objects(list(rows)):
        if (value := value_at(row, path)) is not None:
            groups.setdefault(str(value), []).append(row)
    return groups
