"""Writes the pages and tables of the documentation that follow from the code.

MkDocs runs this file (plugin gen-files). `python docs/generate.py FOLDER` writes the same pages to
a folder.
"""

import argparse
import ast
import dataclasses
import importlib
import inspect
import io
import json
import math
import os
import shlex
import sys
import tempfile
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click

import judgeboard
from judgeboard.cli.app import root, run
from judgeboard.cli.options import actor
from judgeboard.settings.model import variable_of

DOCS = Path(__file__).parent
PACKAGE = Path(judgeboard.__file__).parent


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(value: object) -> str:
    return "" if value is None else " ".join(str(value).split()).replace("|", "\\|")


def code(names: Collection[object]) -> str:
    """Return names as code, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def summary(thing: object) -> str:
    """Return the first paragraph of a docstring."""
    return _cell((inspect.getdoc(thing) or "").partition("\n\n")[0])


# Tables of the registries, for the pages under concepts/ and how-to/.


def flag_rules() -> str:
    """Return the table of flag rules."""
    from judgeboard.flags.rules import RULES

    return table(
        ("rule", "what it flags"),
        [(f"`{rule.name}`", summary(rule.reason)) for rule in RULES.values()],
    )


def severities() -> str:
    """Return the table of the severities of flags; rules with the same severity share a row."""
    from judgeboard.flags.rules import RULES

    rules: dict[str, list[str]] = {}
    for rule in RULES.values():
        _, _, severity = (inspect.getdoc(rule.reason) or "").partition("\nSeverity: ")
        if severity:
            rules.setdefault(severity.partition("\n\n")[0], []).append(rule.name)
    return table(
        ("rule", "severity"), [(code(names), severity) for severity, names in rules.items()]
    )


def thresholds() -> str:
    """Return the table of the thresholds of the flag rules."""
    from judgeboard.settings.model import THRESHOLDS

    return _settings_table(THRESHOLDS)


def settings() -> str:
    """Return the table of the other settings."""
    from judgeboard.settings.model import THRESHOLDS, Settings

    return _settings_table([name for name in Settings.model_fields if name not in THRESHOLDS])


def judge_settings() -> str:
    """Return the table of what the project file says of a judge."""
    from judgeboard.settings.option_words import help_of
    from judgeboard.settings.sections import JudgeSettings

    rows = [
        (f"`{about.alias or name}`", help_of(about))
        for name, about in JudgeSettings.model_fields.items()
    ]
    return table(("name", "meaning"), rows)


def sections() -> str:
    """Return the table of what the project file says of suites, queues and rules."""
    from judgeboard.settings.option_words import help_of
    from judgeboard.settings.sections import SECTIONS, fields_of

    rows = [
        (f"`{section}`", f"`{name}`", help_of(about))
        for section in ("suites", "queues", "alerts", "judging_rules")
        for name, about in fields_of(SECTIONS[section]).items()
    ]
    return table(("table", "name", "meaning"), rows)


def _settings_table(names: Iterable[str]) -> str:
    from judgeboard.settings.model import Settings
    from judgeboard.settings.option_words import bounds

    rows = []
    for name in names:
        about = Settings.model_fields[name]
        low, high = bounds(about)
        limits = f"{low:g} to {high:g}" if math.isfinite(low) else ""
        rows.append((f"`{name}`", f"`{json.dumps(about.default)}`", limits, about.description))
    return table(("setting", "default", "range", "meaning"), rows)


def judges() -> str:
    """Return the table of the kinds of judges."""
    from judgeboard.registry.judge_kinds import JUDGES

    rows = [
        (
            f"`{name}`",
            summary(kind.judge_class),
            "a chat model" if kind.asks_model else "none",
        )
        for name, kind in JUDGES.items()
    ]
    return table(("kind", "what it is", "model"), rows)


def providers() -> str:
    """Return the table of the providers of chat models."""
    from judgeboard.llm.endpoint import PROVIDERS

    rows = [
        (
            f"`{name}`",
            f"`{provider.base_url}`",
            f"`{provider.key_variable}`",
            code([f"{one}…" for one in provider.models]),
        )
        for name, provider in PROVIDERS.items()
    ]
    return table(("provider", "address", "key", "chosen for models"), rows)


def health_checks() -> str:
    """Return the table of the health checks of a judge."""
    from judgeboard.health.report import CHECKS

    rows = []
    for name, check in CHECKS.items():
        kind = getattr(check, "keywords", {}).get("kind")
        about = "" if kind is None else f" Uses control answers: {kind.words}."
        rows.append((f"`{name}`", summary(getattr(check, "func", check)) + about))
    return table(("check", "what it does"), rows)


def alert_conditions() -> str:
    """Return the table of the conditions of alert rules."""
    from judgeboard.alerts.conditions import CONDITIONS

    rows = []
    for name, condition in CONDITIONS.items():
        default = "required" if condition.threshold is None else f"default {condition.threshold:g}"
        threshold = None if condition.unit is None else f"{condition.unit} ({default})"
        period = condition.period and f"default {condition.period}"
        rows.append((f"`{name}`", condition.words, threshold, period))
    return table(("condition", "met if", "threshold (`--above`)", "period (`--after`)"), rows)


def statistics() -> str:
    """Return the table of the statistics of agreement."""
    from judgeboard.stats.pair_statistics import STATISTICS
    from judgeboard.stats.ratings import SCALES

    rows = []
    for key, row in STATISTICS.items():
        grades = [name for name, scale in SCALES.items() if row.applies(scale)]
        of = [
            name
            for name, given in (
                ("judge and people", row.of_pairs),
                ("several people", row.of_raters),
            )
            if given
        ]
        if of:
            rows.append((row.name, f"`{key}`", ", ".join(grades), ", ".join(of)))
    return table(("statistic", "key in JSON", "grades", "computed for"), rows)


def formats() -> str:
    """Return the table of file formats."""
    from judgeboard.formats.files import FORMATS

    rows = [(f"`{name}`", one.title, code(one.suffixes)) for name, one in FORMATS.items()]
    return table(("format", "name", "file endings"), rows)


def roles() -> str:
    """Return the table of roles."""
    from judgeboard.domain import ROLES
    from judgeboard.people.permissions import role_words

    return table(("role", "permissions"), [_role(role_words(role)) for role in ROLES])


def _role(words: str) -> tuple[str, str]:
    name, _, added = words.partition(": ")
    return name.lower(), "none of its own" if added == "." else added.rstrip(".")


def agent_tools() -> str:
    """Return the table of the tools of agents, with what a key needs and an example."""
    try:
        from judgeboard.mcp.tools import TOOLS
    except ModuleNotFoundError:
        return "Install the extra `mcp` to see the table of the tools.\n"
    rows = [
        (f"`{name}`", summary(tool.function), f"`{tool.scope}`", f"`{json.dumps(tool.example)}`")
        for name, tool in TOOLS.items()
    ]
    return table(("tool", "what it does", "scope", "example"), rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "flag rules": flag_rules,
    "severities": severities,
    "thresholds": thresholds,
    "settings": settings,
    "judge settings": judge_settings,
    "sections": sections,
    "judges": judges,
    "providers": providers,
    "health checks": health_checks,
    "alert conditions": alert_conditions,
    "statistics": statistics,
    "formats": formats,
    "roles": roles,
    "agent tools": agent_tools,
}
"""What `<!-- table: NAME -->` in a page is replaced with."""


# The page of the public names.


def public_names() -> dict[str, list[str]]:
    """Return the names of `judgeboard.__all__` by the module that defines them."""
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    names: dict[str, list[str]] = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            names.setdefault(f"judgeboard.{node.module}", []).extend(
                alias.name for alias in node.names
            )
    return names


PYTHON_START = """# Python API

