"""Groups of commands. A group loads the module of a command only when the command is used."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from judgeboard.cli.help import Command

Place = str | tuple[str, Mapping[str, "Place"]]
"""The module in judgeboard.cli that defines `NAME_command`, and for a group its commands in other modules."""
DELETING = frozenset({"forget"})
"""Commands that delete. No message suggests them or one of their options: a person must name what is deleted."""


def load_command(name: str, place: Place) -> click.Command:
    """Import the module of a command and return the command."""
    module, places = (place, {}) if isinstance(place, str) else place
    command: click.Command = getattr(
        importlib.import_module(f"judgeboard.cli.{module}"), f"{name.replace('-', '_')}_command"
    )
    if isinstance(command, CommandGroup):
        command.places = places
    return command


class CommandsOnDemand(click.Group):
    """A group that knows the places of commands which are not loaded yet."""

    places: Mapping[str, Place] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order in which they were added, those of other modules last."""
        return [*self.commands, *self.places]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None for an unknown name."""
        place = self.places.get(cmd_name)
        return super().get_command(ctx, cmd_name) if place is None else load_command(cmd_name, place)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; raise NoSuchCommand, with similar names, if there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            known = [name for name in self.list_commands(ctx) if name not in DELETING]
            raise click.NoSuchCommand(error.command_name, possibilities=known, ctx=ctx) from None


class CommandGroup(Command, CommandsOnDemand):
    """A group of commands with a short and a whole help."""


class GroupWithDefault(CommandGroup):
    """A group that runs its command ``default`` unless the first word names another one."""

    default: str

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before the arguments, unless they begin with a command or ask for help."""
        first = args[0] if args else ""
        named = first in self.list_commands(ctx) or first in {"-h", "--help"}
        return super().parse_args(ctx, args if named else [self.default, *args])


class CommandWithArguments(CommandGroup):
    """A command with arguments and subcommands: the first word may name a subcommand.

    To use a file with the name of a subcommand, write ./undo.
    """

    allow_interspersed_args = True

    def __init__(self, *args: Any, **settings: Any) -> None:  # click's own: the name, the function and the options
        super().__init__(*args, **{**settings, "invoke_without_command": True, "subcommand_metavar": ""})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of this command, unless the arguments are those of a subcommand."""
        if args and args[0] in self.list_commands(ctx):
            ctx.invoked_subcommand, *ctx.args = args
            return ctx.args
        left = click.Command.parse_args(self, ctx, args)
        if ctx.args:
            names = self.list_commands(ctx)
            first = ctx.args[0]
            ctx.fail(
                f"write the subcommand first: {ctx.command_path} {first} …"
                if first in names
                else f"there is no subcommand {first!r}; subcommands: {', '.join(names)}"
            )
        return left

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand, or this command."""
        name = ctx.invoked_subcommand
        command = None if name is None else self.get_command(ctx, name)
        if command is None:
            return click.Command.invoke(self, ctx)
        with command.make_context(name, ctx.args, parent=ctx) as context:
            return context.command.invoke(context)
