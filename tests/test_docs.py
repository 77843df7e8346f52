"""The documentation follows from the code: its commands are real, its blocks run, its tables are complete."""

import inspect
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import markdown
import passes
import pytest
import yaml

import judgeboard
from forked_commands import shell_function
from judgeboard import errors
from judgeboard.cli.app import root
from judgeboard.cli.groups import CommandWithArguments, GroupWithDefault
from judgeboard.flags.rules import RULES
from judgeboard_dashboard import documentation

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CORE = ROOT / "core" / "judgeboard"
DASHBOARD = ROOT / "dashboard" / "judgeboard_dashboard"
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "data" / "README.md", *DOCS.rglob("*.md")]
)
BLOCK = re.compile(r"^ *```(sh|python)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
ANY_SHELL_BLOCK = re.compile(r"^ *```sh[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^print\(.*\)  # (.+)$", re.MULTILINE)
IN_TEXT = re.compile(r"`(judgeboard [a-z][^`]+)`")


def blocks(page, language):
    return [
        code for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language
    ]


def in_shell(script, folder):
    """Run a script in a folder with the commands of this package, and return what it prints."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JUDGEBOARD_", "OPENAI_"))
    }
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    with shell_function() as judgeboard_function:
        done = subprocess.run(
            ["bash", "-c", judgeboard_function + script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "page",
    [
        page for page in PAGES if blocks(page, "sh") and page.name != "get-started.md"
    ],  # test_get_started.py runs it
    ids=lambda page: page.name,
)
def test_the_commands_of_a_page_run_in_order(page, tmp_path, request):
    """Pages that fill the demo find a copy of it; `judgeboard quickstart` finds nothing to add."""
    script = "set -eu\n" + "\n".join(blocks(page, "sh"))
    for database in re.findall(
        r"^ *judgeboard quickstart --no-serve --db (\S+)$", script, re.MULTILINE
    ):
        shutil.copyfile(request.getfixturevalue("demo"), tmp_path / database)
    in_shell(script, tmp_path)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
)
def test_the_python_of_a_page_runs_and_prints_what_its_comments_say(
    page, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), {"__name__": "__main__"})
        printed = capsys.readouterr().out
        assert all(comment in printed for comment in PRINTED.findall(code)), printed


def printed_commands(page):
    """The command lines of a page, those in its blocks and those in its sentences."""
    text = page.read_text(encoding="utf-8")
    lines = [line.strip() for block in ANY_SHELL_BLOCK.findall(text) for line in block.splitlines()]
    for line in [*lines, *IN_TEXT.findall(text)]:
        for part in re.split(r"&&|\||;", line):
            command = part.strip().removeprefix("uv run ")
            if command.startswith("judgeboard "):
                yield command


def examples(group):
    """The command lines in the help of the commands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield from (
            line.strip()
            for line in (command.epilog or "").splitlines()
            if line.strip().startswith("judgeboard ")
        )
        if isinstance(command, click.Group):
            yield from examples(command)


def refusal(line):
    """Return why click refuses a command line, None where it takes it; nothing is run."""
    words = shlex.split(line.partition(" > ")[0].partition(" | ")[0], comments=True)[1:]
    command = root
    path = []
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        if isinstance(command, CommandWithArguments) and words[0] not in command.list_commands(
            click.Context(command)
        ):
            break
        if isinstance(command, GroupWithDefault) and words[0] not in command.list_commands(
            click.Context(command)
        ):
            words.insert(0, command.default)
        path.append(words.pop(0))
        command = command.get_command(click.Context(command), path[-1])
    if command is None:
        return f"there is no command {' '.join(path)}"
    named_alone = not words and path  # "`judgeboard import` creates a database"
    if named_alone or (
        isinstance(command, click.Group) and not isinstance(command, CommandWithArguments)
    ):
        return None
    try:
        command.make_context(path[-1], words)
    except click.exceptions.Exit:  # --help
        return None
    except click.UsageError as error:
        message = error.format_message()
        return None if "does not exist" in message else message
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_printed_command_is_one_that_the_program_takes(page):
    refused = {line: why for line in printed_commands(page) if (why := refusal(line))}
    assert not refused


def test_an_example_in_the_help_is_one_that_the_program_takes():
    lines = list(examples(root))
    assert len(lines) > 30
    assert not {line: why for line in lines if (why := refusal(line))}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("judgeboard judges --judge lexical", "judges"),
        ("judgeboard judge --jugde lexical", "--jugde"),
        ("judgeboard test audit a --approach 3", "--approach"),
    ],
)
def test_a_wrong_command_line_is_refused(line, named):
    assert named in str(refusal(line))


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_local_link_leads_somewhere(page):
    for file, anchor in re.findall(
        r"\]\(([^)#:\s]*)#?([^):\s]*)\)", page.read_text(encoding="utf-8")
    ):
        target = page.parent / file if file else page
        assert target.exists(), file
        assert not (anchor and target.suffix == ".md") or anchor in anchors(target), (
            f"{file}#{anchor}"
        )


