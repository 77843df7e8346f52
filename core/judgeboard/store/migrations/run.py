"""Runs the migrations on an open connection."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from judgeboard.store.columns import METADATA
from judgeboard.store.triggers import install_guards, install_search


def alembic_config(connection: Connection) -> Config:
    """Return a configuration that needs no ini file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def run_upgrade(connection: Connection, *, new: bool) -> None:
    """Create the tables of a new database, or upgrade an older one, within the caller's transaction.

    Triggers have no versions: they are created again after every upgrade.
    """
    if new:
        METADATA.create_all(connection)
        command.stamp(alembic_config(connection), "head")
    else:
        command.upgrade(alembic_config(connection), "head")
    install_guards(connection)
    install_search(connection)  # pg_trgm may have come with a newer server
