"""The commands `serve` and `worker`."""

import signal

import click

from judgeboard.cli import options


@options.command("judgeboard worker --db postgresql://judge@db/judgeboard", json=False)
def worker_command() -> None:
    """Run the jobs of the pages until Ctrl-C.

    With PostgreSQL, any number of workers can run on any number of machines. With SQLite, one process runs jobs: the
    server, or this worker while no server runs. A stopped worker waits for its running calls; the next worker
    continues its jobs.
    """
    from judgeboard.runs.worker import Worker

    store = options.open_store()
    click.echo(f"waiting for jobs in {store.shown_url}   (Ctrl-C stops)", err=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # systemd and containers send SIGTERM
    worker = Worker(store)
    worker.start()
    try:
        worker.wait()
    except KeyboardInterrupt:
        click.echo("stopping: waiting for the running calls", err=True)
        raise
    finally:
        worker.stop()


@options.command("judgeboard serve", "judgeboard serve --port 8600 --db postgresql://judge@db/judgeboard", json=False)
@options.host
@options.port
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Another host name under which browsers reach this server, for example the name of a proxy. Repeat for more "
    "names.",
)
def serve_command(host: str, port: int, allow_host: tuple[str, ...]) -> None:
    """Serve the pages until Ctrl-C. Creates the database if it is missing."""
    from judgeboard_dashboard.server import check_free, serve

    check_free(host, port)  # before a database is made
    options.open_store(create=True).close()
    serve(options.chosen_database(), host=host, port=port, allowed_hosts=allow_host)
