"""``judgeboard failure-mode``: the list of failure modes, their counts, and suggestions from notes."""

from typing import TYPE_CHECKING

import click

from judgeboard.cli import options

if TYPE_CHECKING:
    from judgeboard.store.failure_modes import Group


@options.group(
    "judgeboard failure-mode add 'wrong entity' --description 'Mixes up people or products' --key P",
    "judgeboard failure-mode counts --by week",
)
def failure_mode_command() -> None:
    """Keep the list of failure modes that reviewers tag answers with, and count them.

    An answer can have several. Leads add and retire modes. A retired mode is not offered; its tags are kept.
    """


@options.command("judgeboard failure-mode add 'outdated source' --key O", group=failure_mode_command)
@click.argument("name")
@click.option("--description", help="One sentence that tells reviewers when to choose it.")
@click.option("--key", help="Letter that chooses it on the review screen together with Shift (not C or R).")
def add(name: str, description: str | None, key: str | None) -> None:
    """Add a failure mode, or change the one called NAME."""
    from judgeboard.reviews.failure_modes import save_mode

    mode = save_mode(options.open_store(), name, description, key=key, by=options.actor())
    options.show(mode, [f"{mode.name} is in the list. Next: tag answers with it on the review screen."])


@options.command("judgeboard failure-mode retire 'outdated source'", group=failure_mode_command)
@click.argument("name")
def retire(name: str) -> None:
    """Retire the failure mode NAME: it is not offered, and its tags are kept. `add` restores it."""
    from judgeboard.reviews.failure_modes import retire_mode

    mode = retire_mode(options.open_store(), name, by=options.actor())
    options.show(mode, [f"{mode.name} is retired. Its tags are kept."])


@options.command("judgeboard failure-mode list", group=failure_mode_command)
def list_() -> None:
    """List all failure modes, and the words that are frequent in notes without one."""
    from judgeboard.reports.output import Column, Table, text_lines
    from judgeboard.reviews.failure_modes import suggested_modes
    from judgeboard.store.failure_modes import list_modes

    store = options.open_store()
    with options.seen(store).reading() as connection:
        modes, suggestions = list(list_modes(connection).values()), suggested_modes(connection)
    rows = tuple((mode.name, mode.key, "retired" if mode.retired else "", mode.description) for mode in modes)
    columns = tuple(map(Column, ("Failure mode", "Key", "State", "Description")))
    lines = list(text_lines(Table(columns, rows))) if rows else ["There are no failure modes yet."]
    lines += [f"Frequent in notes: {words} ({n} notes)" for words, n in suggestions.items()]
    options.show({"failure_modes": modes, "suggestions": suggestions}, lines)


@options.command("judgeboard failure-mode counts --by week --json", group=failure_mode_command)
@options.with_default(
    "--by",
    type=click.Choice(["query_type", "judge_version", "week"]),
    default="query_type",
    help="Groups in which the tagged answers are counted.",
)
def counts(by: "Group") -> None:
    """Count the tagged answers per group, and their share among the reviewed answers of the group."""
    from judgeboard.reports.output import Column, Table, text_lines
    from judgeboard.reviews.failure_modes import GROUPS, failure_mode_counts

    with options.seen(options.open_store()).reading() as connection:
        counted = failure_mode_counts(connection, by)
    share = Column("Share of reviewed", "share estimate")
    columns = (Column(GROUPS[by]), Column("Failure mode"), Column("Answers", "count"), share)
    rows = tuple((each.group, each.mode, each.answers, each.share) for each in counted)
    options.show({"by": by, "counts": counted}, text_lines(Table(columns, rows)))
