"""Alembic's entry point; it uses the connection and the transaction of the caller."""

from alembic import context

from judgeboard.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
