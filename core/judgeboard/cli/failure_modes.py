"""The group `problem mode`: the failure modes with which reviewers tag answers."""

from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.store.issues import Group


@options.group(
    "judgeboard problem mode add 'wrong entity' --description 'Mixes up people or products' --key P",
    "judgeboard problem mode counts --by week",
)
def mode_command() -> None:
    """Manage failure modes, and count the tagged answers. Reviewers tag answers with failure modes.

    An answer can have several modes. Leads add and retire modes. Nobody can choose a retired mode; its tags are kept.
    """


@options.command("judgeboard problem mode add 'outdated source' --key O", group=mode_command)
@click.argument("name")
@click.option("--description", help="One sentence that tells reviewers when to choose the mode.")
@click.option("--key", help="Letter (not C or R) that, with Shift, chooses the mode on the review screen.")
def mode_add(name: str, description: str | None, key: str | None) -> None:
    """Add the failure mode NAME, or change it."""
    from judgeboard.reviews.failure_modes import save_mode

    mode = save_mode(options.open_store(), name, description, key=key, by=options.actor())
    options.show(mode, [f"{mode.name} is in the list. Next: tag answers with it on the review screen."])


@options.command("judgeboard problem mode retire 'outdated source'", group=mode_command)
@click.argument("name")
def mode_retire(name: str) -> None:
    """Retire the failure mode NAME, and keep its tags. Reviewers can no longer choose it. `add` restores it."""
    from judgeboard.reviews.failure_modes import retire_mode

    mode = retire_mode(options.open_store(), name, by=options.actor())
    options.show(mode, [f"{mode.name} is retired. Its tags are kept."])


@options.command(
    "judgeboard problem mode list",
    group=mode_command,
    rows="failure_modes",
)
def mode_list() -> None:
    """List all failure modes, and frequent phrases in notes.

    The phrases come from notes on answers without a failure mode.
    """
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


@options.command(
    "judgeboard problem mode counts --by week --json",
    group=mode_command,
    rows="counts",
)
@options.with_default(
    "--by",
    type=click.Choice(["query_type", "judge_version", "week"]),
    default="query_type",
    help="Groups in which the tagged answers are counted.",
)
def mode_counts(by: "Group") -> None:
    """Count the tagged answers per group, and their share.

    The share relates to the reviewed answers of the group.
    """
    from judgeboard.reports.output import Column, Table, text_lines
    from judgeboard.reviews.failure_modes import GROUPS, failure_mode_counts

    with options.seen(options.open_store()).reading() as connection:
        counted = failure_mode_counts(connection, by)
    share = Column("Share of reviewed", "share estimate")
    columns = (Column(GROUPS[by]), Column("Failure mode"), Column("Answers", "count"), share)
    rows = tuple((each.group, each.mode, each.answers, each.share) for each in counted)
    options.show({"by": by, "counts": counted}, text_lines(Table(columns, rows)))
