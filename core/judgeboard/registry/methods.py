"""The list of the methods, a line each, and what a method adds to the rest of Judgeboard.

A method is a folder of `judgeboard.methods`, whose `__init__` has its `REGISTRATION`. Only its page imports the folder:
commands, tables and all else are loaded by name, when they are used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Page:
    """A view of a method, which is a file in `views/` of the dashboard.

    ``page`` is its page in the menu, ``tab`` the name of its tab there. The view stands before the page or view
    ``before``. ``documentation`` is its page of the documentation.
    """

    page: str
    tab: str
    documentation: str
    before: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A shape of `judgeboard export --as`: the place of its `reports.datasets.Shape`, and its rows in words."""

    shape: str
    rows: str


@dataclass(frozen=True, slots=True)
class JudgeSection:
    """A section of the page *Judges*: the place of a function of the dashboard, which takes a judge version.

    It stands beside the checks, or ``below`` them over the whole width.
    """

    show: str
    below: bool = False


@dataclass(frozen=True, slots=True)
class Checks:
    """Health checks of judges: the place of a mapping of their names to their `health.record.TitledCheck`.

    ``maker`` is the place of a function of the dashboard that shows how to make what these checks read: it takes the
    `HealthPage` and those of the checks that are not measured.
    """

    checks: str
    maker: str


@dataclass(frozen=True, slots=True)
class Registration:
    """What a method adds. Each place is the name of a module, or of an object in it: ``module:object``.

    Attributes:
        tables: The module with the classes of its tables.
        commands: The module of each command, by its heading in the help and its words, such as
            ``("Measure", "compare", "judges")``. A module has a function ``NAME_command``.
        pages: Its pages, by view.
        judge_options: The places of its options of the command `judge`: `cli.judge_option.JudgeOption`.
        checks: Its health checks of judges.
        judge_sections: Its sections of the page *Judges*.
        item_sections: The places of the sections of its own on the page of an answer: classes of the dashboard with
            ``read(response_id)``, ``link()`` from the answer to the section, and ``show(actions)``.
        runs: What its runs do, by their kind, such as "Refining".
        exports: Its exported tables by name: the places of their `store.export.ExportTable`.
        datasets: Its datasets of reviewed answers, by name.
        reserves: A function that takes a connection, and returns the evidence groups whose labels no prompt may be made
            or chosen with.
        sample: A function that adds to the sample log of `judgeboard quickstart`, and yields what it did in lines:
            it takes the store, and the folder of the sample log.
    """

    tables: str | None = None
    commands: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    pages: Mapping[str, Page] = field(default_factory=dict)
    judge_options: tuple[str, ...] = ()
    checks: Checks | None = None
    judge_sections: tuple[JudgeSection, ...] = ()
    item_sections: tuple[str, ...] = ()
    runs: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    reserves: str | None = None
    sample: str | None = None


@cache
def registrations() -> tuple[Registration, ...]:
    """Return what each method adds."""
    return tuple(import_module(f"judgeboard.methods.{name}").REGISTRATION for name in KNOWN_METHODS)


def load_method_tables() -> None:
    """Load the tables of all methods."""
    for each in registrations():
        if each.tables is not None:
            import_module(each.tables)


def judge_options() -> tuple[str, ...]:
    """Return the places of the options of all methods for the command `judge`."""
    return tuple(place for each in registrations() for place in each.judge_options)


def method_reserves() -> tuple[str, ...]:
    """Return the places of the functions that reserve evidence groups."""
    return tuple(each.reserves for each in registrations() if each.reserves is not None)


def method_checks() -> tuple[Checks, ...]:
    """Return the health checks of all methods."""
    return tuple(each.checks for each in registrations() if each.checks is not None)


def judge_sections() -> tuple[JudgeSection, ...]:
    """Return the sections of all methods on the page *Judges*."""
    return tuple(place for each in registrations() for place in each.judge_sections)


def item_sections() -> tuple[str, ...]:
    """Return the places of the sections of all methods on the page of an answer."""
    return tuple(place for each in registrations() for place in each.item_sections)


def method_exports() -> Mapping[str, str]:
    """Return the exported tables of all methods by name: the places of their `store.export.ExportTable`."""
    return {name: place for each in registrations() for name, place in each.exports.items()}


def method_datasets() -> Mapping[str, Dataset]:
    """Return the datasets of all methods, by name."""
    return {name: dataset for each in registrations() for name, dataset in each.datasets.items()}


def load_object(place: str) -> Any:
    """Return the object at ``module:object``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
