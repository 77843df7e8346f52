"""A real identity provider, in a process of its own: whoever is named to it is signed in."""

import json
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

from served import START_SECONDS, free_port

SERVE = """
import json, sys, time
from oidc_provider_mock import User, run_server_in_thread
users = [User(sub=name, claims=claims) for name, claims in json.loads(sys.argv[2]).items()]
with run_server_in_thread(int(sys.argv[1]), user_claims=users):
    sys.stdin.read()
"""
COOKIE_SECRET = "0123456789abcdef0123456789abcdef"
CLIENT_SECRET = "this-secret-never-leaves-the-server"


@contextmanager
def identity_provider(people):
    """Serve people with their claims, by the name that they type; gives the provider's address."""
    url = f"http://localhost:{free_port()}"
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVE, url.rpartition(":")[2], json.dumps(people)],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:  # leaving closes its standard input, which ends it
        deadline = time.monotonic() + START_SECONDS
        while not _answers(url):
            assert process.poll() is None, "the identity provider ended"
            assert time.monotonic() < deadline, "the identity provider does not answer"
            time.sleep(0.05)
        yield url


def write_secrets(folder, provider, address):
    """Write what a server at this address asks the provider with, where it looks for it in its home folder."""
    secrets = folder / ".streamlit" / "secrets.toml"
    secrets.parent.mkdir(parents=True)
    secrets.write_text(
        "[auth]\n"
        f'redirect_uri = "{address}/oauth2callback"\n'
        f'cookie_secret = "{COOKIE_SECRET}"\n'
        'client_id = "judgeboard"\n'
        f'client_secret = "{CLIENT_SECRET}"\n'
        f'server_metadata_url = "{provider}/.well-known/openid-configuration"\n'
    )


def _answers(url):
    try:
        with urllib.request.urlopen(f"{url}/.well-known/openid-configuration", timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
