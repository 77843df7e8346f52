"""The scopes of keys: what a program may do with a key."""

from judgeboard.registry.methods import with_methods

SCOPES = with_methods(
    "scope of keys",
    {
        "ingest": "send traces, answers and feedback",
        "read": "read answers, flags and figures",
        "review": "send reviews of people",
    },
    lambda method: method.scopes,
)
"""What a key with a scope may do, by scope."""
