"""The commands `init` and `config`: write the project file, and show every setting."""

import itertools
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from judgeboard.cli import options
from judgeboard.errors import BadInput, JudgeboardError, MissingDatabase, UnconfirmedFile

if TYPE_CHECKING:
    from judgeboard.imports.mapping import FileMapping

_ROWS = 100  # of an export, whose keys are shown
EXAMPLE_MODELS = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-4-5"}
PLAIN_KEYS = "abcdefghijklmnopqrstuvwxyz0123456789_-"

HEAD = """\
# The settings of this project, for every command below this folder. `judgeboard config` shows each value in force.
# An option of a command and a variable (JUDGEBOARD_LOW_GROUNDEDNESS) take precedence over this file.
# Keys never stand here, but in the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY.
"""


@options.command("judgeboard init", "judgeboard init log.csv", json=False)
@click.argument("files", nargs=-1, metavar="[LOG]...")
@options.with_default(
    "--source", default="default", help="Name for LOG in judgeboard.toml; you choose it."
)
def init_command(files: tuple[str, ...], source: str) -> None:
    """Write the project file judgeboard.toml into this folder. It has the database, a judge and the columns of LOG.

    The judge is a model if a key is set, otherwise the offline judge. An existing file is not
    changed. With --config, the file is written to that path.
    """
    from judgeboard.formats.files import write_whole
    from judgeboard.settings.model import provider_address, provider_key
    from judgeboard.settings.project_file import PROJECT_FILE, leave_project_file

    config_path = leave_project_file()  # the file does not exist yet
    path = config_path or Path(PROJECT_FILE)
    if path.exists():
        raise BadInput(f"{path} exists already: edit it, or remove it first")
    logs = [_log(file) for file in files]
    # The judge main is a comment if there is no key for a model.
    names = [name for name in EXAMPLE_MODELS if provider_key(name) or provider_address(name)]
    model = EXAMPLE_MODELS[names[0] if names else "openai"]
    # The table of the source, with the fields that the columns of the logs look like.
    source_lines: list[str] = []
    if logs:
        source_lines.append(f"[sources.{_key(source)}]")
        source_lines += (f"# {log.file}: {_columns(log)}" for log in logs)
        if dates := next((log.asks_dates for log in logs if log.asks_dates is not None), None):
            source_lines.append(f'dates = "day-first"  # {dates.example}: or month-first')
        source_lines += ("", f"[sources.{_key(source)}.map]  # column = our field")
    proposed: dict[str, str] = {}
    for log in logs:
        proposed |= log.columns
        source_lines += (
            f'# COLUMN = "{ours}"  # no column of {log.file} looks like this'
            for ours in log.missing
        )
    source_lines += (f'{_key(theirs)} = "{ours}"' for theirs, ours in proposed.items())
    text = "\n".join(
        [
            HEAD,
            SETTINGS.format(
                primary="main" if names else "lexical", mark="" if names else "# ", model=model
            ),
            *source_lines,
            EXAMPLES,
        ]
    )
    write_whole(path, lambda file: file.write(f"{text.rstrip()}\n".encode()), private=False)
    is_typed = (
        click.get_current_context().get_parameter_source("config") is ParameterSource.COMMANDLINE
    )
    config = ("--config", str(config_path)) if is_typed else ()
    command = shlex.join(["judgeboard", "config", *config])
    click.echo(
        f"{path}: written. `{command}` shows all settings. The first import creates the database."
    )
    if not logs:
        options.suggest("import", "LOG", *config)
    for log in logs:
        options.suggest(
            "import", log.file, *(() if source == "default" else ("--source", source)), *config
        )
    options.suggest("judge", *config)


def _log(file: str) -> "FileMapping":
    """Return how an import would read the columns of a log."""
    from judgeboard.imports.mapping import FileMapping, MappedField
    from judgeboard.imports.reading import read_records

    with read_records(file, kind="responses") as reading:
        if reading.mapping is not None:
            return reading.mapping
        list(itertools.islice(reading, _ROWS))  # the keys of an export are known after a read
        uses = (use for use in reading.columns() if use.ours and use.theirs)
        return FileMapping(
            file, "responses", tuple(MappedField(str(use.ours), use.theirs, ()) for use in uses)
        )


