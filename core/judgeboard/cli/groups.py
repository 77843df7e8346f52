"""Commands whose help lists the options by groups, and groups of commands.

A group loads the module of a command only when the command is used.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import click

from judgeboard.errors import BadInput
from judgeboard.registry.methods import checked_command, load_object

OPTION_GROUPS: WeakKeyDictionary[click.Parameter, str] = WeakKeyDictionary()
"""The group of an option that several commands share, such as "Model". An option without a group is a command's own."""
Place = str | tuple[str, Mapping[str, "Place"]]
"""The module in judgeboard.cli that defines `NAME_command`, and for a group the commands in other modules.

The place of a command of a method is ``module:object``.
"""
DELETING = frozenset({"forget", "expire"})
"""Commands that delete. No message suggests these or an option of these: a person must name the target."""


class LaterOptions(click.Option):
    """Stands for options that are made when a command first needs the parameters.

    ``make`` gets the names of the other options, such as ``--limit``.
    """

    def __init__(self, make: Callable[[Collection[str]], Iterable[click.Option]]) -> None:
        super().__init__(["--later"])
        self.make = make


class Command(click.Command):
    """A command whose help has groups of options; ``rows`` is the key of the rows in the JSON, if any."""

    rows: str | None = None
    declared: list[click.Parameter]
    """The parameters. `LaterOptions` stand for options that are not made yet."""

    @property
    def params(self) -> list[click.Parameter]:
        """The parameters, with the options that are made on the first use."""
        while later := next(
            (each for each in self.declared if isinstance(each, LaterOptions)), None
        ):
            place = self.declared.index(later)
            names = [name for each in self.declared for name in (*each.opts, *each.secondary_opts)]
            new_options = list(later.make(names))
            for option in new_options:
                if later in OPTION_GROUPS:
                    OPTION_GROUPS.setdefault(option, OPTION_GROUPS[later])
            self.declared[place : place + 1] = new_options
        return self.declared

    @params.setter
    def params(self, parameters: list[click.Parameter]) -> None:
        self.declared = parameters

    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the same names in every context: click keeps the option that click made for the first context."""
        return ["-h", "--help"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then the options that several commands share, by group."""
        groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                groups[OPTION_GROUPS.get(param, "Options")].append(record)
        for title in sorted(groups, key=lambda title: title != "Options"):
            with formatter.section(title):
                formatter.write_dl(groups[title])
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


def load_command(name: str, place: Place) -> click.Command | None:
    """Import the module of a command and return the command; None for a plugin's command that cannot be used.

    The commands that a plugin adds to a group cannot replace a command of the group's module.
    """
    module, places = (place, {}) if isinstance(place, str) else place
    whole_place = (
        module if ":" in module else f"judgeboard.cli.{module}:{name.replace('-', '_')}_command"
    )
    command: click.Command | None = None
    with checked_command(whole_place, name):
        command = load_object(whole_place)
        if not isinstance(command, click.Command):
            command = None
            raise BadInput(f"{whole_place} is no command of click")
    inner_places = {}
    for inner, inner_place in places.items():
        with checked_command(
            inner_place if isinstance(inner_place, str) else inner_place[0], f"{name} {inner}"
        ):
            if not isinstance(command, CommandGroup):
                raise BadInput(f"{name} is no group of commands")
            if inner in command.commands:
                raise BadInput(f"{name} {inner} is taken by Judgeboard")
            inner_places[inner] = inner_place
    if isinstance(command, CommandGroup):
        command.places = inner_places
    return command


class CommandsOnDemand(click.Group):
    """A group that knows the places of commands which are not loaded yet."""

    places: Mapping[str, Place] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of addition, the names of other modules last."""
        return [*self.commands, *self.places]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None for an unknown name."""
        place = self.places.get(cmd_name)
        return (
            super().get_command(ctx, cmd_name) if place is None else load_command(cmd_name, place)
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; otherwise raise NoSuchCommand with similar names."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            names = [
                name
                for name in self.list_commands(ctx)
                if name not in {*DELETING, error.command_name}
            ]
            raise click.NoSuchCommand(error.command_name, possibilities=names, ctx=ctx) from None


class CommandGroup(Command, CommandsOnDemand):
    """A group of commands whose help has groups of options."""


class GroupWithDefault(CommandGroup):
    """A group that runs the command ``default`` unless the first word names another command."""

    default: str

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before arguments that neither begin with a command nor ask for help."""
        first = args[0] if args else ""
        is_named = first in self.list_commands(ctx) or first in {"-h", "--help"}
        return super().parse_args(ctx, args if is_named else [self.default, *args])


class CommandWithArguments(CommandGroup):
    """A command with arguments and subcommands: the first word may name a subcommand.

    To use a file with the name of a subcommand, write ./undo.
    """

    allow_interspersed_args = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of this command, unless the arguments begin with a subcommand."""
        if args and args[0] in self.list_commands(ctx):
            ctx.invoked_subcommand, *ctx.args = args
            return ctx.args
        other_args = click.Command.parse_args(self, ctx, args)
        if ctx.args:
            names = self.list_commands(ctx)
            first = ctx.args[0]
            ctx.fail(
                f"write the subcommand first: {ctx.command_path} {first} …"
                if first in names
                else f"there is no subcommand {first!r}; subcommands: {', '.join(names)}"
            )
        return other_args

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand, or this command."""
        name = ctx.invoked_subcommand
        command = None if name is None else self.get_command(ctx, name)
        if command is None:
            return click.Command.invoke(self, ctx)
        with command.make_context(name, ctx.args, parent=ctx) as context:
            return context.command.invoke(context)
