"""Every command by the words that name it."""

import re
import shlex

import click


def every_command(group, path=()):
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))


def command_examples(root):
    """Yield the words of an example of each command that takes --db."""
    for path in every_command(root):
        command = root
        for word in path:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), word)
        if not any("--db" in option.opts for option in command.params):
            continue
        lines = re.findall(r"judgeboard ([^|>\n]+)", command.epilog or "")
        line = next(
            (line for line in lines if shlex.split(line)[: len(path)] == [*path]), " ".join(path)
        )
        words = shlex.split(line)
        yield words[: words.index("--db")] if "--db" in words else words
