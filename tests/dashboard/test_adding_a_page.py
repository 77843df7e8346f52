"""A page is a file in views/ and a line in PAGES; the colours of all pages are in theme.py."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from judgeboard_dashboard import theme

PACKAGE = Path(theme.__file__).parent
VIEW = '''
"""The page Prompt versions."""

import streamlit as st

from judgeboard.store.judge_versions import list_versions
from judgeboard_dashboard.session import page, reading

with page(), reading() as connection:
    st.write(f"{len(list_versions(connection))} versions")
'''


@pytest.mark.usefixtures("page_rows")
def test_a_file_and_a_line_add_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PACKAGE / "views", tmp_path / "views")
    (tmp_path / "views" / "prompt_versions.py").write_text(VIEW, encoding="utf-8")
    app_file = tmp_path / "app.py"
    source = (PACKAGE / "app.py").read_text(encoding="utf-8")
    line = '        "Trends": {"trends": Tab("Trends", "how-to/trends.md")},\n'
    assert line in source
    app_file.write_text(
        source.replace(
            line,
            f'{line}    "Prompts": {{"prompt_versions": Tab("Prompt versions", "concepts/judge-versions.md")}},\n',
            1,
        ),
        encoding="utf-8",
    )

    menus: list[list[str]] = []
    navigation = st.navigation

    def recorded(pages: list[Any], **options: Any) -> Any:
        menus.append([page.title for page in pages if page.visibility == "visible"])
        return navigation(pages, **options)

    monkeypatch.setattr(st, "navigation", recorded)
    app = AppTest.from_file(app_file, default_timeout=60)
    app.session_state["reviewer_name"] = "Mara"
    app.switch_page("views/prompt_versions.py")
    app.run()

    assert not app.exception
    assert "Prompts" in menus[-1]
    assert app.title[0].value == "Prompts"
    assert re.fullmatch(r"\d+ versions", app.markdown[-1].value)


def test_colours_are_only_in_the_palette() -> None:
    colour = re.compile(r"#[0-9a-fA-F]{6}\b")
    files = [path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".css", ".js"}]
    found = [path.name for path in files if colour.search(path.read_text(encoding="utf-8"))]
    assert found == ["theme.py"]
