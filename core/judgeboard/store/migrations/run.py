"""Runs the migrations on an open connection."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from judgeboard.store.triggers import install_guards, install_search


def alembic_config(connection: Connection) -> Config:
    """Return a configuration that needs no ini file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def run_upgrade(connection: Connection) -> None:
    """Upgrade to the newest revision in the caller's transaction and create all triggers anew."""
    command.upgrade(alembic_config(connection), "head")
    install_guards(connection)
    install_search(connection)  # pg_trgm may have come with a newer server
