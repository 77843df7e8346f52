"""Runs the migrations on an open connection."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, inspect, text

from judgeboard.store.engine import AdvisoryLock, take_lock
from judgeboard.store.jobs import interrupt_work
from judgeboard.store.tables import METADATA
from judgeboard.store.triggers import install_guards, install_search

_REVISION = text("SELECT version_num FROM alembic_version")
UPGRADED = "the database was upgraded; to continue, start the same job again"


def alembic_config(connection: Connection) -> Config:
    """Return a configuration that needs no ini file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def run_upgrade(connection: Connection) -> None:
    """Create the tables, or upgrade them, within the caller's transaction; other processes wait for it.

    Triggers have no versions: they are created again after every upgrade. No process works during
    an upgrade, so jobs and runs that have not ended become interrupted ones.
    """
    take_lock(connection, AdvisoryLock.UPGRADES)
    if not inspect(connection).has_table("alembic_version"):
        METADATA.create_all(connection)
        command.stamp(alembic_config(connection), "head")
        before = after = None
    else:
        before = connection.execute(_REVISION).scalar_one()
        command.upgrade(alembic_config(connection), "head")
        after = connection.execute(_REVISION).scalar_one()
    install_guards(connection)
    install_search(connection)  # a newer server may have brought pg_trgm
    if after != before:
        interrupt_work(connection, UPGRADED)
