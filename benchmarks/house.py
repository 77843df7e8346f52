"""Counts what a maintainer holds in mind: tokens, lines, files, arrows between files, records, imports in functions.

    python benchmarks/house.py [--write]

The figures of the last commit that wrote them stand in `house.txt`, beside this file: without
--write, each figure is printed beside that one. A commit that raises tokens or arrows by more than
3 % says why.
"""

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "core" / "judgeboard", ROOT / "dashboard" / "judgeboard_dashboard")
RECORDED = Path(__file__).with_name("house.txt")
LONG = 600  # lines
_NO_WORD = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_RECORDS = {
    "NamedTuple",
    "TypedDict",
    "Protocol",
    "BaseModel",
    "StrEnum",
    "Enum",
    "RequestBody",
    "Row",
    "Stored",
    "Step",
}


class Module:
    """A source file: its text, its tree, and its name as it is imported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        package = next(each for each in PACKAGES if each in path.parents)
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def words(self) -> int:
        """Return the number of names, signs, numbers and texts, without comments."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return sum(token.type not in _NO_WORD for token in tokens)

    def lines(self) -> int:
        """Return the number of lines that are not empty."""
        return sum(bool(line.strip()) for line in self.text.splitlines())

    def imported(self, names: set[str]) -> set[str]:
        """Return the modules among ``names`` that this one imports, also within functions."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{alias.name}" for alias in node.names} & names
                found |= inside or {node.module}
        return (found & names) - {self.name}

    def records(self) -> Iterator[str]:
        """Yield the names of the types that hold fields, in each of their forms."""
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.ClassDef):
                continue
            decorators = {
                ast.unparse(each).partition("(")[0].rpartition(".")[2]
                for each in node.decorator_list
            }
            bases = {ast.unparse(each).partition("[")[0].rpartition(".")[2] for each in node.bases}
            if "dataclass" in decorators or bases & _RECORDS:
                yield node.name

    def imports_in_functions(self) -> int:
        """Return the number of import statements within functions."""
        functions = (
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        inside = {each for node in functions for each in ast.walk(node)}
        return sum(isinstance(each, ast.Import | ast.ImportFrom) for each in inside)

    def untyped_names(self) -> int:
        """Return the number of functions whose named arguments have no type of their own (``**x: Any``)."""
        functions = (
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        kwargs = (node.args.kwarg for node in functions if node.args.kwarg is not None)
        return sum(
            each.annotation is None or ast.unparse(each.annotation) == "Any" for each in kwargs
        )


def modules() -> list[Module]:
    """Return all source files but the revisions of the database, which never change."""
    paths = (path for package in PACKAGES for path in sorted(package.rglob("*.py")))
    return [Module(path) for path in paths if "versions" not in path.parts]


def counts(house: list[Module]) -> dict[str, int]:
    """Return the figures by name."""
    names = {module.name for module in house}
    arrows = {module.name: module.imported(names) for module in house}
    importers = Counter(name for imported in arrows.values() for name in imported)
    lines = {module.name: module.lines() for module in house}
    return {
        "files": len(house),
        "lines that are not empty": sum(lines.values()),
        "tokens": sum(module.words() for module in house),
        "arrows between files": sum(map(len, arrows.values())),
        "files with one importer": sum(importers[name] == 1 for name in names),
        f"files above {LONG} lines": sum(each > LONG for each in lines.values()),
        "record types": sum(1 for module in house for _ in module.records()),
        "imports in functions": sum(module.imports_in_functions() for module in house),
        "functions with **x: Any": sum(module.untyped_names() for module in house),
    }


def main() -> int:
    """Count, and print or write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the figures to house.txt")
    asked = parser.parse_args()
    figures = counts(modules())
    recorded: dict[str, int] = {}
    if RECORDED.exists():
        for line in RECORDED.read_text(encoding="utf-8").splitlines():
            what, _, count = line.rpartition(": ")
            recorded[what] = int(count)
    for what, number in figures.items():
        before = f"   before: {recorded[what]:>7,}" if what in recorded and not asked.write else ""
        print(f"{what:28} {number:>9,}{before}")
    if asked.write:
        RECORDED.write_text(
            "".join(f"{what}: {number}\n" for what, number in figures.items()), encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
