"""``judgeboard migrate``: bring a database to the schema of this program."""

import click

from judgeboard.cli import options


@click.command(epilog=options.example("judgeboard migrate --db data/judgeboard.db"))
@options.database
def command(db: str | None) -> None:
    """Bring the database to this program's schema; a missing one is made."""
    from judgeboard.store.engine import Store, connect, database_url, upgrade
    from judgeboard.store.migrations import HEAD

    store = Store(connect(database_url(db), create=True))
    before = upgrade(store)
    click.echo(f"{store.shown_url}: {'made' if before is None else f'was at {before}'}, now at {HEAD}")
    store.close()
