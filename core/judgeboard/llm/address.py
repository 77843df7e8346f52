"""Addresses of OpenAI-compatible endpoints."""

from urllib.parse import urlsplit

OPENAI_BASE_URL = "https://api.openai.com/v1"


def host_of(base_url: str | None) -> str:
    """Return host and port of an endpoint (None: OpenAI's own), without a user or password its address may carry."""
    return urlsplit(base_url or OPENAI_BASE_URL).netloc.rpartition("@")[2]


def is_address(base_url: str) -> bool:
    """Whether requests can be sent there: http or https, a host, and a port that is one."""
    try:
        parts = urlsplit(base_url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def carries_login(base_url: str) -> bool:
    """Whether an address has a user or password in it, which cannot be sent beside a key."""
    return "@" in urlsplit(base_url).netloc
