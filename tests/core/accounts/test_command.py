"""The command that invites people."""

import pytest

from judgeboard.cli.app import run


def test_an_invitation_prints_a_link_alone_and_the_next_one_another(tmp_path, capsys, monkeypatch):
    command = ["people", "invite", "ann", "--db", str(tmp_path / "judgeboard.db")]
    monkeypatch.delenv("JUDGEBOARD_URL", raising=False)
    assert run([*command, "--role", "admin"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("http://localhost:8501/account/link/")
    assert first.count("\n") == 1
    monkeypatch.setenv("JUDGEBOARD_URL", "https://tools.example.org/judgeboard/")
    assert run(command) == 0
    second = capsys.readouterr().out
    assert second.startswith("https://tools.example.org/judgeboard/account/link/")
    assert second.rpartition("/")[2] != first.rpartition("/")[2]
    assert run([*command, "--role", "lead"]) == 2
    assert "admin" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "cli:ann", "ann@"])
def test_a_wrong_name_leaves_no_database(tmp_path, name):
    database = tmp_path / "judgeboard.db"
    assert run(["people", "invite", name, "--db", str(database)]) == 2
    assert not database.exists()
