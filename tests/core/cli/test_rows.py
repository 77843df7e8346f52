"""Every command that prints rows has one output: lines for a terminal, JSON and CSV with the same rows."""

import csv
import io
import json
import shutil

import click
import pytest

from judgeboard.cli.app import root, run
from judgeboard.cli.groups import Command

# Words that a command with arguments needs, and commands whose rows are not in the database.
ARGUMENTS = {"test health": ["lexical"], "compare ssr": ["--recorded"]}
NOT_RUN = {"rule test"}  # sends a message
NAMES_OF_LISTS = {"list", "log", "events", "work", "counts", "checks"}


def leaves(command=root, name=""):
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for word in command.list_commands(context):
        inner = command.get_command(context, word)
        assert inner is not None
        yield from leaves(inner, f"{name} {word}".strip())


LEAVES = dict(leaves())
ROWS_OF = {
    name: command.rows
    for name, command in LEAVES.items()
    if isinstance(command, Command) and command.rows
}


@pytest.fixture(scope="module")
def database(demo, tmp_path_factory):
    return str(shutil.copyfile(demo, tmp_path_factory.mktemp("rows") / "demo.db"))


def test_every_list_prints_rows():
    assert {name for name in LEAVES if name.split()[-1] in NAMES_OF_LISTS} <= ROWS_OF.keys()
    assert len(ROWS_OF) >= 15


@pytest.mark.parametrize("option", ["--csv", "--json"])
def test_no_command_defines_the_output_on_its_own(option):
    options = {
        id(each) for command in LEAVES.values() for each in command.params if option in each.opts
    }
    assert len(options) == 1


@pytest.mark.parametrize("name", sorted(ROWS_OF.keys() - NOT_RUN))
def test_json_and_csv_have_the_same_rows(name, database, capsys):
    printed = {}
    for output in ("", "--json", "--csv"):
        words = [
            *name.split(),
            *ARGUMENTS.get(name, []),
            *([output] if output else []),
            "--db",
            database,
        ]
        assert run(words) in {0, 1}
        printed[output] = capsys.readouterr().out
    rows = json.loads(printed["--json"])[ROWS_OF[name]]
    table = list(csv.DictReader(io.StringIO(printed["--csv"])))
    assert len(table) == len(rows)
    assert printed[""].strip()
    assert not printed[""].lstrip().startswith(("{", "["))
    assert all(any(row.values()) for row in table)


def test_csv_and_json_together_are_refused(database, shell):
    assert "--json and --csv" in shell(f"people list --csv --json --db {database}", code=2)


def test_a_value_inside_an_object_has_its_own_column(database, shell):
    row, *_ = csv.DictReader(io.StringIO(shell(f"queue list --csv --db {database}")))
    assert row["queue.name"]
    assert isinstance(json.loads(row["queue.filter.query_types"]), list)
