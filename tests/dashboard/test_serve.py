"""The server is safe and looks the same whatever folder it is started in."""

import socket
import tomllib
from pathlib import Path

import pytest
from streamlit import config as streamlit_config

from judgeboard.cli.app import run
from judgeboard.errors import BadInput, MissingDatabase
from judgeboard_dashboard.server import POLICY, check_free, serve, server_options
from judgeboard_dashboard.theme import streamlit_options

ROOT = Path(__file__).parents[2]


def flat(table: dict[str, object], prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def test_the_checkout_and_the_wheel_have_one_theme_and_one_set_of_safe_settings() -> None:
    checkout = flat(tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8")))
    served = server_options("localhost", 8501)
    theme = {name: value for name, value in checkout.items() if name.startswith("theme.")}
    assert theme == streamlit_options()
    for name, value in checkout.items():
        assert served[name] == (
            sorted(value) if isinstance(value, list) and name == "server.allowedHosts" else value
        ), name


def test_every_option_is_one_that_streamlit_knows() -> None:
    known = set(streamlit_config.get_config_options())
    assert set(server_options("localhost", 8501)) <= known


@pytest.mark.parametrize(
    ("host", "address", "names"),
    [
        ("localhost", "127.0.0.1", {"localhost", "127.0.0.1", "[::1]"}),
        ("case.example.org", "case.example.org", {"case.example.org", "localhost", "127.0.0.1", "[::1]"}),
    ],
)
def test_a_server_answers_to_its_own_names_only(host: str, address: str, names: set[str]) -> None:
    options = server_options(host, 8501)
    assert options["server.address"] == address
    assert set(options["server.allowedHosts"]) == names


def test_even_a_server_for_everybody_does_not_answer_to_any_name() -> None:
    allowed = server_options("0.0.0.0", 8501, allowed_hosts=["case.example.org"])["server.allowedHosts"]
    assert "case.example.org" in allowed
    assert "*" not in allowed
    assert allowed, "an empty list would mean any name"


def test_nothing_is_sent_home_and_no_detail_of_an_error_is_shown() -> None:
    options = server_options("localhost", 8501)
    assert options["browser.gatherUsageStats"] is False
    assert options["client.showErrorDetails"] == "none"
    assert options["server.enableXsrfProtection"] is True
    assert "default-src 'self'" in POLICY
    assert "http" not in POLICY


def test_a_taken_port_names_the_option_and_no_database_is_made(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=rf"port {port} is in use: choose another one"):
            check_free("localhost", port)
        database = tmp_path / "judgeboard.db"
        assert run(["serve", "--port", str(port), "--db", str(database)]) == 2
        assert not database.exists()


def test_a_host_that_is_not_ours_is_said() -> None:
    with pytest.raises(BadInput, match="--host"):
        check_free("192.0.2.1", 0)
    with pytest.raises(BadInput, match="--port"):
        check_free("localhost", 70_000)


def test_a_missing_database_is_said_before_the_server_starts(tmp_path: Path) -> None:
    with pytest.raises(MissingDatabase):
        serve(tmp_path / "none.db", port=0)
