"""Every command by the words that name it."""

from collections.abc import Iterator

import click


def every_command(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))
