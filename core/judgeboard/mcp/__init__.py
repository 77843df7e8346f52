"""Agents as users: coding assistants read figures and answers, and draft what a person then confirms (MCP)."""

from judgeboard.registry.methods import Page, Registration

REGISTRATION = Registration(
    tables=f"{__name__}.tables",
    commands={("Connect", "mcp"): f"{__name__}.command:mcp_command"},
    pages={"machine_drafts": Page("Review", "Drafts", "how-to/agents.md", before="my_reviews")},
    item_sections=("judgeboard_dashboard.review.machine_drafts:DraftsSection",),
    endpoints=f"{__name__}.route:endpoints",
    scopes={
        "draft": "draft reviews, label schemas and failure modes, and request runs, which a person confirms",
        "judge": "start runs without a person",
    },
)