Import each name from `judgeboard`. Every error that a caller can cause is a `JudgeboardError`.
"""


def python_page() -> str:
    """Return the page of the public names."""
    parts = [PYTHON_START]
    for module, names in public_names().items():
        parts.append(f"## {module}\n\n{summary(importlib.import_module(module))}\n")
        options = "    options:\n      heading_level: 3\n      show_root_full_path: false\n"
        parts += [f"::: {module}.{name}\n{options}" for name in names]
    return "\n".join(parts)


# The page of the kinds of imports.

_TYPES = {
    "text": "text",
    "required_text": "text",
    "name": "text or whole number",
    "required_name": "text or whole number",
    "number": "number",
    "time": "time: ISO 8601, or seconds since 1970",
    "json": "JSON",
    "objects": "list of objects",
    "choice": "one of the listed names",
}


def cell_types(*modules: types.ModuleType) -> dict[str, str]:
    """Return the type of each field, by the reader of cells that the modules call for it."""
    kinds: dict[str, str] = {}
    for module in modules:
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if not (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
            ):
                continue
            field, reader = node.args[0], node.func.attr
            if reader not in _TYPES or not isinstance(field, ast.Constant):
                continue
            words = _TYPES[reader]
            if reader == "choice" and len(node.args) > 1 and isinstance(node.args[1], ast.Name):
                words = f"one of {code([str(one) for one in getattr(module, node.args[1].id)])}"
            kinds.setdefault(str(field.value), words)
    return kinds


IMPORTS_START = """# Import columns

