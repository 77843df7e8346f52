"""Each view leads to its page of the documentation, which the server has, also without a network."""

import re
import tomllib
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from judgeboard_dashboard import documentation
from judgeboard_dashboard.app import TABS
from page_state import VIEWS

DOCUMENTED = {view: tab.documentation for view, tab in TABS.items()}


@pytest.fixture(scope="module")
def client():
    return TestClient(Starlette(routes=documentation.routes()))


def test_each_view_names_a_page_and_each_page_that_the_server_has_leads_only_to_such_pages(client):
    assert set(DOCUMENTED) == set(VIEWS)
    assert set(DOCUMENTED.values()) <= set(documentation.pages())
    for name in documentation.pages():
        address = f"/{documentation.ADDRESS}/{name}"
        reply = client.get(address)
        assert reply.status_code == 200
        assert "<!-- table" not in reply.text
        for target, anchor in re.findall(r'<a href="([^":#]*)#?([^":]*)"', reply.text):
            linked = client.get(f"{address.rpartition('/')[0]}/{target}" if target else address)
            assert linked.status_code == 200, (name, target)
            assert not anchor or f'id="{anchor}"' in linked.text, (name, target, anchor)


def test_the_tables_of_the_code_are_on_the_pages_and_other_files_are_not_served(client):
    assert (
        "<td><code>low_groundedness</code></td>"
        in client.get("/documentation/concepts/flags.md").text
    )
    assert "<script" not in client.get("/documentation/%3Cscript%3E.md").text
    for name in (
        "generate.py",
        "../pyproject.toml",
        "how-to/../../README.md",
        "reference/commands.md",
    ):
        assert client.get(f"/documentation/{name}").status_code == 404, name


def test_the_wheel_has_the_pages_and_the_script_of_their_tables():
    root = Path(__file__).parents[2]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for name in (*documentation.pages(), "generate.py"):
        part = f"docs/{name.partition('/')[0]}"
        assert included.get(part) == f"judgeboard_dashboard/bundled_{part}", name


@pytest.mark.usefixtures("page_rows")
def test_the_link_of_a_view_stands_in_the_header(open_page):
    for view in ("queues", "item", "alerts"):
        link = next(
            each for each in open_page(view).get("link_button") if each.proto.label == "Help"
        )
        assert link.proto.url == f"documentation/{DOCUMENTED[view]}"
