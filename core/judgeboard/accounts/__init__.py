"""Accounts: people sign in with a name and a password, without an identity provider."""

from judgeboard.registry.methods import Registration

REGISTRATION = Registration(
    tables=f"{__name__}.tables",
    commands={("Manage", "people", "invite"): f"{__name__}.command:invite_command"},
    people_sections=("judgeboard_dashboard.passwords:invitations",),
    sign_in="judgeboard_dashboard.passwords:PASSWORDS",
    removed_person=f"{__name__}.accounts:forget_person",
)
