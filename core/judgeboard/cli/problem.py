"""The group `problem`: systemic problems, their owners, and what a fix changed."""

from dataclasses import replace
from datetime import UTC, datetime

import click

from judgeboard.cli import options
from judgeboard.domain import IssueState
from judgeboard.store.filters import RowFilter, describe
from judgeboard.text import day_words, utc_day

_description = click.option("--description", help="Description of the problem and of the work on it.")
_owner = click.option("--owner", metavar="NAME", help="Person who is responsible. An empty text removes the owner.")


@options.group(
    "judgeboard problem create 'Fees from last year' --where failure_mode='outdated source' --owner Mara",
    "judgeboard problem set 1 --fixed-on 2026-03-12",
)
def problem_command() -> None:
    """Manage issues (systemic problems) and failure modes.

    An issue has a title, an owner, a state and a filter of answers. Later answers that match the filter belong to the
    issue too. Reviewers tag answers with failure modes.
    """


@options.command("judgeboard problem create 'Wrong fees' --where source=billing", group=problem_command)
@click.argument("title")
@options.where
@_description
@_owner
def problem_create(title: str, where: RowFilter, description: str | None, owner: str | None) -> None:
    """Open an issue about the answers that match a filter.

    --where is the filter. If it names a rule but no state, an answer belongs to the issue only with an open or
    confirmed flag of that rule. If it has only conditions on source, query type, model or day, an answer belongs to the
    issue only if it has an open or confirmed flag, of whatever rule.
    """
    from judgeboard.reviews.issues import save_issue
    from judgeboard.store.issues import Issue

    issue = save_issue(options.open_store(), Issue(title, where, description, owner), by=options.actor())
    options.show(issue, [f"Issue {issue.number} is open."])
    options.suggest("problem", "list", str(issue.number))


@options.command(
    "judgeboard problem list",
    "judgeboard problem list 1 --json",
    group=problem_command,
    rows="issues",
)
@click.argument("number", type=options.ROW_ID, required=False)
@click.option("--closed", is_flag=True, help="List closed issues too.")
def problem_list(number: int | None, closed: bool) -> None:
    """List the issues with their figures, the newest first. With NUMBER, show one issue and its flags.

    The figures are two shares of answers with the problem: the share before the fix, and the share after it.
    """
    if number is None:
        _list_issues(closed=closed)
    else:
        _show_issue(number)


def _list_issues(*, closed: bool) -> None:
    from judgeboard.reviews.issues import issue_sentence, measure_issue
    from judgeboard.store.issues import list_issues

    with options.seen(options.open_store()).reading() as connection:
        measured = [(issue, measure_issue(connection, issue)) for issue in list_issues(connection, closed=closed)]
    lines = [
        f"{issue.number} ({issue.state}) {issue.title}. {issue_sentence(issue, figures)}" for issue, figures in measured
    ]
    rows = [{"issue": issue, "figures": figures} for issue, figures in measured]
    options.show({"issues": rows}, lines or ["There are no issues."])


def _show_issue(number: int) -> None:
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


@options.command("judgeboard problem set 1 --fixed-on 2026-03-12", group=problem_command)
@click.argument("number", type=options.ROW_ID)
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
def problem_set(
    number: int,
    title: str | None,
    description: str | None,
    owner: str | None,
    state: str | None,
    fixed_on: datetime | None,
) -> None:
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
    if title is not None:
        issue = replace(issue, title=title)
    if description is not None:
        issue = replace(issue, description=description)
    if owner is not None:
        issue = replace(issue, owner=owner)
    issue = save_issue(store, issue, by=options.actor())
    options.show(issue, [f"Issue {issue.number} is {issue.state}."])
