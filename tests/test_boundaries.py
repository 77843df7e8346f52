"""What the sources import, beside the contracts of import-linter in pyproject.toml."""

import ast
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import files as packaged
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings
from sqlmodel import SQLModel

from judgeboard.settings.model import load_settings
from judgeboard.store.columns import row_of
from judgeboard.store.opening import open_store
from judgeboard.store.tables import METADATA

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "judgeboard"
DASHBOARD = ROOT / "dashboard" / "judgeboard_dashboard"

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class Source:
    """What the tests ask of a file, which is parsed once."""

    imports: frozenset[str]
    in_functions: tuple[Import, ...]
    docstring: str | None


@cache
def source_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {
        node for function in functions for node in ast.walk(function) if isinstance(node, Import)
    }
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return Source(frozenset(names), tuple(inside), ast.get_docstring(tree))


def imports_of(path):
    return source_of(path).imports


def package_of(path):
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def files(root):
    return sorted(
        path for path in root.rglob("*.py") if "migrations/versions" not in path.as_posix()
    )


def roots_of(path):
    return {name.split(".")[0] for name in imports_of(path)}


def test_the_dashboard_groups_no_rows():
    for path in files(DASHBOARD):
        assert "groupby" not in path.read_text(encoding="utf-8"), path


# The packages on which the project is built; for each, files where it does its work, and what they
# use of it.
BUILT_ON = {
    "streamlit": {
        DASHBOARD / "app.py": "streamlit.navigation",
        DASHBOARD / "server.py": "streamlit.starlette.App",
    },
    "altair": {
        DASHBOARD / "widgets" / "charts" / f"{name}.py": "altair.Chart"
        for name in ("trend", "scores", "grid")
    },
    "sqlmodel": {CORE / "store" / "columns.py": "sqlmodel.SQLModel"},
    "pandas": {DASHBOARD / "widgets" / "tables.py": "pandas.DataFrame"},
    "openai": {CORE / "llm" / "endpoint_chat.py": "openai.AsyncOpenAI"},
    "httpx": {
        CORE / "tools" / "http.py": "httpx.Client",  # pushes and pulls
        CORE / "client.py": "httpx.Client",
    },
    "pydantic-settings": {CORE / "settings" / "model.py": "pydantic_settings.BaseSettings"},
}


def used_by(path):
    """What a file uses of the libraries that it imports, such as "httpx.Client": an import alone is no use."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    used = {
        known[node.id] for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in known
    }
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return used | {
        f"{known[node.value.id]}.{node.attr}"
        for node in attributes
        if isinstance(node.value, ast.Name) and node.value.id in known
    }


def test_each_package_on_which_the_project_is_built_is_declared_and_does_its_work():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = {re.split(r"[\[<>=]", each)[0] for each in project["project"]["dependencies"]}
    assert BUILT_ON.keys() <= declared
    for package, places in BUILT_ON.items():
        for path, name in places.items():
            assert name in used_by(path), f"{path} without {package}"
    assert "pytest" in {
        re.split(r"[\[<>=]", each)[0] for each in project["dependency-groups"]["test"]
    }
    assert project["tool"]["pytest"]["ini_options"]["testpaths"] == ["tests"]
    tables = [row_of(table) for table in METADATA.tables.values()]
    assert tables
    assert all(issubclass(table, SQLModel) for table in tables)
    assert isinstance(load_settings(), BaseSettings)


def test_calls_over_http_are_made_with_httpx():
    """Only openai's client with its transport, and webhooks, whose checked address is the one called, do without."""
    allowed = {"httpx2": "llm", "aiohttp": "llm", "urllib.request": "llm", "httpcore": "alerts"}
    others = {*allowed, "http.client", "requests", "urllib3", "pycurl", "websockets"}
    for path in (*files(CORE), *files(DASHBOARD)):
        package = package_of(path) if path.is_relative_to(CORE) else "dashboard"
        clients = others & (imports_of(path) | roots_of(path))
        assert all(allowed.get(name) == package for name in clients), (path, clients)


