"""The command that invites people."""

import pytest


def test_an_invitation_prints_a_link_alone_and_the_next_one_another(tmp_path, shell, monkeypatch):
    command = f"people invite ann --db {tmp_path / 'judgeboard.db'}"
    first = shell(f"{command} --role admin")
    assert first.startswith("http://localhost:8501/account/link/")
    assert first.count("\n") == 1
    monkeypatch.setenv("JUDGEBOARD_URL", "https://tools.example.org/judgeboard/")
    second = shell(command)
    assert second.startswith("https://tools.example.org/judgeboard/account/link/")
    assert second.rpartition("/")[2] != first.rpartition("/")[2]
    assert "admin" in shell(f"{command} --role lead", code=2)


@pytest.mark.parametrize("name", ["", "cli:ann", "ann@"])
def test_a_wrong_name_leaves_no_database(tmp_path, shell, name):
    database = tmp_path / "judgeboard.db"
    shell(f"people invite '{name}' --db {database}", code=2)
    assert not database.exists()
