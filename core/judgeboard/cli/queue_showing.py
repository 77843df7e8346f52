"""``judgeboard queue list|show``: which queues there are, and how far one is."""

import shlex
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, show_json

if TYPE_CHECKING:
    from judgeboard.queues import QueueProgress
    from judgeboard.queues.progress import PersonProgress
    from judgeboard.store.queues.queue_rows import Queue


@click.command("list", epilog=options.example("judgeboard queue list"))
@click.option("--open", "only_open", is_flag=True, help="Leave out closed ones.")
@as_json
@options.database
def list_(only_open: bool, as_json: bool, db: str | None) -> None:
    """List the queues, the open and newest first."""
    from judgeboard.queues import queue_progress
    from judgeboard.store.engine import open_store
    from judgeboard.store.queues.queue_rows import list_queues

    with closing(open_store(db)) as store, store.reading() as connection:
        queues = list_queues(connection, only_open=only_open)
        found = [queue_progress(connection, queue, with_people=False) for queue in queues]
    if as_json:
        show_json({"queues": [progress_json(one) for one in found]})
        return
    if not found:
        click.echo("No queue yet: judgeboard queue create NAME --where FIELD=VALUE")
    for one in found:
        click.echo(f"{one.queue.name}  {one.queue.state.value}  {_counts(one)}")


@click.command("show", epilog=options.example("judgeboard queue show legal", "judgeboard queue show legal --json"))
@click.argument("name")
@as_json
@options.database
def show(name: str, as_json: bool, db: str | None) -> None:
    """Show the rules of a queue and how far it is.

    What each person has done there is part of it: seconds are the median of what they took for an item.
    """
    from judgeboard.queues import queue_progress
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store, store.reading() as connection:
        found = queue_progress(connection, name)
    if as_json:
        show_json(progress_json(found))
        return
    for line in progress_lines(found):
        click.echo(line)


def progress_lines(found: "QueueProgress") -> list[str]:
    """Return how far a queue is, in lines for a terminal."""
    queue = found.queue
    lines = [
        f"{queue.name} ({queue.state.value}), made by {queue.made_by}",
        *(f"  {rule}" for rule in found.rules),
        f"given to {', '.join(one.name for one in found.given_to) or 'everybody'}",
        _counts(found),
        f"{found.reviews:,} of {found.reviews_needed:,} reviews",
    ]
    if queue.reviews_needed > 1:
        lines.append(f"overlap: {found.several:,} need {queue.reviews_needed}, {found.several_finished:,} finished")
    if queue.sampling_rate:
        short = f", {found.short:,} more were requested, but none are left" if found.short else ""
        lines.append(f"random sample: {found.sampled:,} answers{short}")
    if found.split:
        lines.append(f"{found.split:,} split: judgeboard adjudicate --queue {shlex.quote(queue.name)}")
    return lines + [_person(one) for one in found.people]


def progress_json(found: "QueueProgress") -> dict[str, Any]:
    """Return how far a queue is, as JSON values."""
    return {
        "queue": queue_json(found.queue),
        "rules": list(found.rules),
        "items": {
            "all": found.items,
            **{name: getattr(found, name) for name in ("waiting", "held", "settled", "split", "adjudicated", "left")},
        },
        "reviews": {"given": found.reviews, "needed": found.reviews_needed},
        "overlap": {"share": found.queue.overlap, "items": found.several, "finished": found.several_finished},
        "random_sample": {"rate": found.queue.sampling_rate, "items": found.sampled, "short": found.short},
        "given_to": [one.name for one in found.given_to],
        "people": [
            {
                "name": one.reviewer.name,
                "origin": one.reviewer.origin,
                "given": one.given,
                "done": one.done,
                "unsure": one.unsure,
                "skipped": one.skipped,
                "holds": one.holds,
                "median_seconds": one.median_seconds,
                "last": None if one.last is None else _time(one.last),
            }
            for one in found.people
        ],
    }


def queue_json(queue: "Queue") -> dict[str, Any]:
    """Return a queue as JSON values."""
    return {
        "name": queue.name,
        "state": queue.state.value,
        "subject": queue.subject,
        "where": queue.filter.as_dict(),
        "order": queue.sort.value,
        "needed": queue.reviews_needed,
        "overlap": queue.overlap,
        "blind_people": queue.blind_people,
        "blind_judge": queue.blind_judge,
        "reveal": queue.reveal,
        "grades": list(queue.grades),
        "sampling_rate": queue.sampling_rate,
        "again": queue.again_share,
        "seed": queue.seed,
        "lease_minutes": queue.lease_seconds / 60,
        "guidelines": queue.guidelines,
        "made_by": queue.made_by,
        "created_at": _time(queue.created_at),
    }


def _counts(found: "QueueProgress") -> str:
    parts = [f"{found.items:,} {found.queue.subject}", f"{found.waiting:,} waiting", f"{found.held:,} held"]
    parts.append(f"{found.settled:,} settled")
    parts += [
        f"{count:,} {word}"
        for count, word in ((found.split, "split"), (found.adjudicated, "adjudicated"), (found.left, "left"))
        if count
    ]
    return ", ".join(parts)


def _person(one: "PersonProgress") -> str:
    seconds = "–" if one.median_seconds is None else f"{one.median_seconds:.0f} s"
    last = "–" if one.last is None else f"{one.last:%Y-%m-%d %H:%M} UTC"
    return (
        f"  {one.reviewer.name}: {one.done:,} done, {one.unsure:,} unsure, {one.skipped:,} skipped, "
        f"{one.holds:,} held, median {seconds}, last {last}"
    )


def _time(at: Any) -> str:
    from judgeboard.times import iso_z

    return iso_z(at)
