"""``judgeboard issue``: systemic problems with their owner, state and share of answers before and after a fix."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import click

from judgeboard.cli import options
from judgeboard.domain import IssueState
from judgeboard.store.filters import RowFilter, describe
from judgeboard.text import day_words, utc_day

_description = click.option("--description", help="The problem, and what is done about it.")
_owner = click.option("--owner", metavar="NAME", help="Person who is responsible. An empty text removes the owner.")
_number = click.argument("number", type=options.ROW_ID)


@options.group(
    "judgeboard issue create 'Fees from last year' --where failure_mode='outdated source' --owner Mara",
    "judgeboard issue set 1 --fixed-on 2026-03-12",
)
def issue_command() -> None:
    """Keep issues: systemic problems, each with a title, an owner, a state and a filter of answers.

    Later answers that match the filter belong to the issue too.
    """


@options.command("judgeboard issue create 'Wrong fees' --where source=billing", group=issue_command)
@click.argument("title")
@options.where
@_description
@_owner
def create(title: str, where: RowFilter, description: str | None, owner: str | None) -> None:
    """Open an issue about the answers of a filter.

    If the filter names rules, or nothing that shows a problem, only answers with an open or confirmed flag belong to
    the issue.
    """
    from judgeboard.reviews.issues import save_issue
    from judgeboard.store.issues import Issue

    issue = save_issue(options.open_store(), Issue(title, where, description, owner), by=options.actor())
    options.show(issue, [f"Issue {issue.number} is open."])
    options.suggest("issue", "show", str(issue.number))


@options.command("judgeboard issue list", group=issue_command)
@click.option("--closed", is_flag=True, help="List closed issues too.")
def list_(closed: bool) -> None:
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
def show(number: int) -> None:
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
    help="First day (UTC) with the fix, for example 2026-03-12 (default: today). The state becomes fixed.",
)
def set_(number: int, state: str | None, fixed_on: datetime | None, **changes: Any) -> None:
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
