"""The commands `people`, `versions` and `events`."""

import json
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json as json_option
from judgeboard.cli.asking import show_json
from judgeboard.domain import ROLES, Role

if TYPE_CHECKING:
    from judgeboard.people.roster import PersonLine
    from judgeboard.store.events import StoredEvent


@click.group(
    epilog=options.example(
        "judgeboard versions list", 'judgeboard versions retire "rag v1"', 'judgeboard versions restore "rag v1"'
    )
)
def versions_command() -> None:
    """List, retire and restore judge versions. A version never changes, and its judgments are kept."""


@versions_command.command("list", epilog=options.example("judgeboard versions list --json"))
@json_option
@options.database
def versions_list(as_json: bool, db: str | None) -> None:
    """List all judge versions by name and number."""
    from judgeboard.store.engine import open_store
    from judgeboard.store.judge_versions import list_versions, retired_versions
    from judgeboard.text import iso_z

    with closing(open_store(db)) as store, store.reading() as connection:
        versions, retired = list_versions(connection), retired_versions(connection)
    if as_json:
        rows = [
            {
                "name": version.name,
                "number": version.number,
                "kind": version.kind,
                "model": version.model,
                "fingerprint": version.fingerprint,
                "retired_by": None if version.id not in retired else retired[version.id].by,
                "retired_at": None if version.id not in retired else iso_z(retired[version.id].at),
            }
            for version in versions
        ]
        show_json({"versions": rows})
        return
    for version in versions:
        fact = retired.get(version.id)
        state = "" if fact is None else f"  retired by {fact.by} on {fact.at:%d %b %Y}"
        click.echo(f"{version.title}  {version.kind}  {version.model or '–'}{state}")


@versions_command.command("retire", epilog=options.example('judgeboard versions retire "rag v1"'))
@click.argument("version")
@options.database
def retire(version: str, db: str | None) -> None:
    """Retire VERSION: it makes no new judgments; existing ones are kept.

    VERSION is a title ("rag v1"), a name for its newest version, or a fingerprint.
    """
    from judgeboard.people.roster import retire_version
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        retired = retire_version(store, version, options.actor())
    click.echo(f"{retired.title} is retired: it makes no new judgments; existing ones are kept")


@versions_command.command("restore", epilog=options.example('judgeboard versions restore "rag v1"'))
@click.argument("version")
@options.database
def restore(version: str, db: str | None) -> None:
    """Restore a retired VERSION: it can judge again."""
    from judgeboard.people.roster import restore_version
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        restored = restore_version(store, version, options.actor())
    click.echo(f"{restored.title} is restored: it can judge again")


_ROLE = click.Choice([role.value for role in ROLES])
_ROLE_HELP = "What the person may do. Each role includes the ones before it."


@click.group(
    epilog=options.example(
        "judgeboard people add ann@example.org --role lead",
        "judgeboard people role ann@example.org admin",
        "judgeboard people list",
    )
)
def people_command() -> None:
    """Manage the people who may sign in. JUDGEBOARD_ADMIN names the first admin."""


@people_command.command("add", epilog=options.example("judgeboard people add ann@example.org --role lead"))
@click.argument("address", metavar="E-MAIL")
@click.option("--role", type=_ROLE, default="reviewer", show_default=True, help=_ROLE_HELP)
@options.database
def add(address: str, role: str, db: str | None) -> None:
    """Allow the person with this e-mail address to sign in."""
    from judgeboard.people.roster import add_person
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        person = add_person(store, address, Role(role), options.actor())
    click.echo(f"{person.name} may sign in, as {person.role}")


@people_command.command("role", epilog=options.example("judgeboard people role ann@example.org admin"))
@click.argument("address", metavar="E-MAIL")
@click.argument("role", type=_ROLE)
@options.database
def role_(address: str, role: str, db: str | None) -> None:
    """Change the role of a person. It applies from their next action."""
    from judgeboard.people.roster import change_role
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        person = change_role(store, address, Role(role), options.actor())
    click.echo(f"{person.name} is now {person.role}")


