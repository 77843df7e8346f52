"""``judgeboard people``: who may come in where people sign in, and as what."""

from contextlib import closing
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json as json_option
from judgeboard.cli.asking import show_json
from judgeboard.domain import Role

if TYPE_CHECKING:
    from judgeboard.people.roster import PersonLine

ROLES = [role.value for role in Role if role is not Role.NONE]
_ROLE_HELP = "Reviewers review; leads also make queues and change thresholds; admins also manage people."


@click.group(
    epilog=options.example(
        "judgeboard people add ann@example.org --role lead",
        "judgeboard people role ann@example.org admin",
        "judgeboard people list",
    )
)
def command() -> None:
    """Say who may come in where people sign in. Nobody else gets in; JUDGEBOARD_ADMIN names the first admin."""


@command.command("add", epilog=options.example("judgeboard people add ann@example.org --role lead"))
@click.argument("address", metavar="E-MAIL")
@click.option("--role", type=click.Choice(ROLES), default="reviewer", show_default=True, help=_ROLE_HELP)
@options.database
def add(address: str, role: str, db: str | None) -> None:
    """Let somebody in who signs in with this e-mail address."""
    from judgeboard.cli.terminal import actor
    from judgeboard.people.roster import add_person
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        person = add_person(store, address, Role(role), actor())
    click.echo(f"{person.name} may come in, as {person.role}")


@command.command("role", epilog=options.example("judgeboard people role ann@example.org admin"))
@click.argument("address", metavar="E-MAIL")
@click.argument("role", type=click.Choice(ROLES))
@options.database
def role_(address: str, role: str, db: str | None) -> None:
    """Give somebody another role; it counts from their next action on."""
    from judgeboard.cli.terminal import actor
    from judgeboard.people.roster import change_role
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        person = change_role(store, address, Role(role), actor())
    click.echo(f"{person.name} is {person.role} now")


@command.command("remove", epilog=options.example("judgeboard people remove ann@example.org"))
@click.argument("address", metavar="E-MAIL")
@options.database
def remove(address: str, db: str | None) -> None:
    """Let somebody in no more; what they said stays, and stays theirs."""
    from judgeboard.cli.terminal import actor
    from judgeboard.people.roster import remove_person
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        person = remove_person(store, address, actor())
    click.echo(f"{person.name} gets in no more; what they said stays")


@command.command("list", epilog=options.example("judgeboard people list --json"))
@json_option
@options.database
def list_(as_json: bool, db: str | None) -> None:
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
    from judgeboard.times import iso_z

    times = {"last_seen": line.last_seen, "last_review": line.last_review}
    return {
        "name": line.person.name,
        "origin": line.person.origin,
        "role": line.role.value,
        "first_admin": line.first_admin,
    } | {name: None if at is None else iso_z(at) for name, at in times.items()}
