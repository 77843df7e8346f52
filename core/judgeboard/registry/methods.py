"""The list of the methods, a line each, and what a method adds to the rest of Judgeboard.

A method is a folder of `judgeboard.methods`, whose `__init__` has the `REGISTRATION`. Only the page
of the method imports the folder: commands, tables and all else are loaded by name at the first use.
Another package adds a method with an entry point.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from judgeboard.errors import BadInput
from judgeboard.registry.plugins import Plugin, Registry

T = TypeVar("T")
KNOWN_METHODS = (
    "audits",  # a stronger judge reviews verdicts of a judge
    "control_answers",  # made answers that show what a judge does not notice
    "juries",  # several judges, and their combined verdict
    "self_reference",  # a judge answers a question itself before it compares two answers
    "repeats",  # a judge judges the same answers again
    "anchors",  # a fixed set of answers shows whether a judge drifts
    "alignment",  # a model proposes better instructions for a judge
    "suites",  # test cases, to which a candidate gives answers that a judge scores
    "refining",  # better answers after feedback of a judge
)
"""The folders of the methods, in the order in which helps list their commands."""
KNOWN_ROOMS = (
    "mcp",  # agents read, and draft what a person confirms
    "accounts",  # people sign in with a password
    "masks",  # personal data in texts are replaced before anything is stored
)
"""The folders beside `methods` that add to the rest in the same way."""
ENTRY_POINTS = "judgeboard.methods"
"""The group of the entry points of other packages. Each names a `Registration`, without tables and pages."""
_NONE: Mapping[Any, Any] = MappingProxyType({})


class Page(NamedTuple):
    """A view, which is a file in `views/` of the dashboard.

    ``page`` is the page in the menu, ``tab`` the name of the tab there. The view stands before the
    view ``before``, or last. ``documentation`` is the page of the documentation.
    """

    page: str
    tab: str
    documentation: str
    before: str = ""


class Dataset(NamedTuple):
    """A shape of `judgeboard export --as`: the place of the `reports.datasets.Shape`, and the rows in words."""

    shape: str
    rows: str


class Kind(NamedTuple):
    """One kind of file to import: the module and name of the class (``home``), and the texts for people.

    ``home`` is imported only when the kind is used, so that listing the kinds loads no database
    library. ``noun`` names one record in a sentence. ``next_step`` is the command to run after an
    import (None: the next step is a page).
    """

    home: str
    title: str
    noun: str
    help: str
    next_step: str | None = None


class JudgeOption(NamedTuple):
    """An option of the command `judge`, with which a method judges in another way.

    The value is a text, or a whole number from the first of ``numbers`` to the second. ``run`` is
    the place of a function that takes the value and a `cli.judge.Judging`, judges, and returns
    the exit code. If the option ``names_models``, the judges have these models, and the NAME of the
    command names the combined verdicts.
    """

    name: str
    help: str
    run: str
    metavar: str | None = None
    numbers: tuple[int, int] | None = None
    names_models: bool = False


class Registration(NamedTuple):
    """What a method adds. Each place is the name of a module, or of an object in a module: ``module:object``.

    Attributes:
        tables: The module with the classes of the tables.
        commands: The place of each command, by the heading in the help and the words, such as
            ``("Measure", "compare", "judges")``.
        pages: The pages, by view.
        judge_options: Options of the command `judge`.
        checks: Health checks of judges: the place of a mapping of names to
            `health.record.TitledCheck`.
        checks_maker: The place of a function of the dashboard that shows how to make what these
            checks read. The function takes the `HealthPage` and the checks that are not measured.
            Without it, a check shows the command.
        judge_sections: Sections of the page *Judges* beside the checks: the places of functions of
            the dashboard, which take a judge version.
        wide_judge_sections: The same below the checks, over the whole width.
        item_sections: The places of sections on the page of an answer: classes of the dashboard
            with ``read(response_id)``, ``link()`` from the answer to the section, and
            ``show(actions)``.
        runs: What the runs do, by kind, such as "Refining".
        imports: Kinds of files to import, by name.
        exports: Exported tables by name: the places of each `store.export.ExportTable`.
        datasets: Datasets of reviewed answers, by name.
        reserves: A function that takes a connection, and returns the evidence groups whose labels
            no prompt may be made or chosen with.
        sample: A function that adds to the sample log of `judgeboard quickstart`, and yields what
            was done in lines; takes the store, and the folder of the sample log.
        endpoints: The place of a function that takes the receiver, and returns further
            `receiving.endpoint.Endpoint` of the server.
        scopes: Further scopes of keys, each with what a key may do.
        people_sections: The places of sections of the accounts on the page *People*: functions of
            the dashboard that take the person who may manage people.
        sign_in: The place of the `sign_in.WayIn` of the dashboard, by which people sign in.
        removed_person: A function that takes a connection and the id of a person whom an admin
            removes.
    """

    tables: str | None = None
    commands: Mapping[tuple[str, ...], str] = _NONE
    pages: Mapping[str, Page] = _NONE
    judge_options: tuple[JudgeOption, ...] = ()
    checks: str | None = None
    checks_maker: str | None = None
    judge_sections: tuple[str, ...] = ()
    wide_judge_sections: tuple[str, ...] = ()
    item_sections: tuple[str, ...] = ()
    runs: Mapping[str, str] = _NONE
    imports: Mapping[str, Kind] = _NONE
    exports: Mapping[str, str] = _NONE
    datasets: Mapping[str, Dataset] = _NONE
    reserves: str | None = None
    sample: str | None = None
    endpoints: str | None = None
    scopes: Mapping[str, str] = _NONE
    people_sections: tuple[str, ...] = ()
    sign_in: str | None = None
    removed_person: str | None = None


@cache
def _own() -> Mapping[str, Registration]:
    modules = {name: f"judgeboard.methods.{name}" for name in KNOWN_METHODS}
    modules |= {name: f"judgeboard.{name}" for name in KNOWN_ROOMS}
    return {name: import_module(module).REGISTRATION for name, module in modules.items()}


@cache
def methods() -> Registry[Registration]:
    """Return what each method adds, by the name of the method."""
    return Registry(ENTRY_POINTS, _own(), _checked)


def _checked(_plugin: Plugin, registration: Any) -> Registration:
    if not isinstance(registration, Registration):
        raise BadInput("it must be a `Registration` of judgeboard.registry.methods")
    if registration.tables is not None or registration.pages:
        raise BadInput("only methods of Judgeboard have tables and pages")
    return registration


@cache
def _all() -> Mapping[str, Registration]:
    """Return what each method adds, those of other packages last."""
    # To read the entry points of all packages takes a third of the time of a short command.
    return dict(methods()) if any(map(_names_entry_points, sys.path)) else _own()


def registrations() -> tuple[Registration, ...]:
    """Return what each method adds, those of other packages last."""
    return tuple(_all().values())


def with_methods(
    what: str,
    table: Mapping[str, T],
    entries_of: Callable[[Registration], Mapping[str, T]],
    *,
    reserved: Collection[str] = (),
) -> dict[str, T]:
    """Return a table by name, with what methods add at the end.

    What a plugin adds under a name that is taken, or cannot be loaded, is left out, with one
    warning per process.

    Args:
        what: An entry of the table, in words: "command" for example.
        table: The table without methods.
        entries_of: Returns what a method adds to the table.
        reserved: Names that are not in the table but taken.
    """
    makers, of_methods = dict.fromkeys((*table, *reserved), "Judgeboard"), dict[str, T]()
    for method, registration in _all().items():
        entries: Mapping[str, T] = {}
        with methods().checked(method, f"{what}s"):
            entries = entries_of(registration)
        for name, entry in entries.items():
            with methods().checked(method, f"{what} {name}"):
                if name in makers:
                    raise BadInput(f"{name} is taken by {makers[name]}")
                makers[name], of_methods[name] = methods().maker(method), entry
    return {**table, **of_methods}


@contextmanager
def checked_command(place: str, command: str) -> Iterator[None]:
    """Run code that loads a command. An error in a command of a plugin is one warning; other errors are raised."""
    method = next((name for name, each in _all().items() if place in each.commands.values()), None)
    with nullcontext() if method is None else methods().checked(method, f"command {command}"):
        yield


def _names_entry_points(folder: str) -> bool:
    """Return whether a package that is installed in a folder of the search path adds methods."""
    with suppress(OSError):
        for name in os.listdir(folder or "."):  # noqa: PTH208 - every command does this, and `pathlib` is slow
            if name.endswith(".dist-info"):
                path = f"{folder or '.'}/{name}/entry_points.txt"
                with suppress(FileNotFoundError), open(path, "rb") as file:  # noqa: PTH123
                    if ENTRY_POINTS.encode() in file.read():
                        return True
    return False


def load_method_tables() -> None:
    """Load the tables of all methods."""
    for each in registrations():
        if each.tables is not None:
            import_module(each.tables)


def load_object(place: str) -> Any:
    """Return the object at ``module:object``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
