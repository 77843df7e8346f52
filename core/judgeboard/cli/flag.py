"""``judgeboard flag``: apply the flag rules again."""

import click

from judgeboard.cli import options


@click.command(epilog=options.example("judgeboard flag"))
@options.database
def command(db: str | None) -> None:
    """Apply the rules to every answer again, after a threshold or the primary judge has changed.

    Raising again adds nothing, and what people decided does not come back.
    """
    from judgeboard.cli.terminal import actor, progress_bar
    from judgeboard.flagging import raise_flags
    from judgeboard.store.engine import open_store

    store = open_store(db)
    with progress_bar() as bar:
        task = None if bar is None else bar.add_task("flags", total=None)

        def show(done: int, total: int) -> None:
            if bar is not None and task is not None:
                bar.update(task, completed=done, total=total)

        summary = raise_flags(store, actor=actor(), progress=show)
    store.close()
    made = summary.responses - summary.logged
    beside = f" and {made:,} of pairs, suites, controls or made anew" if made else ""
    click.echo(
        f"{summary.logged:,} answers of the log{beside}: "
        f"{summary.raised:,} flags raised, {summary.superseded:,} superseded"
    )
