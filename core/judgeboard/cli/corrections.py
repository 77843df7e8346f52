"""The command that would have worked, for a command line that click refuses."""

import difflib
import itertools
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import EXAMPLE_MODEL
from judgeboard.domain import AlertCondition
from judgeboard.store.filters import WHERE_FIELDS

if TYPE_CHECKING:
    from sqlalchemy import Connection

# Old names of commands: the new ones. An old name is refused with its new one.
MOVED = {
    "demo": "quickstart",
    "flag": "flags apply",
    "flag --list": "flags list",
    "checks": "flags checks",
    "adjudicate": "queue adjudicate",
    "schema": "queue schema",
    "queue show": "queue list",
    "schema show": "queue schema list",
    "issue": "problem",
    "issue show": "problem list",
    "failure-mode": "problem mode",
    "rate": "labels rate",
    "plan": "labels plan",
    "threshold": "labels threshold",
    "stand": "labels stand",
    "calibrate": "labels calibrate",
    "watch": "trends watch",
    "versus": "compare versions",
    "ab": "compare sources",
    "jury": "compare judges",
    "ssr": "compare ssr",
    "ssr make-pairs": "compare make-pairs",
    "health": "test health",
    "audit": "test audit",
    "control-answers": "test controls",
    "repeats": "test repeats",
    "anchors": "test anchors",
    "suite show": "suite list",
    "reflect": "refine reflect",
    "receive": "sources receive",
    "keys": "sources keys",
    "rules": "rule",
    "rules add": "rule add judge",
    "alerts": "rule",
    "alerts add": "rule add alert",
    "push add": "rule add push",
    "push list": "rule list",
    "push pause": "rule pause",
    "push resume": "rule resume",
    "push remove": "rule remove",
    "prompt": "versions prompt",
    "migrate": "db migrate",
    "index": "db index",
    "forget": "db forget",
    "events": "db events",
}
# Old names of options: the new one, or "" where an argument takes the value.
_RENAMED = {
    "judge": {"--name": ""},
    "test controls judge": {"--name": ""},
    "test anchors judge": {"--name": ""},
    "push": {"--to": "", "--address": "--url"},
    "rule add push": {"--to": "", "--address": "--url"},
    "pull": {"--address": "--url"},
    "test health": {"--fail": "--gate", "--judge-version": ""},
    "test audit": {"--judge-version": "", "--supreme-model": "--model", "--supreme-version": "--by"},
    "refine": {"--judge-model": "--model"},
    "compare ssr": {"--tau-by": "--by"},
    "queue export": {"--items": "--limit"},
    "sources list": {"--traces": "--limit", "--source": ""},
    "compare versions": {"--judge-version": ""},
    "compare sources": {"--a": "", "--b": ""},
    "compare judges": {"--members": ""},
}


def correction(error: click.UsageError) -> str | None:
    """Return the command that would have worked; None if nothing is known that works.

    It keeps what the user typed. Names come from the database if it has any, otherwise from the example in the help.
    """
    context = error.ctx
    if context is None:
        return None
    with context:
        if isinstance(error, click.NoSuchOption):
            mended = _other_option(context, error.option_name, error.possibilities or ())
        elif isinstance(error, click.NoSuchCommand):
            near = error.possibilities
            mended = options.same_command(instead={error.command_name: near[0]}) if near else None
        elif isinstance(error, click.MissingParameter) and error.param is not None:
            mended = _with_value(context, error.param)
        elif isinstance(error, click.BadParameter) and isinstance(getattr(error.param, "type", None), click.Choice):
            mended = _nearest_choice(context, error.param)
        elif type(error) is click.UsageError and "unexpected extra argument" in error.message:
            mended = _as_options(context)
        else:
            mended = None
    return mended or _example(context)


def moved(error: click.ClickException) -> str | None:
    """Return the new name of a command if the user typed an old one, otherwise None."""
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return None
    path = _path(error.ctx)
    if isinstance(error, click.NoSuchCommand):
        path = f"{path} {error.command_name}".strip()
    words, last = list(error.ctx.meta.get("words", ())), path.rpartition(" ")[2]
    after = words[words.index(last) + 1 :][:1] if last in words else []  # an old subcommand, or an argument
    old = next((name for name in (" ".join([path, *after]), path) if name in MOVED), None)
    return None if old is None else f"`{old}` is `judgeboard {MOVED[old]}`."


