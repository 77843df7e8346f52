"""``judgeboard serve``: the review desk in a browser."""

import click

from judgeboard.cli import options


@click.command(
    epilog=options.example("judgeboard serve", "judgeboard serve --port 8600 --db postgresql://desk@db/judgeboard")
)
@options.host
@options.port
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A further name under which browsers reach this server (a proxy's); repeat.",
)
@options.database
def command(host: str, port: int, allow_host: tuple[str, ...], db: str | None) -> None:
    """Serve the dashboard until Ctrl-C; a missing database is made."""
    from judgeboard.store.engine import open_store
    from judgeboard_dashboard.serve import serve

    open_store(db, create=True).close()
    serve(db, host=host, port=port, allowed_hosts=allow_host)
