"""The commands `people`, `versions` and `events`."""

import json
from datetime import datetime
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.domain import ROLES, Role
from judgeboard.errors import BadInput
from judgeboard.text import as_utc, iso_z

if TYPE_CHECKING:
    from judgeboard.store.events import StoredEvent


@options.group(
    "judgeboard versions list", 'judgeboard versions retire "rag v1"', 'judgeboard versions restore "rag v1"'
)
def versions_command() -> None:
    """List, retire and restore judge versions. A version never changes, and its judgments are kept."""


@options.command("judgeboard versions list --json", group=versions_command)
def versions_list() -> None:
    """List all judge versions by name and number."""
    from judgeboard.store.judge_versions import list_versions, retired_versions

    with options.open_store().reading() as connection:
        versions, retirements = list_versions(connection), retired_versions(connection)
    rows, lines = [], []
    for version in versions:
        fact = retirements.get(version.id)
        by, at = (None, None) if fact is None else (fact.by, fact.at)
        state = "" if fact is None else f"  retired by {fact.by} on {fact.at:%d %b %Y}"
        names = ("name", "number", "kind", "model", "fingerprint")
        rows.append({name: getattr(version, name) for name in names} | {"retired_by": by, "retired_at": at})
        lines.append(f"{version.title}  {version.kind}  {version.model or '–'}{state}")
    options.show({"versions": rows}, lines)


@options.command('judgeboard versions retire "rag v1"', group=versions_command, json=False)
@click.argument("version")
def versions_retire(version: str) -> None:
    """Retire VERSION: it makes no new judgments; existing ones are kept.

    VERSION is a title ("rag v1"), a name for its newest version, or a fingerprint.
    """
    from judgeboard.people.roster import retire_version

    retired = retire_version(options.open_store(), version, options.actor())
    options.echo(f"{retired.title} is retired: it makes no new judgments; existing ones are kept")


@options.command('judgeboard versions restore "rag v1"', group=versions_command, json=False)
@click.argument("version")
def versions_restore(version: str) -> None:
    """Restore a retired VERSION: it can judge again."""
    from judgeboard.people.roster import restore_version

    restored = restore_version(options.open_store(), version, options.actor())
    options.echo(f"{restored.title} is restored: it can judge again")


_ROLE = click.Choice([role.value for role in ROLES])
_ROLE_HELP = "What the person may do. Each role includes the ones before it."


@options.group(
    "judgeboard people add ann@example.org --role lead",
    "judgeboard people role ann@example.org admin",
    "judgeboard people list",
)
def people_command() -> None:
    """Manage the people who may sign in. JUDGEBOARD_ADMIN names the first admin."""


@options.command("judgeboard people add ann@example.org --role lead", group=people_command, json=False)
@click.argument("address", metavar="E-MAIL")
@options.with_default("--role", type=_ROLE, default="reviewer", help=_ROLE_HELP)
def people_add(address: str, role: str) -> None:
    """Allow the person with this e-mail address to sign in."""
    from judgeboard.people.roster import add_person

    person = add_person(options.open_store(), address, Role(role), options.actor())
    click.echo(f"{person.name} may sign in, as {person.role}")


@options.command("judgeboard people role ann@example.org admin", group=people_command, json=False)
@click.argument("address", metavar="E-MAIL")
@click.argument("role", type=_ROLE)
def people_role(address: str, role: str) -> None:
    """Change the role of a person. It applies from their next action."""
    from judgeboard.people.roster import change_role

    person = change_role(options.open_store(), address, Role(role), options.actor())
    click.echo(f"{person.name} is now {person.role}")


@options.command("judgeboard people remove ann@example.org", group=people_command, json=False)
@click.argument("address", metavar="E-MAIL")
def people_remove(address: str) -> None:
    """Remove a person: they may no longer sign in. Their reviews are kept, under their name."""
    from judgeboard.people.roster import remove_person

    person = remove_person(options.open_store(), address, options.actor())
    click.echo(f"{person.name} may no longer sign in; their reviews are kept")


