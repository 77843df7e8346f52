"""The group `sources keys`: the keys of assistants and other programs."""

import click

from judgeboard.cli import options
from judgeboard.registry.scopes import SCOPES
from judgeboard.store.clock import utc_now


@options.group(
    "judgeboard sources keys create shop --source shop-assistant",
    "judgeboard sources keys list",
    "judgeboard sources keys revoke shop",
)
def keys_command() -> None:
    """Create, list and revoke keys for sending answers.

    Without any key, only this machine may send.
    """


@options.command(
    "judgeboard sources keys create shop --source shop-assistant",
    "judgeboard sources keys create trial --days 30 --rate 50",
    "judgeboard sources keys create chat --scope read --scope review",
    group=keys_command,
)
@click.argument("name")
@click.option(
    "--scope",
    multiple=True,
    type=click.Choice([*SCOPES]),
    help=f"What the key may do (default: ingest). {' '.join(f'{name}: {words}.' for name, words in SCOPES.items())} "
    "Repeat for more scopes.",
)
@click.option("--source", help="The only source that the key may send or read (default: any).")
@click.option(
    "--days",
    type=options.FiniteRange(min=0, min_open=True),
    help="Days until the key expires (default: never).",
)
@click.option(
    "--rate",
    type=options.FiniteRange(min=0, min_open=True),
    help="Maximum number of requests per second (default: no limit).",
)
@options.with_default(
    "--max-body",
    type=options.FiniteRange(min=0, min_open=True, max=64),
    default=64.0,
    help="Maximum size of a request in MiB, also after decompression; at most 64.",
)
def keys_create(
    name: str,
    scope: tuple[str, ...],
    source: str | None,
    days: float | None,
    rate: float | None,
    max_body: float,
) -> None:
    """Create the key NAME and print its token. The token is not stored and cannot be shown again.

    Send it as `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`. For the SDK of Langfuse, NAME is
    the public key and the token is the secret key.
    """
    from judgeboard.receiving.keys import create_key

    token = create_key(
        options.open_store(create=True),
        name,
        scopes=scope or ("ingest",),
        source=source,
        requests_per_second=rate,
        max_body_mb=max_body,
        days=days,
        by=options.actor(),
    )
    options.show({"name": name, "token": token}, [token])


@options.command(
    "judgeboard sources keys list",
    group=keys_command,
    rows="keys",
)
def keys_list() -> None:
    """List all keys by name, without their tokens."""
    from judgeboard.receiving.keys import last_use
    from judgeboard.store.api_keys import list_keys

    with options.open_store().reading() as connection:
        keys = [(key, last_use(connection, key)) for key in list_keys(connection)]
    now = utc_now()
    lines = [
        f"{key.name}  {', '.join(key.scopes)}  source: {key.source or 'any'}  {key.unusable(now) or 'usable'}"
        + (f" until {key.expires_at:%d %b %Y}" if key.expires_at and not key.unusable(now) else "")
        + (f"  last used {last_used:%d %b %Y}" if last_used else "")
        for key, last_used in keys
    ]
    rows = [key.as_json() | {"last_used": last_used} for key, last_used in keys]
    options.show({"keys": rows}, lines or ["There are no keys: only this machine may send."])


@options.command("judgeboard sources keys revoke shop", group=keys_command, json=False)
@click.argument("name")
def keys_revoke(name: str) -> None:
    """Revoke the key NAME. Requests with it are refused from now on. A new key can have the same name."""
    from judgeboard.receiving.keys import revoke

    revoke(options.open_store(), name, by=options.actor())
    options.echo(f"{name} is revoked")
