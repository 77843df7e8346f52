"""Counts what a maintainer holds in mind: tokens, files, arrows between files, records, imports.

    python benchmarks/house.py [--write]

The figures only go down: `house.txt`, beside this file, has the highest that each may have, and the
exit code is 1 if one is above it. A new capability raises a figure by an allowance that stands
behind it, as in `tokens: 890000 + 4000`. With --write, the figures of today are written without
allowances; a figure that went up by more than its allowance is an error there too.
"""

import argparse
import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "core" / "judgeboard", ROOT / "dashboard" / "judgeboard_dashboard")
RECORDED = Path(__file__).with_name("house.txt")
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


def modules() -> list[Module]:
    """Return all source files but the revisions of the database, which never change."""
    paths = (path for package in PACKAGES for path in sorted(package.rglob("*.py")))
    return [Module(path) for path in paths if "versions" not in path.parts]


def counts(house: list[Module]) -> dict[str, int]:
    """Return the figures by name."""
    names = {module.name for module in house}
    return {
        "files": len(house),
        "tokens": sum(module.words() for module in house),
        "arrows between files": sum(len(module.imported(names)) for module in house),
        "record types": sum(1 for module in house for _ in module.records()),
        "imports in functions": sum(module.imports_in_functions() for module in house),
    }


def read_bounds() -> dict[str, int]:
    """Return the highest value that each figure may have, its allowance included."""
    bounds = {}
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        name, _, bound = line.rpartition(": ")
        bounds[name] = sum(map(int, bound.split(" + ")))
    return bounds


def main() -> int:
    """Count, print each figure beside its bound, and write the figures if that was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the figures to house.txt")
    asked = parser.parse_args()
    figures, bounds = counts(modules()), read_bounds()
    for name, figure in figures.items():
        above = "  ABOVE THE BOUND" if figure > bounds[name] else ""
        print(f"{name:28} {figure:>9,}   at most {bounds[name]:>9,}{above}")
    if any(figure > bounds[name] for name, figure in figures.items()):
        return 1
    if asked.write:
        lines = (f"{name}: {figure}\n" for name, figure in figures.items())
        RECORDED.write_text("".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
