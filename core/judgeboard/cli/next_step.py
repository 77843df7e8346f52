"""The next command, which a command names when it ends."""

import shlex

import click

from judgeboard.cli import options


def suggest(*words: str) -> None:
    """Print the next command to stderr, with the database if it is not the default; nothing with ``--json``."""
    from judgeboard.settings import masked

    if options.as_json():
        return
    db = options.chosen_database()
    line = shlex.join(["judgeboard", *words, *([] if db is None else ["--db", masked(db)])])
    click.echo(f"next: {line}", err=True)