def renamed(error: click.ClickException) -> str | None:
    """Return what to write instead of an old name of an option, or None if the error is another one."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return None
    new = _RENAMED.get(_path(error.ctx), {}).get(error.option_name)
    if new is None:
        return None
    if new:
        return f"{error.option_name} is called {new} here."
    names = [each.make_metavar(error.ctx) for each in error.ctx.command.params if isinstance(each, click.Argument)]
    are = "are arguments" if len(names) > 1 else "is an argument"
    return f"Leave out {error.option_name}: {' and '.join(names)} {are}."


def _path(context: click.Context) -> str:
    names: list[str] = []
    while context.parent is not None and context.parent.command is not context.command:
        names.insert(0, context.info_name or "")
        context = context.parent
    return " ".join(names)


def _example(context: click.Context) -> str | None:
    """Return the example in the help of a command that has the most words in common with the typed command."""
    if not _path(context):
        return None
    examples = [line.strip() for line in (context.command.epilog or "").partition("Example:\n")[2].splitlines()]
    typed = {*context.meta.get("words", ())}
    return max(examples, key=lambda line: len(typed.intersection(line.split())), default=None)


def _commands(context: click.Context) -> Sequence[str]:
    return context.command.list_commands(context) if isinstance(context.command, click.Group) else ()


def _has(context: click.Context, option: str) -> bool:
    return any(option in parameter.opts for parameter in context.command.params)


def _other_option(context: click.Context, wrong: str, possible: Sequence[str]) -> str | None:
    if wrong in (old := _RENAMED.get(_path(context), {})):
        return options.same_command(*_missing_versions(context), instead=old)
    if "list" in _commands(context) and not _has(context, "--json"):
        name = context.info_name or ""
        return options.same_command(instead={name: f"{name} list"})
    typed = {word.partition("=")[0] for word in context.meta.get("words", ())}
    possible = [name for name in possible if name != "--help" and name not in typed]
    is_begun = any(name.startswith(wrong) for name in possible)
    if not is_begun and (condition := _as_condition(context, wrong)) is not None:
        return options.same_command(instead=condition)
    return options.same_command(instead={wrong: possible[0]}) if possible else None


def _as_condition(context: click.Context, wrong: str) -> dict[str, str] | None:
    """Return the words that write an unknown option as a condition of --where; None if it is no field."""
    field = wrong.removeprefix("--").replace("-", "_")
    if field not in WHERE_FIELDS or field in _SIDES or not _has(context, "--where"):
        return None
    words = list(context.meta.get("words", ()))
    values = [word.removeprefix(f"{wrong}=") for word in words if word.startswith(f"{wrong}=")]
    values += [after for word, after in itertools.pairwise(words) if word == wrong]
    if not values or not values[0] or any(letter.isspace() for letter in values[0]):
        return None
    return {wrong: "--where", values[0]: f"{field}={values[0]}"}


_SIDES = ("user", "time")  # fields whose names promise more than their values


def near_options(error: click.NoSuchOption) -> list[str]:
    """Return the options of click's suggestion that are really similar to what the user typed."""
    wrong = error.option_name

    def is_near(name: str) -> bool:
        return name.startswith(wrong) or difflib.SequenceMatcher(None, wrong, name).ratio() >= _SIMILAR

    return [name for name in error.possibilities or () if is_near(name)]


_SIMILAR = 0.7


def _with_value(context: click.Context, missing: click.Parameter) -> str | None:
    """Return the typed command with a value for a missing argument or option."""
    if missing.name in {"judge_version", "first", "second", "members"}:
        extra = _extra(context) if missing.opts[0] == "--judge-version" else []
        versions = _missing_versions(context, extra)
        return options.same_command(*versions, instead=dict.fromkeys(extra, "")) if versions else None
    if _path(context) == "queue next":
        name = _first(_open_queues, 1)
        return options.same_command(*name) if name else None
    if _path(context) == "rule add alert" and missing.name == "to":
        return _with_destination(context)
    return None


def _with_destination(context: click.Context) -> str | None:
    """Return the typed `rule add alert` with a destination; None without the threshold that its condition needs."""
    from judgeboard.alerts.conditions import CONDITIONS

    when = context.params.get("when")
    if when is None:
        return None
    condition = CONDITIONS[AlertCondition(when)]
    has_threshold = any(context.params.get(name) is not None for name in ("above", "below"))
    if condition.unit is not None and condition.threshold is None and not has_threshold:
        return None
    return options.same_command("--to", "slack:env:SLACK_URL")


# Commands whose arguments are judge versions, and how many they need.
_VERSIONS = {"test audit": 1, "compare versions": 2, "compare judges": 2}


