"""The group `queue schema`: the label schemas with which people grade answers."""

from pathlib import Path

import click

from judgeboard.cli import options
from judgeboard.text import counted


@options.group(
    "judgeboard queue schema add support.yaml",
    "judgeboard queue create audit --schema support --order random --blind-judge --assign Mara,Jon",
)
def schema_command() -> None:
    """Store, list and print label schemas. A stored version never changes.

    A schema is a YAML file with a name and fields of the types category, yes_no, scale, number,
    text, spans and ranking. It may also name these built-in fields: label, groundedness, quality,
    note, corrected_answer.
    """


@options.command("judgeboard queue schema add support.yaml", group=schema_command)
@click.argument("file", type=options.FILE)
def schema_add(file: Path) -> None:
    """Store the label schema in FILE: the fields that reviewers fill in.

    A changed schema with the same name gets the next version number.

    FILE may also be a rubric. Each dimension becomes a required scale that keeps its levels and
    their descriptions.
    """
    from judgeboard.formats.label_schema import read_schema
    from judgeboard.reviews.queues import add_schema

    version = add_schema(options.open_store(), read_schema(file), by=options.actor())
    next_step = f"`judgeboard queue create NAME --schema '{version.title}'`"
    fields = counted(len(version.content.fields), "field")
    options.show({"schema": version.title}, [f"{version.title}: {fields}. Next: {next_step}"])


@options.command(
    "judgeboard queue schema list",
    "judgeboard queue schema list 'support v2'",
    group=schema_command,
    rows="schemas",
)
@click.argument("name", required=False)
def schema_list(name: str | None) -> None:
    """List all versions of label schemas, by name. With NAME, print one schema as YAML.

    NAME is a title ("support v2"), or the name of a schema (its newest version).
    """
    from judgeboard.formats.label_schema import as_yaml
    from judgeboard.store.label_schemas import list_schemas, schema_named

    with options.open_store().reading() as connection:
        versions = list_schemas(connection) if name is None else [schema_named(connection, name)]
    if name is not None:
        (version,) = versions
        schema_json = {"schema": version.title, **version.content.as_json()}
        options.show(schema_json, [as_yaml(version.content).rstrip()], verbatim=True)
        return
    lines = [
        f"{each.title}  {', '.join(field.name for field in each.content.fields)}"
        for each in versions
    ]
    rows = [
        {"schema": each.title, **each.content.as_json(), "created_by": each.created_by}
        for each in versions
    ]
    options.show(
        {"schemas": rows},
        lines or ["There are no label schemas yet. To add one: `judgeboard queue schema add FILE`"],
    )