@people_command.command("remove", epilog=options.example("judgeboard people remove ann@example.org"))
@click.argument("address", metavar="E-MAIL")
@options.database
def remove(address: str, db: str | None) -> None:
    """Remove a person: they may no longer sign in. Their reviews are kept, under their name."""
    from judgeboard.people.roster import remove_person
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        person = remove_person(store, address, options.actor())
    click.echo(f"{person.name} may no longer sign in; their reviews are kept")


@people_command.command("list", epilog=options.example("judgeboard people list --json"))
@json_option
@options.database
def people_list(as_json: bool, db: str | None) -> None:
    """List all people who have ever used this database, with role and last visit."""
    from judgeboard.people.roster import list_people
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store, store.reading() as connection:
        people = list_people(connection)
    if as_json:
        show_json({"people": [_as_json(line) for line in people]})
        return
    for line in people:
        row = _as_json(line)
        seen = row["last_seen"] or "never seen"
        click.echo(f"{row['name']}\t{row['origin']}\t{row['role']}\t{seen}")
    if not people:
        click.echo("no people yet; add one: judgeboard people add E-MAIL --role admin")


def _as_json(line: "PersonLine") -> dict[str, object]:
    from judgeboard.text import iso_z

    times = {"last_seen": line.last_seen, "last_review": line.last_review}
    return {
        "name": line.person.name,
        "origin": line.person.origin,
        "role": line.role.value,
        "first_admin": line.first_admin,
    } | {name: None if at is None else iso_z(at) for name, at in times.items()}


@click.command(
    epilog=options.example(
        "judgeboard events --actor ann@example.org --since 2026-03-01",
        "judgeboard events --kind refused --json | jq .events[].actor",
    )
)
@click.option("--kind", help="Only events of this kind, for example decide, set_setting or refused.")
@click.option("--actor", help="Only events of this actor: a person, a terminal (cli:USER) or a worker.")
@click.option("--response", metavar="ID", help="Only events about the answer with this external id.")
@click.option("--since", metavar="TIME", help="Only events from this day or time on (UTC if no time zone is given).")
@click.option(
    "--before", type=options.ROW_ID, metavar="N", help="Only events with a number below N, for the next page."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="Maximum number of events.",
)
@json_option
@options.database
def events_command(
    kind: str | None,
    actor: str | None,
    response: str | None,
    since: str | None,
    before: int | None,
    limit: int,
    as_json: bool,
    db: str | None,
) -> None:
    """Show who did what, newest first. Events contain names, ids and numbers, but no texts of the log.

    Events about an answer in a blind queue are hidden from its reviewers until they have graded it.
    """
    from judgeboard.store.engine import open_store
    from judgeboard.store.events import EventFilter, latest_events

    event_filter = EventFilter(kind, actor, response, None if since is None else _moment(since))
    with closing(open_store(db)) as store, options.seen(store).reading() as connection:
        newest = latest_events(connection, event_filter, limit=limit + 1, before_id=before)
    events, more = newest[:limit], len(newest) > limit
    if as_json:
        show_json({"events": [_event_as_json(event) for event in events], "next": events[-1].id if more else None})
        return
    for event in events:
        about = f"  {event.response}" if event.response is not None else ""
        details = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in event.details.items())
        click.echo(f"{event.id}  {event.at:%Y-%m-%d %H:%M:%S}  {event.actor}  {event.kind}{about}  {details}".rstrip())
    if more:
        click.echo(f"for older events, add --before {events[-1].id}", err=True)


def _moment(since: str) -> datetime:
    from judgeboard.errors import BadInput
    from judgeboard.text import as_utc

    try:
        return as_utc(since)
    except ValueError as error:
        raise BadInput(f"--since: {error}") from error


def _event_as_json(event: "StoredEvent") -> dict[str, object]:
    from judgeboard.text import iso_z

    return {
        "id": event.id,
        "kind": event.kind,
        "actor": event.actor,
        "at": iso_z(event.at),
        "response": event.response,
        "details": event.details,
    }