def _missing_versions(context: click.Context, extra: Sequence[str] = ()) -> list[str]:
    """Return the words that name the judge versions which a command needs. ``extra`` has typed words that name one."""
    words, path = context.meta.get("words", ()), _path(context)
    if path == "align" and "--judge-version" not in words:
        titles = list(extra) or _first(_alignable, 1)
        model = [] if "--model" in words else ["--model", EXAMPLE_MODEL]
        return ["--judge-version", titles[0], *model] if titles else []
    typed = _arguments(context)
    missing = _VERSIONS.get(path, 0) - len(typed)
    supreme = path == "test audit" and not {"--model", "--replies", "--by"} & {*words}
    wanted = max(missing, 0) + supreme
    known = [title for title in _first(_by_interest, wanted + len(typed)) if not title.startswith((*typed, "\0"))]
    if missing <= 0 or len(known) < wanted:
        return []
    return [*known[:1], "--recorded", "--by", known[1]] if supreme else known[:wanted]


def _arguments(context: click.Context) -> list[str]:
    """Return the words that the user typed as arguments of the command, whatever its options are called."""
    old = _RENAMED.get(_path(context), {})
    words = [word for word in _words_after_the_name(context) if word not in old]
    parser = context.command.make_parser(context)
    parser.ignore_unknown_options = True
    try:
        values = parser.parse_args(words)[0]
    except click.UsageError:
        return []
    typed: list[str] = []
    for each in context.command.params:
        value = values.get(each.name) if isinstance(each, click.Argument) else None
        typed += [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else []
    return [name for value in typed if not value.startswith("-") for name in options.listed(value)]


def _nearest_choice(context: click.Context, param: click.Parameter | None) -> str | None:
    """Return the typed command with the choice that is most similar to a wrong one."""
    choices = {str(choice): str(choice) for choice in getattr(getattr(param, "type", None), "choices", ())}
    for word in context.meta.get("words", ()):
        near = difflib.get_close_matches(word.casefold(), choices, n=1)
        if word not in choices and near:
            return options.same_command(instead={word: near[0]})
    return None


def _extra(context: click.Context) -> list[str]:
    """Return the words that the user typed after the last argument of the command."""
    try:
        return context.command.make_parser(context).parse_args(_words_after_the_name(context))[1]
    except click.UsageError:
        return []


def _words_after_the_name(context: click.Context) -> list[str]:
    words = list(context.meta.get("words", ()))
    for name in _path(context).split():
        words = words[words.index(name) + 1 :] if name in words else words
    return words


def _as_options(context: click.Context) -> str | None:
    """Return the typed command with its extra words as options: a filter, a judge version, a kind of judge."""
    extra = _extra(context)
    if any(_is_file(word) for word in extra):
        return None
    more: list[str] = []
    for word in extra:
        is_condition = "=" in word and _has(context, "--where")
        option = "--where" if is_condition else "--judge-version" if _has(context, "--judge-version") else "--judge"
        if not _has(context, option):
            return None
        more += [option, word]
    return options.same_command(*more, instead=dict.fromkeys(extra, "")) if extra else None


def _is_file(word: str) -> bool:
    """Return whether a word names a file: no judge and no filter."""
    return "=" not in word and (Path(word).suffix in _FILE_ENDINGS or Path(word).is_file())


_FILE_ENDINGS = (".csv", ".json", ".jsonl", ".parquet", ".gz", ".txt", ".yaml", ".toml", ".db")


def _first(names: Callable[["Connection"], list[str]], count: int) -> list[str]:
    """Return the first names in the database that the user chose; none if it cannot be read."""
    from judgeboard.errors import JudgeboardError
    from judgeboard.store.opening import open_store

    try:
        store = open_store(options.typed_database())
    except JudgeboardError:
        return []
    try:
        with store.reading() as connection:
            return names(connection)[:count]
    finally:
        store.close()


def _by_interest(connection: "Connection", kinds: Collection[str] = ()) -> list[str]:
    """Return the titles of the judge versions: first the primary judge, then those with the most judgments."""
    from judgeboard.store.judge_versions import list_versions
    from judgeboard.store.overview import count_judgments
    from judgeboard.store.settings import primary_judge

    primary = primary_judge(connection)
    counts = {id_: sum(each.by_status.values()) for id_, each in count_judgments(connection).items()}
    versions = list_versions(connection)
    versions.sort(key=lambda version: (version.name != primary, -counts.get(version.id, 0), -version.id))
    return [version.title for version in versions if not kinds or version.kind in kinds]


def _alignable(connection: "Connection") -> list[str]:
    return _by_interest(connection, ("rag", "grade"))


def _open_queues(connection: "Connection") -> list[str]:
    from judgeboard.store.queues import list_queues

    return [queue.name for queue in list_queues(connection, only_open=True)]