def test_the_readme_stays_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 110


def test_the_readme_names_everything_at_the_top_of_the_package():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ((?:`[^`]+` ?)+) \|",
        readme.partition("| `core/judgeboard/` |")[2].partition("\n\n")[0],
        re.MULTILINE,
    )
    named = {name.rstrip("/") for row in rows for name in re.findall("`([^`]+)`", row)}
    entries = {
        path.name
        for path in CORE.iterdir()
        if not path.name.startswith(("__", "py.typed", "bundled"))
    }
    assert named == entries
    assert len(entries) <= 29


def test_the_table_of_what_to_add_names_files_that_have_these_lists():
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"`(\w+)` in `([\w/]+\.py)`", contributing)
    assert len(rows) >= 10
    for name, file in rows:
        path = next((found for parent in (CORE, ROOT) if (found := parent / file).is_file()), None)
        assert path is not None, file
        assert re.search(
            rf"^(class |def |async def )?{name}\b", path.read_text(encoding="utf-8"), re.MULTILINE
        ), (
            name,
            file,
        )


def test_troubleshooting_names_every_error_with_its_fix():
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]+\|([^|]+)\|$", page, re.MULTILINE))
    defined = (
        name
        for name, class_ in inspect.getmembers(errors, inspect.isclass)
        if issubclass(class_, Exception)
    )
    classes = set(defined) - {"JudgeboardError"}
    assert rows.keys() == classes
    assert all(fix.strip() for fix in rows.values())


@pytest.fixture(scope="module")
def generate():
    return runpy.run_path(str(DOCS / "generate.py"), run_name="generate")


def site():
    """The configuration of the documentation's site, without the tags of YAML that name Python functions."""
    text = re.sub(r"!!\S+", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    return yaml.safe_load(text)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_the_site_shows_every_block_as_code(page):
    extensions = [
        each if isinstance(each, dict) else {each: {}} for each in site()["markdown_extensions"]
    ]
    configured = {
        name: options
        for each in extensions
        for name, options in each.items()
        if name != "mkdocs-click"
    }
    text = page.read_text(encoding="utf-8")
    shown = markdown.markdown(text, extensions=list(configured), extension_configs=configured)
    assert shown.count('<div class="highlight">') == len(
        re.findall(r"^ *```\w", text, re.MULTILINE)
    )


def test_every_page_of_the_site_exists_and_is_in_its_menu(generate):
    def pages(entries):
        for entry in entries:
            (target,) = entry.values()
            yield from pages(target) if isinstance(target, list) else [target]

    menu = set(pages(site()["nav"]))
    assert (
        menu
        == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
        | generate["PAGES"].keys()
    )


# The line of a how-to page that has its commands and its page in the app.
PLACE = re.compile(r"Commands?: `judgeboard .* In the app: \*")


def test_each_how_to_page_says_where_to_do_it_and_is_in_the_table_of_questions():
    pages = sorted((DOCS / "how-to").glob("*.md"))
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    assert len(pages) <= 26
    for page in pages:
        text = page.read_text(encoding="utf-8")
        place = text.split("\n\n")[1]
        assert PLACE.match(place), page.name
        assert text.count("-light.png") <= 1, page.name
        title = text.splitlines()[0].removeprefix("# ")
        assert f"[{title}](how-to/{page.name})" in home
        assert {title: f"how-to/{page.name}"} in next(
            part["How-to"] for part in site()["nav"] if "How-to" in part
        )


def test_every_marked_table_is_generated_and_every_table_is_shown(generate):
    marks = {
        mark
        for page in DOCS.rglob("*.md")
        for mark in re.findall(r"<!-- table: ([\w ]+) -->", page.read_text("utf-8"))
    }
    # The page of imports has the formats.
    assert marks | {"formats"} == generate["TABLES"].keys()
    assert "<!-- table" not in generate["with_tables"](
        (DOCS / "concepts" / "flags.md").read_text(encoding="utf-8")
    )


def test_every_mark_of_the_build_is_replaced_and_the_app_leaves_its_page_out(generate):
    marked = {
        page: marks
        for page in DOCS.rglob("*.md")
        if (
            marks := re.findall(
                r"^<!-- built: ([\w ]+) -->$", page.read_text("utf-8"), re.MULTILINE
            )
        )
    }
    assert {mark for marks in marked.values() for mark in marks} == generate["BUILT"].keys()
    assert not {page.relative_to(DOCS).as_posix() for page in marked} & documentation.pages().keys()


def test_the_figure_and_the_table_of_packages_have_every_package(generate):
    figure, table = generate["BUILT"]["imports drawn"](), generate["BUILT"]["imports listed"]()
    for folder in (CORE, DASHBOARD):
        names = {
            path.stem
            for path in folder.iterdir()
            if path.suffix == ".py" or (path / "__init__.py").is_file()
        }
        for name in names - {"__init__"}:
            assert f"<title>{folder.name}.{name}: " in figure
            assert f"| `{name}` |" in table


def test_the_functions_of_a_way_through_the_packages_are_called_in_their_order():
    """Those of views are not followed: they must only exist."""
    page = (DOCS / "reference" / "architecture.md").read_text(encoding="utf-8")
    parts = [
        re.findall(r"^\| `([\w/]+\.py)` `([\w.]+)` \|", part, re.MULTILINE)
        for part in page.split("\n## ")
    ]
    described = [functions for functions in parts if functions]
    followed = passes.followed_ways()
    for functions, name in zip(
        described, ("imported row", "press of Y", "kappa of page"), strict=True
    ):
        in_core = [
            f"{file}:{function}" for file, function in functions if not file.startswith("views/")
        ]
        assert in_core == [each for each in followed[name].functions if each in in_core]
        for file, function in functions:
            if file.startswith("views/"):
                assert f"def {function}(" in (DASHBOARD / file).read_text(encoding="utf-8")


def test_the_documentation_has_the_severity_of_every_flag_rule(generate):
    rows = generate["TABLES"]["severities"]().splitlines()[2:]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row.split(" | ")[0])]
    assert sorted(names) == sorted(RULES)
    [failed] = [row for row in rows if "`judge_failed`" in row]
    assert failed.endswith("| 0.5 |")


def test_the_reference_has_every_public_name(generate):
    named = {name for names in generate["public_names"]().values() for name in names}
    assert named == set(judgeboard.__all__)


def test_the_reference_has_the_json_of_every_command(generate):
    described = {
        re.split(" --| [A-Z]", name)[0] for name in (*generate["RESULTS"], *generate["EXAMPLES"])
    }
    assert described == set(generate["json_commands"]())
    page = generate["json_page"]()
    assert "### Estimate" in page
    assert "[FieldAgreement](#fieldagreement)" in page
    assert any("`value`" in line and "or null" in line for line in page.splitlines())


def test_the_reference_has_every_column_of_every_table(generate):
    from judgeboard.store.tables import METADATA

    page = generate["tables_page"]()
    for table in METADATA.sorted_tables:
        assert f"## {table.name}\n" in page
        assert all(f"| `{column.name}` |" in page for column in table.columns)
