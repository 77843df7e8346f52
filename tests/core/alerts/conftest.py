from collections.abc import Iterator

import pytest

from hook_server import Hook, hook_server


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    """A destination of alerts on this machine."""
    with hook_server() as served:
        monkeypatch.setenv("HOOK_URL", served.url)
        monkeypatch.setenv("JUDGEBOARD_ALERT_NETWORKS", "127.0.0.0/8")
        yield served