A column is recognised by its name; case, spaces, dots and hyphens do not matter. `--map THEIRS=ours` maps any other
column. `--map-value FIELD:WORD=VALUE` gives a word its value. Files may be gzipped.

A label is `grounded` (good) or `hallucinated` (bad). Other pairs of words are read as well: consistent and
inconsistent, correct and incorrect, faithful and unfaithful, supported and unsupported, pass and fail, yes and no, true
and false, 1 and 0. In a column that asks for a fault, such as `hallucination`, "yes" is bad. The import prints which
word it read as which label.
"""


def imports_page() -> str:
    """Return the page of every kind of import."""
    from judgeboard.imports import fields, importing, scales
    from judgeboard.imports.kinds import KINDS, kind_class

    parts = [IMPORTS_START, TABLES["formats"]()]
    for name, kind in KINDS.items():
        cls = kind_class(name)
        known = cell_types(sys.modules[cls.__module__], fields, importing, scales)
        known |= {field: f"one of {code(list(options))}" for field, options in cls.choices.items()}
        if "label" in cls.choices:
            known["label"] += ", or a word for it"
        rows = [
            (
                f"`{field}`",
                known.get(field, "text, number or JSON"),
                _required(cls, field),
                code([one for one in names if one != field]),
            )
            for field, names in cls.columns.items()
        ]
        left_over = f"Other columns are {cls.left_over}." if cls.left_over else ""
        parts += [
            f"## {kind.title}\n\n`judgeboard import --kind {name} FILE`: {kind.help.rstrip('.')}.\n\n{summary(cls)}\n",
            table(("field", "type", "required", "also recognised as"), rows),
            f"{left_over}\n",
        ]
    return "\n".join(parts)


def _required(cls: Any, field: str) -> str:
    return (
        "yes"
        if field
        in cls.required(
            set(cls.columns) - {"pair_id"} if "external_id" in cls.columns else cls.columns
        )
        else ""
    )


# The page of the database.


TABLES_START = """# Database tables