SETTINGS = """\
db = "judgeboard.db"  # a SQLite file, or an address: postgresql://judge@db/judgeboard
primary_judge = "{primary}"  # pages, trends and flag rules use this judge

# Flag rules. These are the defaults.
# low_groundedness = 0.5  # an answer with a lower score is flagged
# random_share = 0.02  # so many answers are flagged at random: figures of all answers rest on them
# always_review = ["medical"]  # query types of which every answer is flagged

# A judge that asks a model. It needs a key in the environment, or the address of your own server.
{mark}[judges.main]
{mark}model = "{model}"
# base_url = "http://localhost:8000/v1"
# prompt = "prompt.md"  # `judgeboard versions prompt rag > prompt.md` writes the built-in one

[judges.lexical]  # word overlap: works offline and costs nothing
kind = "lexical"
"""


EXAMPLES = """\
# More tables. `judgeboard config --schema` lists every name.
# [[checks]]  # an answer that fails a check is flagged
# name = "short enough"
# length = {max_words = 400}

# [queues.medical]  # `judgeboard queue create medical`
# where = {query_type = "medical"}
# needed = 2
# assign = ["Mara", "Jon"]

# [suites.release]  # `judgeboard suite run release`
# file = "suite.yaml"
# by = "main"
# threshold = 4

# [alerts.old]  # `judgeboard rule add alert old`
# when = "old_flags"
# after = "2d"
# to = "slack:env:SLACK_URL"

# [judging_rules.live]  # `judgeboard rule add judge live`: workers judge new answers
# judge = "main"
# rate = 0.1
# max_cost = 5
"""


def _columns(log: "FileMapping") -> str:
    read = ", ".join(
        f"{each.theirs} is {each.ours}"
        for each in log.fields
        if each.theirs not in {None, *log.columns}
    )
    return " ".join(read.split()) or "no column is known by its name"


def _key(name: str) -> str:
    """Return a name as a key in TOML."""
    return (
        name
        if name and not {*name.lower()}.difference(PLAIN_KEYS)
        else json.dumps(name, ensure_ascii=False)
    )


@options.command("judgeboard config", "JUDGEBOARD_LOW_GROUNDEDNESS=0.6 judgeboard config")
@click.option(
    "--schema", is_flag=True, help="Print the JSON Schema of judgeboard.toml, for an editor."
)
@click.option(
    "--confirm",
    "confirms",
    is_flag=True,
    help="Confirm the project file as it is, with what it names outside.",
)
def config_command(schema: bool, confirms: bool) -> int:
    """Show each setting, its value and its origin. The first line is the database in use. Secrets are masked.

    The origin is one of these: a variable of the environment, a line of judgeboard.toml, `stored`
    (in the database), or `default`. If several of them have a value, the first in this order
    counts. If the environment or judgeboard.toml gives a value, the page Flag rules cannot change
    it.

    A project file that names an address, a command, or a file outside of its folder is in force
    only after you have confirmed it. A changed file needs a new confirmation.

    Exit code 2: the database exists but cannot be opened, or a value cannot be used.
    """
    from judgeboard.health.doctor import settings_faults
    from judgeboard.llm.endpoint import PROVIDERS
    from judgeboard.settings.model import Settings, load_settings, shown_settings
    from judgeboard.settings.project_file import confirm
    from judgeboard.store.settings import settings_in_force

    if schema:
        click.echo(json.dumps(Settings.model_json_schema(), indent=2))
        return 0
    if confirms:
        try:
            load_settings()
        except UnconfirmedFile as unconfirmed:
            confirm(unconfirmed)
        click.echo("the project file is in force")
        return 0
    settings, database, code = load_settings(), "", 0
    try:
        store = options.open_store()
        database = store.shown_url
        with store.reading() as connection:
            settings = settings_in_force(connection)
            faults = [*settings_faults(settings, connection)]
    except JudgeboardError as error:
        if database and isinstance(error, BadInput):
            faults = [error]
        else:
            database, faults = str(error), [*settings_faults(settings, None)]
            code = (
                0 if isinstance(error, MissingDatabase) else error.exit_code
            )  # no database before the first import
    rows = shown_settings(settings, PROVIDERS)
    width = max(len(each.name) for each in rows)
    lines = [
        f"{each.name:{width}}  {'not set' if each.value is None else each.value}  ({each.origin})"
        for each in rows
    ]
    settings_json = [
        {"name": each.name, "value": each.value, "origin": each.origin} for each in rows
    ]
    config_json = {
        "database": database,
        "settings": settings_json,
        "faults": [str(fault) for fault in faults],
    }
    options.show(config_json, [f"database in use: {database}", *lines])
    for fault in faults:
        options.echo(f"judgeboard: {fault}", err=True)
        code = fault.exit_code
    return code