def test_every_library_that_is_imported_is_declared():
    """Else it is there only as long as another library needs it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [
        requirement for extra in project["optional-dependencies"].values() for requirement in extra
    ]
    declared = {
        re.split(r"[\[<>=]", requirement)[0] for requirement in (*project["dependencies"], *extras)
    }
    installed = packages_distributions()
    undeclared = {
        (name, path.name)
        for path in (*files(CORE), *files(DASHBOARD))
        for name in imports_of(path)
        if name.split(".")[0]
        not in sys.stdlib_module_names | {"judgeboard", "judgeboard_dashboard"}
        and not declared & set(providers(name, installed))
    }
    assert not undeclared


def providers(name, installed):
    """The distributions that a module comes from; several may share a namespace, such as google."""
    root, *rest = name.split(".")
    distributions = [
        re.sub(r"[-_.]+", "-", each).lower() for each in dict.fromkeys(installed[root])
    ]
    if len(distributions) == 1 or not rest:
        return distributions
    start = f"{root}/{rest[0]}"
    return [
        each
        for each in distributions
        if any(file.as_posix().startswith(start) for file in packaged(each) or ())
    ]


@pytest.mark.parametrize(
    "use", ["import judgeboard", "from judgeboard.cli.app import run; run(['--help'])"]
)
def test_importing_judgeboard_and_listing_its_commands_is_cheap(use):
    heavy = {
        "pandas",
        "openai",
        "streamlit",
        "altair",
        "pyarrow",
        "numpy",
        "sqlalchemy",
        "alembic",
        "rich",
    }
    heavy |= {"opentelemetry"}
    code = f"import sys; {use}; print(sorted({heavy!r} & set(sys.modules)))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.splitlines()[-1] == "[]"


def test_a_figure_from_the_database_loads_no_more_than_it_needs(tmp_path):
    """Half of the time of a short command is imports."""
    database = tmp_path / "empty.db"
    open_store(database, create=True).close()
    spared = {
        "scipy",
        "pandas",
        "openai",
        "rich",
        "alembic",
        "yaml",
        "sqlalchemy.dialects.postgresql",
    }
    code = (
        f"import sys; from judgeboard.cli.app import run; code = run(['labels', 'rate', '--db', {str(database)!r}]); "
        f"print(code, 'judgeboard.measure.rates' in sys.modules, sorted({spared!r} & set(sys.modules)))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.splitlines()[-1] == "0 True []"


def has_commands(path):
    """Whether a file of core has commands: it is in `cli`, or the commands of a method or a room."""
    return package_of(path) == "cli" or (
        package_of(path) in {"methods", "mcp", "accounts"} and path.stem == "command"
    )


MOST_IMPORTS_IN_FUNCTIONS = 70
"""In core without the commands, whose modules load what they need when they run. A new one needs a reason."""


REASON = re.compile("  # (?!noqa|type:)")
"""A comment that is no order to a linter."""


def says_why_it_imports(source, node):
    """Whether the import has a comment, or a sentence of the module's docstring speaks of importing what it loads."""
    if REASON.search(source.splitlines()[(node.end_lineno or node.lineno) - 1]):
        return True
    modules = (
        [node.module or ""]
        if isinstance(node, ast.ImportFrom)
        else [alias.name for alias in node.names]
    )
    docstring = " ".join(
        (ast.get_docstring(ast.parse(source)) or "").casefold().replace("_", " ").split()
    )
    sentences = [
        each for each in re.split(r"(?<=\.) ", docstring) if re.search(r"\bimport(s|ed)?\b", each)
    ]
    return all(
        any(part in each for part in parts_of(name) for each in sentences) for name in modules
    )


def parts_of(module):
    """The words that name a module: those of its packages and its own, but not the name of Judgeboard."""
    parts = module.removeprefix("judgeboard.").casefold().replace("_", " ").split(".")
    return [part.removesuffix("s") for part in parts]


@pytest.mark.parametrize(
    ("docstring", "line", "says_why"),
    [
        ("Reads files.", "import yaml", False),
        ("Reads files.", "import yaml  # loads slowly", True),
        ("Reads files.", "import yaml  # noqa: PLC0415", False),
        ("Reads files. PyYAML is imported where a file is read.", "import yaml", True),
        ("Reads YAML files. Rows are imported once.", "import yaml", False),
        (
            "Files that people import.",
            "from judgeboard.formats.label_schema import FieldType",
            False,
        ),
        (
            "Label schemas are imported where one is read.",
            "from judgeboard.formats.label_schema import FieldType",
            True,
        ),
    ],
)
def test_the_reason_of_a_late_import_names_what_is_imported(docstring, line, *, says_why):
    source = f'"""{docstring}"""\n\n\ndef read():\n    {line}\n'
    [node] = [each for each in ast.walk(ast.parse(source)) if isinstance(each, Import)]
    assert says_why_it_imports(source, node) is says_why


def test_an_import_within_a_function_spares_start_up_and_says_why():
    """Elsewhere it hides what a module needs. The reason is a comment at the import, or in its module's docstring."""
    late = {path: source_of(path).in_functions for path in files(CORE) if not has_commands(path)}
    assert sum(map(len, late.values())) <= MOST_IMPORTS_IN_FUNCTIONS
    without_reason = {
        f"{path.relative_to(CORE).as_posix()}:{node.lineno}"
        for path, found in late.items()
        for node in found
        if not says_why_it_imports(path.read_text(encoding="utf-8"), node)
    }
    assert not without_reason


TABLES = CORE / "store" / "tables.py"


def test_sources_stay_readable_in_one_sitting():
    """All tables are in one file, which is looked up, not read."""
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for path in (*files(CORE), *files(DASHBOARD))
    }
    long = {path.name: lines for path, lines in lengths.items() if lines > 1_000 and path != TABLES}
    assert not long


# Nouns with state: their table is the only class with their columns.
NOUNS = {
    "AlertDelivery",
    "AlertEvent",
    "AlertRule",
    "AnchorSet",
    "ApiKey",
    "Comment",
    "Event",
    "FailureMode",
    "ImportBatch",
    "Issue",
    "Pull",
    "Reviewer",
    "SchemaVersion",
    "SelectedAttempt",
    "Setting",
}


def test_a_noun_with_state_has_its_columns_in_one_class():
    """A class is of the table with which it has the most fields in common."""
    columns = {row_of(table).__name__: {*table.c.keys()} for table in METADATA.tables.values()}
    assert columns.keys() >= NOUNS
    repeated = []
    for path in (*files(CORE), *files(DASHBOARD)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef) or any(
                option.arg == "table" for option in node.keywords
            ):
                continue
            fields = {
                ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)
            }
            noun = max(columns, key=lambda name: len(columns[name] & fields))
            if noun in NOUNS and len(columns[noun] & fields) >= 4:
                repeated.append(f"{path.name}: {node.name} has columns of {noun}")
    assert repeated == []


def test_every_module_says_what_it_is_for():
    for path in (*files(CORE), *files(DASHBOARD)):
        assert source_of(path).docstring, path