@options.command(
    "judgeboard people link ann@example.org", "judgeboard people link --remove", group=people_command, json=False
)
@click.argument("person", required=False)
@click.option("--remove", is_flag=True, help="Review under the terminal's own name again.")
def people_link(person: str | None, remove: bool) -> None:
    """Review in this terminal as PERSON: a name or an e-mail address that is used on the pages.

    Applies to the user of this terminal. Earlier reviews stay under the terminal's name.
    """
    from judgeboard.people.roster import link_person

    if (person is None) != remove:
        raise click.UsageError("give either PERSON or --remove")
    linked = link_person(options.open_store(), options.actor(), person, options.actor())
    click.echo(f"{options.actor()} reviews as {linked.name}")


@options.command("judgeboard people work", "judgeboard people work --json", group=people_command)
def people_work() -> None:
    """Show how much, how fast and how well each person reviews."""
    from judgeboard.reports.output import text_lines
    from judgeboard.reports.people import work_table
    from judgeboard.reviews.person_work import everybodys_work

    with options.open_store().reading() as connection:
        everybody = everybodys_work(connection)
    lines = text_lines(work_table(everybody, words=True).without_empty()) if everybody else ["no reviews in queues yet"]
    figures = ("reviews", "left", "leased", "seconds", "gold", "others", "own", "tests", "training", "drift")
    people = [
        {"name": work.person.name, "queues": [each.queue.name for each in work.queues]}
        | {name: getattr(work, name) for name in figures}
        for work in everybody
    ]
    options.show({"people": people}, lines)


@options.command("judgeboard people list --json", group=people_command)
def people_list() -> None:
    """List all people who have ever used this database, with role and last visit."""
    from judgeboard.people.roster import list_people

    with options.open_store().reading() as connection:
        people = list_people(connection)
    names = ("role", "first_admin", "last_seen", "last_review")
    rows = [
        {"name": line.person.name, "origin": line.person.origin} | {name: getattr(line, name) for name in names}
        for line in people
    ]
    lines = [
        "\t".join(
            (line.person.name, line.person.origin, line.role, iso_z(line.last_seen) if line.last_seen else "never seen")
        )
        for line in people
    ]
    options.show({"people": rows}, lines or ["no people yet; add one: judgeboard people add E-MAIL --role admin"])


@options.command(
    "judgeboard events --actor ann@example.org --since 2026-03-01",
    "judgeboard events --kind refused --json | jq .events[].actor",
)
@click.option("--kind", help="Only events of this kind, for example decide, set_setting or refused.")
@click.option("--actor", help="Only events of this actor: a person, a terminal (cli:USER) or a worker.")
@click.option("--response", metavar="ID", help="Only events about the answer with this external id.")
@click.option("--since", metavar="TIME", help="Only events from this day or time on (UTC if no time zone is given).")
@click.option(
    "--before", type=options.ROW_ID, metavar="N", help="Only events with a number below N, for the next page."
)
@options.with_default("--limit", type=click.IntRange(1, 10_000), default=50, help="Maximum number of events.")
def events_command(
    kind: str | None,
    actor: str | None,
    response: str | None,
    since: str | None,
    before: int | None,
    limit: int,
) -> None:
    """Show who did what, newest first. Events contain names, ids and numbers, but no texts of the log.

    Events about an answer in a blind queue are hidden from its reviewers until they have graded it.
    """
    from judgeboard.store.events import EventFilter, latest_events

    event_filter = EventFilter(kind, actor, response, None if since is None else _moment(since))
    with options.seen(options.open_store()).reading() as connection:
        newest = latest_events(connection, event_filter, limit=limit + 1, before_id=before)
    events, more = newest[:limit], len(newest) > limit
    names = ("id", "kind", "actor", "at", "response", "details")
    rows = [{name: getattr(event, name) for name in names} for event in events]
    options.show({"events": rows, "next": events[-1].id if more else None}, map(_event_line, events))
    if more and not options.as_json():
        click.echo(f"for older events, add --before {events[-1].id}", err=True)


def _event_line(event: "StoredEvent") -> str:
    about = f"  {event.response}" if event.response is not None else ""
    details = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in event.details.items())
    return f"{event.id}  {event.at:%Y-%m-%d %H:%M:%S}  {event.actor}  {event.kind}{about}  {details}".rstrip()


def _moment(since: str) -> datetime:
    try:
        return as_utc(since)
    except ValueError as error:
        raise BadInput(f"--since: {error}") from error
