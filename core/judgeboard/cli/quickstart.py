"""The command `quickstart`: imports a log, judges it offline, raises flags and serves the pages."""

import click

from judgeboard.cli import options
from judgeboard.cli.import_command import NOTHING_USABLE, import_one
from judgeboard.cli.judge import summary_lines


@options.command(
    "judgeboard quickstart answers.jsonl",
    "judgeboard quickstart log.csv --map Frage=query --map Antwort=answer --db shop.db --no-serve",
    json=False,
)
@click.argument("file", metavar="FILE")
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="THEIRS=ours",
    help="Name the field that a column of the file contains, for example Frage=query. Repeat for more columns.",
)
@click.option("--source", help="Name of the log (default: default).")
@click.option("--no-serve", is_flag=True, help="Do not serve the pages at the end.")
@options.host
@options.port
def quickstart_command(
    file: str, mapping: tuple[str, ...], source: str | None, no_serve: bool, host: str, port: int
) -> int:
    """Import a log, judge it offline, raise flags and serve the pages.

    Needs no key and no network. A second run changes nothing. Exit code 2: no row of the file could be used.
    """
    from judgeboard.imports.fields import parse_mapping
    from judgeboard.runs.judging import judge_pending, make_judge
    from judgeboard.store.overview import count_open_flags

    if not no_serve:
        from judgeboard_dashboard.server import check_free

        check_free(host, port)
    columns, actor = parse_mapping(mapping), options.actor()
    store = options.open_store(create=True)
    code = import_one(store, file, {"mapping": columns, "source": source, "actor": actor})
    if code == NOTHING_USABLE:
        return code
    for line in summary_lines(judge_pending(store, make_judge("lexical"), actor=actor)):  # judging raises the flags
        options.echo(line)
    with store.reading() as connection:
        click.echo(f"open flags: {count_open_flags(connection):,}")
    if no_serve:
        options.suggest("serve")
        return code
    from judgeboard_dashboard.server import serve

    store.close()
    serve(options.chosen_database(), host=host, port=port)
    return code
