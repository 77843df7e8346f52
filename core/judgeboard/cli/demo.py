"""``judgeboard demo``: the desk on a sample log."""

import shlex

import click

from judgeboard.cli import options

DEFAULT = "data/demo.db"


@click.command(epilog=options.example("judgeboard demo", "judgeboard demo --no-serve --db /tmp/demo.db"))
@click.option("--no-serve", is_flag=True, help="Stop before serving.")
@options.host
@options.port
@click.option("--db", default=DEFAULT, show_default=True, metavar="PATH|URL", help="The database of the demo.")
def command(no_serve: bool, host: str, port: int, db: str) -> None:
    """Import the bundled sample log, judge it offline, raise flags, and serve the desk.

    No key and no network are needed. A second run changes nothing.
    """
    from judgeboard.demo import fill
    from judgeboard.settings import masked
    from judgeboard.store.engine import open_store

    if not no_serve:
        from judgeboard_dashboard.serve import check_free

        check_free(host, port)
    store = open_store(db, create=True)
    fill(store, click.echo)
    click.echo(f"database: {store.shown_url}")
    store.close()
    if no_serve:
        # Said with its database: `judgeboard serve` alone opens the log's own, in which there is nothing of the demo.
        click.echo(f"to look at it: judgeboard serve --db {shlex.quote(masked(db))}")
    else:
        from judgeboard_dashboard.serve import serve

        serve(db, host=host, port=port)
