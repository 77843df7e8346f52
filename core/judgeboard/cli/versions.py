"""``judgeboard versions``: the judge versions, and which of them are retired."""

from contextlib import closing

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json as json_option
from judgeboard.cli.asking import show_json


@click.group(
    epilog=options.example(
        "judgeboard versions list", 'judgeboard versions retire "rag v1"', 'judgeboard versions restore "rag v1"'
    )
)
def command() -> None:
    """List judge versions and retire them. A version never changes, and what it said stays."""


@command.command("list", epilog=options.example("judgeboard versions list --json"))
@json_option
@options.database
def list_(as_json: bool, db: str | None) -> None:
    """List the judge versions by name and number."""
    from judgeboard.store.engine import open_store
    from judgeboard.store.judgments.judge_versions import list_versions
    from judgeboard.store.judgments.retired_versions import retired_versions
    from judgeboard.times import iso_z

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


@command.command("retire", epilog=options.example('judgeboard versions retire "rag v1"'))
@click.argument("version")
@options.database
def retire(version: str, db: str | None) -> None:
    """Ask VERSION ("rag v1", a name's newest, or a fingerprint) nothing more; what it said stays."""
    from judgeboard.cli.terminal import actor
    from judgeboard.retiring import retire_version
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        gone = retire_version(store, version, actor())
    click.echo(f"{gone.title} is retired: nothing more is asked of it, what it said stays")


@command.command("restore", epilog=options.example('judgeboard versions restore "rag v1"'))
@click.argument("version")
@options.database
def restore(version: str, db: str | None) -> None:
    """Bring a retired VERSION back into use."""
    from judgeboard.cli.terminal import actor
    from judgeboard.retiring import restore_version
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        back = restore_version(store, version, actor())
    click.echo(f"{back.title} is in use again")
