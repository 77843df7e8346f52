"""The commands `people`, `versions` and `events`: who may do what, and what was done."""

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
    """List judge versions and retire them. A version never changes, and what it said stays."""


@versions_command.command("list", epilog=options.example("judgeboard versions list --json"))
@json_option
@options.database
def versions_list(as_json: bool, db: str | None) -> None:
    """List the judge versions by name and number."""
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
        gone = "" if fact is None else f"  retired by {fact.by} on {fact.at:%d %b %Y}"
        click.echo(f"{version.title}  {version.kind}  {version.model or '–'}{gone}")


@versions_command.command("retire", epilog=options.example('judgeboard versions retire "rag v1"'))
@click.argument("version")
@options.database
def retire(version: str, db: str | None) -> None:
    """Ask VERSION ("rag v1", a name's newest, or a fingerprint) nothing more; what it said stays."""
    from judgeboard.cli.options import actor
    from judgeboard.people.roster import retire_version
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        gone = retire_version(store, version, actor())
    click.echo(f"{gone.title} is retired: nothing more is asked of it, what it said stays")


@versions_command.command("restore", epilog=options.example('judgeboard versions restore "rag v1"'))
@click.argument("version")
@options.database
def restore(version: str, db: str | None) -> None:
    """Bring a retired VERSION back into use."""
    from judgeboard.cli.options import actor
    from judgeboard.people.roster import restore_version
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        back = restore_version(store, version, actor())
    click.echo(f"{back.title} is in use again")


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
    """Say who may come in where people sign in. Nobody else gets in; JUDGEBOARD_ADMIN names the first admin."""


@people_command.command("add", epilog=options.example("judgeboard people add ann@example.org --role lead"))
@click.argument("address", metavar="E-MAIL")
@click.option("--role", type=_ROLE, default="reviewer", show_default=True, help=_ROLE_HELP)
@options.database
def add(address: str, role: str, db: str | None) -> None:
    """Let somebody in who signs in with this e-mail address."""
    from judgeboard.cli.options import actor
    from judgeboard.people.roster import add_person
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        person = add_person(store, address, Role(role), actor())
    click.echo(f"{person.name} may come in, as {person.role}")


@people_command.command("role", epilog=options.example("judgeboard people role ann@example.org admin"))
@click.argument("address", metavar="E-MAIL")
@click.argument("role", type=_ROLE)
@options.database
def role_(address: str, role: str, db: str | None) -> None:
    """Give somebody another role; it counts from their next action on."""
    from judgeboard.cli.options import actor
    from judgeboard.people.roster import change_role
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        person = change_role(store, address, Role(role), actor())
    click.echo(f"{person.name} is {person.role} now")


@people_command.command("remove", epilog=options.example("judgeboard people remove ann@example.org"))
@click.argument("address", metavar="E-MAIL")
@options.database
def remove(address: str, db: str | None) -> None:
    """Let somebody in no more; what they said stays, and stays theirs."""
    from judgeboard.cli.options import actor
    from judgeboard.people.roster import remove_person
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        person = remove_person(store, address, actor())
    click.echo(f"{person.name} gets in no more; what they said stays")


@people_command.command("list", epilog=options.example("judgeboard people list --json"))
@json_option
@options.database
def people_list(as_json: bool, db: str | None) -> None:
    """List everybody who was ever here, with role, when they were last seen and when they last reviewed."""
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
        click.echo("nobody yet: judgeboard people add E-MAIL --role admin")


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
@click.option("--kind", help="Only of this kind: decide, set_setting, refused, …")
@click.option("--actor", help="Only what this person, terminal (cli:USER) or worker did.")
@click.option("--response", metavar="ID", help="Only about the answer with this outside id.")
@click.option("--since", metavar="TIME", help="Only from this day or time on (UTC where it names no zone).")
@click.option("--before", type=options.ROW_ID, metavar="N", help="Only older than this event: the next page.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
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
    """Show who did what, newest first. Events hold names, ids and numbers, never a text of the log.

    What others did about an answer that you are to review blind is left out until you have.
    """
    from judgeboard.cli.options import seen
    from judgeboard.store.engine import open_store
    from judgeboard.store.events import EventFilter, latest_events

    given = EventFilter(kind, actor, response, None if since is None else _moment(since))
    with closing(open_store(db)) as store, seen(store).reading() as connection:
        found = latest_events(connection, given, limit=limit + 1, before_id=before)
    events, more = found[:limit], len(found) > limit
    if as_json:
        show_json({"events": [_event_as_json(event) for event in events], "next": events[-1].id if more else None})
        return
    for event in events:
        about = f"  {event.response}" if event.response is not None else ""
        details = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in event.details.items())
        click.echo(f"{event.id}  {event.at:%Y-%m-%d %H:%M:%S}  {event.actor}  {event.kind}{about}  {details}".rstrip())
    if more:
        click.echo(f"older ones: --before {events[-1].id}", err=True)


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
