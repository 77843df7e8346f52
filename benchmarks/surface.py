"""Counts what a person meets: commands, options, lines of help, pages, tabs, settings and pages of documentation.

    python benchmarks/surface.py [--lines]

With --lines, it also prints the number of lines of each help at 80 columns.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from judgeboard.cli.app import root
from judgeboard.settings.model import Settings
from judgeboard_dashboard.app import PAGES

DOCS = Path(__file__).parents[1] / "docs"
COLUMNS = "80"


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", action="store_true")
    asked = parser.parse_args()
    os.environ["COLUMNS"] = COLUMNS
    commands = dict(_commands(root, ()))
    leaves = {
        path: command
        for path, command in commands.items()
        if not isinstance(command, click.Group) or command.invoke_without_command
    }
    options = Counter(
        max(option.opts, key=len)
        for command in leaves.values()
        for option in command.params
        if isinstance(option, click.Option)
    )
    views = [view for tabs in PAGES.values() for view in tabs]
    pages = Counter(page.parent.name for page in DOCS.rglob("*.md"))
    counts = {
        "commands at the top": sum(len(path) == 1 for path in commands),
        "commands with subcommands": len(leaves),
        "different options": len(options),
        "options of all commands": sum(options.values()),
        "settings": len(Settings.model_fields),
        "pages": len(PAGES),
        "tabs": len(views),
        "how-to pages": pages["how-to"],
        "pages of documentation": sum(pages.values()),
    }
    helps = {path: _lines(path) for path in leaves}
    counts["longest help, lines"] = max(helps.values())
    for what, number in counts.items():
        print(f"{what:28} {number:5,}")
    if asked.lines:
        for path in sorted(leaves, key=lambda each: -helps[each]):
            print(f"{helps[path]:4}  {' '.join(path)}")
    return 0


def _commands(
    group: click.Group, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield (*path, name), command
            if isinstance(command, click.Group):
                yield from _commands(command, (*path, name))


def _lines(path: tuple[str, ...]) -> int:
    return len(CliRunner().invoke(root, [*path, "--help"]).output.splitlines())


if __name__ == "__main__":
    sys.exit(main())
