"""The tables of accounts. Passwords are stored as Argon2 hashes, tokens as SHA-256."""

from datetime import datetime

from judgeboard.store.columns import BigId, Row, column, table_of


class Account(Row, table=True, is_free=True, has_hidden_rows=False):
    """A person who was invited to sign in with a password; deleted when the person is removed."""

    reviewer_id: int = column(BigId, refers="reviewer", primary_key=True)
    password_hash: str | None = column(default=None)
    link_hash: str | None = column(default=None, unique=True)
    link_ends_at: datetime | None = column(default=None)


ACCOUNT = table_of(Account)


class AccountSession(Row, table=True, is_free=True, has_hidden_rows=False):
    """A sign-in of a browser, kept for a while after the end of the session, to know the browser again."""

    token_hash: str = column(primary_key=True)
    reviewer_id: int = column(BigId, refers="reviewer", index=True)
    ends_at: datetime


ACCOUNT_SESSION = table_of(AccountSession)
