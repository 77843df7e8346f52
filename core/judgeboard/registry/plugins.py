"""Tables of Judgeboard to which other packages add by entry points, such as kinds of judges and flag rules."""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from judgeboard.errors import BadInput
from judgeboard.text import shortened

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint, EntryPoints

_log = logging.getLogger("judgeboard.plugins")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of another package; ``fault`` says why the plugin, or a part of the plugin, cannot be used."""

    group: str
    name: str
    package: str
    version: str
    fault: str | None = None

    @property
    def source(self) -> str:
        """The package with its version, in words."""
        return f"the package {self.package} {self.version}"


class Registry(Mapping[str, T]):
    """A table by name: what Judgeboard has, then what other packages add by the entry points of a group.

    Names of Judgeboard are found without a look at the entry points, because reading the entry
    points of all packages takes as long as the start of a small command. Another name reads the
    entry points, once per process, and loads the plugin of this name. Iteration loads all plugins
    of the group. A plugin that cannot be used is left out, with one warning per process.

    Args:
        group: The group of the entry points, ``judgeboard.rules`` for example.
        ours: What Judgeboard has.
        check: Returns what the table has of a loaded plugin; raises BadInput with the reason if the
            plugin is unusable.
        reserved: Names that are neither in the table nor free for plugins.
    """

    def __init__(
        self,
        group: str,
        ours: Mapping[str, T],
        check: Callable[[Plugin, Any], T],
        *,
        reserved: Collection[str] = (),
    ) -> None:
        self._group, self._ours, self._check, self._reserved = (
            group,
            ours,
            check,
            frozenset(reserved),
        )
        self._entries_by_name: Mapping[str, tuple[Plugin, EntryPoint]] | None = None
        self._tried_names: set[str] = set()
        self._objects: dict[str, T] = {}
        self._faulty: list[Plugin] = []
        self._lock = RLock()  # the threads of a server give one warning, not one each

    def __getitem__(self, name: str) -> T:
        if name in self._ours:
            return self._ours[name]
        if name not in self._reserved and self._load(name):
            return self._objects[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from self._ours
        yield from self.added

    def __len__(self) -> int:
        return len(self._ours) + len(self.added)

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the plugins that can be used."""
        return tuple(name for name in self._entries if self._load(name))

    def lacks(self, name: str) -> bool:
        """Whether the name belongs only to a plugin that is not installed or cannot be used."""
        return name not in self._reserved and name not in self

    def plugins(self) -> list[Plugin]:
        """Return all plugins of the group; plugins with a fault come last, one for each fault."""
        usable_plugins = [self._entries[name][0] for name in self.added]
        faulty = {replace(plugin, fault=None) for plugin in self._faulty}
        return [plugin for plugin in usable_plugins if plugin not in faulty] + self._faulty

    def maker(self, name: str) -> str:
        """Return who made what the table has under a name, in words."""
        return "Judgeboard" if name in self._ours else self._entries[name][0].source

    @contextmanager
    def checked(self, name: str, part: str | None = None) -> Iterator[None]:
        """Run code that reads or loads a plugin, or a part of a plugin. An error is one warning and a fault.

        Errors in what Judgeboard has are raised.
        """
        try:
            yield
        except BaseException as error:  # the code of others may raise anything, also SystemExit
            if name in self._ours or isinstance(error, KeyboardInterrupt):
                raise
            reason = (
                str(error)
                if isinstance(error, BadInput)
                else f"it cannot be loaded: {in_words(error)}"
            )
            self._refuse(self._entries[name][0], reason, part)

    @property
    def _entries(self) -> "Mapping[str, tuple[Plugin, EntryPoint]]":
        with self._lock:
            if self._entries_by_name is None:
                self._entries_by_name = dict(self._read())
            return self._entries_by_name

    def _read(self) -> "Iterator[tuple[str, tuple[Plugin, EntryPoint]]]":
        makers = dict.fromkeys((*self._ours, *self._reserved), "Judgeboard")
        plugins = []
        for entry in _entry_points(self._group):
            try:
                package, version = (
                    (entry.dist.name, entry.dist.version) if entry.dist else (None, None)
                )
            except UnicodeError as error:
                _warn_of(entry.name, in_words(error))
                continue
            plugins.append(
                (Plugin(self._group, entry.name, package or "unknown", version or "unknown"), entry)
            )
        for plugin, entry in sorted(
            plugins, key=lambda each: (each[0].package.lower(), each[0].name)
        ):
            if _NAME.fullmatch(plugin.name) is None:
                self._refuse(
                    plugin,
                    "its name needs lower-case letters, digits, - and _, and begins with a letter",
                )
            elif plugin.name in makers:
                self._refuse(plugin, f"its name is taken by {makers[plugin.name]}")
            else:
                makers[plugin.name] = plugin.source
                yield plugin.name, (plugin, entry)

    def _load(self, name: str) -> bool:
        """Load the plugin with this name at the first call, and return whether the plugin can be used."""
        if name not in self._entries:
            return False
        with self._lock:
            plugin, entry = self._entries[name]
            if name not in self._tried_names:
                self._tried_names.add(
                    name
                )  # before the plugin is loaded: a plugin may read this table
                with self.checked(name):
                    self._objects[name] = self._check(plugin, entry.load())
            return name in self._objects

    def _refuse(self, plugin: Plugin, reason: str, part: str | None = None) -> None:
        not_used = "is not used" if part is None else f"is used without its {part}"
        faulty = replace(plugin, fault=reason if part is None else f"it {not_used}: {reason}")
        with self._lock:
            if faulty in self._faulty:
                return
            self._faulty.append(faulty)
        _log.warning(
            "The plugin %s of %s, %s, %s: %s",
            plugin.name,
            plugin.source,
            plugin.group,
            not_used,
            reason,
        )


def has_plugins(group: str) -> bool:
    """Whether a package has entry points of a group; no entry point is loaded."""
    return bool(_entry_points(group))


def _entry_points(group: str) -> "EntryPoints":
    entries: EntryPoints = metadata_of_packages().entry_points(group=group)
    return entries


@cache
def metadata_of_packages() -> ModuleType:
    """Return `importlib.metadata`, which leaves out the entry points of a package whose list is malformed from now on.

    Libraries also read the entry points of all packages. A malformed list would end each command
    with an error that names no package; now it is one warning.
    """
    from importlib import metadata  # loads slowly

    read_entry_points: Callable[[Distribution], EntryPoints] = vars(metadata.Distribution)[
        "entry_points"
    ].fget

    def entry_points(package: "Distribution") -> "EntryPoints":
        try:
            return read_entry_points(package)
        except Exception as error:  # noqa: BLE001 - the file of another package may be malformed in any way
            _warn_of(Path(getattr(package, "_path", "a package")).name, in_words(error))
            return metadata.EntryPoints()

    metadata.Distribution.entry_points = property(entry_points)  # type: ignore[assignment, method-assign]
    return metadata


@cache  # one warning per process
def _warn_of(package: str, fault: str) -> None:
    _log.warning("The entry points of %s are not used: %s", package, fault)


def in_words(error: BaseException) -> str:
    """Return the type of an error in the code of others, and the first line of the message."""
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {shortened(first, 200)}" if first else type(error).__name__
