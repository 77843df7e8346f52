"""``judgeboard schema``: label schemas, the fields that reviewers of a queue fill in."""

from pathlib import Path

import click

from judgeboard.cli import options


@options.group(
    "judgeboard schema add support.yaml", "judgeboard queue create audit --schema support --order random --blind-judge"
)
def schema_command() -> None:
    """Store, list and print label schemas. A stored version never changes; reviews keep the version they were given in.

    A schema is a YAML file with a name and fields of the types category, yes_no, scale, number, text, spans and
    ranking. The parts of the built-in grade (label, groundedness, quality, note, corrected_answer) are named alone.
    """


@options.command("judgeboard schema add support.yaml", group=schema_command)
@click.argument("file", type=options.FILE)
def add(file: Path) -> None:
    """Store the schema of FILE. Another content under the same name gets the next version number.

    FILE may also be a rubric: its dimensions become required scales with the words of their levels.
    """
    from judgeboard.formats.label_schema import read_schema
    from judgeboard.reviews.label_schemas import add_schema

    stored = add_schema(options.open_store(), read_schema(file), by=options.actor())
    next_step = f"judgeboard queue create NAME --schema '{stored.title}'"
    options.show({"schema": stored.title}, [f"{stored.title}: {len(stored.schema.fields)} fields. Next: {next_step}"])


@options.command("judgeboard schema list", group=schema_command)
def list_() -> None:
    """List all versions by name."""
    from judgeboard.store.label_schemas import list_schemas

    with options.open_store().reading() as connection:
        versions = list_schemas(connection)
    lines = [f"{each.title}  {', '.join(field.name for field in each.schema.fields)}" for each in versions]
    rows = [{"schema": each.title, **each.schema.as_json(), "created_by": each.created_by} for each in versions]
    options.show(
        {"schemas": rows}, lines or ["There are no label schemas yet: store one with `judgeboard schema add`."]
    )


@options.command("judgeboard schema show 'support v2'", group=schema_command)
@click.argument("name")
def show(name: str) -> None:
    """Print a schema as YAML: NAME is a title ("support v2"), or a name for its newest version."""
    from judgeboard.formats.label_schema import as_yaml
    from judgeboard.store.label_schemas import schema_named

    with options.open_store().reading() as connection:
        stored = schema_named(connection, name)
    options.show({"schema": stored.title, **stored.schema.as_json()}, [as_yaml(stored.schema).rstrip()])
