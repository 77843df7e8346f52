import pytest

from hook_server import hook_server


@pytest.fixture
def hook(monkeypatch):
    """A destination of alerts on this machine."""
    with hook_server() as served:
        monkeypatch.setenv("HOOK_URL", served.url)
        monkeypatch.setenv("JUDGEBOARD_ALERT_NETWORKS", "127.0.0.0/8")
        yield served
