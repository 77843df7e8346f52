"""The commands that serve the pages: `quickstart`, `serve`, and `worker`, which runs the jobs of pages."""

import os
import shlex
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import click

from judgeboard.cli import end_loading, options
from judgeboard.cli.asking import refuse_given
from judgeboard.cli.groups import CommandWithArguments
from judgeboard.cli.import_command import (
    NOTHING_USABLE,
    dates_option,
    import_one,
    mapping_option,
    open_target,
)
from judgeboard.cli.judge import summary_lines
from judgeboard.errors import BadInput
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.imports.reading import ImportRequest

SAMPLE_DATABASE = "data/demo.db"


@options.group(
    "judgeboard worker --db postgresql://judge@db/judgeboard", cls=CommandWithArguments, json=False
)
def worker_command() -> None:
    """Run the jobs of pages and rules, or cancel one. Runs until Ctrl-C.

    `judgeboard db events --kind run` shows all runs, also those that have not ended. `judgeboard
    rule list` shows why a rule does not judge. To judge now, without a worker: `judgeboard judge
    NAME`

    With PostgreSQL, any number of workers can run on any number of machines. With SQLite, only one
    process runs jobs: the server, or a worker while no server runs. On Ctrl-C, a worker finishes
    the calls that end within seconds, and exits within 10 seconds. The next worker continues the
    jobs. To end a job: `judgeboard worker cancel`
    """
    from judgeboard.runs.shutdown import end_in_time
    from judgeboard.runs.worker import Worker
    from judgeboard.settings.masking import log_with_time
    from judgeboard.settings.model import load_settings

    log_with_time()
    load_settings()  # raises an error if the project file is not in force
    store = replace(options.open_store(), patience=None)  # a worker handles an outage itself
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # systemd and containers send SIGTERM
    end_in_time()
    click.echo(f"waiting for jobs in {store.shown_url}   (Ctrl-C stops)", err=True)
    worker = Worker(store)
    worker.start()
    try:
        worker.wait()
    except KeyboardInterrupt:
        click.echo("stopping: waiting for the running calls", err=True)
        raise
    finally:
        worker.stop()


@options.command(
    "judgeboard worker cancel", "judgeboard worker cancel 12", group=worker_command, json=False
)
@click.argument("job", required=False, metavar="[RUN|JOB]")
def cancel(job: str | None) -> None:
    """Cancel a job. Its running calls are finished and stored.

    RUN is the number of the job's run, as in `judgeboard db events --kind run`. JOB is the id of
    the job, also before its run begins. Without an argument, the command cancels the job if there
    is only one. If there are several jobs, it lists them with their numbers and ids. A command in
    another terminal is no job: stop it there with Ctrl-C.
    """
    from judgeboard.runs.jobs import cancel_job, open_jobs

    store = options.open_store()
    jobs = [each for each in open_jobs(store) if each.state != "stopping"]
    matching_jobs = [
        each
        for each in jobs
        if job is None or job == each.id or (each.run_id and job == str(each.run_id))
    ]
    if job is not None and not matching_jobs:
        raise BadInput(
            f"there is no waiting or running job {job}: it has ended or is stopping, or it is a command, which Ctrl-C "
            "stops in its terminal"
        )
    if not jobs:
        raise BadInput(
            "no job is waiting or running: `judgeboard db events --kind job_failed` shows why jobs ended early. A "
            "command in another terminal is stopped there with Ctrl-C"
        )
    if len(matching_jobs) > 1:
        names = ", ".join(
            each.id if each.run_id is None else str(each.run_id) for each in matching_jobs
        )
        raise BadInput(f"{len(matching_jobs)} jobs are waiting or running: name one of {names}")
    [job_to_cancel] = matching_jobs
    cancel_job(store, job_to_cancel.id, options.actor())
    progress = f"after {job_to_cancel.asked:,} of {counted(job_to_cancel.selected, 'answer')}"
    click.echo(
        f"Cancelled {'before it began' if job_to_cancel.run_id is None else progress}. Verdicts are kept."
    )


