"""The commands `serve` and `worker`."""

import signal

import click

from judgeboard.cli import options


@click.command(epilog=options.example("judgeboard worker --db postgresql://desk@db/judgeboard"))
@options.database
def worker_command(db: str | None) -> None:
    """Take the jobs that pages ask for, until Ctrl-C; start as many as wanted, on as many machines, on PostgreSQL.

    On SQLite one process takes jobs: the server, or this one where no server runs. Stopped, it finishes the calls in
    flight; the next worker goes on with its jobs.
    """
    from judgeboard.runs.worker import Worker
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


@click.command(
    epilog=options.example("judgeboard serve", "judgeboard serve --port 8600 --db postgresql://desk@db/judgeboard")
)
@options.host
@options.port
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A further name under which browsers reach this server (a proxy's); repeat.",
)
@options.database
def serve_command(host: str, port: int, allow_host: tuple[str, ...], db: str | None) -> None:
    """Serve the dashboard until Ctrl-C; a missing database is made."""
    from judgeboard.store.engine import open_store
    from judgeboard_dashboard.server import serve

    open_store(db, create=True).close()
    serve(db, host=host, port=port, allowed_hosts=allow_host)
