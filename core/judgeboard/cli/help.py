"""The help of a command: short with -h, whole and by groups with --help."""

import re
from collections import defaultdict
from weakref import WeakKeyDictionary

import click

GROUPS: WeakKeyDictionary[click.Parameter, str] = WeakKeyDictionary()
"""The group of an option that several commands share, such as "Model". An option without a group is a command's own."""
SHORT = "-h"


class Command(click.Command):
    """A command with a short and a whole help; ``rows`` is the key of the rows in its JSON, if it prints rows."""

    rows: str | None = None

    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the option for the whole help."""
        return ["--help"]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with -h and --help last."""
        *params, whole = super().get_params(ctx)
        return [*params, _short_option(), whole]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then those that it shares with others, by group."""
        groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                groups[GROUPS.get(param, "Options")].append(record)
        for title in sorted(groups, key=lambda title: title != "Options"):
            with formatter.section(title):
                formatter.write_dl(groups[title])
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def short_help_text(self, ctx: click.Context) -> str:
        """Return what the command does, its own options in a sentence each, an example, and where the rest stands."""
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        first, *_ = (self.help or "").split("\n\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(" ".join(first.replace("\b", "").split()))
        records: list[tuple[str, str]] = []
        groups: dict[str, None] = {}
        for param in self.params:
            record = param.get_help_record(ctx)
            if param in GROUPS:
                groups[GROUPS[param]] = None
            elif record is not None and record[1]:
                records.append((record[0], _first_sentence(record[1])))
        if records:
            with formatter.section("Options"):
                formatter.write_dl(records, col_max=24)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)
        example = re.findall(r"^  (.+)$", self.epilog or "", re.MULTILINE)[:1]
        rest = f" There are more options: {', '.join(groups).lower()}." if groups else ""
        formatter.write_paragraph()
        formatter.write_text("\n".join(f"For example: {line}" for line in example))
        formatter.write_text(f"{_typed(ctx)} --help has the whole text.{rest}")
        return formatter.getvalue().rstrip()


def _typed(context: click.Context) -> str:
    """Return the command as it is typed, without arguments."""
    names: list[str] = []
    current: click.Context | None = context
    while current is not None:
        if current.parent is None or current.parent.command is not current.command:
            names.insert(0, current.info_name or "judgeboard")
        current = current.parent
    return " ".join(names)


def _short_option() -> click.Option:
    return click.Option(
        [SHORT],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_short,
        help="Show a short help and exit.",
    )


def _print_short(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing and isinstance(context.command, Command):
        click.echo(context.command.short_help_text(context))
        context.exit()


def _first_sentence(text: str) -> str:
    """Return the first sentence of a help, without defaults and what follows a colon in brackets."""
    sentence = re.split(r"(?<=[.])\s|\s\(default|\s\(see|\s{2}\[", " ".join(text.split()), maxsplit=1)[0]
    return sentence if sentence.endswith(".") else f"{sentence}."
