"""Options and terminal output that all commands share."""

import math
import os
import re
import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judgeboard.cli import end_loading
from judgeboard.cli.groups import (
    OPTION_GROUPS,
    Command,
    CommandGroup,
    CommandWithArguments,
    GroupWithDefault,
)
from judgeboard.errors import BadInput, MissingDatabase
from judgeboard.reports.terminal import local_user
from judgeboard.store.filters import WHERE_FIELDS, RowFilter, parse_where
from judgeboard.text import as_utc, with_db

if TYPE_CHECKING:
    from judgeboard.formats.output import Table
    from judgeboard.store.engine import Store
    from judgeboard.store.hidden_rows import Reading, Seen
    from judgeboard.store.tables import Reviewer

F = TypeVar("F", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """A number within bounds. Refuses nan and inf, which `click.FloatRange` may accept."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or fail with the option's name and the range."""
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number.", param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        try:
            return float(super().convert(number, param, ctx))
        except click.BadParameter:
            low = (
                None
                if self.min is None
                else f"{'above' if self.min_open else 'at least'} {self.min:g}"
            )
            high = (
                None
                if self.max is None
                else f"{'below' if self.max_open else 'at most'} {self.max:g}"
            )
            bounds = " and ".join(bound for bound in (low, high) if bound)
            share = (
                f" For {number:g} %, write {number / 100:g}."
                if self.max == 1 and 1 <= number < 100
                else ""
            )
            self.fail(f"{value} is not allowed: the number must be {bounds}.{share}", param, ctx)


def _where_help() -> str:
    """Return the help of --where with one line per field."""
    columns = 44  # the width of 80 columns without the longest option
    lines = (
        textwrap.fill(f"{field}: {words}", columns, subsequent_indent="  ", break_on_hyphens=False)
        for field, words in WHERE_FIELDS.items()
    )
    head = (
        "Select answers by a field. Repeat the option to combine fields: an answer must match all of them. If you give "
        "a field twice, either value matches. Fields:"
    )
    return "\n".join((f"{head}\n\n\b", *lines))  # \b: click does not wrap the paragraph again


def decorator(*options: Callable[[F], F], group: str | None = None) -> Callable[[F], F]:
    """Return one decorator for several options, in the order of the help.

    ``group`` is the title of these options in the help; an option with a title keeps the title.
    """

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
            if group is not None:
                OPTION_GROUPS.setdefault(vars(command)["__click_params__"][-1], group)
        return command

    return decorate


# Characters that can control a terminal: control characters, lone surrogates, and marks of the
# text's direction.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_COMMANDS = re.compile("`(judgeboard [a-z][^`]*)`")
FIRST_STEP = ("import", "FILE")  # the next command for a database without answers
ROW_ID = click.IntRange(1, 2**63 - 1)  # the range of ids in both engines
FILE = click.Path(path_type=Path)
with_default = partial(click.option, show_default=True)
judge_version = partial(click.option, "--judge-version", metavar="NAME|FINGERPRINT")


def keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep the value of an option that is not an argument of the command."""
    context.meta[str(option.name)] = value  # every function can read the value, without an argument


_JSON = click.Option(
    ["--json"], is_flag=True, callback=keep, expose_value=False, help="Print JSON only."
)
_CSV = click.Option(
    ["--csv"], is_flag=True, callback=keep, expose_value=False, help="Print the rows as CSV only."
)
_DATABASE = click.Option(
    ["--db"],
    metavar="PATH|URL",
    is_eager=True,  # an error in another option may suggest a command
    callback=keep,
    expose_value=False,
    help="Database: a SQLite file or an SQLAlchemy URL (default: JUDGEBOARD_DB, else data/judgeboard.db).",
)


OPTION_GROUPS |= dict.fromkeys((_JSON, _CSV, _DATABASE), "Output and database")


def _use_project_file(_context: click.Context, _option: click.Parameter, path: str | None) -> None:
    from judgeboard.settings.project_file import use_project_file

    if path is not None:
        use_project_file(path)


_PROJECT = click.Option(
    ["--config"],
    metavar="PATH",
    is_eager=True,
    callback=_use_project_file,
    expose_value=False,
    help="Project file (default: JUDGEBOARD_CONFIG, else the nearest judgeboard.toml in this folder or above it).",
)
OPTION_GROUPS[_PROJECT] = OPTION_GROUPS[_DATABASE]


def example(*lines: str) -> str:
    """Return the closing lines of a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def command(
    *examples: str,
    group: click.Group | None = None,
    json: bool = True,
    database: bool = True,
    rows: str | None = None,
) -> Callable[[Callable[..., Any]], Command]:
    """Return a decorator that makes a command with these examples, --db and --json, unless one of these is False.

    ``rows`` is the key of the rows in the JSON of a command that prints rows. Such a command also
    has --csv. In a ``group``, the function's name is the command's name: `schema_list` or `list_`
    is the `list` of `schema`.
    """

    def decorate(function: Callable[..., Any]) -> Command:
        new_command = click.command(None, Command, epilog=example(*examples))(function)
        if rows is not None:
            new_command.rows = rows
            new_command.declared.append(_CSV)
        new_command.declared += [_JSON] * json + [_DATABASE] * database + [_PROJECT]
        if group is not None:
            prefix = f"{str(group.name).replace('-', '_')}_"
            group.add_command(new_command, function.__name__.removeprefix(prefix).rstrip("_"))
        return new_command

    return decorate


def group(
    *examples: str,
    cls: type[CommandGroup] = CommandGroup,
    json: bool = True,
    default: str | None = None,
    help: str | None = None,  # noqa: A002 - click's name
) -> Callable[[Callable[..., Any]], click.Group]:
    """Return a decorator that makes a group; ``default`` is the command that runs unless another one is named.

    A group that runs without a subcommand has --db and, unless ``json`` is False, --json.
    """

    def decorate(function: Callable[..., Any]) -> click.Group:
        runs_alone = issubclass(cls, CommandWithArguments)
        new_group = click.group(
            None,
            cls if default is None else GroupWithDefault,
            epilog=example(*examples),
            help=help,
            invoke_without_command=runs_alone,
            subcommand_metavar="" if runs_alone else None,
        )(function)
        if isinstance(new_group, GroupWithDefault) and default is not None:
            new_group.default = default
        if runs_alone:
            new_group.declared += [_JSON, _DATABASE, _PROJECT] if json else [_DATABASE, _PROJECT]
        return new_group

    return decorate


def checked_name(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """Return the name of a judge, or raise BadInput for a name that cannot be stored."""
    from judgeboard.judges.judge import checked_judge_name

    return None if name is None else checked_judge_name(name)


def named_section(section: str, argument: str, *, metavar: str | None = None) -> Callable[[F], F]:
    """Return the argument that names a table of the project file; the table gives the options that are not typed."""

    def use_table(
        context: click.Context, _parameter: click.Parameter, name: str | None
    ) -> str | None:
        from judgeboard.settings.model import load_settings
        from judgeboard.settings.sections import values_of

        if name is not None and not context.resilient_parsing:
            table = getattr(load_settings(), section).get(name)
            # The arguments that the options named in the table have.
            context.default_map = {}
            for key, setting in () if table is None else values_of(table).items():
                typed = f"--{key.replace('_', '-')}"
                option = next((each for each in context.command.params if typed in each.opts), None)
                if option is None:
                    continue  # the file of a suite
                value = setting
                if (
                    setting is True and not option.secondary_opts
                ):  # `--all-answers` stands for False
                    value = getattr(option, "flag_value", True) is not False
                elif isinstance(setting, tuple) and not getattr(option, "multiple", False):
                    value = ",".join(setting)
                context.default_map[str(option.name)] = value
        return name

    # Click reads the words that were typed before the options that were not.
    return click.argument(argument, callback=use_table, metavar=metavar)


def judge_name(help_text: str) -> Callable[[F], F]:
    """Return the option ``--name`` of a command that makes a judge."""
    return click.option("--name", callback=checked_name, help=help_text)


def _moment(_context: click.Context, option: click.Parameter, text: str | None) -> datetime | None:
    try:
        return None if text is None else as_utc(text)
    except ValueError as error:
        raise BadInput(f"{option.opts[0]}: {error}") from error


def since(help_text: str) -> Callable[[F], F]:
    """Return the option ``--since``, a day or a time."""
    return click.option("--since", metavar="TIME", callback=_moment, help=help_text)


pair_verdicts = decorator(
    with_default(
        "--unusable",
        type=click.Choice(["drop", "tie", "wrong"]),
        default="drop",
        help="How an unusable verdict counts.",
    ),
    with_default(
        "--inconsistent",
        type=click.Choice(["net", "drop", "wrong", "tie"]),
        default="net",
        help="How a pair counts if the judge's preference changes with the order. net: if the two verdicts prefer "
        "different answers, the pair counts as a tie; if only one verdict is a tie, the other verdict counts. drop: "
        "the pair does not count. wrong: it counts as a wrong verdict. tie: it counts as a tie.",
    ),
    group="Pairs",
)


def _day(context: click.Context, option: click.Parameter, text: str | None) -> None:
    """Keep the condition that a day means, for the callback of --where."""
    if text is not None:
        field = {"since": "from", "until": "to"}[str(option.name)]
        try:
            keep(context, option, f"{field}={date.fromisoformat(text.strip()).isoformat()}")
        except ValueError:
            raise BadInput(f"{option.opts[0]} {text}: not a day; write it as 2026-03-01") from None


def _selected(
    context: click.Context, _option: click.Parameter, conditions: tuple[str, ...]
) -> RowFilter:
    days = [context.meta[name] for name in ("since", "until") if name in context.meta]
    return selection([*conditions, *days])


def selection(conditions: Sequence[str]) -> RowFilter:
    """Return the filter of --where, whose rules exist or have flags in the database. Raises BadInput otherwise."""
    where = parse_where(conditions)
    if where.rules:
        from judgeboard.flags.rules import RULES
        from judgeboard.reviews.queues import check_flag_rules

        if not RULES.keys() >= {*where.rules}:
            try:
                with open_store().reading() as connection:
                    check_flag_rules(connection, where)
            except MissingDatabase:
                check_flag_rules(None, where)
    return where


where: Callable[[F], F] = decorator(
    click.option(
        "--where", multiple=True, metavar="FIELD=VALUE", callback=_selected, help=_where_help()
    ),
    *(
        click.option(
            option,
            metavar="DAY",
            is_eager=True,  # --where reads this value
            expose_value=False,
            callback=_day,
            help=f"{which} day of the answers (UTC), for example 2026-03-01. The same as --where {field}=DAY.",
        )
        for option, which, field in (("--since", "First", "from"), ("--until", "Last", "to"))
    ),
    group="Selection",
)
implied_labels = with_default(
    "--implied-labels/--no-implied-labels",
    default=True,
    help="Count labels that a decision on a flag implies.",
)
host = with_default(
    "--host",
    default="localhost",
    help="Address to listen on. With an address other than localhost, people on the network can open the pages, so "
    "they must sign in.",
)
port = with_default(
    "--port", default=8501, type=click.IntRange(1, 65535), help="Port to listen on."
)
open_to_everybody = click.option(
    "--open",
    "is_open",
    is_flag=True,
    help="Serve other machines also if nobody must sign in: everyone who opens the pages may do everything.",
)


def listed(names: str) -> list[str]:
    """Return the names in a list that is separated by commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


actor = local_user


def reviewer(store: "Store") -> "Reviewer":
    """Return the user of this terminal as a reviewer, stored on first use."""
    from judgeboard.people.roster import ensure_reviewer

    return ensure_reviewer(store, "cli", actor())


def seen(store: "Store") -> "Seen":
    """Return the database without the rows that the user of this terminal will review blind.

    The number of hidden answers is printed to stderr, so that piped output stays unchanged.
    """
    from judgeboard.people.roster import seen_by_user

    return seen_by_user(store, actor(), lambda words: click.echo(words, err=True))


def reading() -> "Reading":
    """Return a transaction that reads what `seen` returns of the database of the command."""
    return seen(open_store()).reading()


def chosen_database() -> str | None:
    """Return the value of ``--db``."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get("db")


def open_store(*, create: bool = False) -> "Store":
    """Open the database of the command, and close the database at the end of the command."""
    from judgeboard.store.engine import database_url
    from judgeboard.store.opening import open_store
    from judgeboard.store.outages import WAIT_SECONDS, Patience

    url = database_url(chosen_database())
    folder = Path(url.database or "").parent
    is_new = create and url.get_backend_name() == "sqlite" and not folder.exists()
    patience = None
    if url.get_backend_name() == "postgresql":
        from psycopg import conninfo, pq

        # Wait while the server accepts no connections. Opening the database reports all other faults.
        patience, began = Patience(WAIT_SECONDS), time.monotonic()
        _, parameters = url.get_dialect()().create_connect_args(url)
        address = conninfo.make_conninfo(**parameters).encode()
        while pq.PGconn.ping(address) in {pq.Ping.REJECT, pq.Ping.NO_RESPONSE}:
            if not patience.wait(ConnectionError("PostgreSQL accepts no connections"), began):
                break
        else:
            patience.end_wait(time.monotonic())
    store = replace(open_store(chosen_database(), create=create), patience=patience)
    if is_new:
        echo(f"created the folder {folder}", err=True)
    click.get_current_context().call_on_close(store.close)
    end_loading()
    return store


def as_json() -> bool:
    """Whether the command prints JSON."""
    return bool(click.get_current_context().meta.get("json"))


def as_csv() -> bool:
    """Whether the command prints CSV."""
    return bool(click.get_current_context().meta.get("csv"))


def same_command(
    *more: str, instead: Mapping[str, str] | None = None, without: Iterable[str] = ()
) -> str:
    """Return the command that the user typed, with more options and masked passwords, for a message.

    ``instead`` has other words for typed words; an empty word leaves a word out. ``without`` are
    options to leave out, each with the value.
    """
    from judgeboard.settings.masking import masked

    context = click.get_current_context()
    flags = {
        name
        for option in context.command.params
        if getattr(option, "is_flag", False)
        for name in option.opts
    }
    dropped, other = {*without}, instead or {}
    words: list[str] = []
    typed_words = iter(context.meta.get("words", ()))
    for word in typed_words:
        name, equals, value = word.partition("=")
        if name in dropped:
            if not equals and name not in flags:
                next(typed_words, None)  # the value of the option
        elif equals and name.startswith("-"):  # --to=phoenix
            option, new_value = other.get(name, name), masked(other.get(value, value))
            words.append(f"{option}={new_value}" if option else new_value)
        elif word not in other or other[word]:
            words.append(masked(other.get(word, word)))
    return shlex.join(["judgeboard", *words, *more])


def completed(commands: str) -> str:
    """Return commands of this program, each with the ``--db`` that the user gave."""
    from judgeboard.settings.masking import masked

    db = chosen_database()
    return with_db(commands, None if db is None else masked(db))


def echo(line: str, *, err: bool = False, verbatim: bool = False) -> None:
    """Print a line. U+FFFD replaces each character that can control a terminal.

    Commands of this program between backticks get the ``--db`` that the user gave, unless the line
    is ``verbatim``: a text of the log.
    """
    if not verbatim:
        line = _COMMANDS.sub(lambda match: f"`{completed(match[1])}`", line)
    _print(_STEERING.sub("\N{REPLACEMENT CHARACTER}", line), err=err)


def _print(text: str, *, err: bool = False) -> None:
    """Print a text. After the reader has closed the pipe, as `head` does, the command ends with the usual exit code."""
    try:
        click.echo(text, err=err)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())


def show_lines(lines: Iterable[str], *, verbatim: bool = False) -> None:
    """Print lines as `echo` does, unless ``--json`` or ``--csv`` is given."""
    if not (as_json() or as_csv()):
        for line in lines:
            echo(line, verbatim=verbatim)


def show(
    result: object,
    lines: Iterable[str],
    more: Mapping[str, object] | None = None,
    *,
    verbatim: bool = False,
    table: "Table | None" = None,
) -> None:
    """Print the lines as `echo` does. With ``--json``, print the result and the keys of ``more`` as JSON instead.

    With ``--csv``, print the table as CSV instead; without a table, the rows of the result. A
    result without rows is one row.
    """
    from judgeboard.formats.output import rows_table, to_csv, to_json, to_plain

    if as_csv():
        if as_json():
            raise BadInput(
                f"--json and --csv both choose the output: remove one: `{same_command(without=['--csv'])}`"
            )
        if table is None:
            plain = to_plain(result)
            table = rows_table(
                plain.get(getattr(click.get_current_context().command, "rows", None), [plain])
            )
        text = to_csv(table).replace("\r\n", "\n").removesuffix("\n")
        if table.columns:
            _print(_STEERING.sub("\N{REPLACEMENT CHARACTER}", text))
    elif as_json():
        _print(to_json(to_plain(result) | more if more else result))
    else:
        show_lines(lines, verbatim=verbatim)


def suggest(*words: str) -> None:
    """Suggest the next command on stderr, with this command's ``--db``. Print nothing with ``--json``."""
    suggest_command(shlex.join(["judgeboard", *words]))


def suggest_command(command: str) -> None:
    """Suggest a whole command, as `suggest` does."""
    if not as_json():
        _print(f"next: {completed(command)}", err=True)
