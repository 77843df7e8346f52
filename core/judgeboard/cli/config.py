"""``judgeboard config``: what the environment and the database set, secrets masked."""

import click

from judgeboard.cli import options


@click.command(epilog=options.example("judgeboard config", "JUDGEBOARD_LOW_GROUNDEDNESS=0.6 judgeboard config"))
@options.database
def command(db: str | None) -> None:
    """Show every setting, where it comes from, and the database in use; secrets are masked."""
    from judgeboard.errors import JudgeboardError
    from judgeboard.llm.endpoint import PROVIDERS
    from judgeboard.settings import config_lines, load_settings
    from judgeboard.store.engine import open_store
    from judgeboard.store.settings_table import setting_origins

    for line in config_lines(load_settings(), PROVIDERS):
        click.echo(f"{line.variable} = {line.value}" if line.is_set else f"{line.variable} is not set")
    try:
        store = open_store(db)
    except JudgeboardError as error:
        click.echo(f"database: {error}")
        return
    click.echo(f"database: {store.shown_url}")
    with store.reading() as connection:
        for setting in setting_origins(connection):
            click.echo(f"  {setting.key} = {setting.value} ({setting.origin})")
    store.close()
