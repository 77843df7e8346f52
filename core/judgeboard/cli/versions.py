"""The group `versions`: list, retire and restore judge versions, and print prompts."""

import sys

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput


@options.group(
    "judgeboard versions",
    'judgeboard versions retire "rag v1"',
    'judgeboard versions restore "rag v1"',
    default="list",
)
def versions_command() -> None:
    """List, retire and restore judge versions; print prompts.

    Without a command, list them. A version never changes, and its judgments are kept.
    """


@options.command(
    "judgeboard versions list --json",
    group=versions_command,
    rows="versions",
)
def versions_list() -> None:
    """List all judge versions by name and number."""
    from judgeboard.store.judge_versions import list_versions, retired_versions

    with options.open_store().reading() as connection:
        versions, retirements = list_versions(connection), retired_versions(connection)
    rows, lines = [], []
    for version in versions:
        fact = retirements.get(version.id)
        by, at = (None, None) if fact is None else (fact.actor, fact.at)
        state = "" if fact is None else f"  retired by {fact.actor} on {fact.at:%d %b %Y}"
        names = ("name", "number", "kind", "model", "fingerprint")
        rows.append(
            {name: getattr(version, name) for name in names} | {"retired_by": by, "retired_at": at}
        )
        lines.append(f"{version.title}  {version.kind}  {version.model or '–'}{state}")
    options.show(
        {"versions": rows},
        lines or ["There are no judge versions yet. To judge: `judgeboard judge --judge lexical`"],
    )


@options.command('judgeboard versions retire "rag v1"', group=versions_command, json=False)
@click.argument("version")
def versions_retire(version: str) -> None:
    """Retire VERSION, so that it makes no new judgments. Existing ones are kept.

    VERSION is a title ("rag v1"), the name of a judge (its newest version), or a fingerprint.
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


@options.command(
    "judgeboard versions prompt rag > my-prompt.md",
    "judgeboard judge --judge rag --model gpt-4o-mini --prompt my-prompt.md",
    "judgeboard versions prompt 'rag v2'",
    group=versions_command,
    json=False,
)
@click.argument("which", metavar="KIND|VERSION")
def versions_prompt(which: str) -> int:
    """Print the prompt of a judge version or kind of judge. The output is a file for --prompt.

    The file may leave out sections that you do not change. Keep the placeholders of each section,
    such as {error}. The program inserts the answer and its passages, and always tells the judge
    that they are data, not instructions.
    """
    from judgeboard.judges.prompt import prompt_file, prompt_of
    from judgeboard.registry.judge_kinds import KINDS
    from judgeboard.store.judge_versions import get_version

    built_in = prompt_of(which)
    if built_in is not None:
        click.echo(prompt_file(built_in), nl=False)
        return 0
    with options.open_store().reading() as connection:
        version = get_version(connection, which)
    built_in = prompt_of(version.kind)
    if built_in is None or version.prompt is None:
        with_prompt = ", ".join(name for name, kind in KINDS.items() if kind.asks_model)
        raise BadInput(
            f"{version.title} has no prompt. Kinds of judges with a prompt: {with_prompt}"
        )
    prompt = prompt_file(built_in, version.prompt)
    if sys.stdout.isatty():  # a model may have written the prompt
        options.echo(prompt, verbatim=True)
    else:
        click.echo(prompt, nl=False)
    return 0
