"""``judgeboard queue export|merge``: a slice of a queue as a file, and its way back."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, show_json


@click.command(
    "export", epilog=options.example("judgeboard queue export legal --reviewer mara@example.org --items 50 mara.jsonl")
)
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--reviewer", required=True, metavar="WHO", help="Who reviews it, by name.")
@click.option("--items", type=click.IntRange(1, 1000), default=50, show_default=True, metavar="N", help="How many.")
@click.option(
    "--hold-days",
    type=options.FiniteRange(0, 60, min_open=True),
    default=7.0,
    help="For how long nobody else gets them (7).",
)
@as_json
@options.database
def export(name: str, file: Path, reviewer: str, items: int, hold_days: float, as_json: bool, db: str | None) -> None:
    """Write items of a queue to a file.

    Somebody fills it in without the database, and `queue merge` brings it back. The file holds guidelines and texts,
    a line an item, with empty fields; nothing of judges or people.
    """
    from judgeboard.cli.terminal import actor
    from judgeboard.queues import export_bundle, people_named
    from judgeboard.store.engine import open_store
    from judgeboard.times import iso_z

    with closing(open_store(db)) as store:
        (who,) = people_named(store, [reviewer])
        made = export_bundle(store, name, who, file, items=items, by=actor(), hold=timedelta(days=hold_days))
    if as_json:
        values = {"bundle": made.bundle, "queue": made.queue, "reviewer": who.name, "items": made.items}
        show_json(values | {"until": iso_z(made.until), "file": str(file)})
        return
    noun = "item" if made.items == 1 else "items"
    click.echo(f"{made.items:,} {noun} for {who.name} in {file}, theirs until {made.until:%Y-%m-%d %H:%M} UTC")
    click.echo(f"once filled in: judgeboard queue merge {file}")


@click.command("merge", epilog=options.example("judgeboard queue merge mara.jsonl", "judgeboard queue merge - --json"))
@click.argument("file", type=click.Path(path_type=Path))
@as_json
@options.database
def merge(file: Path, as_json: bool, db: str | None) -> None:
    """Bring a file of `queue export` back.

    What was filled in is stored as its reviewer's words; the same file again stores nothing twice. Where a line cannot
    be used it is named, and nothing of the file is stored. Conflicts are listed: items that somebody else has by now,
    or texts that are not the stored ones.
    """
    from judgeboard.cli.terminal import actor
    from judgeboard.queues import merge_bundle
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        came = merge_bundle(store, file, by=actor())
    if as_json:
        conflicts = [
            {"line": one.line, "item": one.item_id, "reason": one.reason, "kept": one.kept} for one in came.conflicts
        ]
        values = {"queue": came.queue, "reviewer": came.reviewer, "merged": came.merged, "already": came.already}
        show_json(values | {"unfilled": came.unfilled, "conflicts": conflicts})
        return
    click.echo(
        f"{came.queue}, {came.reviewer}: {came.merged:,} merged, {came.already:,} already there, "
        f"{came.unfilled:,} not filled in, {len(came.conflicts):,} in conflict"
    )
    for one in came.conflicts:
        click.echo(f"line {one.line}, item {one.item_id}: {one.reason}")
