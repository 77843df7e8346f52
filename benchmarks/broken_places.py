"""Breaks eighty places of the code one by one and asks whether a test finds it.

    python benchmarks/broken_places.py draw                      # writes broken_places.json
    python benchmarks/broken_places.py probe COPY                # the places of a copy say who runs them
    python benchmarks/broken_places.py break COPY HITS JUNIT OUT # one place after the other, in a copy

Thirty places are in hidden rows, permissions, triggers, limits, evidence and leases, five in each;
fifty anywhere else. A place is a comparison, a condition, a number, a filter of a statement or a
call; broken, it is turned round, negated, one higher, left out. `probe` writes a call into the
copy at each place; a run of all tests then tells which tests reach which place (HITS, a folder
named by the environment variable PLACE_HITS, with the test in PLACE_TEST) and, with `--junitxml`, how long each takes.
`break` runs the tests that reach a place, shortest first, until one fails; with OUT of an earlier
run it begins with the test that found the place then. A place is found again in changed code by
its file, its function and its text.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = Path(__file__).with_name("broken_places.json")
SEED = 61
ELSEWHERE = 50
IN_EACH_AREA = 5
TESTS_OF_A_PLACE = 150
SECONDS_OF_A_PLACE = 400
AREAS = {
    "hidden rows": ("store/hidden_rows.py", "store/sql_compiler.py"),
    "permissions": ("people/permissions.py", "people/roster.py", "judgeboard_dashboard/gate.py"),
    "triggers": ("store/triggers.py",),
    "limits": ("receiving/limits.py", "llm/rate_limits.py"),
    "evidence": ("judgeboard_dashboard/evidence.py",),
    "leases": ("reviews/leases.py", "store/leases.py", "review/leases.py"),
}
_OPPOSITE = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}


@dataclass(frozen=True)
class Place:
    """An expression of the code and what stands in its place when it is broken."""

    area: str
    file: str
    function: str
    number: int  # of the same text in the same function
    text: str
    broken: str


def places_of(file: Path, root: Path, area: str) -> Iterator[tuple[Place, ast.expr]]:
    """Every place of a file that can be broken, with its expression."""
    source = file.read_text(encoding="utf-8")
    seen: dict[tuple[str, str, str], int] = {}

    def visit(node: ast.AST, function: str) -> Iterator[tuple[Place, ast.expr]]:
        for child in ast.iter_child_nodes(node):
            # Python 3.11 does not say where an expression of an f-string stands.
            if isinstance(child, ast.JoinedStr) or child is getattr(node, "annotation", None):
                continue
            inside = function
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = f"{function}.{child.name}".lstrip(".")
            if isinstance(child, ast.expr) and (function or area == "triggers"):
                for broken in _broken(child, node):
                    text = ast.unparse(child)
                    key = (function, text, broken)
                    seen[key] = seen.get(key, -1) + 1
                    name = str(file.relative_to(root))
                    yield Place(area, name, function, seen[key], text, broken), child
            yield from visit(child, inside)

    yield from visit(ast.parse(source), "")


def _broken(node: ast.expr, parent: ast.AST) -> Iterator[str]:
    if isinstance(parent, ast.If | ast.IfExp | ast.While) and node is parent.test:
        yield f"not ({ast.unparse(node)})"
    if isinstance(parent, ast.Expr) and isinstance(node, ast.Call):
        yield "None"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        opposite = _OPPOSITE[type(node.ops[0])]
        yield f"{ast.unparse(node.left)} {opposite} {ast.unparse(node.comparators[0])}"
    elif isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield word.join(f"({ast.unparse(value)})" for value in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield str(node.value + 1)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "where"
    ):
        yield ast.unparse(node.func.value)


def draw(root: Path) -> list[Place]:
    """The places of this benchmark, drawn by `SEED` from the sources under `root`."""
    chance = random.Random(SEED)
    by_area: dict[str, list[Place]] = {area: [] for area in (*AREAS, "elsewhere")}
    for package in ("core", "dashboard"):
        for file in sorted((root / package).rglob("*.py")):
            if "migrations" in file.parts:
                continue
            area = next(
                (name for name, ends in AREAS.items() if str(file).endswith(ends)), "elsewhere"
            )
            by_area[area] += (place for place, _node in places_of(file, root, area))
    return [
        place
        for area, places in by_area.items()
        for place in chance.sample(places, ELSEWHERE if area == "elsewhere" else IN_EACH_AREA)
    ]


def write(root: Path, place: Place, expression: str) -> bool:
    """Put an expression where a place is; False if the place is gone from the file."""
    file = root / place.file
    if not file.exists():
        return False
    for candidate, node in places_of(file, root, place.area):
        if candidate == place:
            lines = file.read_bytes().splitlines(keepends=True)
            start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
            end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
            source = b"".join(lines)
            file.write_bytes(source[:start] + f"({expression})".encode() + source[end:])
            return True
    return False


PROBE = '''"""Notes which test reaches which place."""
import os

_SEEN = set()


def hit(number, value):
    test = os.environ.get("PLACE_TEST", "")
    folder = os.environ.get("PLACE_HITS")
    if folder and test and (number, test) not in _SEEN:
        _SEEN.add((number, test))
        with open(f"{folder}/{os.getpid()}", "a") as file:
            file.write(f"{number}\\t{test}\\n")
    return value
'''


def probe(copy: Path, places: list[Place]) -> None:
    """Write a probe at every place of a copy."""
    (copy / "core" / "judgeboard" / "place_probe.py").write_text(PROBE, encoding="utf-8")
    for number, place in enumerate(places):
        call = f"__import__('judgeboard.place_probe').place_probe.hit({number}, {place.text})"
        # Of two ways to break one expression, the first probe serves both.
        if not write(copy, place, call):
            print(f"place {number} has the probe of another way to break {place.text}")


def break_all(
    copy: Path, places: list[Place], hits: Path, junit: Path, out: Path, part: str
) -> None:
    """Break one place after the other in a copy, and note which test found it."""
    reached: dict[int, set[str]] = {}
    for file in hits.iterdir():
        for line in file.read_text().splitlines():
            reached_place, _, test = line.partition("\t")
            reached.setdefault(int(reached_place), set()).add(test)
    seconds = {}
    for case in ET.parse(junit).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        seconds[name] = float(case.get("time", 0))
    collected = set(
        subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0"],
            cwd=copy,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.splitlines()
    )
    results = json.loads(out.read_text()) if out.exists() else {}
    first, _, step = part.partition("/")
    for number, place in list(enumerate(places))[int(first) :: int(step)]:
        same = [
            other
            for other, each in enumerate(places)
            if (each.file, each.function, each.text) == (place.file, place.function, place.text)
        ]
        reaching = set().union(*(reached.get(other, ()) for other in same))
        tests = sorted(reaching, key=lambda name: (seconds.get(name, 1.0), name))
        tests = [
            test for test in tests if test in collected and not test.startswith("tests/browser/")
        ][:TESTS_OF_A_PLACE]
        found_before = results.get(str(number), {}).get("found_by", "")
        if found_before and found_before in collected:
            tests.insert(0, found_before)
        file = copy / place.file
        source = file.read_bytes() if file.exists() else b""
        began = time.monotonic()
        result: dict[str, str | int]
        if not write(copy, place, place.broken):
            result = {"state": "gone"}
        elif not tests:
            result = {"state": "no test"}
        else:
            result = dict(_run(copy, list(dict.fromkeys(tests))))
        if source:
            file.write_bytes(source)
        result |= {"tests": len(tests), "seconds": round(time.monotonic() - began)}
        mine = out.with_suffix(f".{first}.json")
        done = json.loads(mine.read_text()) if mine.exists() else {}
        mine.write_text(json.dumps(done | {str(number): result}, indent=1))
        print(number, place.area, place.file, result, flush=True)


def _run(copy: Path, tests: list[str]) -> dict[str, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    try:
        run = subprocess.run(
            [*command, "--timeout=90", "--tb=no", *tests],
            cwd=copy,
            capture_output=True,
            text=True,
            timeout=SECONDS_OF_A_PLACE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"state": "not found in time"}
    if run.returncode == 0:
        return {"state": "not found"}
    failed = [
        line.partition(" ")[2].partition(" - ")[0]
        for line in run.stdout.splitlines()
        if line.startswith(("FAILED", "ERROR"))
    ]
    return {"state": "found", "found_by": failed[0] if failed else run.stdout[-200:]}


def main() -> None:
    """Draw, probe or break the places."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["draw", "probe", "break"])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--part", default="0/1", help="the first place and the step, as 1/2")
    options = parser.parse_args()
    if options.step == "draw":
        rows = [asdict(place) for place in draw(ROOT)]
        PLACES.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        return
    places = [Place(**row) for row in json.loads(PLACES.read_text(encoding="utf-8"))]
    if options.step == "probe":
        probe(options.paths[0], places)
    else:
        copy, hits, junit, out = (path.absolute() for path in options.paths)
        shutil.rmtree(copy / ".pytest_cache", ignore_errors=True)
        os.environ.pop("PLACE_HITS", None)
        break_all(copy, places, hits, junit, out, options.part)


if __name__ == "__main__":
    main()
