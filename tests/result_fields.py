"""Compares several fields of a result at once, each beside the value that it must have."""

from collections.abc import Mapping


def check_fields(result, **expected):
    """Fail unless each of these fields of an object or a row has its value."""
    __tracebackhide__ = True  # the failure is shown at the call
    fields = {
        name: result[name] if isinstance(result, Mapping) else getattr(result, name)
        for name in expected
    }
    assert fields == expected, f"{fields} is not {expected}"
