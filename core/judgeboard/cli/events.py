"""``judgeboard events``: who did what."""

import json
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json as json_option
from judgeboard.cli.asking import show_json

if TYPE_CHECKING:
    from judgeboard.store.events import StoredEvent


@click.command(
    epilog=options.example(
        "judgeboard events --actor ann@example.org --since 2026-03-01",
        "judgeboard events --kind refused --json | jq .events[].actor",
    )
)
@click.option("--kind", help="Only of this kind: decide, set_setting, refused, …")
@click.option("--actor", help="Only what this person, terminal (cli:USER) or worker did.")
@click.option("--response", metavar="ID", help="Only about the answer with this outside id.")
@click.option("--since", metavar="TIME", help="Only from this day or time on (UTC where it names no zone).")
@click.option("--before", type=options.ROW_ID, metavar="N", help="Only older than this event: the next page.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
@options.database
def command(
    kind: str | None,
    actor: str | None,
    response: str | None,
    since: str | None,
    before: int | None,
    limit: int,
    as_json: bool,
    db: str | None,
) -> None:
    """Show who did what, newest first. Events hold names, ids and numbers, never a text of the log.

    What others did about an answer that you are to review blind is left out until you have.
    """
    from judgeboard.cli.terminal import seen
    from judgeboard.store.engine import open_store
    from judgeboard.store.events import EventFilter, latest_events

    given = EventFilter(kind, actor, response, None if since is None else _moment(since))
    with closing(open_store(db)) as store, seen(store).reading() as connection:
        found = latest_events(connection, given, limit=limit + 1, before_id=before)
    events, more = found[:limit], len(found) > limit
    if as_json:
        show_json({"events": [_as_json(event) for event in events], "next": events[-1].id if more else None})
        return
    for event in events:
        about = f"  {event.response}" if event.response is not None else ""
        details = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in event.details.items())
        click.echo(f"{event.id}  {event.at:%Y-%m-%d %H:%M:%S}  {event.actor}  {event.kind}{about}  {details}".rstrip())
    if more:
        click.echo(f"older ones: --before {events[-1].id}", err=True)


def _moment(since: str) -> datetime:
    from judgeboard.errors import BadInput
    from judgeboard.times import as_utc

    try:
        return as_utc(since)
    except ValueError as error:
        raise BadInput(f"--since: {error}") from error


def _as_json(event: "StoredEvent") -> dict[str, object]:
    from judgeboard.times import iso_z

    return {
        "id": event.id,
        "kind": event.kind,
        "actor": event.actor,
        "at": iso_z(event.at),
        "response": event.response,
        "details": event.details,
    }
