"""The group `people`: the people who review, and the people who may sign in."""

import click
from click.core import ParameterSource

from judgeboard.cli import options
from judgeboard.domain import ROLES, Role
from judgeboard.errors import BadInput, NotFound

_ROLE = click.Choice([role.value for role in ROLES])
_ROLE_HELP = "Role of the person. An auditor sees all pages and changes nothing."


@options.group(
    "judgeboard people add ann@example.org --role lead",
    "judgeboard people add Mara",
    "judgeboard people role ann@example.org admin",
    "judgeboard people list",
)
def people_command() -> None:
    """Manage the people who review, and those who may sign in. JUDGEBOARD_ADMIN names the first admin.

    People sign in at your sign-in provider, at a proxy, or with a password: `judgeboard people
    invite NAME` prints a link that sets or resets a password.
    """


@options.command(
    "judgeboard people add ann@example.org --role lead",
    "judgeboard people add Mara",
    group=people_command,
    json=False,
)
@click.argument("address", metavar="E-MAIL|NAME")
@options.with_default(
    "--role",
    type=_ROLE,
    default="reviewer",
    help=f"{_ROLE_HELP} For an E-MAIL only: a NAME has all permissions.",
)
def people_add(address: str, role: str) -> None:
    """Add a person by E-MAIL, who may then sign in. If nobody signs in to the database, add a NAME instead.

    To review, the person enters the NAME on the pages. Removed people can be added again.
    """
    from judgeboard.measure.notes import note
    from judgeboard.people.permissions import ENTERED, SIGNED_IN
    from judgeboard.people.roster import add_person
    from judgeboard.settings.model import load_settings

    signs_in_at_proxy = load_settings().trusted_header is not None
    origin = SIGNED_IN if signs_in_at_proxy or "@" in address else ENTERED
    role_is_given = (
        click.get_current_context().get_parameter_source("role") is not ParameterSource.DEFAULT
    )
    if origin == ENTERED and role_is_given:
        raise BadInput(
            "a person with a NAME has all permissions: leave out --role, or give an E-MAIL. If people "
            "sign in at a proxy, run this in the folder whose judgeboard.toml sets trusted_header"
        )
    try:
        person = add_person(
            options.open_store(), address, Role(role), options.actor(), origin=origin
        )
    except NotFound as error:  # people sign in
        example = f"{'.'.join(address.casefold().split())}@example.org"
        command = options.same_command(instead={address: example})
        raise NotFound(f"{error}, for example: `{command}`") from None
    signs_in = f"{person.name} may sign in, as {person.role}"
    options.echo(
        signs_in if origin == SIGNED_IN else f"{person.name} was added. {note('enters_name').text}"
    )


@options.command("judgeboard people role ann@example.org admin", group=people_command, json=False)
@click.argument("address", metavar="E-MAIL")
@click.argument("role", type=_ROLE)
def people_role(address: str, role: str) -> None:
    """Change the role of a person. The new role applies from the person's next action."""
    from judgeboard.people.roster import change_role

    person = change_role(options.open_store(), address, Role(role), options.actor())
    click.echo(f"{person.name} is now {person.role}")


@options.command(
    "judgeboard people remove ann@example.org",
    "judgeboard people remove Mara",
    group=people_command,
    json=False,
)
@click.argument("name", metavar="E-MAIL|NAME")
def people_remove(name: str) -> None:
    """Remove a person: they may no longer sign in. Their reviews are kept, under their name.

    If the person has no account and only entered a name on a page, give this NAME.
    """
    from judgeboard.people.roster import remove_person

    person = remove_person(options.open_store(), name, options.actor())
    click.echo(f"{person.name} was removed; their reviews are kept")


@options.command(
    "judgeboard people sources ann@example.org support sales",
    "judgeboard people sources ann@example.org --all",
    group=people_command,
    json=False,
)
@click.argument("name", metavar="E-MAIL|NAME")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@click.option("--all", "sees_all", is_flag=True, help="Let the person see all sources again.")
def people_sources(name: str, sources: tuple[str, ...], sees_all: bool) -> None:
    """Let a person see answers of some sources only. It applies from the person's next action.

    Answers of other sources do not exist for the person. The person can review, adjudicate and
    rejudge single answers, if their role allows it, but can start nothing that reaches all answers.
    """
    from judgeboard.people.roster import set_sources
    from judgeboard.text import some_of

    if bool(sources) is sees_all:
        raise click.UsageError("give either the sources or --all")
    person = set_sources(options.open_store(), name, None if sees_all else sources, options.actor())
    click.echo(f"{person.name} sees {some_of(person.sources) if person.sources else 'all sources'}")


@options.command(
    "judgeboard people link ann@example.org",
    "judgeboard people link ann@example.org --annotator ann",
    "judgeboard people link --remove",
    group=people_command,
    json=False,
)
@click.argument("person", required=False)
@click.option(
    "--annotator",
    metavar="NAME",
    help="Annotator of imported files to link (default: the terminal's user).",
)
@click.option(
    "--remove",
    is_flag=True,
    help="Remove the link. Later reviews are stored under the user's own name.",
)
def people_link(person: str | None, annotator: str | None, remove: bool) -> None:
    """Link a user of the terminal to PERSON. PERSON is a name or an e-mail address that is used on the pages.

    By default, the command links later reviews in this terminal. With --annotator NAME, it links
    grades by NAME in files that you import later. Earlier reviews keep their name.
    """
    from judgeboard.people.roster import link_person

    if (person is None) != remove:
        raise click.UsageError("give either PERSON or --remove")
    user, origin = (options.actor(), "cli") if annotator is None else (annotator, "import")
    reviewer = link_person(options.open_store(), user, person, options.actor(), origin=origin)
    click.echo(f"{user} reviews as {reviewer.name}")


@options.command(
    "judgeboard people list --json",
    group=people_command,
    rows="people",
)
def people_list() -> None:
    """List all people, with role and last visit. The list has everybody who has ever used this database."""
    from judgeboard.people.permissions import role_of
    from judgeboard.people.roster import list_people

    with options.open_store().reading() as connection:
        people = list_people(connection)
    names = ("role", "first_admin", "last_seen", "last_review")
    rows = [
        {"name": line.person.name, "origin": line.person.origin, "sources": line.person.sources}
        | {name: getattr(line, name) for name in names}
        for line in people
    ]
    lines = [
        f"{line.person.name}  {line.person.origin}  {line.role}  "
        + (f"last seen {line.last_seen:%Y-%m-%d %H:%M} UTC" if line.last_seen else "never seen")
        + (f"  only {', '.join(line.person.sources)}" if line.person.sources else "")
        for line in people
    ]
    if any(line.role is Role.NONE and role_of(line.person) is not Role.NONE for line in people):
        lines.append("People sign in here, so a name that was only entered on a page has no role.")
    options.show(
        {"people": rows},
        lines or ["There are no people yet. To add one: `judgeboard people add NAME`"],
    )
