"""The command `people invite`."""

import click

from judgeboard.cli import options
from judgeboard.domain import ROLES, Role


@options.command(
    "judgeboard people invite ann@example.org --role lead",
    "judgeboard people invite Mara",
    json=False,
)
@click.argument("name", metavar="E-MAIL|NAME")
@click.option(
    "--role",
    type=click.Choice([role.value for role in ROLES]),
    help="Role of a new person (default: reviewer).",
)
def invite_command(name: str, role: str | None) -> None:
    """Print a link with which a person sets a password. It works once, for 7 days.

    The person then signs in with NAME and the password. As soon as one person is invited, everybody
    must sign in. If the person has a password, the link resets it and ends all sessions of the
    person. If JUDGEBOARD_URL is set to the address of the server, the link begins with it.
    """
    from judgeboard.accounts.accounts import LINK_DAYS, invite, link_address
    from judgeboard.people.roster import checked_sign_in_name

    name = checked_sign_in_name(name)  # a wrong name makes no database
    token = invite(
        options.open_store(create=True), name, Role(role) if role else None, options.actor()
    )
    click.echo(link_address(token, "http://localhost:8501"))
    click.echo(f"{name} can use this link once, for {LINK_DAYS} days, to set a password", err=True)
