"""``judgeboard issue``: systemic problems with their owner, state and share of answers before and after a fix."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import click

from judgeboard.cli import options
from judgeboard.domain import IssueState
from judgeboard.store.filters import RowFilter
from judgeboard.text import utc_day

_FIELDS = options.decorator(
    click.option("--description", help="What the problem is, and what is done about it."),
    click.option("--owner", metavar="NAME", help="Person who takes care of it; an empty text is nobody."),
)


@click.group(
    epilog=options.example(
        "judgeboard issue create 'Fees from last year' --where failure_mode='outdated source' --owner Mara",
        "judgeboard issue set 1 --state fixed --fixed-on 2026-03-12",
    )
)
def issue_command() -> None:
    """Keep issues: systemic problems with a title, an owner, a state and the flags of a filter.

    The filter also selects later answers. An issue that is fixed shows the share of answers with the problem before and
    after the fix.
    """


@issue_command.command(
    "create",
    epilog=options.example("judgeboard issue create 'Wrong fees' --where rule=low_groundedness --where source=billing"),
)
@click.argument("title")
@options.where
@_FIELDS
@options.json_and_database
def create(title: str, where: RowFilter, description: str | None, owner: str | None) -> None:
    """Open an issue about the answers of a filter.

    With rules, or without any sign of a problem, the filter selects answers with an open or a confirmed flag.
    """
    from judgeboard.reviews.issues import save_issue
    from judgeboard.store.issues import Issue

    issue = save_issue(options.open_store(), Issue(title, where, description, owner), by=options.actor())
    options.show(issue, [f"Issue {issue.number} is open."])
    options.suggest("issue", "show", str(issue.number))


@issue_command.command("list", epilog=options.example("judgeboard issue list"))
@click.option("--closed", is_flag=True, help="List closed issues too.")
@options.json_and_database
def list_(closed: bool) -> None:
    """List the issues with their figures, the newest first."""
    from judgeboard.reports.issues import issue_table
    from judgeboard.reports.output import text_lines
    from judgeboard.reviews.issues import measure_issue
    from judgeboard.store.issues import list_issues

    with options.seen(options.open_store()).reading() as connection:
        issues = list_issues(connection, closed=closed)
        figures = [measure_issue(connection, issue) for issue in issues]
    rows = [{"issue": issue, "figures": each} for issue, each in zip(issues, figures, strict=True)]
    lines = text_lines(issue_table(issues, figures)) if issues else ["There are no issues."]
    options.show({"issues": rows}, lines)


@issue_command.command("show", epilog=options.example("judgeboard issue show 1 --json"))
@click.argument("number", type=options.ROW_ID)
@options.json_and_database
def show(number: int) -> None:
    """Show an issue, its flags, and the share of answers with the problem before and after the fix."""
    from judgeboard.reviews.issues import issue_sentence, measure_issue
    from judgeboard.store.filters import describe
    from judgeboard.store.issues import get_issue

    with options.seen(options.open_store()).reading() as connection:
        issue = get_issue(connection, number)
        figures = measure_issue(connection, issue)
    flags = ", ".join(f"{n:,} {state}" for state, n in figures.flags.items())
    lines = [
        f"Issue {issue.number}: {issue.title} ({issue.state.value}, owner: {issue.owner or 'nobody'})",
        *([issue.description] if issue.description else []),
        f"Answers: {describe(issue.where)}",
        f"Flags: {flags}",
        issue_sentence(issue, figures),
    ]
    options.show({"issue": issue, "figures": figures}, lines)


@issue_command.command("set", epilog=options.example("judgeboard issue set 1 --state fixed --fixed-on 2026-03-12"))
@click.argument("number", type=options.ROW_ID)
@click.option("--title", help="Title.")
@_FIELDS
@click.option("--state", type=click.Choice([state.value for state in IssueState]), help="State.")
@click.option(
    "--fixed-on",
    metavar="DAY",
    type=click.DateTime(["%Y-%m-%d"]),
    help="First day (UTC) with the fix, for example 2026-03-12 (default: today). The state becomes fixed.",
)
@options.json_and_database
def set_(number: int, state: str | None, fixed_on: datetime | None, **changes: Any) -> None:
    """Change an issue. Options that are not given keep their values."""
    from judgeboard.reviews.issues import save_issue
    from judgeboard.store.issues import get_issue

    store = options.open_store()
    with store.reading() as connection:
        issue = get_issue(connection, number)
    if fixed_on is not None:
        changes |= {"fixed_day": utc_day(fixed_on.replace(tzinfo=UTC))}
        state = state or IssueState.FIXED.value
    changes |= {"state": state and IssueState(state)}
    given = {name: value for name, value in changes.items() if value is not None}
    issue = save_issue(store, replace(issue, **given), by=options.actor())
    options.show(issue, [f"Issue {issue.number} is {issue.state.value}."])
