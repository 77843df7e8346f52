"""The command `judgeboard`. Each command has a function `NAME_command` in this folder and a line in GROUPS.

The commands of methods are in the folders of the methods: `registry.methods`.
"""

import errno
import io
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from judgeboard.cli.groups import DELETING, CommandsOnDemand, GroupWithDefault, Place
from judgeboard.cli.options import echo, example, same_command
from judgeboard.errors import (
    BadInput,
    JudgeboardError,
    MissingOption,
    MissingSetting,
    UnconfirmedFile,
    UnknownName,
)
from judgeboard.registry.methods import Registration, checked_command, with_methods
from judgeboard.settings.masking import mask_logs, without_secrets


def with_commands_of_methods(groups: dict[str, dict[str, Place]]) -> dict[str, dict[str, Place]]:
    """Return the groups with the commands of methods, each after the other commands of the group or heading."""
    ours = [command for places in groups.values() for command in _commands(places)]

    def added(method: Registration) -> dict[str, tuple[str, str]]:
        return {
            " ".join(words): (title, place) for (title, *words), place in method.commands.items()
        }

    of_methods = with_methods("command", dict[str, tuple[str, str]](), added, reserved=ours)
    for command, (title, place_of_command) in of_methods.items():
        *words, name = command.split()
        with checked_command(place_of_command, command):
            places = of_title = groups.get(title, {})
            for word in words:
                if word not in places:
                    raise BadInput(f"{title} has no command {word}")
                of_group, inner = place if isinstance(place := places[word], tuple) else (place, {})
                places[word] = of_group, (inner := dict(inner))
                places = inner
            places[name] = place_of_command
            groups[title] = of_title
    return groups


def _commands(places: Mapping[str, Place], *group: str) -> Iterator[str]:
    """Yield the commands of a group and of the groups in the group, each in all words."""
    for name, place in places.items():
        yield " ".join((*group, name))
        if isinstance(place, tuple):
            yield from _commands(place[1], *group, name)


# Purpose -> command -> place.
GROUPS = with_commands_of_methods(
    {
        "Start": {
            "quickstart": "serve",
            "init": "project",
            "import": "import_command",
            "judge": "judge",
            "serve": "serve",
        },
        "Review": {
            "flags": "flags",
            "queue": ("queue", {"schema": "queue"}),
        },
        "Measure": {
            "stats": "figures",
            "agreement": "figures",
            "labels": (
                "labels",
                {"threshold": "threshold", "stand": "threshold"},
            ),
            "trends": "trends",
            "compare": "compare",
        },
        "Improve": {
            "test": "judge_tests",
        },
        "Connect": {
            "sources": ("sources", {"keys": "sources"}),
            "rule": "rule",
            "push": "push",
            "pull": "push",
            "export": "export",
        },
        "Manage": {
            "worker": "serve",
            "people": "people",
            "versions": "versions",
            "config": "project",
            "doctor": "database",
            "db": "database",
        },
    }
)


