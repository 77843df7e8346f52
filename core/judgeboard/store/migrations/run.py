"""Runs the migrations on an open connection."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, func, inspect, select

from judgeboard.store.tables import METADATA
from judgeboard.store.triggers import install_guards, install_search

_UPGRADES = 5_872_341  # number of the advisory lock


def alembic_config(connection: Connection) -> Config:
    """Return a configuration that needs no ini file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def run_upgrade(connection: Connection) -> None:
    """Create the tables, or upgrade them, within the caller's transaction; other processes wait for it.

    Triggers have no versions: they are created again after every upgrade.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_UPGRADES)))
    if not inspect(connection).has_table("alembic_version"):
        METADATA.create_all(connection)
        command.stamp(alembic_config(connection), "head")
    else:
        command.upgrade(alembic_config(connection), "head")
    install_guards(connection)
    install_search(connection)  # a newer server may have brought pg_trgm
