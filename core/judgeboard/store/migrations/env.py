"""Alembic's entry: the connection and its transaction are the caller's."""

from alembic import context

from judgeboard.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
