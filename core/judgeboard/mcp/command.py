"""The command `mcp`: the tools of agents over stdio, and the drafts of agents."""

import click

from judgeboard.cli import options
from judgeboard.cli.groups import CommandWithArguments
from judgeboard.errors import BadInput

DRAFT_ID = click.argument("draft", type=options.ROW_ID)


@options.group(
    "judgeboard mcp --db data/judgeboard.db",
    "judgeboard mcp drafts",
    cls=CommandWithArguments,
    json=False,
)
def mcp_command() -> None:
    """Serve tools to a coding assistant over stdio (MCP).

    The assistant, an agent, starts this command. It reads figures and answers as you may see them.
    What it drafts counts only when a person confirms it. Needs the extra: pip install 'judgeboard[mcp]'
    """
    store = options.open_store()
    try:
        from judgeboard.mcp.server import serve_stdio
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise BadInput(
            "needs further packages: install them with `pip install 'judgeboard[mcp]'`"
        ) from None
    serve_stdio(store)


@options.command("judgeboard mcp drafts", group=mcp_command, rows="drafts")
def drafts() -> None:
    """List the open drafts of agents, the newest first."""
    from judgeboard.mcp.drafts import draft_words, list_drafts

    with options.reading() as connection:
        open_drafts = list_drafts(connection)
    lines = [
        f"{draft.id}  {draft.kind}  by {draft.by}: {draft_words(draft)}" for draft in open_drafts
    ]
    options.show({"drafts": open_drafts}, lines or ["No draft is open."], verbatim=True)


@options.command("judgeboard mcp confirm 3", group=mcp_command, json=False)
@DRAFT_ID
def confirm(draft: int) -> None:
    """Confirm a draft.

    It is stored as your own review, label schema, failure modes or run.
    """
    from judgeboard.mcp.drafts import confirm as confirm_draft

    store = options.open_store()
    options.echo(confirm_draft(store, draft, options.reviewer(store)))


@options.command("judgeboard mcp dismiss 3", group=mcp_command, json=False)
@DRAFT_ID
def dismiss(draft: int) -> None:
    """Dismiss a draft. Nothing is stored."""
    from judgeboard.mcp.drafts import dismiss as dismiss_draft

    store = options.open_store()
    options.echo(dismiss_draft(store, draft, options.reviewer(store)))
