"""The commands `schema`, `failure-mode` and `issue`: how people label answers, and the problems they find."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.domain import IssueState
from judgeboard.store.filters import RowFilter, describe
from judgeboard.text import counted, day_words, utc_day

if TYPE_CHECKING:
    from judgeboard.store.issues import Group


@options.group(
    "judgeboard schema add support.yaml",
    "judgeboard queue create audit --schema support --order random --blind-judge --assign Mara,Jon",
)
def schema_command() -> None:
    """Store, list and print label schemas. A stored version never changes.

    A schema is a YAML file with a name and fields of the types category, yes_no, scale, number, text, spans and
    ranking. It may also name these built-in fields: label, groundedness, quality, note, corrected_answer.
    """


@options.command("judgeboard schema add support.yaml", group=schema_command)
@click.argument("file", type=options.FILE)
def schema_add(file: Path) -> None:
    """Store the schema of FILE. A changed schema with the same name gets the next version number.

    FILE may also be a rubric. Each dimension becomes a required scale that keeps its levels and their descriptions.
    """
    from judgeboard.formats.label_schema import read_schema
    from judgeboard.reviews.label_schemas import add_schema

    stored = add_schema(options.open_store(), read_schema(file), by=options.actor())
    next_step = f"`judgeboard queue create NAME --schema '{stored.title}'`"
    fields = counted(len(stored.schema.fields), "field")
    options.show({"schema": stored.title}, [f"{stored.title}: {fields}. Next: {next_step}"])


@options.command("judgeboard schema list", group=schema_command)
def schema_list() -> None:
    """List all versions by name."""
    from judgeboard.store.label_schemas import list_schemas

    with options.open_store().reading() as connection:
        versions = list_schemas(connection)
    lines = [f"{each.title}  {', '.join(field.name for field in each.schema.fields)}" for each in versions]
    rows = [{"schema": each.title, **each.schema.as_json(), "created_by": each.created_by} for each in versions]
    options.show(
        {"schemas": rows}, lines or ["There are no label schemas yet. To add one: `judgeboard schema add FILE`"]
    )


@options.command("judgeboard schema show 'support v2'", group=schema_command)
@click.argument("name")
def schema_show(name: str) -> None:
    """Print a schema as YAML. NAME is a title ("support v2"), or the name of a schema (its newest version)."""
    from judgeboard.formats.label_schema import as_yaml
    from judgeboard.store.label_schemas import schema_named

    with options.open_store().reading() as connection:
        stored = schema_named(connection, name)
    options.show({"schema": stored.title, **stored.schema.as_json()}, [as_yaml(stored.schema).rstrip()], verbatim=True)


@options.group(
    "judgeboard failure-mode add 'wrong entity' --description 'Mixes up people or products' --key P",
    "judgeboard failure-mode counts --by week",
)
def failure_mode_command() -> None:
    """Manage the failure modes with which reviewers tag answers, and count the tagged answers.

    An answer can have several modes. Leads add and retire modes. Nobody can choose a retired mode; its tags are kept.
    """


@options.command("judgeboard failure-mode add 'outdated source' --key O", group=failure_mode_command)
@click.argument("name")
@click.option("--description", help="One sentence that tells reviewers when to choose the mode.")
@click.option("--key", help="Letter (not C or R) that, with Shift, chooses the mode on the review screen.")
def failure_mode_add(name: str, description: str | None, key: str | None) -> None:
    """Add the failure mode NAME, or change it."""
    from judgeboard.reviews.failure_modes import save_mode

    mode = save_mode(options.open_store(), name, description, key=key, by=options.actor())
    options.show(mode, [f"{mode.name} is in the list. Next: tag answers with it on the review screen."])


@options.command("judgeboard failure-mode retire 'outdated source'", group=failure_mode_command)
@click.argument("name")
def failure_mode_retire(name: str) -> None:
    """Retire the failure mode NAME: reviewers can no longer choose it, and its tags are kept. `add` restores it."""
    from judgeboard.reviews.failure_modes import retire_mode

    mode = retire_mode(options.open_store(), name, by=options.actor())
    options.show(mode, [f"{mode.name} is retired. Its tags are kept."])


@options.command("judgeboard failure-mode list", group=failure_mode_command)
def failure_mode_list() -> None:
    """List all failure modes, and frequent phrases in the notes of answers without a failure mode."""
    from judgeboard.reports.output import Column, Table, text_lines
    from judgeboard.reviews.failure_modes import suggested_modes
    from judgeboard.store.issues import list_modes

    store = options.open_store()
    with options.seen(store).reading() as connection:
        modes, suggestions = list(list_modes(connection).values()), suggested_modes(connection)
    rows = tuple((mode.name, mode.key, "retired" if mode.retired else "", mode.description) for mode in modes)
    columns = tuple(map(Column, ("Failure mode", "Key", "State", "Description")))
    lines = list(text_lines(Table(columns, rows))) if rows else ["There are no failure modes yet."]
    lines += [
        f"{counted(n, 'note')} {'contains' if n == 1 else 'contain'}: {words}" for words, n in suggestions.items()
    ]
    options.show({"failure_modes": modes, "suggestions": suggestions}, lines)


@options.command("judgeboard failure-mode counts --by week --json", group=failure_mode_command)
@options.with_default(
    "--by",
    type=click.Choice(["query_type", "judge_version", "week"]),
    default="query_type",
    help="Groups in which the tagged answers are counted.",
)
def failure_mode_counts(by: "Group") -> None:
    """Count the tagged answers per group, and their share among the reviewed answers of the group."""
    from judgeboard.reports.output import Column, Table, text_lines
    from judgeboard.reviews.failure_modes import GROUPS, failure_mode_counts

    with options.seen(options.open_store()).reading() as connection:
        counted = failure_mode_counts(connection, by)
    share = Column("Share of reviewed", "share estimate")
    columns = (Column(GROUPS[by]), Column("Failure mode"), Column("Answers", "count"), share)
    rows = tuple((each.group, each.mode, each.answers, each.share) for each in counted)
    options.show({"by": by, "counts": counted}, text_lines(Table(columns, rows)))


_description = click.option("--description", help="Description of the problem and of the work on it.")
_owner = click.option("--owner", metavar="NAME", help="Person who is responsible. An empty text removes the owner.")
_number = click.argument("number", type=options.ROW_ID)


@options.group(
    "judgeboard issue create 'Fees from last year' --where failure_mode='outdated source' --owner Mara",
    "judgeboard issue set 1 --fixed-on 2026-03-12",
)
def issue_command() -> None:
    """Manage issues: systemic problems, each with a title, an owner, a state and a filter of answers.

    Later answers that match the filter belong to the issue too.
    """


@options.command("judgeboard issue create 'Wrong fees' --where source=billing", group=issue_command)
@click.argument("title")
@options.where
@_description
@_owner
def issue_create(title: str, where: RowFilter, description: str | None, owner: str | None) -> None:
    """Open an issue about the answers of a filter.

    If the filter names a rule, the answers must have an open or confirmed flag of that rule. If the filter names
    nothing but sources, types, models or days, the answers must have an open or confirmed flag, whatever its rule.
    """
    from judgeboard.reviews.issues import save_issue
    from judgeboard.store.issues import Issue

    issue = save_issue(options.open_store(), Issue(title, where, description, owner), by=options.actor())
    options.show(issue, [f"Issue {issue.number} is open."])
    options.suggest("issue", "show", str(issue.number))


@options.command("judgeboard issue list", group=issue_command)
@click.option("--closed", is_flag=True, help="List closed issues too.")
def issue_list(closed: bool) -> None:
    """List the issues with their figures, the newest first."""
    from judgeboard.reviews.issues import issue_sentence, measure_issue
    from judgeboard.store.issues import list_issues

    with options.seen(options.open_store()).reading() as connection:
        measured = [(issue, measure_issue(connection, issue)) for issue in list_issues(connection, closed=closed)]
    lines = [
        f"{issue.number} ({issue.state}) {issue.title}. {issue_sentence(issue, figures)}" for issue, figures in measured
    ]
    rows = [{"issue": issue, "figures": figures} for issue, figures in measured]
    options.show({"issues": rows}, lines or ["There are no issues."])


@options.command("judgeboard issue show 1 --json", group=issue_command)
@_number
def issue_show(number: int) -> None:
    """Show an issue, its flags, and the share of answers with the problem before and after the fix."""
    from judgeboard.reviews.issues import issue_sentence, measure_issue
    from judgeboard.store.issues import get_issue

    with options.seen(options.open_store()).reading() as connection:
        issue = get_issue(connection, number)
        figures = measure_issue(connection, issue)
    fixed = "" if issue.fixed_day is None else f", fixed on {day_words(issue.fixed_day)}"
    lines = [
        f"{issue.number} ({issue.state}{fixed}) {issue.title}",
        f"Owner: {issue.owner or 'nobody'}",
        f"Answers: {describe(issue.where)}",
        f"Flags: {', '.join(f'{n:,} {state}' for state, n in figures.flags.items())}",
        issue_sentence(issue, figures),
    ]
    options.show({"issue": issue, "figures": figures}, [*lines, *([issue.description] if issue.description else [])])


@options.command("judgeboard issue set 1 --fixed-on 2026-03-12", group=issue_command)
@_number
@click.option("--title", help="Title.")
@_description
@_owner
@click.option("--state", type=click.Choice([state.value for state in IssueState]), help="State.")
@click.option(
    "--fixed-on",
    metavar="DAY",
    type=click.DateTime(["%Y-%m-%d"]),
    help="First day (UTC) with the fix. Also sets the state to fixed. "
    "Without it, --state fixed stores today as that day.",
)
def issue_set(number: int, state: str | None, fixed_on: datetime | None, **changes: Any) -> None:
    """Change an issue. Options that are not given keep their values."""
    from judgeboard.reviews.issues import save_issue
    from judgeboard.store.issues import get_issue

    store = options.open_store()
    with store.reading() as connection:
        issue = get_issue(connection, number)
    if fixed_on is not None:
        issue = replace(issue, state=IssueState.FIXED, fixed_day=utc_day(fixed_on.replace(tzinfo=UTC)))
    if state is not None:
        issue = replace(issue, state=IssueState(state))
    chosen = {name: value for name, value in changes.items() if value is not None}
    issue = save_issue(store, replace(issue, **chosen), by=options.actor())
    options.show(issue, [f"Issue {issue.number} is {issue.state}."])
