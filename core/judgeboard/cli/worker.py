"""``judgeboard worker``: take jobs without serving pages."""

import signal

import click

from judgeboard.cli import options


@click.command(epilog=options.example("judgeboard worker --db postgresql://desk@db/judgeboard"))
@options.database
def command(db: str | None) -> None:
    """Take the jobs that pages ask for, until Ctrl-C; start as many as wanted, on as many machines, on PostgreSQL.

    On SQLite one process takes jobs: the server, or this one where no server runs. Stopped, it finishes the calls in
    flight; the next worker goes on with its jobs.
    """
    from judgeboard.jobs.worker import Worker
    from judgeboard.store.engine import open_store

    store = open_store(db)
    click.echo(f"taking jobs of {store.shown_url}   (Ctrl-C stops)", err=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what systemd and containers send means the same
    worker = Worker(store)
    worker.start()
    try:
        worker.wait()
    except KeyboardInterrupt:
        click.echo("stopping: the calls in flight are finished", err=True)
        raise
    finally:
        worker.stop()