class Root(CommandsOnDemand):
    """The command `judgeboard`, whose help has the commands by purpose."""

    places: Mapping[str, Place] = {
        name: place for commands in GROUPS.values() for name, place in commands.items()
    }

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by purpose."""
        for title, names in GROUPS.items():
            commands = {name: self.get_command(ctx, name) for name in names}
            with formatter.section(title):
                formatter.write_dl(
                    [(name, each.get_short_help_str(60)) for name, each in commands.items() if each]
                )


@click.group(
    cls=Root,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=example(
        "judgeboard quickstart log.jsonl",
        "judgeboard import log.jsonl",
        "judgeboard judge --judge lexical",
    ),
)
@click.version_option(package_name="judgeboard", prog_name="judgeboard")
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback if an error occurs."
)
def root() -> None:
    """Judgeboard checks an LLM judge against people. To try it with sample data, run: judgeboard quickstart."""


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return the exit code. ``--debug`` is accepted at any position."""
    mask_logs()
    debug = "--debug" in arguments
    stdout = sys.stdout
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # not every terminal can print all file names
    words = [word for word in arguments if word != "--debug"]
    with click.Context(
        root
    ) as context:  # outlives the command: the message of an error may need --db
        context.meta["words"] = words
        try:
            result = root.main(words, prog_name="judgeboard", standalone_mode=False, parent=context)
        except click.ClickException as error:
            if (
                isinstance(error, click.NoSuchOption)
                and error.ctx is not None
                and error.ctx.info_name in DELETING
            ):
                error = click.NoSuchOption(error.option_name, ctx=error.ctx)
            error.show()
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            click.echo("stopped", err=True)
            return 130
        except SystemExit:
            if sys.stdout is stdout:
                raise
            return 0  # the reader has closed the pipe, as `head` does: click has wrapped the stream, and prints nothing
        except Exception as error:  # noqa: BLE001 - one line for every error; --debug shows the rest
            code = _failed(error, debug=debug)
            # The file is read before a command does anything, so the command can run again.
            return (
                run(arguments) if isinstance(error, UnconfirmedFile) and _confirms(error) else code
            )
    return result if isinstance(result, int) else 0


def _confirms(unconfirmed: UnconfirmedFile) -> bool:
    """Ask whether to use a project file, and keep the confirmation."""
    from judgeboard.settings.project_file import confirm

    try:
        if not (sys.stdin.isatty() and click.confirm("Use this file?", err=True)):
            return False
    except click.Abort:
        return False
    confirm(unconfirmed)
    return True


def _takes(word: str) -> bool:
    """Return whether the typed command has this option; an argument fits every command."""
    context = click.get_current_context()
    command: click.Command = root
    for name in context.meta["words"]:
        if (
            not isinstance(command, click.Group)
            or (subcommand := command.get_command(context, name)) is None
        ):
            break
        command = subcommand
    if isinstance(command, GroupWithDefault):
        command = command.commands[command.default]
    return not word.startswith("-") or any(word in parameter.opts for parameter in command.params)


def _failed(error: Exception, *, debug: bool) -> int:
    if debug:
        import traceback

        sys.stderr.write(without_secrets("".join(traceback.format_exception(error))))
    else:
        # The message. For a database error, leave out the SQL statement and all texts.
        if getattr(error, "orig", None) is not None:
            from judgeboard.store.outages import reason_of

            words = f"database error: {reason_of(error)}"
        elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
            from judgeboard.formats.files import DISK_FULL

            words = (
                DISK_FULL
                if error.filename is None
                else f"{str(error.filename)[:200]!r} cannot be written: {DISK_FULL}"
            )
        elif isinstance(error, OSError) and error.strerror and error.filename is not None:
            is_forbidden = isinstance(error, PermissionError)
            advice = "change its permissions" if is_forbidden else "use another name"
            words = f"{error.strerror}: {str(error.filename)[:200]!r}; {advice}"
        else:
            words = str(error)
        # The typed command, mended, if the error says how.
        command = None
        if isinstance(error, MissingOption) and _takes(error.add[0]):
            command = same_command(*error.add)
        elif isinstance(error, MissingSetting):
            settings = " ".join(
                f"{variable}={shlex.quote(value)}" for variable, value in error.examples.items()
            )
            command = f"{settings} {same_command()}"
        elif isinstance(error, UnknownName):
            command = same_command(instead={error.wanted: error.known})
        if command is not None:
            words = f"{words}, for example: `{command}`"
        text = " ".join(words.split()) or type(error).__name__
        hint = (
            ""
            if isinstance(error, JudgeboardError)
            else f" ({type(error).__name__}; --debug shows where)"
        )
        echo(f"judgeboard: {without_secrets(text)}{hint}", err=True)
    return error.exit_code if isinstance(error, JudgeboardError) else 2
