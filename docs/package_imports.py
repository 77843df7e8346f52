"""Draws which package imports which: the imports that grimp reads in the sources, in the layers of pyproject.toml.

Nothing here names a package. `python docs/package_imports.py` prints the figure as SVG.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import TopologicalSorter
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import grimp

PROJECT = Path(__file__).parents[1] / "pyproject.toml"

Import = tuple[str, str]
"""The full names of the package that imports and of the one that is imported."""


def label(package: str) -> str:
    """Return the name of a package as it is shown, such as ``store``."""
    return package.rpartition(".")[2]


@dataclass(frozen=True)
class PackageImports:
    """The imports between the packages of all roots. A single file directly under a root counts as a package.

    Attributes:
        layers: The packages of each layer, from the top. A root without layers of its own is in the
        highest layer. files: The number of files of each package. imports: How many files of the
        one import a file of the other, counted for each of its files. exceptions: Imports between
        packages that exist only because `ignore_imports` names each of their files.
    """

    layers: tuple[tuple[str, ...], ...]
    files: Mapping[str, int]
    imports: Mapping[Import, int]
    exceptions: frozenset[Import]

    @cached_property
    def drawn(self) -> frozenset[Import]:
        """The exceptions, and each import that no path of other imports implies."""
        allowed = self.imports.keys() - self.exceptions
        below = _targets(allowed)
        implied = {
            (package, target)
            for package, target in allowed
            if any(target in _reached(below, other) for other in below[package] if other != target)
        }
        return frozenset(allowed - implied) | self.exceptions

    @cached_property
    def row(self) -> dict[str, int]:
        """The row of each package, from the top: within a layer, too, a package is above those that it imports."""
        rows: dict[str, int] = {}
        first = 0
        for packages in self.layers:
            below = _targets(self._without_circles(set(packages)))
            height: dict[str, int] = {}
            for package in TopologicalSorter(
                {each: below[each] for each in packages}
            ).static_order():
                height[package] = max((height[other] + 1 for other in below[package]), default=0)
            highest = max(height.values())
            rows |= {package: first + highest - height[package] for package in packages}
            first += highest + 1
        return rows

    def _without_circles(self, packages: set[str]) -> set[Import]:
        """Return the imports among packages: all that are allowed, and the exceptions that close no circle."""
        inside = {each for each in self.imports if packages.issuperset(each)}
        kept = inside - self.exceptions
        for package, target in sorted(inside & self.exceptions):
            if package not in _reached(_targets(kept), target):
                kept.add((package, target))
        return kept

    def goes_up(self, package: str, target: str) -> bool:
        """Tell whether the second package is in a higher row than the first."""
        return self.row[target] < self.row[package]


def _targets(imports: Iterable[Import]) -> defaultdict[str, set[str]]:
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for package, target in imports:
        targets[package].add(target)
    return targets


def _reached(targets: Mapping[str, set[str]], start: str) -> set[str]:
    """Return the packages that a package imports directly or through others, with the package itself."""
    reached, todo = {start}, [start]
    while todo:
        new = targets.get(todo.pop(), set()) - reached
        reached |= new
        todo += new
    return reached


def package_of(module: str) -> str | None:
    """Return the package of a module, None for the root itself."""
    parts = module.split(".")
    return ".".join(parts[:2]) if len(parts) > 1 else None


@cache
def read_imports() -> PackageImports:
    """Read the imports of the sources and the layers of the project, about a second.

    Raises:
        KeyError: The project has no contract of layers.
    """
    settings = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]
    graph = grimp.build_graph(*settings["root_packages"], cache_dir=None)
    lines = (
        line for contract in settings["contracts"] for line in contract.get("ignore_imports", ())
    )
    named = {tuple(re.split(r" *-> *", line)) for line in lines if "*" not in line}
    files: Counter[str] = Counter()
    imports: Counter[Import] = Counter()
    unnamed: set[Import] = set()
    for module in graph.modules:
        package = package_of(module)
        if package is None:
            continue
        files[package] += 1
        for imported in graph.find_modules_directly_imported_by(module):
            target = package_of(imported)
            if target is not None and target != package:
                imports[package, target] += 1
                if (module, imported) not in named:
                    unnamed.add((package, target))
    (layered,) = (contract for contract in settings["contracts"] if contract["type"] == "layers")
    layers = [
        [
            f"{root}.{name}"
            for root in layered["containers"]
            for name in re.split(r" *[:|] *", layer)
        ]
        for layer in layered["layers"]
    ]
    layers[0] += sorted(files.keys() - {package for packages in layers for package in packages})
    return PackageImports(
        tuple(map(tuple, layers)), files, imports, frozenset(imports.keys() - unnamed)
    )


# The figure: each package is a box in its row. An import that passes rows has a lane in each of
# them. All imports of one package share the lane, so that the figure has few lines.

BOX, GAP, BETWEEN_LAYERS, MARGIN = (
    24,
    22,
    12,
    9,
)  # heights, in the unit of the figure: about a pixel
LANE, SPACE, WIDEST_SPACE, LETTER, NUMBER, NARROWEST = 8, 9, 30, 6.7, 14, 740  # widths
SWEEPS = 60


@dataclass(frozen=True)
class Place:
    """A box, or the part of a lane in a row. The lane of an exception belongs to this exception alone."""

    row: int
    package: str
    exception: Import | None = None
    is_lane: bool = False

    @property
    def width(self) -> float:
        """The width of the box, or the least width of the lane."""
        return LANE if self.is_lane else len(label(self.package)) * LETTER + 18


class Segment(NamedTuple):
    """A line between two rows that follow each other. It points down, unless ``points_up``."""

    upper: Place
    lower: Place
    target: str
    exception: Import | None
    points_up: bool


def _segments(packages: PackageImports) -> list[Segment]:
    row = packages.row
    segments: dict[Segment, None] = {}
    for package, target in sorted(packages.drawn):
        exception = (package, target) if (package, target) in packages.exceptions else None
        up = packages.goes_up(package, target)
        high, low = (target, package) if up else (package, target)
        ends = Place(row[high], high), Place(row[low], low)
        lane = [
            Place(each, target, exception, is_lane=True) for each in range(row[high] + 1, row[low])
        ]
        for upper, lower in pairwise([ends[0], *lane, ends[1]]):
            segments[Segment(upper, lower, target, exception, up)] = None
    return list(segments)


class Layout:
    """Where each place is: rows from the top, the places of a row in the order with the fewest crossings."""

    def __init__(self, packages: PackageImports) -> None:
        self.segments = _segments(packages)
        self.above: defaultdict[Place, list[Place]] = defaultdict(list)
        self.below: defaultdict[Place, list[Place]] = defaultdict(list)
        places = {Place(row, package): None for package, row in sorted(packages.row.items())}
        for segment in self.segments:
            self.above[segment.lower].append(segment.upper)
            self.below[segment.upper].append(segment.lower)
            places |= {segment.upper: None, segment.lower: None}
        rows: defaultdict[int, list[Place]] = defaultdict(list)
        for place in places:
            rows[place.row].append(place)
        self.rows = self._ordered([rows[each] for each in sorted(rows)])
        self.width = max(
            NARROWEST,
            *(sum(place.width + SPACE for place in row) + 2 * MARGIN + NUMBER for row in self.rows),
        )
        self.x = self._positions()

    def _ordered(self, rows: list[list[Place]]) -> list[list[Place]]:
        best, fewest = rows, self._crossings(rows)
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            beside = self.above if down else self.below
            at = {place: index / len(row) for row in rows for index, place in enumerate(row)}
            ordered = []
            for row in rows if down else reversed(rows):
                means = {
                    place: _mean([at[each] for each in beside[place]], at[place]) for place in row
                }
                ordered.append(sorted(row, key=means.__getitem__))
                at |= {place: index / len(row) for index, place in enumerate(ordered[-1])}
            rows = ordered if down else ordered[::-1]
            crossings = self._crossings(rows)
            if crossings < fewest:
                best, fewest = rows, crossings
        return best

    def _crossings(self, rows: Sequence[Sequence[Place]]) -> int:
        at = {place: index for row in rows for index, place in enumerate(row)}
        crossings = 0
        for row in rows:
            lines = [(at[place], at[lower]) for place in row for lower in self.below[place]]
            crossings += sum(
                (a - c) * (b - d) < 0 for i, (a, b) in enumerate(lines) for c, d in lines[:i]
            )
        return crossings

    def _positions(self) -> dict[Place, float]:
        """Return the middle of each place: as near to its neighbours in other rows as those in its row let it."""
        x = {
            place: self.width * (index + 0.5) / len(row)
            for row in self.rows
            for index, place in enumerate(row)
        }
        for sweep in range(SWEEPS):
            for row in self.rows if sweep % 2 == 0 else reversed(self.rows):
                wanted = []
                for place in row:
                    beside = [*self.above[place], *self.below[place]]
                    straight = [each for each in beside if place.is_lane and each.is_lane]
                    wanted.append(_mean([x[each] for each in beside + 3 * straight], x[place]))
                x |= zip(row, self._spread(row, wanted), strict=True)
        return x

    def _spread(self, row: Sequence[Place], wanted: Sequence[float]) -> list[float]:
        """Return positions without overlaps that are nearest to the wanted ones, by pooling neighbours."""
        free = self.width - 2 * MARGIN - NUMBER - sum(place.width for place in row)
        space = min(free / len(row), WIDEST_SPACE)
        offsets = [MARGIN + NUMBER + row[0].width / 2]
        for left, right in pairwise(row):
            offsets.append(offsets[-1] + (left.width + right.width) / 2 + space)
        most = self.width - MARGIN - row[-1].width / 2 - offsets[-1]
        pools: list[list[float]] = []
        for position, offset in zip(wanted, offsets, strict=True):
            pools.append([position - offset])
            while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
                pools[-2:] = [pools[-2] + pools[-1]]
        shifts = [min(max(_mean(pool), 0.0), most) for pool in pools for _ in pool]
        return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]


def _mean(values: Sequence[float], otherwise: float = 0.0) -> float:
    return sum(values) / len(values) if values else otherwise


STYLE = """
.packages { max-width: 100%; height: auto; font: 12px/1 var(--md-text-font-family, system-ui), sans-serif; }
.packages .layer { fill: var(--md-default-fg-color, CanvasText); fill-opacity: .05; }
.packages .number { fill: var(--md-default-fg-color--light, GrayText); }
.packages .box rect { fill: var(--md-default-bg-color, Canvas); stroke: var(--md-default-fg-color, CanvasText); }
.packages .box text { fill: var(--md-default-fg-color, CanvasText); text-anchor: middle; }
.packages .root1 rect { stroke-width: 2; stroke: var(--md-typeset-a-color, LinkText); }
.packages .import path { fill: none; stroke: var(--md-default-fg-color, CanvasText); stroke-opacity: .55; }
.packages .import .head { fill: var(--md-default-fg-color, CanvasText); fill-opacity: .7; stroke: none; }
.packages .exception path { stroke-dasharray: 4 3; stroke: #d9480f; stroke-opacity: 1; stroke-width: 1.4; }
.packages .exception .head { fill: #d9480f; fill-opacity: 1; }
.packages .import:hover path { stroke-width: 2.5; stroke-opacity: 1; }
.packages .import:hover .head { stroke-width: 0; }
"""


def figure() -> str:
    """Return the figure as HTML: lines in layers, readable with a light and a dark background, without a script."""
    packages = read_imports()
    layout = Layout(packages)
    top, bands = _heights(packages)
    parts = [
        f'<rect class="layer" x="0" y="{start:g}" width="{layout.width:.0f}" height="{end - start:g}" rx="6"/>'
        f'<text class="number" x="{MARGIN}" y="{start + MARGIN + BOX / 2 + 4:g}">{number}</text>'
        for number, (start, end) in enumerate(bands, 1)
    ]
    parts += _lines(packages, layout, top)
    roots = list(
        dict.fromkeys(
            package.partition(".")[0] for layer in packages.layers[::-1] for package in layer
        )
    )
    for package, row in packages.row.items():
        place = Place(row, package)
        left = layout.x[place] - place.width / 2
        imported = sorted(label(target) for each, target in packages.imports if each == package)
        about = f"{package}: {_files(packages.files[package])}. Imports {', '.join(imported) or 'no other package'}."
        parts.append(
            f'<g class="box root{roots.index(package.partition(".")[0])}"><title>{escape(about)}</title>'
            f'<rect x="{left:.1f}" y="{top[row]:g}" width="{place.width:.1f}" height="{BOX}" rx="4"/>'
            f'<text x="{layout.x[place]:.1f}" y="{top[row] + BOX / 2 + 4:g}">{escape(label(package))}</text></g>'
        )
    size = f"0 0 {layout.width:.0f} {bands[-1][1]:g}"
    about = "Packages as boxes in layers, and lines from each package to those that it imports"
    style = " ".join(STYLE.split("\n")).strip()
    return (
        f'<figure><svg class="packages" xmlns="http://www.w3.org/2000/svg" viewBox="{size}" width="{layout.width:.0f}" '
        f'role="img" aria-label="{about}">\n<style>{style}</style>\n'
        + "\n".join(parts)
        + "\n</svg></figure>\n"
    )


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _heights(packages: PackageImports) -> tuple[list[float], list[tuple[float, float]]]:
    """Return the top of each row, and the top and bottom of each layer."""
    tops: list[float] = []
    bands = []
    start = 0.0
    for layer in packages.layers:
        count = len({packages.row[package] for package in layer})
        tops += [start + MARGIN + each * (BOX + GAP) for each in range(count)]
        bands.append((start, tops[-1] + BOX + MARGIN))
        start = bands[-1][1] + BETWEEN_LAYERS
    return tops, bands


def _lines(packages: PackageImports, layout: Layout, top: Sequence[float]) -> Iterator[str]:
    start = _ports(
        layout.segments, layout.x, lambda segment: segment.upper, lambda segment: segment.lower
    )
    end = _ports(
        layout.segments, layout.x, lambda segment: segment.lower, lambda segment: segment.upper
    )
    grouped: defaultdict[tuple[str, Import | None], list[Segment]] = defaultdict(list)
    for segment in layout.segments:
        grouped[segment.target, segment.exception].append(segment)
    for (target, exception), segments in grouped.items():
        importers = [exception] if exception else sorted(packages.drawn - packages.exceptions)
        names = ", ".join(label(package) for package, imported in importers if imported == target)
        lines = [f"<title>{escape(names)} → {escape(label(target))}</title>"]
        for segment in segments:
            x1, y1 = start[segment], top[segment.upper.row] + BOX
            x2, y2 = end[segment], top[segment.lower.row]
            middle = (y1 + y2) / 2
            through = f"V{y2 + BOX:g}" if segment.lower.is_lane else ""
            lines.append(
                f'<path d="M{x1:.1f} {y1:g}C{x1:.1f} {middle:g} {x2:.1f} {middle:g} {x2:.1f} {y2:g}{through}"/>'
            )
            if not segment.points_up and not segment.lower.is_lane:
                lines.append(_head(x2, y2, -6))
            if segment.points_up and not segment.upper.is_lane:
                lines.append(_head(x1, y1, 6))
        yield f'<g class="import{" exception" if exception else ""}">{"".join(lines)}</g>'


def _head(x: float, y: float, back: float) -> str:
    return f'<path class="head" d="M{x:.1f} {y:g}l-3.2 {back:g}h6.4z"/>'


def _ports(
    segments: Collection[Segment],
    x: Mapping[Place, float],
    near: Callable[[Segment], Place],
    far: Callable[[Segment], Place],
) -> dict[Segment, float]:
    """Return where each line meets a place: along the edge of a box, in the order of their other ends."""
    at: defaultdict[Place, list[Segment]] = defaultdict(list)
    for segment in segments:
        at[near(segment)].append(segment)
    ports = {}
    for place, lines in at.items():
        lines.sort(key=lambda segment: x[far(segment)])
        room = 0 if place.is_lane else min(place.width - 16, 12 * (len(lines) - 1))
        for index, segment in enumerate(lines):
            ports[segment] = x[place] + (
                room * (index / (len(lines) - 1) - 0.5) if len(lines) > 1 else 0
            )
    return ports


if __name__ == "__main__":
    print(figure())