SQLite and PostgreSQL have the same tables; the types below are those of PostgreSQL. Times are in UTC. Read the database
with any tool, but write to it only through commands, pages or the Python API.
"""


def tables_page() -> str:
    """Return the page of the tables of the database."""
    from sqlalchemy.dialects import postgresql

    from judgeboard.store import tables

    dialect = postgresql.dialect()
    parts = [TABLES_START]
    for one in tables.METADATA.sorted_tables:
        rows = []
        for column in one.columns:
            about = [column.comment or ""] if column.comment else []
            about += ["primary key"] if column.primary_key else []
            about += [
                f"→ [{key.column.table.name}](#{key.column.table.name}).{key.column.name}"
                for key in column.foreign_keys
            ]
            kind = column.type.compile(dialect=dialect).lower()
            rows.append(
                (f"`{column.name}`", kind, "yes" if column.nullable else "no", "; ".join(about))
            )
        parts.append(f"## {one.name}\n")
        if one.comment:
            parts.append(f"{one.comment}\n")
        parts.append(table(("column", "type", "may be null", ""), rows))
    return "\n".join(parts)


# The page of the JSON output.

RESULTS: Mapping[str, str] = {
    "import undo": "judgeboard.imports.importing.undo_import",
    "judge": "judgeboard.runs.judging.judge_pending",
    "judge --repeats": "judgeboard.judge_repeats",
    "judge --jury": "judgeboard.judge_by_jury",
    "compare controls": "judgeboard.judge_control_answers",
    "compare pairs": "judgeboard.measure_pairs",
    "compare ssr": "judgeboard.measure_self_reference",
    "test audit": "judgeboard.audit",
    "compare judges": "judgeboard.judge_by_jury",
    "test repeats": "judgeboard.methods.repeats.run.repeats_report",
    "test controls make": "judgeboard.make_control_answers",
    "test controls judge": "judgeboard.judge_control_answers",
    "test health": "judgeboard.measure_health",
    "refine reflect": "judgeboard.reflect_pending",
    "refine": "judgeboard.refine_pending",
    "suite run": "judgeboard.run_suite",
    "trends": "judgeboard.measure.trend.trend",
    "push --url": "judgeboard.tools.push.push",
    "pull": "judgeboard.tools.pull.pull",
    "trends --corrected": "judgeboard.measure.corrected_trend.corrected_trend",
    "trends watch": "judgeboard.measure.alarms.watch",
    "test anchors make": "judgeboard.methods.anchors.report.make_anchors",
    "test anchors judge": "judgeboard.runs.judging.judge_pending",
    "test anchors report": "judgeboard.methods.anchors.report.anchor_report",
    "suite list RUN": "judgeboard.suite_result",
    "suite list": "judgeboard.methods.suites.results.list_results",
    "agreement": "judgeboard.measure.agreement.measure_agreement",
    "agreement --schema": "judgeboard.measure.fields.field_agreement",
    "labels rate": "judgeboard.measure.rates.measure_rate",
    "labels plan": "judgeboard.measure.plans.plan_labels",
    "compare versions": "judgeboard.measure.versus.compare_versions",
    "align": "judgeboard.methods.alignment.run.align",
    "stats": "judgeboard.measure_log",
    "doctor": "judgeboard.health.doctor.check_endpoint",
    "labels threshold": "judgeboard.measure.thresholds.measure_threshold",
    "labels stand": "judgeboard.measure.thresholds.measure_confident_verdicts",
}
"""Command to the function whose result it prints as JSON."""

AROUND: Mapping[str, str] = {
    "judge --repeats": "{result}, and `repeats`: the object of `test repeats`, null without a usable judgment",
    "judge --jury": "`members`: list of [JudgingSummary](#judgingsummary); `jury`: {result}, null if it stopped",
    "compare pairs": "{result}; if pairs were made from two sources, also `pairs` (their number) and `left_out`",
    "test controls make": "`made`: their number; `kinds`: list of {result}",
    "suite list": "`runs`: list of {result}",
    "doctor": "`findings`: list of {result}; `plugins`: list of `group`, `name`, `package`, `version`, `fault`",
    "agreement --schema": "`schema`: its name; `where`: the filter; `fields`: list of {result}",
    "labels plan": "`plans`: list of {result}; the first is for all answers",
}
"""What a command prints around the result of its function."""

EXAMPLES: Mapping[str, str] = {
    "import list": "import list",
    "queue create": "queue create two --where state=open --needed 2 --assign Mara",
    "queue list": "queue list",
    "push": "push",
    "queue schema add": "queue schema add examples/schema.yaml",
    "queue schema list": "queue schema list",
    "flags checks FILE": "flags checks examples/checks.yaml",
    "flags checks": "flags checks",
    "queue schema list NAME": "queue schema list support",
    "db index": "db index",
    "config": "config",
    "queue list NAME": "queue list two",
    "queue export": "queue export two {folder}/bundle.jsonl --reviewer Mara",
    "queue merge": "queue merge {folder}/bundle.jsonl",
    "rule add judge": "rule add judge live --judge lexical",
    "rule add alert": "rule add alert cost --when spend --above 20 --to command",
    "rule add push": "rule add push phoenix",
    "rule list": "rule list",
    "rule pause": "rule pause live",
    "rule resume": "rule resume live",
    "rule test": "rule test cost",
    "rule remove": "rule remove live",
    "flags apply": "flags apply",
    "flags list": "flags list --limit 1",
    "people list": "people list",
    "db events": "db events --limit 1",
    "versions list": "versions list",
    "sources keys create": "sources keys create shop --source shop --days 30",
    "sources keys list": "sources keys list",
    "sources list": "sources list",
    "mcp drafts": "mcp drafts",
}
"""Commands whose output is described from an example: they run on the sample log, in this order."""


def json_commands(group: click.Group = root, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the commands that have the option --json."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from json_commands(command, (*path, name))
        if command is not None and any("--json" in parameter.opts for parameter in command.params):
            yield " ".join((*path, name))


def resolve(path: str) -> Any:
    """Return what a dotted path names."""
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = getattr(found, name)
        return found
    raise LookupError(path)


def example_outputs() -> dict[str, Any]:
    """Return the JSON of the commands in ``EXAMPLES``, run on the sample log."""
    outputs: dict[str, Any] = {}
    command = {variable_of("alert_command"): f"{shlex.quote(sys.executable)} -c pass"}
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, command):
        database = ["--db", f"{folder}/sample.db"]
        _output(["quickstart", "--no-serve", *database])
        # A small queue: its answers are hidden from the other commands.
        queue = ["queue", "create", "one", "--where", "state=open", "--limit", "5", "--blind-judge"]
        _output([*queue, "--assign", actor(), *database])
        for command, line in EXAMPLES.items():
            words = [word.format(folder=folder) for word in line.split()]
            outputs[command] = json.loads(_output([*words, "--json", *database]))
    return outputs


def _output(arguments: list[str]) -> str:
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        exit_code = run(arguments)
    if exit_code:
        raise RuntimeError(f"judgeboard {' '.join(arguments)}: {errors.getvalue()}{out.getvalue()}")
    return out.getvalue()


JSON_START = """# JSON output

