"""``judgeboard forget``: blank the texts of a response for good."""

import click

from judgeboard.cli import options


@click.command(epilog=options.example("judgeboard forget chat-4711 --source shop"))
@click.argument("response")
@click.option("--source", help="Which log is meant, where several have the id.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.database
def command(response: str, source: str | None, yes: bool, db: str | None) -> None:
    """Blank the texts of RESPONSE (its outside id) and all that was said about it; scores and decisions stay.

    What was made from it goes with it: controls, regenerated answers, attempts, and the pairs it stands in. It cannot
    be undone. An event keeps who did it and when.
    """
    from judgeboard.cli.terminal import actor
    from judgeboard.store.engine import open_store
    from judgeboard.store.forgetting import drop_written_ahead, forget_response

    store = open_store(db)
    if not yes:
        click.confirm(f"Blank every text of {response} in {store.shown_url}? This cannot be undone", abort=True)
    with store.writing() as connection:
        ids = forget_response(connection, response, source=source, actor=actor())
    emptied = drop_written_ahead(store)
    store.close()
    more = f" and {len(ids) - 1:,} made from it" if len(ids) > 1 else ""
    click.echo(f"forgotten: {response}{more}")
    if not emptied:
        click.echo(
            "another program reads the database now: the old texts leave its file when that one is done", err=True
        )
