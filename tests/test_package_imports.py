"""The figure of the packages is drawn from imports: packages above what they import, few lines, exceptions apart."""

import itertools
import re
from pathlib import Path

import package_imports
import pytest
from package_imports import Layout, PackageImports, read_imports


def packages(*layers: str, imports: str, exceptions: str = "") -> PackageImports:
    """Layers such as "a b", and imports such as "ab": a imports b. All are in one root."""

    def pairs(words: str) -> list[tuple[str, str]]:
        return [(f"root.{one}", f"root.{other}") for one, other in words.split()]

    named = [tuple(f"root.{name}" for name in layer.split()) for layer in layers]
    counts = dict.fromkeys([*pairs(imports), *pairs(exceptions)], 1)
    return PackageImports(
        tuple(named),
        {name: 1 for layer in named for name in layer},
        counts,
        frozenset(pairs(exceptions)),
    )


def rows(read: PackageImports) -> list[set[str]]:
    return [
        {name[-1] for name, row in read.row.items() if row == each}
        for each in range(max(read.row.values()) + 1)
    ]


def drawn(read: PackageImports) -> set[str]:
    return {package[-1] + target[-1] for package, target in read.drawn}


def test_a_package_is_above_those_of_its_layer_that_it_imports() -> None:
    assert rows(packages("a", "b c d", imports="ab ac bc")) == [{"a"}, {"b"}, {"c", "d"}]


def test_an_import_that_others_imply_is_left_out() -> None:
    assert drawn(packages("a", "b", "c", imports="ab bc ac")) == {"ab", "bc"}


def test_an_exception_is_drawn_and_implies_nothing() -> None:
    assert drawn(packages("a", "b", "c", imports="bc ac", exceptions="ab")) == {"ab", "bc", "ac"}


def test_only_an_exception_that_closes_a_circle_goes_up() -> None:
    read = packages("a b c", imports="ab", exceptions="ba bc")
    assert rows(read) == [{"a"}, {"b"}, {"c"}]
    assert read.goes_up("root.b", "root.a")
    assert not read.goes_up("root.b", "root.c")


def test_lines_cross_only_where_they_must() -> None:
    layout = Layout(packages("a b", "c d", imports="ad bc"))
    first, second = layout.rows
    assert [place.package for place in first] == ["root.a", "root.b"] or first[
        0
    ].package == "root.b"
    upper, lower = [place.package[-1] for place in first], [place.package[-1] for place in second]
    assert {upper[0] + lower[0], upper[1] + lower[1]} == {"ad", "bc"}


def test_boxes_and_lanes_do_not_overlap() -> None:
    layout = Layout(read_imports())
    for row in layout.rows:
        for left, right in itertools.pairwise(row):
            assert layout.x[left] + left.width / 2 < layout.x[right] - right.width / 2
        assert layout.x[row[0]] - row[0].width / 2 >= 0
        assert layout.x[row[-1]] + row[-1].width / 2 <= layout.width


def test_no_import_of_this_project_goes_up_unless_it_is_an_exception() -> None:
    read = read_imports()
    assert not {each for each in read.imports if read.goes_up(*each)} - read.exceptions


def test_an_exception_is_dashed_in_the_figure() -> None:
    figure = package_imports.figure()
    assert figure.count('class="import exception"') == len(read_imports().exceptions)
    assert "<script" not in figure
    # Markdown ends a block of HTML at an empty line.
    assert "\n\n" not in figure


def test_a_project_without_a_named_exception_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception with a wildcard says that a whole package may be imported: it is no exception between packages."""
    text = package_imports.PROJECT.read_text(encoding="utf-8")
    project = tmp_path / "pyproject.toml"
    project.write_text(
        re.sub(r"^  \"judgeboard.* -> .*$", "", text, flags=re.MULTILINE), encoding="utf-8"
    )
    monkeypatch.setattr(package_imports, "PROJECT", project)
    assert not read_imports.__wrapped__().exceptions