@options.command(
    "judgeboard serve",
    "judgeboard serve --port 8600 --db postgresql://judge@db/judgeboard",
    json=False,
)
@options.host
@options.port
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Additional host name at which browsers reach this server, for example the name of a proxy. Repeat for more "
    "names.",
)
@options.open_to_everybody
def serve_command(host: str, port: int, allow_host: tuple[str, ...], is_open: bool) -> None:
    """Serve the pages until Ctrl-C. Creates the database if it is missing."""
    from judgeboard.settings.masking import log_with_time
    from judgeboard_dashboard.server import check_closed, check_free, serve

    log_with_time()
    # Before the database is created.
    check_free(host, port)
    check_closed(options.chosen_database(), host, allow_host, is_open=is_open)
    options.open_store(create=True).close()
    serve(
        options.chosen_database(), host=host, port=port, allowed_hosts=allow_host, is_open=is_open
    )


@options.command(
    "judgeboard quickstart answers.jsonl",
    "judgeboard quickstart",
    "judgeboard quickstart log.csv --map Frage=query --map Antwort=answer --db shop.db --no-serve",
    json=False,
)
@click.argument("file", metavar="[LOG]", required=False)
@mapping_option(
    "Map a column of the file to a field (COLUMN=FIELD), for example Frage=query. Repeat for more columns."
)
@dates_option
@click.option("--source", help="Name of the log (default: default).")
@click.option("--no-serve", is_flag=True, help="Do not serve the pages at the end.")
@options.host
@options.port
@options.open_to_everybody
@click.pass_context
def quickstart_command(
    context: click.Context,
    /,
    file: str | None,
    no_serve: bool,
    host: str,
    port: int,
    is_open: bool,
    **request: "Unpack[ImportRequest]",
) -> int:
    """Import a log, judge it offline and serve the pages. Without LOG, use sample data.

    Needs no key and no network. A second run changes nothing. The sample data are stored in
    data/demo.db, unless --db names another database, and the judgeboard.toml of the folder is not
    used for them. Exit code 2: no row of the file could be used.
    """
    from judgeboard.runs.judging import judge_pending, make_judge
    from judgeboard.store.overview import count_open_flags

    if file is None:
        refuse_given(context, "without LOG, sample data are used; name a LOG", {*request})
    sample_database = options.chosen_database() or SAMPLE_DATABASE
    database = sample_database if file is None else options.chosen_database()
    if not no_serve:
        from judgeboard_dashboard.server import check_closed, check_free, serve

        check_free(host, port)
        check_closed(database, host, is_open=is_open)
    if file is None:
        # Store and serve the sample data.
        from judgeboard.cli.demo import fill
        from judgeboard.settings.masking import masked
        from judgeboard.settings.project_file import without_project_file
        from judgeboard.store.opening import open_store

        with without_project_file() as left_out:
            if left_out is not None:
                click.echo(f"{left_out} is not used, because it is not about the sample data")
            store = open_store(sample_database, create=True)
            end_loading()
            fill(store, click.echo)
            click.echo(f"database: {store.shown_url}")
            store.close()
            if no_serve:
                # `judgeboard serve` without --db opens the user's own database.
                config = () if left_out is None else ("--config", os.devnull)
                command = ["judgeboard", "serve", "--db", masked(sample_database), *config]
                click.echo(f"to open it: {shlex.join(command)}")
            else:
                serve(sample_database, host=host, port=port, is_open=is_open)
        return 0
    request["kind"] = "responses"
    store = open_target([file], request)
    code = import_one(store, file, request).code
    if code == NOTHING_USABLE:
        return code
    # Judging raises the flags.
    options.show_lines(
        summary_lines(judge_pending(store, make_judge("lexical"), actor=options.actor()))
    )
    with store.reading() as connection:
        click.echo(f"open flags: {count_open_flags(connection):,}")
    if no_serve:
        options.suggest("serve")
        return code
    store.close()
    serve(database, host=host, port=port, is_open=is_open)
    return code