With `--json` a command prints one JSON value on standard output and nothing else. A figure is an [Estimate](#estimate):
value, interval, `n`, and a reason where there is no value.
"""


EXAMPLES_START = """
The other commands print objects of their own. The types below come from an example; `items[].id` is the field `id` of
each element of the list `items`.
"""


def json_page() -> str:
    """Return the page of the JSON of every command."""
    sys.path.append(str(DOCS))  # MkDocs runs this file without its folder
    from json_types import JsonTypes, fields_of

    types_ = JsonTypes()
    parts = [JSON_START]
    rows = []
    for command, path in RESULTS.items():
        kind = typing.get_type_hints(resolve(path))["return"]
        (cls,) = [one for one in (kind, *typing.get_args(kind)) if dataclasses.is_dataclass(one)]
        rows.append(
            (
                f"`judgeboard {command}`",
                AROUND.get(command, "{result}").format(result=types_.words(cls)),
            )
        )
    parts += [table(("command", "prints"), rows), EXAMPLES_START]
    for command, output in example_outputs().items():
        rows = [(f"`{name}`", kind) for name, kind in fields_of(output)]
        parts.append(f"## judgeboard {command}\n\n{table(('field', 'type'), rows)}")
    parts.append("## Types of results\n")
    described: set[str] = set()
    while described != set(types_.classes):
        for name, cls in list(types_.classes.items()):
            if name not in described:
                described.add(name)
                rows = types_.rows(cls)
                columns = 3 if any(meaning for _, _, meaning in rows) else 2
                fields = table(
                    ("field", "type", "meaning")[:columns], [row[:columns] for row in rows]
                )
                parts.append(f"### {name}\n\n{summary(cls)}\n\n{fields}")
    return "\n".join(parts)


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/python.md": python_page,
    "reference/imports.md": imports_page,
    "reference/json.md": json_page,
    "reference/tables.md": tables_page,
}
"""Generated page to its function."""


# Parts of the page of the packages. They need the sources and the project file, which an installed
# package lacks.


def imports_drawn() -> str:
    """Return the figure of the packages, as HTML."""
    sys.path.append(str(DOCS))  # MkDocs runs this file without its folder
    from package_imports import figure

    return figure()


def imports_listed() -> str:
    """Return the table of the packages with all that each imports."""
    sys.path.append(str(DOCS))
    from package_imports import label, read_imports

    packages = read_imports()
    layers = {
        package: number for number, layer in enumerate(packages.layers, 1) for package in layer
    }
    rows = []
    for package in packages.row:
        imported = [
            f"*{label(target)}* {count}"
            if (package, target) in packages.exceptions
            else f"{label(target)} {count}"
            for target in packages.row
            if (count := packages.imports.get((package, target)))
        ]
        rows.append(
            (layers[package], f"`{label(package)}`", packages.files[package], ", ".join(imported))
        )
    return table(("layer", "package", "files", "imports"), rows)


def files_listed() -> str:
    """Return a table for each package: its files, each with the first sentence of its docstring."""
    parts = []
    for package in ("judgeboard", "judgeboard_dashboard"):
        root = Path(importlib.import_module(package).__file__ or "").parent
        folders: dict[str, list[tuple[str, str]]] = {}
        for file in sorted(root.rglob("*.py")):
            purpose = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            first = " ".join(purpose.partition("\n\n")[0].split())
            if file.name != "__init__.py" and "versions" not in file.parts:
                folder = file.parent.relative_to(root.parent).as_posix()
                folders.setdefault(folder, []).append((f"`{file.name}`", first))
        parts += [
            f"### `{folder}/`\n\n" + table(("file", "purpose"), rows)
            for folder, rows in folders.items()
        ]
    return "\n".join(parts)


def calls_counted() -> str:
    """Return the table of the calls between packages that three data cause. They are counted now, in seconds."""
    sys.path += [str(DOCS), str(DOCS.parent / "benchmarks")]
    from package_imports import label, read_imports
    from passes import ROWS, followed_ways

    packages = read_imports()
    ways = followed_ways().values()
    pairs = sorted(
        {both for way in ways for both in way.calls},
        key=lambda both: [packages.row[each] for each in both],
    )
    rows = [
        (label(caller), label(called), *(way.calls[caller, called] or "" for way in ways))
        for caller, called in pairs
    ]
    up = [
        f"{label(caller)} → {label(called)}"
        for caller, called in pairs
        if packages.goes_up(caller, called)
    ]
    counted = table(
        ("from", "to", f"{ROWS} imported rows", "press of Y", "kappa, command", "kappa, page"), rows
    )
    return f"{counted}\nCalls to a higher package: {', '.join(up) or 'none'}.\n"


def notebook_shown() -> str:
    """Return the cells of the how-to that is a notebook, with their outputs, without its title."""
    cells = json.loads((DOCS / "how-to" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells[1:]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/html" in data:
                parts.append(f"<div>\n{''.join(data['text/html'])}\n</div>")
            else:
                text = "".join(output.get("text") or data["text/plain"])
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


BUILT: Mapping[str, Callable[[], str]] = {
    "notebook": notebook_shown,
    "imports drawn": imports_drawn,
    "imports listed": imports_listed,
    "calls counted": calls_counted,
    "files listed": files_listed,
}
"""What `<!-- built: NAME -->` in a page is replaced with. The app does not show a page that has such a mark."""


def with_tables(text: str) -> str:
    """Return a page with the generated tables in the places of their marks."""
    return _with_parts(text, "table", TABLES)


def _with_parts(text: str, kind: str, parts: Mapping[str, Callable[[], str]]) -> str:
    for name, make in parts.items():
        mark = f"<!-- {kind}: {name} -->\n"
        if mark in text:
            text = text.replace(mark, make())
    return text


def generated() -> Iterator[tuple[str, str]]:
    """Yield each generated page, and each page with generated parts: its path and its text."""
    for path, make in PAGES.items():
        yield path, make()
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if "<!-- table: " in text or "<!-- built: " in text:
            yield page.relative_to(DOCS).as_posix(), _with_parts(with_tables(text), "built", BUILT)


if __name__ == "<run_path>":  # as the plugin runs it
    import mkdocs_gen_files

    for path, text in generated():
        with mkdocs_gen_files.open(path, "w") as file:
            file.write(text)
elif __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the generated pages to a folder.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for path, text in generated():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
